r"""
Tell what differs only in blanks: formatters change those of any row, and add or remove blank lines.

    >>> squeeze("if x:\n\n    a( )\n")
    'ifx:\na()\n'
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from operator import itemgetter

from handrail.core.documents.edit import TextEdit, apply, opcodes
from handrail.core.documents.text import Text, split_lines

BLANKS = re.compile(r"[ \t\f\v\u00a0]+")


def squeeze(content: str) -> str:
    """Returns *content* without blanks inside its lines, and without blank lines."""
    rows = (BLANKS.sub("", line) for line in split_lines(content))
    return "".join(row for row in rows if row.strip("\r\n"))


def is_of_blanks(base: Text, edit: TextEdit) -> bool:
    """Whether an edit changes nothing but blanks and blank lines, which a formatter may have for its own."""
    return squeeze(base.content[edit.span.start : edit.span.end]) == squeeze(edit.new)


def is_trimmed(base: Text, edit: TextEdit) -> bool:
    """Whether an edit adds only blank lines and blanks at the ends of rows, which many editors remove."""
    start, end = base.starts[base.line_at(edit.span.start)], base.row_end(base.line_at(edit.span.end))
    before, after = base.content[start : edit.span.start], base.content[edit.span.end : end]
    old, new = base.content[start:end], before + edit.new + after
    rows, others = ([row.rstrip() for row in split_lines(part) if row.strip()] for part in (old, new))
    return edit.growth > 0 and rows == others


def with_rows_as_before(
    base: Text, made: Sequence[TextEdit], others: Sequence[TextEdit], now: str
) -> frozenset[TextEdit]:
    """
    Returns those of *others* whose rows have the blanks in *now* that they have in *base*.

    Args:
        base: The text that the edits were computed on.
        made: The edits that are in *now*, ascending.
        others: Edits of blanks.
        now: The text; a formatter may have changed the blanks of any of its rows.
    """
    if not others:
        return frozenset()
    text = Text(apply(base.content, made))
    rows, theirs = split_lines(text.content), split_lines(now)
    blocks = opcodes([BLANKS.sub("", row) for row in rows], [BLANKS.sub("", row) for row in theirs])
    ends = [each.span.end for each in made]
    growth = list(accumulate((each.growth for each in made), initial=0))
    found = []
    for other in others:
        first = text.line_at(other.span.start + growth[bisect_right(ends, other.span.start)])
        last = first + base.line_at(other.span.end) - base.line_at(other.span.start)
        at = bisect_right(blocks, first, key=itemgetter(1))
        shift = blocks[at - 1][3] - blocks[at - 1][1] if at else 0
        is_met = at < len(blocks) and blocks[at][0] <= last
        if not is_met and rows[first : last + 1] == theirs[first + shift : last + 1 + shift]:
            found.append(other)
    return frozenset(found)
