"""Whether a call may run, and when."""
