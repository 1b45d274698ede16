"""
Ways in which a model's patch says more than its rows, or less: numbers, placeholders, scopes, spacing.

Each takes a hunk and gives it back with a spoiled patch, or None if it does not lend itself to that.
"""

from __future__ import annotations

import random
import re
from dataclasses import replace

from replaying.document import Hunk, Part, Parts, Rows, fold
from replaying.notation import ALL, STRINGS, V4A, Style
from replaying.spoiled import Spoiled, each_row, indent_of, with_row

NUMBERS = ("{n}|{row}", "{n} | {row}", "{n:>6}\t{row}", "{n:>5}→{row}", "{n}:{row}", "{n}: {row}")
NUMBERED = re.compile(r"^\s*L?\d+[a-z]? *[|:→\t]|^\s*\d+  ")
PLACEHOLDERS = (
    "# rest of the code",
    "# ... existing code ...",
    "# existing code",
    "# unchanged",
    "# same as before",
    "# code omitted for brevity",
    "# keep the rest as is",
    "# ...",
    "// (rest of methods ...)",
    "/* ... */",
    "(unchanged code ...)",
    "[... rest of the code ...]",
    "# Previous code remains unchanged",
)
HEADER = re.compile(r"^(?:def|class) \w+.*:$")
CODE = re.compile(r"^\s*[A-Za-z_][\w.]*\s*(?:=|\()|^\s*(?:return|if|for|def|import)\b")
SPACINGS = ((", ", ","), (" = ", "="), (", ", ",  "), (" = ", "  =  "), ("(", "( "), (")", " )"))


