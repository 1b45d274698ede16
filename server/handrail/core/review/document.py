"""
One document under review: its text, its pending hunks, and hunks that are gone but may come back.

An editor's undo and redo are changes like any other. So that they bring back pending hunks too, the hunks of
earlier texts are remembered, and a hunk that disappears is remembered with its place: when the same text is
there again, so is the hunk. Kept hunks are forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from handrail.core.documents.edit import Block, opcodes
from handrail.core.review import carry, undo
from handrail.core.review.hunks import Hunk, Rows, Step, drop_hunks, is_all_new
from handrail.values import dataclass, replace

LF, CRLF = "\n", "\r\n"
LIMIT_GONE = 200  # hunks of one document that are remembered
LIKE = 5  # one row of so many may have changed while a document was renamed
LIMIT_BLOCKS = 2_000  # of one change; more are one hunk
CHUNK_ROWS = 256  # are compared at once
LIMIT_STATES = 100  # texts of one document of which the hunks are remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class GoneHunk:
    """
    A hunk that is no longer pending: it was undone, reverted or rewritten.

    Attributes:
        hunk: As it was.
        start: The first row of its place.
        rows: The rows that are there now.
        first: The rows that were there when it went.
    """

    hunk: Hunk
    start: int
    rows: Rows
    first: Rows

    @property
    def end(self) -> int:
        """The row after its place."""
        return self.start + len(self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """
    A document and its hunks.

    Attributes:
        rows: What it holds, each row with its own end.
        hunks: Those that are pending, ascending.
        gone: Those that went, the latest last.
        states: The hunks of texts that it had before, by the texts' hashes, the latest last.
    """

    rows: Rows
    hunks: tuple[Hunk, ...] = ()
    gone: tuple[GoneHunk, ...] = ()
    states: tuple[tuple[int, tuple[Hunk, ...]], ...] = ()

    @property
    def steps(self) -> dict[str, tuple[Step, ...]]:
        """The steps of all pending hunks, by the hunks' ids."""
        return {hunk.id: hunk.steps for hunk in self.hunks}

    def ids(self) -> frozenset[str]:
        """The ids of all pending hunks."""
        return frozenset(hunk.id for hunk in self.hunks)


def observe(document: Reviewed, now: Sequence[str]) -> Reviewed:
    """Carries the hunks over a change by the user, an editor, or another program."""
    document = with_line_ends(document, now)
    blocks = _row_by_row(_blocks(document.rows, now), document.rows, now)
    if not blocks:
        return document
    known = _known_hunks(document, tuple(now))
    hunks = carry.carry_typing(document.hunks, blocks, now) if known is None else known
    review = _with_change(document, now, hunks, blocks)
    review = _remember(review, document.hunks, blocks)
    return review if known is not None else _revive(review, document.gone, blocks)


def with_line_ends(document: Reviewed, now: Sequence[str]) -> Reviewed:
    """
    Returns the document with the line ends of *now*, if all of them are others.

    Some editors hold LF for the line ends of every file, and write those of the file.
    """
    first, ends = document.rows[:1], [LF, CRLF]
    if not (first and now) or _end(first[0]) == _end(now[0]):
        return document
    old, new = _only_end(document.rows), _only_end(now)
    if old == new or old not in ends or new not in ends:
        return document

    def convert(rows: Rows) -> Rows:
        return tuple(f"{row.removesuffix(old)}{new}" if row.endswith(old) else row for row in rows)

    def convert_hunk(hunk: Hunk) -> Hunk:
        steps = (replace(each, before=convert(each.before), after=convert(each.after)) for each in hunk.steps)
        return replace(hunk, rows=convert(hunk.rows), steps=tuple(steps))

    gone = (
        replace(each, hunk=convert_hunk(each.hunk), rows=convert(each.rows), first=convert(each.first))
        for each in document.gone
    )
    return Reviewed(
        rows=convert(document.rows), hunks=tuple(map(convert_hunk, document.hunks)), gone=tuple(gone)
    )


def _end(row: str) -> str:
    return row[len(row.rstrip("\r\n")) :]


def _only_end(rows: Sequence[str]) -> str | None:
    """Returns the line end of all rows; None if they have several. The last row may have none."""
    ends = {_end(row) for row in rows[:-1]} | ({_end(rows[-1])} - {""})
    return ends.pop() if len(ends) == 1 else None


