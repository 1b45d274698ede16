"""Decide whether a call may run, and when."""
