"""Numbers with the words that fit them, for texts that people and models read."""

from __future__ import annotations

from math import ceil

YEAR_S = 365 * 86_400
UNITS = (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1))


def count_of(number: int, noun: str) -> str:
    """Returns *number* and its noun, such as `1 line` or `2,000 lines`; the plural of *noun* has an s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def count_hidden(number: int, noun: str = "") -> str:
    """Returns what is said of *number* things that are left out, such as `1 more line is not shown`."""
    more = count_of(number, f"more {noun}") if noun else f"{number:,} more"
    return f"{more} {'is' if number == 1 else 'are'} not shown"


def duration_of(seconds: float) -> str:
    """Returns a time of at least two seconds, rounded up, in the largest unit of which it has two."""
    if seconds > YEAR_S:
        return "more than a year"
    unit, length = next((unit, length) for unit, length in UNITS if seconds >= 2 * length)
    return f"{ceil(seconds / length)} {unit}"
