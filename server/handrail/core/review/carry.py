"""
Update pending hunks when their document changes, by the agent or by anyone else.

The blocks of a change say which rows of the text before it are which rows of the text after it
(`documents/edit.opcodes`); they ascend.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from handrail.core.documents.edit import Block
from handrail.core.documents.index import squeeze
from handrail.core.review.hunks import Hunk, Rows, Step, is_all_new
from handrail.values import dataclass, field, replace


def carry_typing(hunks: Sequence[Hunk], blocks: Sequence[Block], now: Sequence[str]) -> tuple[Hunk, ...]:
    """
    Carries *hunks* over a change that is the user's, an editor's, or another program's.

    Text outside hunks is the user's. Text that is typed in a hunk becomes part of it, unless nothing of the
    agent's is left there. A block across a border counts as two: what it removes in the hunk is removed
    there, and all its new rows are outside. Rows put between a hunk and its neighbours are outside.

    Args:
        blocks: From the rows before to those of *now*.
    """
    result, near = [], BlockIndex.of(blocks)
    for hunk in hunks:
        start, end = near.rows_after(hunk.start, hunk.end, is_wide=True)
        there = replace(hunk, start=start, rows=tuple(now[start:end]))
        if there.rows != hunk.rows and (earlier := there.previous_state) is not None:
            result += [earlier] if earlier.steps else []  # an editor's undo, or a restore
            continue
        if not hunk.rows and (returned := _bring_back(hunk, near.blocks_at(hunk.start, hunk.end), now)):
            result += [returned] if returned.steps else []
            continue
        carried = _carry_one(hunk, near.blocks_with_shift(hunk.start, hunk.end), now)
        if carried is None:
            continue
        if carried.rows == hunk.rows or not carried.is_rewritten:
            result.append(carried)
    return tuple(result)


def _bring_back(hunk: Hunk, blocks: Sequence[Block], now: Sequence[str]) -> Hunk | None:
    """
    A hunk without rows, once the rows that it had removed are at its place again, next to other new rows.

    Args:
        blocks: Those that touch its place.
    """
    for i, j, k, m in blocks:
        for at, step in enumerate(hunk.steps):
            size = len(step.before)
            starts = [m - size] * (j == hunk.start) + [k] * (i == hunk.start)
            for start in starts if 0 < size <= m - k else ():
                if tuple(now[start : start + size]) == step.before:
                    return replace(hunk, start=start, rows=step.before, steps=hunk.steps[:at])
    return None


def _carry_one(hunk: Hunk, blocks: Sequence[Block], now: Sequence[str]) -> Hunk | None:
    """A hunk after a change; None if the user has removed or rewritten all of it."""
    start, rows, taken = hunk.start, list(hunk.rows), 0
    for i, j, k, m in blocks:
        if i >= hunk.end and (i, j) != (hunk.start, hunk.start):
            break
        if j <= hunk.start:
            start += (m - k) - (j - i)
            continue
        first, last = max(i, hunk.start), min(j, hunk.end)
        if (first, last) == (hunk.start, hunk.end):
            return _replace_all(hunk, start, now[k:m]) if (i, j) == (first, last) else None
        at = first - hunk.start - taken
        is_inside = hunk.start <= i and j <= hunk.end
        new = now[k:m] if is_inside else ()
        rows[at : at + last - first] = new
        taken += (last - first) - len(new)
        if i < hunk.start:
            start += (m - k) - (hunk.start - i)
    return replace(hunk, start=start, rows=tuple(rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockIndex:
    """
    The blocks of a change, of which those near some rows are found quickly.

    Attributes:
        starts, ends: The first row of each, and the row after its last one, before the change.
        growths: By how many rows all blocks before each, and before the end, have made the text longer.
    """

    blocks: Sequence[Block]
    starts: Sequence[int]
    ends: Sequence[int]
    growths: Sequence[int]

    @staticmethod
    def of(blocks: Sequence[Block]) -> BlockIndex:
        """Makes it; blocks ascend."""
        growths = accumulate(((m - k) - (j - i) for i, j, k, m in blocks), initial=0)
        return BlockIndex(
            blocks=blocks,
            starts=[block[0] for block in blocks],
            ends=[block[1] for block in blocks],
            growths=list(growths),
        )

    def blocks_at(self, start: int, end: int) -> Sequence[Block]:
        """The blocks that may touch rows."""
        return self.blocks[bisect_left(self.ends, start) : bisect_right(self.starts, end)]

    def blocks_with_shift(self, start: int, end: int) -> list[Block]:
        """The blocks that may touch rows, after one that stands for all before them."""
        growth = self.growths[bisect_left(self.ends, start)]
        return [*([(0, 0, 0, growth)] if growth else []), *self.blocks_at(start, end)]

    def rows_after(self, start: int, end: int, *, is_wide: bool = False) -> tuple[int, int]:
        """Returns the rows' position after the change; *is_wide* with the new rows at their borders."""
        growth = self.growths[bisect_left(self.ends, start)]
        return _rows_after(start, end, self.blocks_at(start, end), growth, is_wide=is_wide)


