"""Find what edits wrote if they were made twice: a client that compares no versions may do that."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.core.documents.edit import TextEdit, edits_between
from handrail.core.documents.text import Text
from handrail.core.failure import Span

LEAST_COPY = 4  # characters; fewer are typed by hand as well


def second_copy(base: Text, edits: Sequence[TextEdit], before: str, now: str) -> tuple[TextEdit, ...]:
    """
    Finds what *edits* wrote into *now* if they were made once more, as they were sent.

    Args:
        base: The text that the edits were computed on.
        edits: What was sent, twice.
        before: What was there when they stood once.
        now: What is there; a client that compares no versions makes an edit at the lines that it names.

    Returns:
        The edits of *now* that remove the second copy; none if there is no complete second copy.
    """
    text, result, growth = Text(before), list[TextEdit](), 0
    wanted = {(base.line_at(each.span.start), _filled_rows(each.new)) for each in edits}
    if any(sum(map(len, rows)) < LEAST_COPY for _, rows in wanted):
        return ()
    for each in edits_between(before, now):
        start = each.span.start + growth
        growth += each.growth
        if (key := (text.line_at(_foremost(before, each)), _filled_rows(each.new))) in wanted:
            wanted.discard(key)
            old = before[each.span.start : each.span.end]
            result.append(TextEdit(span=Span(start=start, end=start + len(each.new)), new=old))
    return () if wanted else tuple(result)


def _foremost(content: str, inserted: TextEdit) -> int:
    """Returns the first offset at which an insertion may have been made: the same text may be before it."""
    start, new = inserted.span.start, inserted.new
    while inserted.span.start == inserted.span.end and content.endswith(new, 0, start):
        start -= len(new)
    return start


def _filled_rows(content: str) -> tuple[str, ...]:
    return tuple(row for row in content.splitlines() if row.strip())
