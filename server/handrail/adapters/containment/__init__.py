"""Containment: what a command that we run sees and may change of the machine."""
