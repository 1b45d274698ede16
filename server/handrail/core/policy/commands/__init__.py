"""Command lines that can be run without a shell: read, known, and as they will run."""
