"""
Find a search text that is a part of a row and differs from it in the spacing between tokens only.

A part begins and ends where tokens of the row do. Whether blanks are insignificant is decided for the whole
row, as it is and with the search text in place of the part. Text that the edit keeps has the document's
spacing; blanks that the edit changes are as the edit has them. If `a + b` is to become `a + c`, `a+b` becomes
`a+c`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from handrail.core.documents.change import Tier
from handrail.core.documents.index import BLANKS, squeeze
from handrail.core.documents.text import Text
from handrail.core.failure import Span
from handrail.core.matching import gaps, spacing
from handrail.core.matching.indent import leading_blanks
from handrail.core.matching.result import Match
from handrail.core.patches.hunk import Hunk

TOKENS = re.compile(r"\w+|[^\w\s]")
LIMIT_ROW_CHARS = 5000  # of a longer row no part is looked for
GOES_ON_BEFORE = re.compile(r"(?:[.$@#\\~-]|->|::)$")  # what stands here belongs to the word behind it
GOES_ON_BEHIND = re.compile(r"[.-]\w|::|->")


def matches(text: Text, hunk: Hunk) -> list[Match]:
    """
    The places in rows at which the hunk's old text stands but for spacing.

    There are none if the spacing means something at one of them, as in a comment: that one may be meant.
    """
    ends_row = hunk.old.endswith("\n") and hunk.new.endswith("\n")
    if ends_row:
        hunk = replace(hunk, old=hunk.old[:-1], new=hunk.new[:-1])
    old = hunk.old
    if hunk.whole_lines or "\n" in old or len(squeeze(old)) < spacing.LEAST_CHARS:
        return []
    if len(old) > spacing.LIMIT_CHARS or not (tokens := TOKENS.findall(old)):
        return []
    lines = _lines(text, old)
    if not lines or spacing.SHELL.search(text.flat):
        return []
    before = r"(?<![ \t])[ \t]*" if old[0] in BLANKS else ""
    behind = (r"[ \t]*" if old[-1] in BLANKS else "") + (r"(?=[ \t]*$)" if ends_row else "")
    pattern = re.compile(before + r"[ \t]*".join(map(re.escape, tokens)) + behind)
    found = [match for line in lines for match in _on_line(text, hunk, line, pattern)]
    return [] if None in found else [match for match in found if match is not None]


def _lines(text: Text, old: str) -> Sequence[int]:
    """The lines that have *old*, blanks apart; by a rare word of it if there is one. None of too many."""
    for word in sorted(spacing.WORD.findall(old), key=len, reverse=True)[: spacing.VOTERS]:
        lines = text.index.plain.lines_with(word, spacing.LIMIT_MATCHES)
        if lines is not None:
            return [line for line in lines if squeeze(old) in squeeze(text.rows[line])]
    return text.index.squeezed.lines_with(squeeze(old), spacing.LIMIT_MATCHES) or ()


def _on_line(text: Text, hunk: Hunk, line: int, pattern: re.Pattern[str]) -> Iterator[Match | None]:
    """
    Yields the span that *pattern* finds between tokens of a row; None for a place that does not mean the
    same.
    """
    row = text.rows[line]
    if len(row) > LIMIT_ROW_CHARS:
        yield None
        return
    borders = {found.start() for found in spacing.TOKEN.finditer(row)} | {len(row)}
    for found in pattern.finditer(row):
        start, end = found.span()
        if not {start, end} <= borders:
            continue
        part, around = found[0], (row[:start], row[end:])
        if not _is_same(text, line, hunk.old.join(around)) or _is_cut(part, around):
            yield None
            continue
        new = _space(hunk, part, around)
        at = text.starts[line]
        yield Match(
            span=Span(start=at + start, end=at + end),
            tier=Tier.NORMALISED,
            strategy="spacing",
            hunk=replace(hunk, old=part, new=new, notes=(*hunk.notes, spacing.NOTE)),
        )


def _is_same(text: Text, line: int, twin: str) -> bool:
    """Whether the row at *line* says the same as its *twin*, which differs from it in spacing."""
    row = text.rows[line]
    if leading_blanks(twin) != leading_blanks(row) or spacing.fold(twin) != spacing.fold(row):
        return False
    return not spacing.is_in_string(text, line, [twin])


def _is_cut(part: str, around: tuple[str, str]) -> bool:
    """Whether the first or the last word of *part* goes on outside of it, as names and numbers do."""
    above, below = around
    begins = part[0].isalnum() and GOES_ON_BEFORE.search(above)
    ends = part[-1].isalnum() and GOES_ON_BEHIND.match(below)
    return bool(begins or ends)


def _space(hunk: Hunk, there: str, around: tuple[str, str]) -> str:
    """The new text of *hunk* with the spacing that the document has *there* in what stays."""
    if "\n" in hunk.new or not hunk.new.strip():
        return hunk.new
    old, new, document = map(_tokens, (hunk.old, hunk.new, there))
    settled = gaps.settle_gaps(old, new, document.gaps)
    if settled is None:
        return hunk.new
    made = "".join(settled.rows)
    is_same = spacing.fold(made.join(around)) == spacing.fold(hunk.new.join(around))
    return made if is_same else hunk.new


def _tokens(part: str) -> gaps.RowsWithGaps:
    """The tokens of *part* and the blanks around them."""
    filled = TOKENS.findall(part)
    blanks = TOKENS.sub("\n", part).split("\n")
    return gaps.RowsWithGaps(filled=tuple(filled), gaps=tuple(map(tuple, blanks)))
