"""
Decide the number of blank lines in each gap, if search text and document differ in them.

Blank lines belong to the gaps between rows that are not blank. In a gap that the hunk does not change the
document decides, in one that it changes the new text. So if the document has `a`, blank, `b` for the old rows
`a`, `b`, the blank stays if the new rows are `a`, `c`, and is removed only if the hunk removes a blank there.
Of the gaps above and below a row that is removed, one is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from handrail.core.documents.edit import Block, opcodes
from handrail.values import dataclass

Gap = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsWithGaps:
    """
    Rows that are not blank, and the blank ones around them.

    Attributes:
        filled: The rows that are not blank.
        gaps: The blank rows above each of them, and those below the last.
    """

    filled: tuple[str, ...]
    gaps: tuple[Gap, ...]

    @staticmethod
    def of(rows: Sequence[str]) -> RowsWithGaps:
        """*rows*, told apart."""
        filled: list[str] = []
        gaps: list[list[str]] = [[]]
        for row in rows:
            if row.strip():
                filled.append(row)
                gaps.append([])
            else:
                gaps[-1].append(row)
        return RowsWithGaps(filled=tuple(filled), gaps=tuple(map(tuple, gaps)))

    @property
    def rows(self) -> list[str]:
        """All rows, in order."""
        rows = list(self.gaps[0])
        for row, gap in zip(self.filled, self.gaps[1:], strict=True):
            rows += (row, *gap)
        return rows


def settle_gaps(
    old: RowsWithGaps, new: RowsWithGaps, document: Sequence[Gap], beyond: tuple[int, int] = (0, 0)
) -> RowsWithGaps | None:
    """
    The new rows of a hunk with the blank lines that belong between them.

    Args:
        old, new: The rows of the hunk.
        document: The blank lines of the document in each gap of the old rows.
        beyond: How many more there are above the first of these gaps, and below the last.

    Returns:
        None if it is unclear on which side of a blank line new rows belong.
    """
    gaps: dict[int, Gap] = {}
    line = at = 0
    blocks = opcodes(old.filled, new.filled)
    for i, j, k, m in [*blocks, (len(old.filled) + 1,) * 2 + (len(new.filled) + 1,) * 2]:
        for number in range(at, k):  # the gaps above rows that stay, and the last one
            here = line + number - at
            gaps.setdefault(number, _decide(old.gaps[here], new.gaps[number], document[here]))
        if i > len(old.filled):
            break
        found = _around(old, new, document, (i, j, k, m), beyond)
        if found is None:
            return None
        gaps |= found
        line, at = j, m
    return RowsWithGaps(filled=new.filled, gaps=tuple(gaps[number] for number in range(len(new.gaps))))


def _decide(old: Gap, new: Gap, document: Gap) -> Gap:
    """A gap of the new rows: the document's, unless the hunk changes it."""
    return document if len(old) == len(new) else _as_new(new, document)


def _as_new(new: Gap, document: Gap) -> Gap:
    """As many blank lines as the new rows have, the document's own first."""
    return (*document[: len(new)], *new[len(document) :])


def _around(
    old: RowsWithGaps, new: RowsWithGaps, document: Sequence[Gap], block: Block, beyond: tuple[int, int]
) -> dict[int, Gap] | None:
    """The gaps around and between rows that change, by their number in the new rows."""
    i, j, k, m = block
    if k == m:
        return {k: _closed_gap(old, new, document, block, beyond)}
    if i == j:
        return _side_gaps(old.gaps[i], new, document[i], (k, m))
    gaps = {number: new.gaps[number] for number in range(k + 1, m)}
    if j - i == m - k:
        gaps = {n: _decide(old.gaps[i + n - k], new.gaps[n], document[i + n - k]) for n in gaps}
    gaps[k] = _decide(old.gaps[i], new.gaps[k], document[i])
    gaps[m] = _decide(old.gaps[j], new.gaps[m], document[j])
    return gaps


def _closed_gap(
    old: RowsWithGaps, new: RowsWithGaps, document: Sequence[Gap], block: Block, beyond: tuple[int, int]
) -> Gap:
    """
    The gap that is left where rows are removed, between which there were two: the longer one.

    Blank rows *beyond* the rows of the hunk are part of the first or the last gap.
    """
    i, j, k, _ = block
    ours, theirs = (*old.gaps[i], *old.gaps[j]), (*document[i], *document[j])
    is_alike = len(old.gaps[i]) == len(document[i]) and len(old.gaps[j]) == len(document[j])
    if is_alike or len(new.gaps[k]) != len(ours):
        return _as_new(new.gaps[k], theirs)
    above, below = beyond[0] if i == 0 else 0, beyond[1] if j == len(old.filled) else 0
    longer = max(len(document[i]) + above, len(document[j]) + below)
    there = sorted((document[i], document[j]), key=len, reverse=True)
    return tuple(chain(*there))[: max(0, longer - above - below)]


def _side_gaps(old: Gap, new: RowsWithGaps, document: Gap, rows: tuple[int, int]) -> dict[int, Gap] | None:
    """The gaps on both sides of rows that are put in where there was one, and those between them."""
    first, last = rows
    gaps = {number: new.gaps[number] for number in range(first, last + 1)}
    above, below = gaps[first], gaps[last]
    if len(old) == len(document) or (not old and (above or below)):
        return gaps
    if not old:
        return None
    gaps[first] = document if len(above) == len(old) else above
    gaps[last] = document if len(below) == len(old) else below
    return gaps
