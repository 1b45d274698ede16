"""
Decide whether the new text of a failed hunk has appeared in a document since.

Occurrences are counted, because the text may have been there before. Texts that are too short to be
significant are ignored. What follows for a failure is decided in `ledger`.
"""

from __future__ import annotations

from collections.abc import Iterable

from handrail.core.documents.index import plain
from handrail.core.documents.text import Text, to_lf
from handrail.core.failure import Span
from handrail.core.matching import match
from handrail.core.patches.hunk import Hunk

DISTINCT = 4  # characters; a shorter text may occur anywhere by chance


def is_distinct(hunk: Hunk) -> bool:
    """Whether the hunk's new text is too distinctive to occur by chance."""
    return len(hunk.new.strip()) >= DISTINCT


def count(text: Text | None, hunk: Hunk) -> int:
    """Counts the hunk's new text in *text*."""
    if text is None:
        return 0
    new = hunk.new.strip("\n")
    if hunk.whole_lines:
        return match.count(text, new.split("\n"))
    return to_lf(text.content).count(new)


def count_at(text: Text, hunk: Hunk, span: Span) -> int:
    """Counts the new text in the lines of *span*; if it was removed, in the lines around the gap."""
    rows = hunk.new.strip("\n").split("\n")
    first, last = text.line_at(span.start), text.line_at(span.end)
    start, end = text.starts[first], text.row_end(first)
    if span.start == span.end and start < end:
        first -= span.start == start
        last += span.end == end
    # Every run of as many lines as the new text has overlaps the place.
    around = text.rows[max(0, first - len(rows) + 1) : max(0, last + len(rows))]
    if hunk.whole_lines:
        return _as_lines(map(plain, around)).count(_as_lines(map(plain, rows)))
    return "\n".join(around).count("\n".join(rows))


def brings(made: Hunk, hunk: Hunk) -> bool:
    """Whether applying the hunk *made* writes the new text of *hunk*."""
    return count(Text(made.new), hunk) > count(Text(made.old), hunk)


def is_left(text: Text, hunk: Hunk, nearest: str) -> bool:
    """Whether anything is left to replace: the hunk's old text, or the text of its place *nearest*."""
    flat = to_lf(text.content)
    if any(old and old in _without_new(flat, hunk, old) for old in (hunk.old, to_lf(nearest))):
        return True
    return bool(hunk.old) and bool(match.matches(Text(_without_new(flat, hunk, hunk.old)), hunk))


def _without_new(flat: str, hunk: Hunk, old: str) -> str:
    """Returns the text without replaced parts, if the new text contains the old one."""
    return flat.replace(hunk.new, "\0") if old in hunk.new else flat


def _as_lines(rows: Iterable[str]) -> str:
    """Joins rows to a text in which no row is part of another one."""
    return "".join(f"\n{row}\r" for row in rows)
