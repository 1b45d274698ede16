"""Edits through the editor: how they are sent, what becomes of them, and what shows late."""
