"""
Tell an edit that the document has already from one that failed.

Models repeat an edit that was made; that is no failure, and making it again would double the lines. But
new text that stands somewhere by chance is no edit that was made, so in doubt the answer is no.
"""

from __future__ import annotations

from dataclasses import replace

from handrail.core import match, place
from handrail.core.edit import opcodes
from handrail.core.failure import Failure, Span
from handrail.core.hunk import Hunk
from handrail.core.text import Text, to_lf

DISTINCT = 4  # characters; less may well be meant twice
TELLING = 8  # characters; less may be anywhere
UNIQUE = 24  # characters; more is nowhere by chance


def is_distinct(added: str) -> bool:
    """Whether added text is more than a brace or a blank line."""
    return len(added.strip()) >= DISTINCT


def is_made(text: Text, hunk: Hunk, span: Span) -> bool:
    """Whether the place at *span*, which matches the hunk's old text, reads its longer new text already."""
    if place.is_string(text, hunk, span):
        return _string_is_made(text, hunk, span)
    old, new = place.rows(hunk)
    first = text.line_at(span.start)
    return any(
        new[at : at + len(old)] == old
        and is_distinct("".join(new[:at] + new[at + len(old) :]))
        and _reads(text, first - at, new)
        for at in range(len(new) - len(old) + 1)
    )


def _reads(text: Text, line: int, rows: list[str]) -> bool:
    there = text.rows[line : line + len(rows)] if line >= 0 else ()
    return len(there) == len(rows) and all(map(match.is_alike, rows, there))


def _string_is_made(text: Text, hunk: Hunk, span: Span) -> bool:
    old, new = hunk.old, hunk.new
    reach = 2 * len(new)
    before = to_lf(text.content[max(0, span.start - reach) : span.start])
    behind = to_lf(text.content[span.end : span.end + reach])
    at = new.find(old)
    while at >= 0:
        above, below = new[:at], new[at + len(old) :]
        if is_distinct(above + below) and before.endswith(above) and behind.startswith(below):
            return True
        at = new.find(old, at + 1)
    return False


def is_there(text: Text, hunk: Hunk, missing: Failure) -> bool:
    """Whether the hunk's new text stands in the place of its old text, for which *missing* was found."""
    old, new = place.rows(hunk)
    blocks = opcodes(old, new)
    if any(k == m and (i == 0 or j == len(old)) for i, j, k, m in blocks):
        return False  # what is removed at the edge of a hunk leaves no trace
    added = "".join(row.strip() for _, _, k, m in blocks for row in new[k:m])
    changed = {at for i, j, _, _ in blocks for at in range(i, j)}
    kept = "".join(row.strip() for at, row in enumerate(old) if at not in changed)
    if len(added + kept) < TELLING:
        return False
    found = match.locate(text, replace(hunk, old=hunk.new, new="", replace_all=False))
    if isinstance(found, Failure):
        return False
    return bool(kept) or len(added) >= UNIQUE or not _has_rival(hunk, missing, found[0].span)


def _has_rival(hunk: Hunk, missing: Failure, found: Span) -> bool:
    """Whether another place resembles the old text more than the new text does."""
    rivals = [near for near in missing.near if near.span.end < found.start or found.end < near.span.start]
    return bool(rivals) and rivals[0].score > match.likeness(hunk.old.strip(), hunk.new.strip())
