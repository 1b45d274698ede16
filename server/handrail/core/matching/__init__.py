"""Where a hunk belongs in a document."""
