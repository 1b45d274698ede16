"""
What a way to spoil a hunk returns: the hunk as it should be made, and the patch as a model would write it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from replaying.document import Hunk, Part, Parts, Rows, fold
from replaying.notation import ALL, Style

WORD = re.compile(r"[A-Za-z_]\w{2,}")


@dataclass(frozen=True)
class Spoiled:
    """
    A hunk and a patch for it.

    Attributes:
        hunk: The truth: what is right afterwards is `hunk.after`.
        parts: What the patch says.
        hint: The line number that the patch gives, counted from 1.
        already: Whether the document already has this change, so that nothing is to change.
        notations: Those that can say this; one of them is drawn.
    """

    hunk: Hunk
    parts: Parts
    hint: int | None = None
    already: bool = False
    style: Style = field(default_factory=Style)
    notations: tuple[str, ...] = ALL


Spoiler = Callable[[Hunk, random.Random], Spoiled | None]


def each_row(parts: Parts, change: Callable[[str], str], *, added: bool = True) -> Parts:
    """*parts* with every row changed; without *added*, only those that the document should have."""
    made = []
    for part in parts:
        old = tuple(map(change, part.old))
        if part.is_kept:
            made.append(Part(old, old))
        else:
            made.append(Part(old, tuple(map(change, part.new)) if added else part.new))
    return tuple(made)


def with_row(parts: Parts, at: tuple[int, int], rows: Rows) -> Parts:
    """*parts* with one row of one part's old side (and new side, if kept) replaced by *rows*."""
    part = parts[at[0]]
    old = part.old[: at[1]] + rows + part.old[at[1] + 1 :]
    changed = Part(old, old if part.is_kept else part.new)
    return (*parts[: at[0]], changed, *parts[at[0] + 1 :])


def kept_rows(parts: Parts) -> list[tuple[int, int]]:
    """The places of kept rows that say something: (part, row)."""
    return [
        (p, r) for p, part in enumerate(parts) if part.is_kept for r, row in enumerate(part.old) if fold(row)
    ]


def removed_rows(parts: Parts) -> list[tuple[int, int]]:
    """The places of removed rows that say something: (part, row)."""
    return [
        (p, r)
        for p, part in enumerate(parts)
        if not part.is_kept
        for r, row in enumerate(part.old)
        if fold(row)
    ]


def with_other_token(row: str, chance: random.Random) -> str | None:
    """*row* with one of its words misremembered; None if it has none."""
    words = list(WORD.finditer(row))
    if not words:
        return None
    word = chance.choice(words)
    other = chance.choice((word[0] + "_id", word[0][:-1], "my_" + word[0], word[0][::-1], "value"))
    changed = row[: word.start()] + other + row[word.end() :]
    return changed if fold(changed) != fold(row) else None


def indent_of(row: str) -> str:
    """The blanks that a row begins with."""
    return row[: len(row) - len(row.lstrip(" \t"))]
