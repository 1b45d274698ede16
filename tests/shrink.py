"""Make an example of a complaint small."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def smallest(text: str, first_bad: Callable[[Sequence[str]], str | None]) -> str:
    """
    A part of *text* about which there is still a complaint.

    Args:
        first_bad: The first of several texts about which there is one.
    """
    size = max(1, len(text) // 2)
    while size:
        parts = dict.fromkeys(text[:at] + text[at + size :] for at in range(0, len(text), size))
        shorter = first_bad(list(parts))
        if shorter is None:
            size //= 2
        else:
            text = shorter
            size = min(size, max(1, len(text) // 2))
    return text
