"""Texts and their differences: lossless decoding, edits, reverts, reading back."""
