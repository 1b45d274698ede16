"""What a model wrote as a patch, in any notation, read into hunks."""
