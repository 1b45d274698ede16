"""What is kept for this user between servers: locks, journals, leave for good, outputs."""
