"""What is stored for this user between servers: locks, journals, permissions, outputs."""
