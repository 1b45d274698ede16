r"""
Undo what was done to a text, and only that, in what the text has become since.

Changes that others made stay, before, between and after. If they may reach into the same lines, in any way in
which a diff can be drawn (see `diff_regions`), there is no revert, unless they are part of the revert itself:
when several lines are equal, it is unclear who wrote which. The caller chooses the texts, and decides what
happens to a document that has no revert.

Theory of operation. There are three texts: `base`, with which the turn began; `left`, as the turn left it;
and `now`. The rows that differ between `left` and `base` are the turn's changes; the rows that differ
between `left` and `now` are changes that others made since. Each diff is considered in every way in which it
can be drawn. Where the two do not meet, the rows of `base` are restored; where they meet, there is no
revert. Several stretches are undone one by one, the last one first.

    >>> base, left = Text("a\nb\nc\n"), Text("a\nB\nc\n")
    >>> now = Text("a\nB\nc\nmine\n")  # the user has added a line since: it stays
    >>> edit.apply(now.content, revert(now, [(base, left)]) or ())
    'a\nb\nc\nmine\n'
    >>> revert(Text("a\nB!\nc\n"), [(base, left)]) is None  # the user has changed the same line
    True
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from handrail.core.documents import edit
from handrail.core.documents.change import PlannedHunk, Tier
from handrail.core.documents.diff_regions import distance, extents
from handrail.core.documents.edit import Block, TextEdit
from handrail.core.documents.readback import with_blanks_of
from handrail.core.documents.text import Text, split_lines
from handrail.values import dataclass

LIMIT_APART_ROWS = 100_000  # rows times hunks that are taken back each for itself; more are one
Lines = tuple[int, int]  # the first and the last one, counted from 0
Rows = Sequence[str]


@dataclass(frozen=True, slots=True)
class Undo:
    """
    Some rows of a text that become others.

    Attributes:
        start, end: The rows that go; those of the text as it is now.
        rows: What is there instead; None if no one can tell, as others have changed the same.
        is_vague: Whether something comes back and it is not certain between which of the rows.
    """

    start: int
    end: int
    rows: Rows | None
    is_vague: bool = False

    def touches(self, start: int, end: int) -> bool:
        """Whether it has any of some rows; where something comes back the rows around it count."""
        if start == end or self.start == self.end or self.is_vague:
            return self.start <= end and start <= self.end
        return self.start < end and start < self.end


def revert(
    now: Text, stretches: Sequence[tuple[Text, Text]], lines: Lines | None = None
) -> tuple[TextEdit, ...] | None:
    """
    Finds the edits of *now* that undo what was done.

    Args:
        now: The current text.
        stretches: What each began with and what it left, in the order in which they were done; changes
            between two of them are those of others.
        lines: Those of *now* that matter: only what touches them is undone, where something is gone the
            lines around it. None for all of it.

    Returns:
        The edits, ascending; None if others have changed the same lines, or may have.
    """
    rows = split_lines(now.content)
    first, last = (0, len(rows)) if lines is None else (lines[0], lines[1] + 1)
    start, end = min(first, len(rows)), min(last, len(rows))
    for base, left in reversed(stretches):
        undos = _undos(split_lines(base.content), split_lines(left.content), rows)
        if lines is not None:
            undos = [each for each in undos if each.touches(start, end)]
        for each in reversed(undos):
            if each.rows is None:
                return None
            rows[each.start : each.end] = each.rows
            growth = len(each.rows) - (each.end - each.start)
            start, end = min(start, each.start), max(end, each.end) + growth
    content = "".join(rows)
    if split_lines(content) != rows:  # one that had no end, or half of one, is no longer the last
        return None
    return edit.edits_between(now.content, content)


def revert_hunks(now: Text, base: Text, hunks: Sequence[Sequence[TextEdit]]) -> tuple[PlannedHunk, ...]:
    """
    Finds what takes *hunks*, edits of *base*, back in *now*: each whole or not at all.

    Returns:
        The reverts, numbered by the hunks from 1; one without a number reverts all of them. Hunks that others
        have changed since, or that are not in the text, are missing.
    """
    edits = _sort_edits(each for hunk in hunks for each in hunk)
    made = Text(with_blanks_of(base, edits, now.content))
    if len(base.rows) * len(hunks) <= LIMIT_APART_ROWS:
        apart = []
        for number, hunk in enumerate(hunks, 1):
            others = _sort_edits(each for other in hunks if other is not hunk for each in other)
            without = with_blanks_of(base, others, now.content)
            back = revert(now, [(Text(without), made)])
            apart += [PlannedHunk(number=number, tier=Tier.SAFE, edits=back)] if back else []
        spans = sorted((each.span for hunk in apart for each in hunk.edits), key=lambda span: span.start)
        if all(one.end < other.start for one, other in pairwise(spans)):
            return tuple(apart)
    whole = revert(now, [(base, made)])
    return (PlannedHunk(number=None, tier=Tier.SAFE, edits=whole),) if whole else ()


def _sort_edits(edits: Iterable[TextEdit]) -> list[TextEdit]:
    return sorted(edits, key=lambda each: (each.span.start, each.span.end))


def _undos(base: Rows, left: Rows, now: Rows) -> list[Undo]:
    """Returns the edits of *now* that turn *left* back into *base*."""
    undos: list[Undo] = []
    back: list[Block] = []  # what is undone already, amid other changes
    to_base = to_now = 0  # how many rows further down the same row is
    all_others = extents(left, now)
    for ours, others in _group_blocks(extents(left, base), all_others):
        start, end = min(i for i, *_ in (*ours, *others)), max(j for _, j, *_ in (*ours, *others))
        before, is_now = start + to_base, start + to_now
        to_base += sum(map(_growth, ours))
        to_now += sum(map(_growth, others))
        if not ours:
            continue
        there, wanted = now[is_now : end + to_now], base[before : end + to_base]
        if not others and not (_is_beside(ours[0], all_others) and _is_on_the_way(base, left, now, ours[0])):
            undos.append(_undo(is_now, there, wanted))
        elif others and _is_undone_in_part(base, left, there, (start, end, ours)):
            undos += [_undo(is_now + i, there[i:j], wanted[k:m]) for i, j, k, m in extents(there, wanted)]
        else:
            undos.append(Undo(is_now, end + to_now, None))
            gone = (block for block in ours if others and not set(base[block[2] : block[3]]) <= set(left))
            back += [block for block in gone if _is_on_the_way(base, left, now, block)]
    return _undos(base, _undo_blocks(left, base, back), now) if back else undos


def _is_beside(ours: Block, others: Sequence[Block]) -> bool:
    """Whether something comes back where others have changed what is next to it."""
    start, end, *_ = ours
    return start == end and any(start in (i, j) for i, j, *_ in others)


def _is_on_the_way(base: Rows, left: Rows, now: Rows, block: Block) -> bool:
    """Whether a smallest way from what was left to what there is now may begin with undoing a block."""
    i, j, k, m = block
    rest, whole = distance(_undo_blocks(left, base, [block]), now), distance(left, now)
    one = distance(left[i:j], base[k:m])
    return rest is not None and whole is not None and one is not None and one + rest == whole


def _undo_blocks(left: Rows, base: Rows, blocks: Sequence[Block]) -> list[str]:
    """Returns the text that was left, with some blocks undone."""
    rows = list(left)
    for i, j, k, m in reversed(blocks):
        rows[i:j] = base[k:m]
    return rows


def _undo(start: int, old: Rows, new: Rows) -> Undo:
    is_vague = len(new) > len(old) and not set(old).isdisjoint(new)
    return Undo(start, start + len(old), new, is_vague)


def _growth(block: Block) -> int:
    i, j, k, m = block
    return (m - k) - (j - i)


def _group_blocks(
    ours: Sequence[Block], others: Sequence[Block]
) -> Iterator[tuple[list[Block], list[Block]]]:
    """The blocks of both, ascending; together where they have rows in common, or put rows at one place."""
    blocks = sorted([*((block, 0) for block in ours), *((block, 1) for block in others)])
    groups: tuple[list[Block], list[Block]] = ([], [])
    start = end = -1
    for block, whose in blocks:
        i, j, *_ = block
        if i >= end and not start == end == i == j:
            if start >= 0:
                yield groups
            groups, start, end = ([], []), i, j
        groups[whose].append(block)
        end = max(end, j)
    if start >= 0:
        yield groups


def _is_undone_in_part(base: Rows, left: Rows, now: Rows, part: tuple[int, int, Sequence[Block]]) -> bool:
    """Whether *now* is a part of what was left with some of its blocks undone, and no other change."""
    at, end, blocks = part
    offsets = {0}  # where in *now* one can be
    for i, j, k, m in (*blocks, (end, end, 0, 0)):
        offsets = _behind(now, offsets, [left[at:i]])
        offsets = _behind(now, offsets, [left[i:j], base[k:m]])
        at = j
    return len(now) in offsets


def _behind(now: Rows, offsets: set[int], either: Sequence[Rows]) -> set[int]:
    return {at + len(rows) for at in offsets for rows in either if now[at : at + len(rows)] == rows}
