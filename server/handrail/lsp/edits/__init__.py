"""Edits through the editor: sending them, verifying them, and noticing edits that show late."""
