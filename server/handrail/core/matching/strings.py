"""
Find a search text as a string, wherever it begins and ends in a line.

The document's line endings do not matter; its spelling may be ignored. Whole rows are searched for in
`match`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from operator import and_

from handrail.core.documents import spelling
from handrail.core.documents.edit import opcodes
from handrail.core.documents.index import BLANKS
from handrail.core.documents.text import Text
from handrail.core.failure import Span
from handrail.core.matching.indent import leading_blanks, width
from handrail.core.patches.hunk import Hunk, rows_of

LIMIT_MATCHES = 10_000  # more places than these are not told apart
IN_WORD = re.compile(r"\w\w")
WHOLE_ROW_NOTE = "The indentation of removed lines, which the search text lacks, was removed too."


def exact(text: Text, hunk: Hunk) -> list[Span] | None:
    """
    All occurrences of the hunk's old text (with LF) as spans of the content; overlapping ones included.

    Of several lines neither the first nor the last may be cut inside a word: it would be another line. Whole
    rows come before rows that are cut, and a row that is cut does not bound an insertion. Text that is meant
    as rows, given the new text, is not a string: it is found, and indented, as rows.

    None if all places bound an insertion with a row that is cut: the text is there, so it means nothing else.
    """
    flat, old, length = text.flat, hunk.old, len(hunk.old)
    offsets = find_all(flat, old)
    if "\n" in old and old.strip():
        offsets = [at for at in offsets if not _is_inside_word(flat, at) | _is_inside_word(flat, at + length)]
        cuts = {at: _cuts(flat, at, at + length) for at in offsets}
        if not hunk.replace_all:
            offsets = [at for at in offsets if not any(cuts[at])] or offsets
        bounded = _borders(hunk) if any(map(any, cuts.values())) else (False, False)
        whole = [at for at in offsets if not any(map(and_, cuts[at], bounded))]
        if offsets and not whole:
            return None
        offsets = whole
    if all(_is_row(flat, at, old, hunk.new) for at in offsets):
        return []
    return [_span(text, at, at + length) for at in offsets]


def _cuts(flat: str, start: int, end: int) -> tuple[bool, bool]:
    """Whether a text of several rows that stands at *start* to *end* cuts its first and its last row."""
    before = flat[flat.rfind("\n", 0, start) + 1 : start]
    stop = flat.find("\n", end)
    behind = flat[end : stop if stop >= 0 else len(flat)] if flat[end - 1] != "\n" else ""
    return bool(before.strip(BLANKS)), bool(behind.strip(BLANKS))


def _borders(hunk: Hunk) -> tuple[bool, bool]:
    """Returns whether the first old row, and whether the last one, is right next to inserted rows."""
    old, new = rows_of(hunk)
    last = len(old)
    added = {i for i, j, _, _ in opcodes(old, new) if i == j}
    if last == 1:
        return 0 in added, 1 in added
    return bool(added & {0, 1}), bool(added & {last - 1, last})


def with_indentation(text: Text, hunk: Hunk, span: Span) -> tuple[Hunk, Span]:
    """
    *hunk* and its place *span* with the indentation before it, if the new text has that already.

    A search text may begin behind the indentation of its row, or in the middle of it, and its replacement at
    the start of the row; put in as it is, it would be indented twice.
    """
    before = _indentation_before(text, span)
    ours, depth = leading_blanks(hunk.old), leading_blanks(hunk.new)
    if not before or depth == ours or depth != before + ours:
        return hunk, span
    if not hunk.new[len(depth) :].strip():
        return hunk, span
    return replace(hunk, old=before + hunk.old), Span(start=span.start - len(before), end=span.end)


def removes_first_row(hunk: Hunk) -> bool:
    """
    Whether *hunk* removes its first old row with the line end, so that all of the row goes.

    If the search text begins behind the row's indentation, the next row would otherwise get that besides its
    own.
    """
    if not hunk.old.strip() or "\n" not in hunk.old:
        return False
    blocks = opcodes(*rows_of(hunk))
    return bool(blocks) and blocks[0][0] == 0 < blocks[0][1] and blocks[0][2:] == (0, 0)


def from_row_start(text: Text, hunk: Hunk, span: Span) -> tuple[Hunk, Span]:
    """*hunk* and its place *span* with the indentation before it."""
    before = _indentation_before(text, span)
    return replace(hunk, old=before + hunk.old), Span(start=span.start - len(before), end=span.end)


def _indentation_before(text: Text, span: Span) -> str:
    """The blanks between the start of a row and *span*; none if there is anything else."""
    before = text.content[text.starts[text.line_at(span.start)] : span.start]
    return "" if before.strip(BLANKS) else before


def _is_row(flat: str, at: int, old: str, new: str) -> bool:
    """
    Whether *old* at this place is a row without its indentation, or without some of it.

    One row may be replaced by several that are dedented as it is, or that are indented as the document is:
    then *old* just begins behind the indentation.
    """
    before = flat[flat.rfind("\n", 0, at) + 1 : at]
    row, rows = old.removesuffix("\n"), new.removesuffix("\n").split("\n")
    if before.strip(BLANKS) or not before or ("\n" not in row and len(rows) == 1):
        return False
    if old[:1] in BLANKS:
        return True
    below = [width(leading_blanks(other)) for other in rows[1:] if other.strip()]
    if "\n" in row or not below or flat[at + len(row) : at + len(row) + 1] not in ("", "\n"):
        return False
    opens = rows[0].rstrip().endswith((":", "{", "(", "["))
    return min(below) < width(before) or (opens and below[0] <= width(before))


def goes_on_at_the_margin(hunk: Hunk) -> bool:
    """
    Whether one row becomes several, of which one behind a blank row opens a block at the margin.

    They may be dedented as the first is, or stand where they are meant to.
    """
    if hunk.whole_lines or "\n" in hunk.old.removesuffix("\n"):
        return False
    return any(
        not above.strip() and row[:1].strip() and row.rstrip().endswith((":", "{"))
        for above, row in pairwise(hunk.new.split("\n"))
    )


def find_respelled(text: Text, old: str) -> list[Span]:
    """All occurrences of *old* that differ from it in typographic punctuation and spaces only."""
    if text.flat.isascii() and old.isascii():
        return []
    folded, wanted = spelling.plain(text.flat), spelling.plain(old)
    if not wanted.strip():
        return []
    offset = spelling.offsets(text.flat)
    spans: list[Span] = []
    for at in find_all(folded, wanted):
        start, end = offset(at), offset(at + len(wanted))
        if start is not None and end is not None:
            spans.append(_span(text, start, end))
    return spans


def find_all(haystack: str, needle: str) -> list[int]:
    """Returns the offsets of *needle* in *haystack*, ascending; at most LIMIT_PLACES."""
    result: list[int] = []
    at = haystack.find(needle)
    while at >= 0 and len(result) < LIMIT_MATCHES:
        result.append(at)
        at = haystack.find(needle, at + 1)
    return result


def _is_inside_word(flat: str, at: int) -> bool:
    return IN_WORD.match(flat[at - 1 : at + 1]) is not None if at else False


def _span(text: Text, start: int, end: int) -> Span:
    """A range of the text with LF as a span of the content."""
    if len(text.flat) == len(text.content):
        return Span(start=start, end=end)
    first, last = text.flat.count("\n", 0, start), text.flat.count("\n", 0, end)
    growth, more = (sum(map(len, text.eols[:line])) - line for line in (first, last))
    return Span(start=start + growth, end=end + more)
