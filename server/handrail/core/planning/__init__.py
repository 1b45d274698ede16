"""Decide whether hunks may be applied, and what a patch does to a file."""
