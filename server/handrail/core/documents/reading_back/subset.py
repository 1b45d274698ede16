r"""
Find the edits that a client has made if it made only some of them.

Theory of operation. A set of edits that makes exactly the text that is there is what happened: nothing is
left that a formatter or a user would have to have done. From the last edit to the first, the text is followed
back twice, with the edit and without it; paths that meet are one, so that there are few. Changes that share
no row with an edit are the user's, and set aside first.

    >>> base = Text("one\nif x:\nb()\n")
    >>> edits = edits_between(base.content, "ONE\nif x:\n    b()\n")
    >>> exact_subset(base.content, edits, "ONE\nif x:\nb()\n")
    (True, False)
    >>> exact_subset(base.content, edits, "ONE\nif x:\n  b()\n") is None  # someone else had a part in it
    True
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from handrail.core.documents.edit import TextEdit, apply, edits_between
from handrail.core.documents.text import Text
from handrail.values import replace

LIMIT_ENDS = (
    64  # that one edit may have in the text; only edits of rows that repeat have more than one or two
)


def exact_subset(content: str, edits: Sequence[TextEdit], now: str) -> tuple[bool, ...] | None:
    """
    Says which of *edits* make *now* of *content*, and nothing else does; None if no set of them does so.

    Where several sets make the same text, earlier edits count as made: it is the same text either way.

    Cost: one comparison of the texts; at most `LIMIT_ENDS` times that, if their rows repeat.
    """
    between = _texts_between(content, edits)
    if not now.endswith(between[-1]):
        return None
    begins = [
        {len(now) - len(between[-1])}
    ]  # of what is behind each edit in *now*, from the last to the first
    for gap, edit in zip(reversed(between[:-1]), reversed(edits), strict=True):
        old = content[edit.span.start : edit.span.end]
        starts = {
            end - len(part) - len(gap)
            for end in begins[-1]
            for part in (edit.new, old)
            if now.endswith(gap + part, 0, end)
        }
        if not starts:
            return None
        likely = (edit.span.start - len(gap)) * len(now) // max(1, len(content))
        begins.append(_nearest(starts, likely))
    if 0 not in begins.pop():
        return None
    made, at = list[bool](), 0
    for gap, edit, ends in zip(between, edits, reversed(begins), strict=False):
        at += len(gap)
        is_made = now.startswith(edit.new, at) and at + len(edit.new) in ends
        made.append(is_made)
        at += len(edit.new) if is_made else edit.span.end - edit.span.start
    return tuple(made)


def subset_beside_others(base: Text, edits: Sequence[TextEdit], now: str) -> tuple[bool, ...] | None:
    """Like `exact_subset`, when others have changed rows that no edit touches; None if they have not."""
    others = _changes_elsewhere(base, edits, edits_between(base.content, now))
    if not others:
        return None
    ends = [other.span.end for other in others]
    growth = list(accumulate((other.growth for other in others), initial=0))
    shifted = [
        replace(each, span=each.span.shift(growth[bisect_right(ends, each.span.start)])) for each in edits
    ]
    return exact_subset(apply(base.content, others), shifted, now)


def _nearest(starts: set[int], likely: int) -> set[int]:
    if len(starts) <= LIMIT_ENDS:
        return starts
    return set(sorted(starts, key=lambda start: abs(start - likely))[:LIMIT_ENDS])


def _texts_between(content: str, edits: Sequence[TextEdit]) -> list[str]:
    """The text before the first edit, those between each two, and the one behind the last."""
    starts = [0, *(each.span.end for each in edits)]
    ends = [*(each.span.start for each in edits), len(content)]
    return [content[start:end] for start, end in zip(starts, ends, strict=True)]


def _changes_elsewhere(base: Text, edits: Sequence[TextEdit], changes: Sequence[TextEdit]) -> list[TextEdit]:
    """
    Those of *changes* that share no row with any of *edits*.

    A change at the end of the row before an insertion may be that insertion, as a formatter has left it.
    """
    starts = [each.span.start - (0 < each.span.start == each.span.end) for each in edits]
    rows = [
        (base.line_at(start), base.line_at(each.span.end)) for start, each in zip(starts, edits, strict=True)
    ]
    lasts = [last for _, last in rows]
    elsewhere = []
    for change in changes:
        first, last = base.line_at(change.span.start), base.line_at(change.span.end)
        at = bisect_left(lasts, first)
        if at == len(rows) or rows[at][0] > last:
            elsewhere.append(change)
    return elsewhere
