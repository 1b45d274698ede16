"""
The parts of `replay.py`: real changes, ways to spoil them, and the verdict on what the engine makes of them.

Nothing here uses the engine's own code: what is right is computed a second time, by other means.
"""
