"""Commands: run between two snapshots, and what becomes of what they have written."""
