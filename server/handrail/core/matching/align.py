"""
Pair the rows of a hunk's old text with lines of the document, if not every row matches.

A pairing gives for each old row the matching line, or none. This module also decides whether an edit may be
based on it: removed rows, and rows next to an insertion, must have a matching line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from handrail.core.documents.edit import Block, opcodes
from handrail.core.patches.hunk import Hunk, rows_of

Lines = Sequence[int | None]  # for each row of a hunk the line of the document that is the same row

LIMIT_ROWS = 400  # a block of more rows is compared as a whole or not at all


def filled_rows(rows: Sequence[str]) -> list[int]:
    """The numbers of the rows that are not blank."""
    return [at for at, row in enumerate(rows) if row.strip()]


def changes(hunk: Hunk) -> list[Block]:
    """The blocks of old rows that become new ones; rows that the patch marks as kept are in none of them."""
    old, new = rows_of(hunk)
    if hunk.blocks is None or any(j > len(old) or m > len(new) for _, j, _, m in hunk.blocks):
        return opcodes(old, new)
    blocks: list[Block] = []
    for i, j, k, m in hunk.blocks:
        blocks += [(a + i, b + i, c + k, d + k) for a, b, c, d in opcodes(old[i:j], new[k:m])]
    return blocks


def around_blanks(old: Sequence[str], lines: Sequence[int], blank: Sequence[bool]) -> Lines:
    """
    The pairing of *old* when its rows that are not blank stand on *lines*.

    Blank rows are paired with blank lines in the same gap, first with first; those too many have no line.

    Args:
        old: The rows of the hunk.
        lines: For each row that is not blank its line.
        blank: For each line of the document whether it is blank.
    """
    paired: list[int | None] = [None] * len(old)
    known = filled_rows(old)
    for at, line in zip(known, lines, strict=True):
        paired[at] = line
    for at in range(known[0] - 1, -1, -1):
        line = lines[0] - (known[0] - at)
        paired[at] = line if line >= 0 and all(blank[line : lines[0]]) else None
    for at, line in zip(known, lines, strict=True):
        for behind in range(at + 1, len(old)):
            if old[behind].strip():
                break
            there = line + (behind - at)
            paired[behind] = there if there < len(blank) and all(blank[line + 1 : there + 1]) else None
    return tuple(paired)


def by_likeness(old: Sequence[str], there: Sequence[str], first: int) -> Lines:
    """
    The pairing of *old* with equal rows among *there*, which begin at line *first*; both plain.

    Cost: difflib's, so both are short.
    """
    paired: list[int | None] = [None] * len(old)
    for a, b, size in SequenceMatcher(None, old, there, autojunk=False).get_matching_blocks():
        for at in range(size):
            paired[a + at] = first + b + at
    return tuple(paired)


def gap(paired: Lines, block: Block) -> tuple[int, int] | None:
    """
    The lines in whose place a block of changed rows is to be written, from first to before the last.

    Args:
        paired: Of the old rows.
        block: Old rows i to j become new rows k to m.

    Returns:
        None if the place is not certain: an insertion between lines that do not follow each other.
    """
    i, j, _, _ = block
    there = [line for line in paired[i:j] if line is not None]
    if there:
        return there[0], there[-1] + 1
    above = next((line for line in reversed(paired[:i]) if line is not None), None)
    below = next((line for line in paired[j:] if line is not None), None)
    if above is None and below is None:
        return None
    if above is not None and below is not None and above + 1 != below:
        return None
    line = above + 1 if above is not None else below
    return (line, line) if line is not None else None


def is_licensed(hunk: Hunk, paired: Lines) -> bool:
    """Whether all that is removed, and both sides of all that is put in, have their lines, without gaps."""
    old = rows_of(hunk)[0]
    return all(_is_block_licensed(old, paired, block) for block in changes(hunk))


def _is_block_licensed(old: Sequence[str], paired: Lines, block: Block) -> bool:
    i, j, _, _ = block
    if i < j:
        there = [paired[at] for at in range(i, j)]
        return None not in there and _follow(there)
    sides = [
        *reversed(list(_until_filled(old, range(i - 1, -1, -1)))),
        *_until_filled(old, range(i, len(old))),
    ]
    bounding = [paired[at] for at in sides]
    return None not in bounding and _follow(bounding)


def _follow(lines: Sequence[int | None]) -> bool:
    return all(a is not None and b == a + 1 for a, b in pairwise(lines))


def _until_filled(old: Sequence[str], rows: range) -> Iterator[int]:
    """The *rows* up to the first one that is not blank."""
    for at in rows:
        yield at
        if old[at].strip():
            return
