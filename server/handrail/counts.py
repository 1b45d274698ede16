"""Numbers with the words that fit them, for texts that people and models read."""

from __future__ import annotations


def count_of(number: int, noun: str) -> str:
    """Returns *number* and its noun, such as `1 line` or `2,000 lines`; the plural of *noun* has an s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def count_hidden(number: int, noun: str = "") -> str:
    """Returns what is said of *number* things that are left out, such as `1 more line is not shown`."""
    more = count_of(number, f"more {noun}") if noun else f"{number:,} more"
    return f"{more} {'is' if number == 1 else 'are'} not shown"
