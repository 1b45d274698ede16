"""Pending changes, as a client is shown them unasked: when to ask again, and the review document."""
