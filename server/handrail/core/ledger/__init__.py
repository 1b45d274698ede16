"""The mutations that did not land, and the report of a turn."""
