"""The state of this user that outlives a server: locks, journals, permissions, outputs."""
