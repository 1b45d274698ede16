"""
Choose among several places that match a hunk equally.

The scope (`@@` headers), the end of the file, the line hint, the indentation and the order of the hunks are
the tie-breaks; each may narrow the choice down, none may widen it. A unique match needs none of them, and
overrides a wrong hint. The caller refuses a remaining tie.
"""

from __future__ import annotations

from collections.abc import Sequence

from handrail.core.documents.text import Text
from handrail.core.failure import Span
from handrail.core.matching.indent import leading_blanks, width
from handrail.core.matching.scope import scope_lines
from handrail.core.patches.hunk import Hunk
from handrail.values import dataclass

HINT_LINES = 50  # how far from its line hint a match may lie and still be preferred (roo-comparison 2b)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """
    The places of a hunk's neighbours in its patch.

    Attributes:
        after: The offset where the hunk before it ends; 0 if there is none.
        before: The offset where the hunk behind it begins, if that is known.
    """

    after: int = 0
    before: int | None = None


ANYWHERE = Bounds()
LIMIT_COMPARED = 1_000_000  # rows of all places; more are not compared with those of the hunk


def choose(text: Text, hunk: Hunk, spans: Sequence[Span], bounds: Bounds) -> list[int]:
    """Returns the numbers of the *spans* that remain after all evidence; at least one."""
    left = list(range(len(spans)))
    for evidence in (_in_scope, _at_end, _by_hint, _by_shape):
        if len(left) > 1:
            candidates = [spans[at] for at in left]
            left = [left[at] for at in evidence(text, hunk, candidates)] or left
    if len(left) > 1:
        left = [at for at in left if spans[at].start >= bounds.after] or left
    if len(left) > 1 and bounds.before is not None:
        left = [
            at for at in left if bounds.after <= spans[at].start <= spans[at].end <= bounds.before
        ] or left
    return left


def _at_end(text: Text, hunk: Hunk, spans: Sequence[Span]) -> list[int]:
    end = text.row_end(len(text.rows) - 1)
    return [at for at, span in enumerate(spans) if hunk.at_end and span.end >= end]


def _by_hint(text: Text, hunk: Hunk, spans: Sequence[Span]) -> list[int]:
    """The nearest place within reach of the line hint; none if that is a tie."""
    if hunk.line_number is None:
        return []
    wanted = hunk.line_number - 1
    ranked = sorted((abs(text.line_at(span.start) - wanted), at) for at, span in enumerate(spans))
    if ranked[0][0] > HINT_LINES or ranked[0][0] == ranked[1][0]:
        return []
    return [ranked[0][1]]


def _by_shape(text: Text, hunk: Hunk, spans: Sequence[Span]) -> list[int]:
    """The places that are indented as the hunk is, but for a shift of all lines; none of too many."""
    rows = hunk.old.split("\n")
    if len(rows) * len(spans) > LIMIT_COMPARED:
        return []
    return [at for at, span in enumerate(spans) if has_one_shift(text, rows, span)]


def has_one_shift(text: Text, rows: Sequence[str], span: Span) -> bool:
    """Whether the lines at *span* are indented like *rows*, but for one shift of all of them."""
    first = text.line_at(span.start)
    pairs = zip(rows, text.rows[first : first + len(rows)], strict=False)
    shifts = (
        width(leading_blanks(there)) - width(leading_blanks(row)) for row, there in pairs if row.strip()
    )
    first_shift = next(shifts, None)
    return first_shift is not None and all(shift == first_shift for shift in shifts)


def _in_scope(text: Text, hunk: Hunk, spans: Sequence[Span]) -> list[int]:
    """The places that the scope holds; none if it is not to be found once."""
    lines = scope_lines(text, hunk.scope)
    return [at for at, span in enumerate(spans) if text.line_at(span.start) in lines]
