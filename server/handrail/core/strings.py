"""
Find a search text as a string, wherever it begins and ends in a line.

Line ends of the document do not matter, its spelling may be passed over. Whole rows are searched for in
`match`.
"""

from __future__ import annotations

import re

from handrail.core import spelling
from handrail.core.failure import Span
from handrail.core.text import Text

LIMIT_PLACES = 10_000  # more places than these are not told apart
IN_WORD = re.compile(r"\w\w")


def exact(text: Text, old: str) -> list[Span]:
    """
    All occurrences of *old* (with LF) as spans of the content; overlapping ones included.

    Of several lines neither the first nor the last may be cut inside a word: it would be another line.
    """
    flat, length = text.flat, len(old)
    places = find_all(flat, old)
    if "\n" in old:
        places = [at for at in places if not _is_inside_word(flat, at) | _is_inside_word(flat, at + length)]
    return [_span(text, at, at + length) for at in places]


def spelled(text: Text, old: str) -> list[Span]:
    """All occurrences of *old* that differ from it in typographic punctuation and spaces only."""
    if text.flat.isascii() and old.isascii():
        return []
    folded, wanted = spelling.plain(text.flat), spelling.plain(old)
    if not wanted.strip():
        return []
    offset = spelling.offsets(text.flat)
    found: list[Span] = []
    for at in find_all(folded, wanted):
        start, end = offset(at), offset(at + len(wanted))
        if start is not None and end is not None:
            found.append(_span(text, start, end))
    return found


def find_all(haystack: str, needle: str) -> list[int]:
    """Where *needle* begins in *haystack*, ascending; not more than LIMIT_PLACES."""
    found: list[int] = []
    at = haystack.find(needle)
    while at >= 0 and len(found) < LIMIT_PLACES:
        found.append(at)
        at = haystack.find(needle, at + 1)
    return found


def _is_inside_word(flat: str, at: int) -> bool:
    return IN_WORD.match(flat[at - 1 : at + 1]) is not None if at else False


def _span(text: Text, start: int, end: int) -> Span:
    """A range of the text with LF as a span of the content."""
    if len(text.flat) == len(text.content):
        return Span(start=start, end=end)
    first, last = text.flat.count("\n", 0, start), text.flat.count("\n", 0, end)
    growth, more = (sum(map(len, text.eols[:line])) - line for line in (first, last))
    return Span(start=start + growth, end=end + more)
