"""Restores: documents as they are in a checkpoint, and a conversation before a turn."""
