"""Parse patches in any notation into hunks."""
