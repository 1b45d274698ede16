"""Pending changes: those by the agent that the user has neither kept nor undone."""
