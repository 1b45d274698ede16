"""Whether hunks may be made, and what a patch does to a file."""
