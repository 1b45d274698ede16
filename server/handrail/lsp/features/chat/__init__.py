"""Conversations as documents: what is asked of them, and what can be done at their lines."""