def _rows_after(
    start: int, end: int, blocks: Sequence[Block], growth: int, *, is_wide: bool
) -> tuple[int, int]:
    """Returns the rows' position after a change; *is_wide* with the new rows at their borders."""
    first, last = None, None
    for i, j, k, m in blocks:
        is_before = j < start or (j == start and (i < j or not is_wide) and not i == j == start == end)
        is_after = i > end or (i == end and (i < j or not is_wide) and not i == j == start == end)
        if is_after:
            break
        if is_before:
            growth += (m - k) - (j - i)
            continue
        first = min(start + growth, k) if first is None else first
        growth += (m - k) - (j - i)
        last = max(end + growth, m)
    if first is None or last is None:
        return start + growth, end + growth
    return first, max(last, end + growth)


def _replace_all(hunk: Hunk, start: int, new: Sequence[str]) -> Hunk | None:
    """A hunk of which all rows were replaced: if only blanks differ, a formatter has done it."""
    if list(map(squeeze, new)) != list(map(squeeze, hunk.rows)):
        typed_in = replace(hunk, start=start, rows=tuple(new))
        return None if not new or is_all_new(hunk.rows, new) else typed_in
    *steps, last = hunk.steps
    if last.after == hunk.rows:
        last = replace(last, after=tuple(new))
    return replace(hunk, start=start, rows=tuple(new), steps=(*steps, last))


@dataclass(kw_only=True)
class _Group:
    """Blocks of the agent's, and the hunks that they reach into."""

    start: int
    end: int
    blocks: list[Block] = field(default_factory=list)
    hunks: list[Hunk] = field(default_factory=list)


def add_agent_change(  # noqa: PLR0913, PLR0917  # a change, and whose it is
    hunks: Sequence[Hunk],
    blocks: Sequence[Block],
    before: Sequence[str],
    now: Sequence[str],
    whose: tuple[str, str],
    new_id: Callable[[], str],
) -> tuple[Hunk, ...]:
    """
    Adds what the agent has changed: each block is a hunk of its own, or makes those grow that it reaches
    into.

    Args:
        before: The rows before the change.
        now: The rows after it.
        whose: The turn and the call.
    """
    result, growth = list[Hunk](), 0
    for group in _groups(hunks, blocks):
        more = sum((m - k) - (j - i) for i, j, k, m in group.blocks)
        start, end = group.start + growth, group.end + growth + more
        rows = tuple(now[start:end])
        if group.blocks:
            turn, call = whose
            old = tuple(before[group.start : group.end])
            chain = _chain(group, old)
            steps = (*chain, Step(turn=turn, call=call, before=old, after=rows))
            name = group.hunks[0].id if group.hunks else new_id()
            if rows != steps[0].before:  # else it is as if nothing had happened
                result.append(Hunk(id=name, start=start, rows=rows, steps=steps))
        else:
            result += (hunk.shift(growth) for hunk in group.hunks)
        growth += more
    return tuple(result)


def _groups(hunks: Sequence[Hunk], blocks: Sequence[Block]) -> list[_Group]:
    """Blocks and hunks, ascending; together where they share rows, or lie at one place."""
    parts: list[tuple[int, int, int, Hunk | Block]] = [(each.start, 0, each.end, each) for each in hunks]
    parts += [(block[0], 1, block[1], block) for block in blocks]
    groups: list[_Group] = []
    for start, _, end, part in sorted(parts, key=lambda each: each[:3]):
        if not groups or not _meets(groups[-1], start, end, part):
            groups.append(_Group(start=start, end=end))
        group = groups[-1]
        group.end = max(group.end, end)
        if isinstance(part, Hunk):
            group.hunks.append(part)
        else:
            group.blocks.append(part)
    return groups


def _meets(group: _Group, start: int, end: int, part: Hunk | Block) -> bool:
    if start < group.end:
        return True
    # What lies between two rows is one with what the agent does there; two hunks that touch stay two.
    is_point = start == end or group.start == group.end
    return start == group.end and is_point and (bool(group.blocks) or not isinstance(part, Hunk))


def _chain(group: _Group, rows: Rows) -> tuple[Step, ...]:
    """The steps of all hunks of a group, in the whole of its rows: of one after the other, from above."""
    steps = list[Step]()
    for number, hunk in enumerate(group.hunks):
        above = rows[: hunk.start - group.start]
        below, done = list[str](), hunk.end - group.start
        for later in group.hunks[number + 1 :]:
            below += (*rows[done : later.start - group.start], *later.before)
            done = later.end - group.start
        steps += hunk.widen_steps(above, (*below, *rows[done:]))
    return tuple(steps)
