"""Containment: what a command sees and may change of the machine."""