def _blocks(before: Sequence[str], now: Sequence[str]) -> list[Block]:
    """The blocks in which two texts differ; what is the same at both ends is passed over quickly."""
    ahead = _common_head(before, now)
    behind = _common_head(before[ahead:][::-1], now[ahead:][::-1])
    blocks = opcodes(before[ahead : len(before) - behind], now[ahead : len(now) - behind])
    return [(i + ahead, j + ahead, k + ahead, m + ahead) for i, j, k, m in blocks]


def _common_head(one: Sequence[str], other: Sequence[str]) -> int:
    """Returns how many rows at the beginning of both are the same."""
    at, size = 0, min(len(one), len(other))
    step = CHUNK_ROWS
    while at < size and tuple(one[at : at + step]) == tuple(other[at : at + step]):
        at += step
    at = min(at, size)
    while at < size and one[at] == other[at]:
        at += 1
    return at


def keeps_more(one: Reviewed, other: Reviewed, now: Sequence[str]) -> bool:
    """Whether more is pending in the rows *now* if they come from *one* than if they come from *other*."""
    return len(observe(one, now).hunks) > len(observe(other, now).hunks)


def is_like(before: Reviewed, now: Reviewed) -> bool:
    """
    Whether a document may be the other one a moment later: nothing has gone that was pending in it, and few
    rows have changed, of which those that were only typed in count as half.
    """
    if not before.ids() <= now.ids():
        return False
    blocks = _row_by_row(_blocks(before.rows, now.rows), before.rows, now.rows)
    changed = sum(
        0.5
        if (j - i, m - k) == (1, 1) and not is_all_new((before.rows[i],), (now.rows[k],))
        else max(j - i, m - k)
        for i, j, k, m in blocks
    )
    return has_held(before, now.rows) or changed * LIKE <= len(before.rows)


def has_held(document: Reviewed, rows: Rows) -> bool:
    """Whether a document holds these rows, or held them before."""
    return document.rows == rows or _known_hunks(document, rows) is not None


def _row_by_row(blocks: Sequence[Block], before: Sequence[str], now: Sequence[str]) -> list[Block]:
    """Blocks in which each row has become another one, apart: rows next to each other were typed in."""
    result = list[Block]()
    for i, j, k, m in blocks:
        pairs = list(zip(range(i, j), range(k, m), strict=False))
        if j - i == m - k and not all(is_all_new((before[old],), (now[new],)) for old, new in pairs):
            result += [(old, old + 1, new, new + 1) for old, new in pairs]
        else:
            result.append((i, j, k, m))
    return result


def add_agent_edit(
    document: Reviewed,
    before: Sequence[str],
    after: Sequence[str],
    whose: tuple[str, str],
    new_id: Callable[[], str],
) -> Reviewed:
    """
    The document after an edit of the agent's.

    Args:
        before: What the edit was made on.
        after: What it has made of that, without what others did in the meantime.
        whose: The turn and the call.
        new_id: Names a new hunk.
    """
    if tuple(before) != document.rows and (known := _known_hunks(document, tuple(before))) is not None:
        document = replace(document, rows=tuple(before), hunks=known)  # it was seen before it was told
    document = observe(document, before)
    blocks = _blocks(before, after)
    if len(blocks) > LIMIT_BLOCKS:
        blocks = [(blocks[0][0], blocks[-1][1], blocks[0][2], blocks[-1][3])]
    hunks = carry.add_agent_change(document.hunks, blocks, before, after, whose, new_id)
    return _with_change(document, after, hunks, blocks)


