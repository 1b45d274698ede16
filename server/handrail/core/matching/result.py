"""The place of a hunk: the value that all strategies return."""

from __future__ import annotations

from handrail.core.documents.change import Tier
from handrail.core.documents.text import Text
from handrail.core.failure import Span
from handrail.core.matching.align import Lines
from handrail.core.patches.hunk import Hunk
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """
    The place in a document to which a hunk belongs.

    Attributes:
        span: Of the document; for whole rows without the last terminator.
        tier: How exactly it matched.
        strategy: The differences that were ignored: exact (none), trailing-space, indentation, unicode,
            blank-lines, normal-form, escapes, entities, spacing, row-numbers, anchored.
        hunk: The hunk to apply: the one that was looked for, corrected.
        lines: For whole rows the line (from 0) of each old row, None for one that the document lacks;
            empty for a string.
        has_gaps: Whether `lines` are only those of rows that are not blank; the gaps between them are settled
            later.
    """

    span: Span
    tier: Tier
    strategy: str
    hunk: Hunk
    lines: Lines = ()
    has_gaps: bool = False


def line_span(text: Text, first: int, end: int) -> Span:
    """The rows from line *first* to before *end* (both from 0), without the last terminator."""
    return Span(start=text.starts[first], end=text.row_end(end - 1))
