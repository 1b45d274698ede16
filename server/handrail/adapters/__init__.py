"""
The outside world: files, checkpoints, models.

Adapters implement the ports and know the core; the agent reaches them through ports.
"""
