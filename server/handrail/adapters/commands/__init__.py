"""Commands: taken apart, run, and ended."""
