"""
Read back: which of our edits stand in a text that the user may have edited as well.

An edit stands if its new text is there, whole, where it belongs, and what it replaced is gone. What the
user typed around it does not matter. Where the difference of two texts can be read in more than one way
(one of several equal lines is missing), the reading in which ours is missing wins for deletions, and the
reading in which ours is whole wins for insertions.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from handrail.core.documents.edit import TextEdit, apply, between
from handrail.core.documents.text import Text
from handrail.core.failure import Span

MARGIN = 2  # keys; about equal efforts tell nothing
LIMIT_FINE = 2_000  # characters of a changed block that are compared one by one


def standing(base: Text, edits: Sequence[TextEdit], now: str) -> tuple[bool, ...]:
    """
    Say of each edit whether it stands in *now*.

    Args:
        base: The text that the edits were computed on.
        edits: What we asked for, ascending, without overlap.
        now: What the editor holds.
    """
    expected = apply(base.content, edits)
    if now == expected:
        return (True,) * len(edits)
    if now == base.content:
        return (False,) * len(edits)
    others = _differences(expected, now)
    stands, growth = [], 0
    for at, edit in enumerate(edits):
        start = edit.span.start + growth
        ours = Span(start=start, end=start + len(edit.new))
        old = base.content[edit.span.start : edit.span.end]
        is_whole = not any(_disturbs(expected, other, ours, old) for other in others)
        if is_whole and not edit.new and _may_be_undone(expected, start, old, others):
            without = apply(base.content, (*edits[:at], *edits[at + 1 :]))
            is_whole = _effort(others) <= _effort(_differences(without, now)) + MARGIN
        stands.append(is_whole)
        growth += edit.growth
    return tuple(stands)


def _may_be_undone(expected: str, place: int, old: str, others: Sequence[TextEdit]) -> bool:
    """Whether a difference lies where *old* was deleted, or where deleting it would have come to the same."""
    for other in others:
        low, high = min(place, other.span.end), max(place, other.span.start)
        between_them, times = expected[low:high], (high - low) // len(old) + 1
        before = (old * times)[: high - low] if place == low else (old * times)[-(high - low) :]
        if other.new and (low >= high or between_them == before):
            return True
    return False


def _differences(one: str, other: str) -> list[TextEdit]:
    return [fine for edit in between(one, other) for fine in _finer(one, edit)]


def _effort(differences: Sequence[TextEdit]) -> int:
    """How many keys must be pressed for them; to delete is no more than to select and to delete."""
    return sum(min(2, each.span.end - each.span.start) + len(each.new) for each in differences)


def _finer(expected: str, edit: TextEdit) -> list[TextEdit]:
    """A replaced block as the single differences inside it, so that ours may stand between two of theirs."""
    old = expected[edit.span.start : edit.span.end]
    if not old or not edit.new or max(len(old), len(edit.new)) > LIMIT_FINE:
        return [edit]
    start = edit.span.start
    matcher = SequenceMatcher(None, old, edit.new, autojunk=False)
    return [
        TextEdit(span=Span(start=start + i, end=start + j), new=edit.new[k:m])
        for tag, i, j, k, m in matcher.get_opcodes()
        if tag != "equal"
    ]


def _disturbs(expected: str, other: TextEdit, ours: Span, old: str) -> bool:
    overlaps = other.span.start < ours.end and other.span.end > ours.start
    if not other.new:
        return ours.start < ours.end and (overlaps or _could_cover(expected, other.span, ours))
    if other.span.start == other.span.end:
        if ours.start == ours.end:
            return _brings_back(expected, other, ours.start, old)
        inside = ours.start < other.span.start < ours.end
        return inside and not _slides_out(expected, other, ours)
    if ours.start == ours.end:
        return other.span.start <= ours.start <= other.span.end and old in other.new
    return overlaps


def _could_cover(expected: str, deleted: Span, ours: Span) -> bool:
    """Whether deleting equal text a little earlier or later would have deleted all of ours."""
    left = right = 0
    while deleted.end - left > ours.end and deleted.start - left > 0:
        if expected[deleted.start - left - 1] != expected[deleted.end - left - 1]:
            break
        left += 1
    while deleted.start + right < ours.start and deleted.end + right < len(expected):
        if expected[deleted.start + right] != expected[deleted.end + right]:
            break
        right += 1
    covers_left = deleted.start - left <= ours.start and ours.end <= deleted.end - left
    return covers_left or (deleted.start + right <= ours.start and ours.end <= deleted.end + right)


def _brings_back(expected: str, inserted: TextEdit, place: int, old: str) -> bool:
    """Whether an insertion can be read as what we deleted at *place* being there again."""
    at, new = inserted.span.start, inserted.new
    while at > place and new and expected[at - 1] == new[-1]:
        at, new = at - 1, new[-1] + new[:-1]
    while at < place and new and expected[at] == new[0]:
        at, new = at + 1, new[1:] + new[0]
    return at == place and bool(old) and old in new


def _slides_out(expected: str, inserted: TextEdit, ours: Span) -> bool:
    """Whether an insertion inside ours can also be read as one at an edge of ours (it repeats our text)."""
    at, new = inserted.span.start, inserted.new
    while at > ours.start and expected[at - 1] == new[-1]:
        at, new = at - 1, new[-1] + new[:-1]
    if at == ours.start:
        return True
    at, new = inserted.span.start, inserted.new
    while at < ours.end and expected[at] == new[0]:
        at, new = at + 1, new[1:] + new[0]
    return at == ours.end
