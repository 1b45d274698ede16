"""
A page that handrail and its user write together, as JSON, so that the owners of lines survive a restart.

Lines that follow each other in one part are one entry, so that a long page is read and written quickly:
`[part, number of the first line, texts, positions of lines of code]`. So are lines of the user's that
follow each other. A line that the user wrote in the place of one of ours has an entry of its own, which ends
with the entry of that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from handrail.core.documents.page import Line, Page, Part

Entry = list[Any]


def as_json(page: Page) -> list[Entry]:
    """Converts a page to values that `json` can write."""
    entries, texts, code = list[Entry](), list[str](), list[int]()  # the latest entry is still growing
    owner: str | None = None
    following = 0
    for text, part, number, is_code, over in page.lines:
        if part != owner or number != following or over is not None or not texts:
            texts, code = [], []
            entries.append([part, number, texts, code])
        if is_code:
            code.append(len(texts))
        texts.append(text)
        owner, following = part, number if part is None else number + 1
        if over is not None:
            entries[-1] += as_json(Page(lines=(over,)))
            texts = []  # nothing else belongs to this entry
    return entries


def read(value: object, parts: Sequence[Part] = ()) -> Page | None:
    """
    Converts what `as_json` has returned to the page again; None if it is something else.

    Args:
        value: What `json` has read.
        parts: Parts as they are now. The lines of those that are the same are not made again.
    """
    if not isinstance(value, list):
        return None
    known = {part.key: part for part in parts if not part.numbers}
    try:
        return Page(lines=tuple(line for entry in value for line in _lines(entry, known)))
    except (ValueError, TypeError, RecursionError):
        return None


def difference(before: Page, now: Page) -> list[Any]:
    """
    Returns what differs between two pages, as values that `json` can write.

    Returns:
        How many lines at the beginning are the same, the entries of the lines between, and how many lines at
        the end are the same.
    """
    one, other = before.lines, now.lines
    size = min(len(one), len(other))
    head = next((at for at in range(size) if one[at] != other[at]), size)
    tail = next((at for at in range(size - head) if one[-1 - at] != other[-1 - at]), size - head)
    return [head, as_json(Page(lines=other[head : len(other) - tail])), tail]


def read_difference(before: Page, value: object, parts: Sequence[Part] = ()) -> Page | None:
    """Returns the page that differs from *before* by what `difference` has returned; None if it cannot be."""
    if not isinstance(value, list) or len(value) != 3:
        return None
    head, entries, tail = value
    between = read(entries, parts)
    if between is None or not all(isinstance(count, int) and count >= 0 for count in (head, tail)):
        return None
    if head + tail > len(before.lines):
        return None
    return Page(lines=(*before.lines[:head], *between.lines, *before.lines[len(before.lines) - tail :]))


def _lines(entry: Entry, known: Mapping[str, Part]) -> Iterable[Line]:
    part, first, texts, positions, *rest = entry
    if not (isinstance(part, str | None) and isinstance(texts, list)):
        raise TypeError("not an entry of a page")
    if not {str}.issuperset(map(type, texts)):
        raise TypeError("not the texts of lines")
    same = known.get(part or "")
    if same is not None and first == 0 and not rest and tuple(texts) == same.rows:
        return same.lines
    over = next(iter(_lines(rest[0], {})), None) if rest else None
    code, step = frozenset(positions), 0 if part is None else 1
    return [
        Line(text=text, part=part, number=first + at * step, is_code=at in code, over=over)
        for at, text in enumerate(texts)
    ]
