"""Conversations as documents of the client."""
