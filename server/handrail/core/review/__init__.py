"""Changes that have landed and are neither kept nor undone; pure functions."""
