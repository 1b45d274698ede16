"""The git program: the one place that starts it, and a look at the files that it would read first."""