def keep(document: Reviewed, ids: frozenset[str]) -> Reviewed:
    """The document after some hunks were kept: their text is the user's now, and stays it."""
    return replace(
        document,
        hunks=drop_hunks(document.hunks, ids),
        gone=tuple(each for each in document.gone if each.hunk.id not in ids),
        states=tuple((key, drop_hunks(hunks, ids)) for key, hunks in document.states),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """
    The document after some hunks were undone.

    Attributes:
        conflicts: Those of them that stay as they are.
        now_of: The new rows of each that was undone, also in part, by its id.
    """

    document: Reviewed
    conflicts: tuple[Hunk, ...]
    now_of: Mapping[str, Rows]


def undo_pending(
    document: Reviewed, ids: frozenset[str], turn: str | None = None, *, forced: bool = False
) -> Undone:
    """Undoes the hunks of *ids*, or what *turn* did in them; see `undo.undo_hunks`."""
    result = undo.undo_hunks(document.rows, document.hunks, ids, turn, forced=forced)
    blocks = _undo_blocks(document.hunks, result)
    review = _with_change(document, result.rows, result.hunks, blocks)
    return Undone(
        document=_remember(review, document.hunks, blocks), conflicts=result.conflicts, now_of=result.now_of
    )


def _with_change(
    document: Reviewed, now: Sequence[str], hunks: tuple[Hunk, ...], blocks: Sequence[Block]
) -> Reviewed:
    """The document after a change, which remembers what it was before."""
    key = hash(document.rows)
    states = [*(each for each in document.states if each[0] != key), (key, document.hunks)]
    gone = _move_gone(document.gone, blocks, now)
    return Reviewed(rows=tuple(now), hunks=hunks, gone=gone, states=tuple(states[-LIMIT_STATES:]))


def _known_hunks(document: Reviewed, now: Rows) -> tuple[Hunk, ...] | None:
    """The hunks of a text that the document had before; None if it had not."""
    key = hash(now)
    hunks = next((hunks for known, hunks in document.states if known == key), None)
    if hunks is None or any(now[hunk.start : hunk.end] != hunk.rows for hunk in hunks):
        return None
    return hunks


def _undo_blocks(hunks: Sequence[Hunk], result: undo.Undone) -> list[Block]:
    """The blocks of an undo: the hunks whose rows it has replaced."""
    blocks, growth = list[Block](), 0
    for hunk in hunks:
        start = hunk.start + growth
        rows = result.now_of.get(hunk.id)
        if rows is not None:
            blocks.append((hunk.start, hunk.end, start, start + len(rows)))
            growth += len(rows) - len(hunk.rows)
    return blocks


def _remember(review: Reviewed, before: Sequence[Hunk], blocks: Sequence[Block]) -> Reviewed:
    """Remembers those hunks that were there *before* and are gone, or have fewer steps."""
    left, near = {hunk.id: hunk for hunk in review.hunks}, carry.BlockIndex.of(blocks)
    gone = [each for each in review.gone if each.hunk.id not in left]
    for hunk in before:
        now = left.get(hunk.id)
        if now is None or len(now.steps) < len(hunk.steps):
            start, end = (now.start, now.end) if now is not None else near.rows_after(hunk.start, hunk.end)
            gone = [each for each in gone if each.hunk.id != hunk.id]
            rows = review.rows[start:end]
            gone.append(GoneHunk(hunk=hunk, start=start, rows=rows, first=rows))
    return replace(review, gone=tuple(gone[-LIMIT_GONE:]))


def _move_gone(gone: Sequence[GoneHunk], blocks: Sequence[Block], now: Sequence[str]) -> tuple[GoneHunk, ...]:
    result, near = [], carry.BlockIndex.of(blocks)
    for each in gone:
        start, end = near.rows_after(each.start, each.end)
        result.append(replace(each, start=start, rows=tuple(now[start:end])))
    return tuple(result)


def _revive(review: Reviewed, gone: Sequence[GoneHunk], blocks: Sequence[Block]) -> Reviewed:
    """Has those hunks be pending again whose text stands where it stood."""
    hunks, again, near = list(review.hunks), set[str](), carry.BlockIndex.of(blocks)
    for each in reversed(gone):
        if each.rows == each.hunk.rows:
            continue  # it stood there before, by another hunk's doing
        if not each.hunk.rows and each.rows != each.first:
            continue  # what has been removed now is something else
        for is_wide in (True, False):
            start, end = near.rows_after(each.start, each.end, is_wide=is_wide)
            others = [hunk for hunk in hunks if hunk.id != each.hunk.id]
            if review.rows[start:end] != each.hunk.rows or any(_meets(hunk, start, end) for hunk in others):
                continue
            back = replace(each.hunk, start=start)
            hunks = sorted([*others, back], key=lambda hunk: (hunk.start, hunk.end))
            again.add(each.hunk.id)
            break
    left = tuple(each for each in review.gone if each.hunk.id not in again)
    return replace(review, hunks=tuple(hunks), gone=left)


def _meets(hunk: Hunk, start: int, end: int) -> bool:
    if hunk.start == hunk.end == start == end:
        return True
    return hunk.start < end and start < hunk.end
