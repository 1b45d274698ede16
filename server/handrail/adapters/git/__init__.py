"""The git program: the one place that starts it, and checks of the files that it reads first."""