def numbered(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """All rows carry their numbers, as tools show them; added rows repeat the number of the row above."""
    form = chance.choice(NUMBERS)
    if any(map(NUMBERED.match, (*hunk.document.rows, *hunk.new))) or not fold(hunk.old[0]):
        return None
    number = hunk.start
    parts: list[Part] = []
    for part in hunk.parts:
        old, new = [], []
        for row in part.old:
            number += 1
            old.append(form.format(n=number, row=row))
        first = number - len(part.old)
        new = [form.format(n=first + at, row=row) for at, row in enumerate(part.new, 1)]
        parts.append(Part(tuple(old), tuple(old if part.is_kept else new)))
    return Spoiled(hunk, tuple(parts))


def numbered_added(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Only the replacement carries numbers."""
    form = chance.choice(NUMBERS[:4])
    if any(map(NUMBERED.match, (*hunk.document.rows, *hunk.new))):
        return None
    if not hunk.new or not fold(hunk.new[0]) or "|" in "".join(hunk.old):
        return None
    new = tuple(form.format(n=hunk.start + at, row=row) for at, row in enumerate(hunk.new, 1))
    return Spoiled(hunk, (Part(hunk.old, new),), notations=STRINGS)


def placeholder(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """A comment stands in the new text for rows that are not to go."""
    rows = hunk.widened(3, 3).old
    middle = rows[1:-1]
    if sum(bool(CODE.match(row)) for row in middle) < 3:
        return None
    marker = indent_of(middle[0]) + chance.choice(PLACEHOLDERS)
    if any(row.strip() == marker.strip() for row in hunk.document.rows):
        return None
    kept = middle[:1] if chance.random() < 0.5 else ()
    parts: Parts = (Part(rows[:1], rows[:1]), Part(middle, (*kept, marker)), Part(rows[-1:], rows[-1:]))
    return Spoiled(hunk, parts)


def other_scope(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """A V4A hunk below the header of another function or class that is there."""
    rows = hunk.document.rows
    headers = [at for at, row in enumerate(rows) if HEADER.match(row)]
    above = [at for at in headers if at < hunk.start]
    others = [at for at in headers if at >= hunk.end] + above[:-1]
    others = [at for at in others if sum(rows[at].strip() in row for row in rows) == 1]
    if not others or not any(indent_of(row) for row in hunk.old if row.strip()):
        return None
    scope = rows[chance.choice(others)]
    return Spoiled(hunk, hunk.parts, style=Style(scopes=(scope,)), notations=(V4A,))


def at_depth(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The search text lost its indentation, the replacement has it."""
    olds, news = [[row for row in rows if row.strip()] for rows in (hunk.old, hunk.new)]
    if not olds or not news:
        return None
    depth = indent_of(olds[0])
    if not depth or depth != indent_of(news[0]) or not all(row.startswith(depth) for row in (*olds, *news)):
        return None
    old = tuple(row[len(depth) :] if row.strip() else row for row in hunk.old)
    if set(filter(str.strip, old)) & set(hunk.new):
        return None  # a row that stays would say how the patch is indented
    return Spoiled(hunk, (Part(old, hunk.new),), notations=STRINGS)


def spaced_rows(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Rows of the search text have other spacing between their tokens; kept rows have it in both parts."""
    text = "\n".join(hunk.document.rows[: hunk.start])
    if any(text.count(quotes) % 2 for quotes in ('"""', "'''", "`")) or hunk.document.rows[0].startswith(
        "#!"
    ):
        return None
    wanted, given = chance.choice(SPACINGS)

    def spoil(row: str) -> str:
        is_plain = not set(row) & set("\"'`#/\\") and {"(", "="} <= set(row)
        return indent_of(row) + row.strip().replace(wanted, given) if is_plain else row

    if any(quotes in "\n".join((*hunk.old, *hunk.new)) for quotes in ('"""', "'''", "`")):
        return None
    parts = each_row(hunk.parts, spoil, added=False)
    return Spoiled(hunk, parts) if parts != hunk.parts else None


def _gaps(hunk: Hunk) -> list[tuple[int, int]]:
    """Where a kept row that is not blank stands right below another one."""
    return [
        (p, r)
        for p, part in enumerate(hunk.parts)
        if part.is_kept
        for r in range(1, len(part.old))
        if part.old[r].strip() and part.old[r - 1].strip()
    ]


def gap_changed(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The patch is wrong about a blank row in one gap, and puts one into another."""
    hunk = hunk.widened(5, 5)
    places = _gaps(hunk)
    if len(places) < 2 or not hunk.is_unique:
        return None
    wrong, right = chance.sample(places, 2)
    truth = replace(hunk, parts=_cut(hunk.parts, right))
    wrong = (wrong[0] + 2 * (wrong[0] > right[0] or wrong > right), wrong[1])
    if wrong[0] == right[0] + 2:
        wrong = (wrong[0], wrong[1] - right[1])
    part = truth.parts[wrong[0]]
    if not part.is_kept or not 0 < wrong[1] < len(part.old):
        return None
    return Spoiled(truth, with_row(truth.parts, wrong, ("", part.old[wrong[1]])))


def _cut(parts: Parts, at: tuple[int, int]) -> Parts:
    """*parts* with a blank row added above a kept row."""
    rows = parts[at[0]].old
    above, below = rows[: at[1]], rows[at[1] :]
    return (*parts[: at[0]], Part(above, above), Part((), ("",)), Part(below, below), *parts[at[0] + 1 :])


def gap_forgotten(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The search text lacks a blank row that the document and the replacement have."""
    hunk = hunk.widened(5, 5)
    places = [
        (p, r)
        for p, part in enumerate(hunk.parts)
        if part.is_kept
        for r in range(1, len(part.old) - 1)
        if not part.old[r].strip() and part.old[r - 1].strip() and part.old[r + 1].strip()
    ]
    if not places or not hunk.is_unique:
        return None
    p, r = chance.choice(places)
    rows: Rows = hunk.parts[p].old
    cut = (Part(rows[:r], rows[:r]), Part((), rows[r : r + 1]), Part(rows[r + 1 :], rows[r + 1 :]))
    return Spoiled(hunk, (*hunk.parts[:p], *cut, *hunk.parts[p + 1 :]), notations=ALL)
