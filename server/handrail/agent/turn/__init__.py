"""One turn: the loop, the one road of every call, and what a turn leaves behind."""
