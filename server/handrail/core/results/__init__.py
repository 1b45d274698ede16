"""What the model reads of a call's result: shortened, without keys, safe to show."""
