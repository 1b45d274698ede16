"""
The world: files, checkpoints, models.

One file a port's implementation. Adapters know the ports and the core; the agent reaches them through ports.
"""
