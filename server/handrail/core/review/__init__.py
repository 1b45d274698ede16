"""What has landed and is neither kept nor undone; pure functions."""
