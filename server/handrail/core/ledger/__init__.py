"""Which mutations did not land, and what clients are told of a turn."""
