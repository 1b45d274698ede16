"""Find the place of a hunk in a document."""
