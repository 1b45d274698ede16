"""
Undo what was done to a text, and only that, in what the text has become since.

What others did stays, before, between and after; where it is in the same lines there is no way back, unless
it is the way back itself. Which texts these are, and what becomes of a document without a way back, is
decided by whoever restores it.
"""

from __future__ import annotations

from collections.abc import Sequence

from handrail.core import edit
from handrail.core.edit import TextEdit
from handrail.core.failure import Span
from handrail.core.text import Text

Lines = tuple[int, int]  # the first and the last one, counted from 0


def way_back(
    now: Text, stretches: Sequence[tuple[Text, Text]], lines: Lines | None = None
) -> tuple[TextEdit, ...] | None:
    """
    Find the edits of *now* that undo what was done.

    Args:
        now: What the document holds.
        stretches: What each began with and what it left, in the order in which they were done; what lies
            between two of them was done by others.
        lines: Those of *now* that matter: only what touches them is undone, where something is gone the
            lines around it. None for all of it.

    Returns:
        The edits, ascending; None if others have changed the same lines.
    """
    content = now.content
    wanted = None if lines is None else _span(now, lines)
    for found, left in reversed(stretches):
        later = edit.between(left.content, content)
        planned = [each for each in edit.between(left.content, found.content) if each not in later]
        moved = edit.rebase(left, planned, content)
        if wanted is not None:
            places = (edit.carry(edit.whole_lines(left, each), later) for each in planned)
            touched = [_meet(place, wanted) for place in places]
            moved = tuple(each for each, touches in zip(moved, touched, strict=True) if touches)
        if any(each.conflict for each in moved):
            return None
        made = [each.edit for each in moved]
        content = edit.apply(content, made)
        wanted = None if wanted is None else edit.carry(wanted, made)
    return edit.between(now.content, content)


def _span(text: Text, lines: Lines) -> Span:
    """All of some lines, terminators included; lines beyond the text are where it ends."""
    starts, end = text.starts, len(text.content)
    first, last = (starts[line] if line < len(starts) else end for line in (lines[0], lines[1] + 1))
    return Span(start=first, end=last)


def _meet(one: Span, other: Span) -> bool:
    """Whether two spans have something in common; an empty one has its ends."""
    if one.start == one.end or other.start == other.end:
        return one.start <= other.end and other.start <= one.end
    return one.start < other.end and other.start < one.end
