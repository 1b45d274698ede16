"""Texts and differences between them: bytes read without loss, edits, undoing, reading back."""
