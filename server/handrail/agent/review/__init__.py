"""What the agent has changed and the user has neither kept nor undone."""
