"""
Find pending hunks that the user has staged or committed.

A hunk whose rows are in the recorded text is kept. If only some of them are, they are kept if the rest of the
place still reads as before the hunk. If the record has other rows there, the hunk is not staged in part: that
text comes from another commit, and happens to share a row with the hunk, such as `}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from handrail.core.documents.edit import opcodes
from handrail.core.review.carry import BlockIndex
from handrail.core.review.document import Reviewed, keep
from handrail.core.review.hunks import Hunk, Rows, Step


def keep_recorded(
    document: Reviewed, before: Sequence[str] | None, now: Sequence[str], *, by_rows: bool = True
) -> Reviewed:
    """
    The document after git's record of it has become *now*.

    Args:
        document: As it is.
        before: The rows of the record when the hunks landed, or when it was last looked at; None for none.
        now: The rows of the record now; ends of rows do not count.
        by_rows: Whether the user may have staged single rows; otherwise, a block of new rows is recorded as
            a whole or not at all.
    """
    rows = _bare(document.rows)
    if rows == _bare(now):  # also what was never on record, such as rows of the user's that have gone
        return keep(document, document.ids())
    near = BlockIndex.of(opcodes(rows, _bare(now)))
    earlier = BlockIndex.of(opcodes(rows, _bare(before))) if before is not None else None
    hunks, ids = list[Hunk](), set[str]()
    for hunk in document.hunks:
        start, end = near.rows_after(hunk.start, hunk.end, is_wide=True)
        there = _bare(now)[start:end]
        was = None
        if earlier is not None and before is not None:
            first, last = earlier.rows_after(hunk.start, hunk.end, is_wide=True)
            was = _bare(before)[first:last]
        if there == was or there == _bare(hunk.before):
            hunks.append(hunk)  # the record has not changed here
        elif there == _bare(hunk.rows):
            ids.add(hunk.id)
        else:
            hunks += _rest(hunk, tuple(now[start:end]), by_rows=by_rows)
    return replace(keep(document, frozenset(ids)), hunks=tuple(hunks))


def _rest(hunk: Hunk, there: Rows, *, by_rows: bool) -> list[Hunk]:
    """Returns the rest of a hunk of which some rows are recorded; all of it if it is not recorded in part."""
    left = None if hunk.is_typed_in else _hunk_rows(hunk, _bare(there), by_rows=by_rows)
    if left is None:
        return [hunk]
    last = hunk.steps[-1]
    result = []
    for number, (i, j, k, m) in enumerate(opcodes(_bare(left), _bare(hunk.rows))):
        rows = hunk.rows[k:m]
        step = Step(turn=last.turn, call=last.call, before=left[i:j], after=rows)
        name = hunk.id if not number else f"{hunk.id}.{number}"
        result.append(Hunk(id=name, start=hunk.start + k, rows=rows, steps=(step,)))
    return result


def _hunk_rows(hunk: Hunk, there: Rows, *, by_rows: bool) -> Rows | None:
    """
    Returns the recorded rows of a hunk's place, each as the hunk has it; None if they are not its rows before
    with some of its changes.
    """
    old, new = _bare(hunk.before), _bare(hunk.rows)
    near, left, done = BlockIndex.of(opcodes(old, there)), list[str](), 0
    for i, j, k, m in opcodes(old, new):
        start, end = near.rows_after(i, j, is_wide=True)
        part = _block_rows(hunk.before[i:j], hunk.rows[k:m], there[start:end], by_rows=by_rows)
        if part is None:
            return None
        left += (*hunk.before[done:i], *part)
        done = j
    left += hunk.before[done:]
    return tuple(left) if _bare(left) == there else None


def _block_rows(before: Rows, rows: Rows, there: Rows, *, by_rows: bool) -> Rows | None:
    """Returns the recorded rows where *rows* replace those *before*; None if they are not of these two."""
    old, new = _bare(before), _bare(rows)
    if there in (old, new):
        return before if there == old else rows
    if len(old) == len(new) == len(there):
        pairs = list(zip(before, rows, strict=True))
        if all(row in _bare(pair) for row, pair in zip(there, pairs, strict=True)):
            return tuple(pair[_bare(pair).index(row)] for row, pair in zip(there, pairs, strict=True))
    return _mixed_rows(before, rows, there) if by_rows else None


def _mixed_rows(before: Rows, rows: Rows, there: Rows) -> Rows | None:
    """
    Returns the recorded rows if some of *rows* were staged, with or without the rows that they replace.

    Returns None if it is more likely another text: if it has other rows, lacks more of the rows *before* than
    it has new ones, or has no new row with a letter or digit.
    """
    result, taken, done = list[str](), list[str](), 0
    unused, count = iter(before), 0
    for i, j, k, m in [*opcodes(there, _bare(rows)), (len(there), len(there), len(rows), len(rows))]:
        taken += rows[done:k]
        result += rows[done:k]
        found = [next((each for each in unused if _bare([each]) == (row,)), None) for row in there[i:j]]
        for row in found:
            if row is None:
                return None
            result.append(row)
        count, done = count + len(found), m
    has_words = any(each.isalnum() for row in taken for each in row)
    return tuple(result) if has_words and len(before) - count <= len(taken) else None


def _bare(rows: Sequence[str]) -> tuple[str, ...]:
    return tuple(row.rstrip("\r\n") for row in rows)
