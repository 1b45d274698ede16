"""Conversations as documents in the editor."""
