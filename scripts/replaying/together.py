"""
Several things at once, and places that look alike: where an engine that is lenient goes wrong.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from replaying import patch_side
from replaying.document import Document, Hunk, Part, Parts, Rows, fold
from replaying.spoiled import Spoiled, each_row, indent_of, kept_rows, with_other_token, with_row

APART = 15  # rows between a hunk and what looks like it


def no_context(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Nothing but the rows that change."""
    bare = hunk.widened(0, 0)
    return Spoiled(bare, bare.parts) if any(p.old for p in bare.parts) and bare.is_unique else None


def context_on_one_side(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Kept rows stand before the change only, or behind it only."""
    bare = hunk.widened(*chance.choice(((3, 0), (0, 3))))
    return Spoiled(bare, bare.parts) if len(bare.parts) > 1 and bare.is_unique else None


def badly_copied(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Another indentation, smart quotes and trailing blanks."""
    spoil = chance.choice((patch_side.dedented, patch_side.other_step, patch_side.tabs_for_spaces))
    spoiled = spoil(hunk, chance)
    if spoiled is None:
        return None

    def copied(row: str) -> str:
        return patch_side.curled(row) + chance.choice(("", " ", "\t"))

    return replace(spoiled, parts=each_row(spoiled.parts, copied, added=False))


def badly_remembered(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Another indentation, and a word of a kept row is misremembered."""
    hunk = hunk.widened(5, 5)
    spoiled = chance.choice((patch_side.dedented, patch_side.other_step))(hunk, chance)
    places = kept_rows(hunk.parts)
    if spoiled is None or not places or not hunk.is_unique:
        return None
    at = chance.choice(places)
    others = (row for part in with_row(hunk.parts, at, ()) for row in part.old)
    if not any(map(indent_of, others)):
        return None  # nothing tells any more what the indentation of the patch is in the document
    other = with_other_token(spoiled.parts[at[0]].old[at[1]], chance)
    return (other and replace(spoiled, parts=with_row(spoiled.parts, at, (other,)))) or None


def crlf_and_dedented(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """A document with CRLF, and another indentation in the patch."""
    spoiled = patch_side.dedented(hunk, chance) or patch_side.other_step(hunk, chance)
    if spoiled is None:
        return None
    return replace(spoiled, hunk=replace(hunk, document=hunk.document.with_eol("\r\n")))


# ---- Places that look alike -----------------------------------------------------------------------


def sibling(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Another place has the same rows but for one word in each of two: it is not meant."""
    return _with_sibling(hunk, chance, 2)


def sibling_and_stale(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Two places are a kept row off each: the one that is meant, and another one."""
    wide = hunk.widened(4, 4)
    spoiled = _with_sibling(wide, chance, 1)
    if spoiled is None:
        return None
    return _stale(spoiled, chance)


def _with_sibling(hunk: Hunk, chance: random.Random, changed: int) -> Spoiled | None:
    """The hunk in a document that has its rows again, some of the kept ones changed."""
    places = kept_rows(hunk.parts)
    if len(places) < changed:
        return None
    parts: Parts = hunk.parts
    for at in chance.sample(places, changed):
        other = with_other_token(parts[at[0]].old[at[1]], chance)
        if other is None:
            return None
        parts = with_row(parts, at, (other,))
    copy = tuple(row for part in parts for row in part.old)
    line = chance.choice((hunk.start - APART, hunk.end + APART))
    if not 0 < line < len(hunk.document.rows):
        return None
    document = hunk.document.with_inserted(line, copy)
    truth = replace(hunk, document=document, start=hunk.start + (len(copy) if line < hunk.start else 0))
    return Spoiled(truth, hunk.parts) if truth.is_unique else None


def _stale(spoiled: Spoiled, chance: random.Random) -> Spoiled | None:
    hunk = spoiled.hunk
    at = chance.choice(kept_rows(hunk.parts))
    newer = with_other_token(hunk.parts[at[0]].old[at[1]], chance)
    if newer is None:
        return None
    parts = with_row(hunk.parts, at, (newer,))
    rows = tuple(row for part in parts for row in part.old)
    return Spoiled(replace(hunk, document=_with_rows(hunk, rows), parts=parts), hunk.parts)


def _with_rows(hunk: Hunk, rows: Rows) -> Document:
    """The document with other rows in the place of the hunk's."""
    return hunk.document.with_rows(hunk.document.rows[: hunk.start] + rows + hunk.document.rows[hunk.end :])


def decoy(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The rows are gone; a place that begins and ends like them has others between: it is not meant."""
    if len(hunk.old) < 5 or not (fold(hunk.old[0]) and fold(hunk.old[-1])) or _has_sibling(hunk):
        return None
    others = [row for row in hunk.document.rows if len(fold(row)) > 5 and row not in hunk.old]
    if len(others) < 5:
        return None
    inner = tuple(indent_of(row) + chance.choice(others).strip() for row in hunk.old[1:-1])
    rows = (hunk.old[0], *inner, hunk.old[-1])
    return Spoiled(replace(hunk, document=_with_rows(hunk, rows), parts=(Part(rows, rows),)), hunk.parts)


def gone(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The rows that the patch is about have been taken out of the document."""
    if hunk.document.count(hunk.new) or len(hunk.document.rows) == len(hunk.old) or _has_sibling(hunk):
        return None
    document = hunk.document.spliced(hunk.start, (Part(hunk.old, ()),))
    return Spoiled(Hunk(hunk.path, document, hunk.start, ()), hunk.parts)


def _has_sibling(hunk: Hunk) -> bool:
    """Whether another place has most of the rows: nobody could say that it is not the one meant."""
    wanted = Counter(folded for row in hunk.old if (folded := fold(row)))
    rest = hunk.document.rows[: hunk.start] + hunk.document.rows[hunk.end :]
    rows = [folded for row in rest if (folded := fold(row))]
    wide = wanted.total() + wanted.total() // 2
    places = (Counter(rows[at : at + wide]) for at in range(len(rows)) if rows[at] in wanted)
    return any((place & wanted).total() > wanted.total() // 2 for place in places)
