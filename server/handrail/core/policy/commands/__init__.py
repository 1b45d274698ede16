"""Command lines that can run without a shell: parsing, known commands, and scripts."""
