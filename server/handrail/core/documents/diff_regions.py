r"""
Find where two sequences of rows differ, whatever way the diff is drawn.

A row inserted among equal rows may be any of them, and of two rows that changed places either may have moved.
A region covers all rows that some minimal diff changes; the rows between two regions are the same on both
sides in every minimal diff. `edit.opcodes` returns one diff, which is enough to show or to send it.

Theory of operation. A row is certain to be the same on both sides only if every minimal diff leaves it
unchanged. Minimal diffs are paths through a grid of the two sequences (as in Myers' algorithm); the rows on
all of them are the runs that stay. The rows between two runs are one region.

Add a `}` after another one. One minimal diff inserts the last row, another one the row before it:

    >>> before, after = ["{", "x", "}"], ["{", "x", "}", "}"]
    >>> from handrail.core.documents.edit import opcodes
    >>> opcodes(before, after)  # one way
    [(3, 3, 3, 4)]
    >>> extents(before, after)  # all ways: either row may be the new one
    [(2, 3, 2, 4)]
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate, pairwise

from handrail.core.documents.edit import Block

LIMIT_STEPS = 400_000  # beyond this, which takes a fifth of a second, differences are told more coarsely
ROUNDS = 2  # of cutting; what is left then is one difference

Rows = Sequence[Hashable]
Run = tuple[int, int, int]  # rows of the one, from and to, that are rows of the other, from
Reach = list[dict[int, int]]  # for each number of changes: how far each diagonal can be followed


def extents(before: Rows, after: Rows, rounds: int = ROUNDS) -> list[Block]:
    """
    All rows that may differ: rows i to j of *before* are rows k to m of *after*, ascending, never adjacent.

    Args:
        before, after: The rows.
        rounds: How often they may be cut where comparing them takes too long: at rows that occur once on
            either side and have not changed places with another such row.

    Cost: rows x changes; bounded by `LIMIT_STEPS` for each part.
    """
    if before == after:
        return []
    runs = _sure(before, after)
    if runs is None and rounds:
        anchors = _anchors(before, after)
        if anchors:
            return list(_in_parts(before, after, anchors, rounds - 1))
    return list(_others(runs or [], len(before), len(after)))


def distance(before: Rows, after: Rows) -> int | None:
    """
    Returns the number of rows that the smallest difference deletes and inserts; None if finding it takes too
    long.
    """
    reached = _reach(before, after)
    return None if reached is None else len(reached) - 1


def _others(runs: Sequence[Run], before: int, after: int) -> Iterator[Block]:
    """Yields the regions between the runs."""
    ends = [(0, 0), *((j, k + j - i) for i, j, k in runs)]
    begins = [*((i, k) for i, _, k in runs), (before, after)]
    for (i, k), (j, m) in zip(ends, begins, strict=True):
        if i < j or k < m:
            yield i, j, k, m


def _in_parts(before: Rows, after: Rows, anchors: Sequence[tuple[int, int]], rounds: int) -> Iterator[Block]:
    ends = [(-1, -1), *anchors, (len(before), len(after))]
    for (above, left), (below, right) in pairwise(ends):
        first, other = above + 1, left + 1
        for i, j, k, m in extents(before[first:below], after[other:right], rounds):
            yield i + first, j + first, k + other, m + other


def _anchors(before: Rows, after: Rows) -> list[tuple[int, int]]:
    """Places of rows that occur once on either side, and have the same such rows before and behind them."""
    indexes, others = _single(before), _single(after)
    pairs = [(at, others[row]) for row, at in indexes.items() if row in others]
    if not pairs:
        return []
    highest = accumulate((other for _, other in pairs), max)
    lowest = list(accumulate((other for _, other in reversed(pairs)), min))[::-1]
    return [pair for pair, high, low in zip(pairs, highest, lowest, strict=True) if high == low == pair[1]]


def _single(rows: Rows) -> dict[Hashable, int]:
    """Returns the positions of rows that occur once, ascending."""
    last = {row: at for at, row in enumerate(rows)}
    first: dict[Hashable, int] = {}
    for at, row in enumerate(rows):
        first.setdefault(row, at)
    return {row: at for row, at in first.items() if last[row] == at}


# ---- All smallest ways at once ----------------------------------------------------------------------


def _sure(before: Rows, after: Rows) -> list[Run] | None:
    """
    The rows that are the same in every smallest way, as runs; None if finding them takes too long.

    A way is a path from the top left to the bottom right: a step right deletes a row, one down inserts one,
    a diagonal one keeps one. A place is on a smallest path if the changes that lead to it, and those that
    lead on from it, are as many as the smallest path has.
    Origin: Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), run from both ends.
    """
    reached = _reach(before, after)
    back = _reach(before[::-1], after[::-1]) if reached is not None else None
    if reached is None or back is None:
        return None
    changes, width = len(reached) - 1, len(before) - len(after)
    stretches: list[tuple[int, int, int]] = []  # of a diagonal, counted in steps of half a row: from, to
    for made, diagonals in enumerate(reached):
        left = back[changes - made]
        for diagonal, end in diagonals.items():
            start = len(before) - left.get(width - diagonal, -1)
            if start <= end:
                stretches.append((2 * start - diagonal, 2 * end - diagonal, diagonal))
    return list(_lone_runs(stretches))


def _reach(before: Rows, after: Rows) -> Reach | None:
    """
    Yields how far one gets down each diagonal without a change, with one, and so on, until the end of both.
    """
    height, width = len(before), len(after)
    reach: Reach = []
    last: dict[int, int] = {}
    steps = 0
    while last.get(height - width) != height:
        made, now = len(reach), dict[int, int]()
        for diagonal in range(-min(made, 2 * width - made), min(made, 2 * height - made) + 1, 2):
            x = max(last.get(diagonal - 1, -2) + 1, last.get(diagonal + 1, -1)) if made else 0
            start = x = min(x, height, width + diagonal)
            while x < height and x - diagonal < width and before[x] == after[x - diagonal]:
                x += 1
            now[diagonal] = x
            steps += x - start + 1
        if steps > LIMIT_STEPS:
            return None
        reach.append(now)
        last = now
    return reach


def _lone_runs(stretches: Sequence[tuple[int, int, int]]) -> Iterator[Run]:
    """Yields the runs that only one diagonal covers."""
    changes: dict[int, tuple[int, int]] = {}
    for number, (start, end, _) in enumerate(stretches):
        for at, by in ((start, 1), (end + 1, -1)):
            count, which = changes.get(at, (0, 0))
            changes[at] = (count + by, which + by * number)
    count = which = 0
    for at, end in pairwise(sorted(changes)):
        count, which = count + changes[at][0], which + changes[at][1]
        if count != 1:
            continue
        first, last, diagonal = stretches[which]
        i = (max(at, first + 1) + diagonal) // 2
        j = (min(end - 1, last - 1) + diagonal - 1) // 2 + 1
        if i < j:
            yield i, j, i - diagonal
