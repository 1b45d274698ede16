"""Orchestration: the loop, the one executor and the tools; it reaches the world through ports only."""
