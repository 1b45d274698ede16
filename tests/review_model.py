"""
A simple model of review: for each document the rows that it has, and those that it would have without what is
pending. All rows are different, so what is between two rows that both have is one stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A hunk as the server tells of it, in rows of the document without their ends."""

    id: str
    start: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    turns: tuple[str, ...]
    is_typed_in: bool

    @property
    def end(self) -> int:
        return self.start + len(self.after)


@dataclass
class Paper:
    """
    One document.

    Attributes:
        now: Its rows.
        base: What they would be without what is pending.
        past: What both were, for each text that the editor's undo may bring back.
        typed: Rows of hunks that the user has typed, or typed in.
        removed: Rows that the agent has removed; they may have come back. If the user removes one of them
            then, that is what the agent did, and its change is there again.
    """

    now: list[str]
    base: list[str]
    past: list[tuple[list[str], list[str]]] = field(default_factory=list)
    typed: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)

    def edited(self, start: int, end: int, new: Sequence[str]) -> None:
        """The agent has replaced rows: what would be there without is as it was."""
        self.past.append((list(self.now), list(self.base)))
        self.removed.update(self.now[start:end])
        self.now[start:end] = new

    def typed_outside(self, start: int, end: int, new: Sequence[str]) -> None:
        """The user has replaced rows that belong to no hunk, or typed between such rows."""
        self.past.append((list(self.now), list(self.base)))
        above = self.now[start - 1] if start else None
        if end > start:
            at = self.base.index(self.now[start])
            assert self.base[at : at + end - start] == self.now[start:end]
        else:
            at = self.base.index(above) + 1 if above is not None else 0
        self.base[at : at + end - start] = new
        self.now[start:end] = new

    def typed_inside(self, start: int, end: int, new: Sequence[str]) -> None:
        """The user has typed in a hunk."""
        self.past.append((list(self.now), list(self.base)))
        self.now[start:end] = new
        self.typed.update(new)

    def free(self, places: Sequence[Place]) -> list[int]:
        """The places between two rows, neither of which belongs to a hunk and between which there is none."""
        taken = {at for place in places for at in range(place.start, place.end + 1)}
        return [at for at in range(1, len(self.now)) if at not in taken]

    def own(self, places: Sequence[Place]) -> list[int]:
        """The rows that belong to no hunk."""
        taken = {at for place in places for at in range(place.start, place.end)}
        return [at for at in range(len(self.now)) if at not in taken]


def without(now: Sequence[str], places: Sequence[Place]) -> list[str]:
    """The rows *now* once the hunks at *places* are undone."""
    found = list(now)
    for place in sorted(places, key=lambda each: (each.start, each.end), reverse=True):
        found[place.start : place.end] = place.before
    return found


class Words:
    """Rows of which no two have anything in common, neither at their beginning nor at their end."""

    def __init__(self) -> None:
        self.numbers = count(1)

    def row(self, whose: str) -> str:
        """A row of the original's (o), the agent's (a) or the user's (u)."""
        number = next(self.numbers)
        return f"{whose}{number:04}{whose * 3}{number:04}{whose.upper()}"
