"""How much a search for examples tries; the long ones are commands, and have a bounded share in the gate."""

import os

# Set on the other versions of Python, where a search would only find again what it finds on the first one.
IS_BRIEF = bool(os.environ.get("HANDRAIL_BRIEF"))
BRIEF_SHARE = 10


def examples(number: int) -> int:
    """Returns how many examples to try where it is *number* otherwise."""
    return max(1, number // BRIEF_SHARE) if IS_BRIEF else number
