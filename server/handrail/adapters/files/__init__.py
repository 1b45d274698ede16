"""Files on the disk: read, written and watched, with every error as a failure."""
