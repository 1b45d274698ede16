"""
Find pending hunks that the user has staged or committed.

A hunk whose rows are in the recorded text is kept. Where only some of its rows do, the recorded rows are what
would be there without the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from handrail.core.documents.edit import opcodes
from handrail.core.review.carry import BlockIndex
from handrail.core.review.document import Reviewed, keep
from handrail.core.review.hunks import Hunk, Rows, Step


def keep_recorded(document: Reviewed, before: Sequence[str] | None, now: Sequence[str]) -> Reviewed:
    """
    The document after git's record of it has become *now*.

    Args:
        document: As it is.
        before: The rows of the record when the hunks landed, or when it was last looked at; None for none.
        now: The rows of the record now; ends of rows do not count.
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
            hunks += _rest(hunk, tuple(now[start:end]))
    return replace(keep(document, frozenset(ids)), hunks=tuple(hunks))


def _rest(hunk: Hunk, there: Rows) -> list[Hunk]:
    """Returns the rest of a hunk of which some rows are recorded; all of it if no row is."""
    blocks = opcodes(_bare(there), _bare(hunk.rows))
    same = len(hunk.rows) - sum(m - k for _, _, k, m in blocks)
    if hunk.is_typed_in or not same:
        return [hunk]
    last = hunk.steps[-1]
    result = []
    for number, (i, j, k, m) in enumerate(blocks):
        rows = hunk.rows[k:m]
        step = Step(turn=last.turn, call=last.call, before=there[i:j], after=rows)
        name = hunk.id if not number else f"{hunk.id}.{number}"
        result.append(Hunk(id=name, start=hunk.start + k, rows=rows, steps=(step,)))
    return result


def _bare(rows: Sequence[str]) -> tuple[str, ...]:
    return tuple(row.rstrip("\r\n") for row in rows)
