"""Snapshots of whole work trees with git, taken around a command."""
