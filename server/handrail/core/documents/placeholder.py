"""The placeholder that a model is shown in place of the value of a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence

REDACTED = "[key removed by handrail]"
FindKeys = Callable[[str], Sequence[tuple[int, int]]]  # where the values of keys are in a text, in order


def find_none(text: str) -> Sequence[tuple[int, int]]:
    """Finds no keys."""
    return ()
