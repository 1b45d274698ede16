"""What a client is shown of pending changes unasked: when to ask again, and the review document."""
