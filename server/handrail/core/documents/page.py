"""
A document that handrail and its user write together.

Most of its lines are ours, and can be generated again at any time; the others are the user's, and are never
changed. The owner of a line is derived by comparing two texts: a line that was ours and is still there is
ours. The content of a line counts only if it is a copy of one of ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cached_property, partial
from itertools import accumulate, repeat
from typing import NamedTuple, cast

from handrail.core.documents import layout
from handrail.core.documents.edit import TextEdit, opcodes
from handrail.core.documents.spelling import common_length
from handrail.core.documents.text import split_lines
from handrail.core.failure import Span
from handrail.values import dataclass, replace

Rows = tuple[str, ...]
CRLF = "\r\n"
FENCE_ROW = re.compile(rf"\s*{layout.FENCE.pattern}\s*")
TOP = ""  # the part of what stands above all parts


@dataclass(frozen=True, kw_only=True)
class Part:
    """
    Some lines of ours that belong together.

    Attributes:
        key: Identifies it among the parts of the page; never changes.
        rows: Each with its end; the last one is empty, so that what the user writes below is apart.
        numbers: Which rows of the whole part these are; empty for all.
    """

    key: str
    rows: Rows
    numbers: tuple[int, ...] = ()

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """Its rows as lines of a page; the same ones each time."""
        numbers = self.numbers or range(len(self.rows))
        text = "".join(self.rows)
        if "```" not in text and "~~~" not in text:  # no code, as in most parts
            same = repeat(self.key), numbers, repeat(False), repeat(None)
            return tuple(map(_new_line, zip(self.rows, *same, strict=False)))
        lines, is_code = list[Line](), False
        for number, row in zip(numbers, self.rows, strict=True):
            is_fence = ("`" in row or "~" in row) and FENCE_ROW.fullmatch(row) is not None
            is_code = is_code != is_fence
            lines.append(Line(text=row, part=self.key, number=number, is_code=is_code and not is_fence))
        return tuple(lines)


class Line(NamedTuple):
    """
    A line of the page; a tuple, since a long conversation has a hundred thousand of them.

    Attributes:
        text: With its end, which the very last line may lack.
        part: The key of the part that it belongs to; None if the user wrote it.
        number: Which row of the part it is.
        is_code: Whether it is a row of a fenced block, of which every character counts.
        over: The line of ours in the place of which the user wrote it, if it was one.
    """

    text: str
    part: str | None
    number: int = 0
    is_code: bool = False
    over: Line | None = None

    @property
    def typed(self) -> str:
        """The part of it that the user wrote: in a fenced block or in another line's place, all of it."""
        row = self.text.rstrip()
        if self.over is None or self.over.is_code:
            return row
        ours = self.over.text.rstrip()
        head = common_length(row, ours)
        left, rest = row[head:], ours[head:]
        tail = common_length(left[::-1], rest[::-1])
        if (head + tail) * 2 < len(ours):
            return row
        typed = left[: len(left) - tail]
        return typed if any(map(str.isalnum, typed)) else ""


# Makes a line of all five fields, in a third of the time.
_new_line = partial(cast("Callable[[type[Line], tuple[object, ...]], Line]", tuple.__new__), Line)


@dataclass(frozen=True, kw_only=True)
class Page:
    """The document, line by line."""

    lines: tuple[Line, ...] = ()

    @cached_property
    def bare(self) -> list[str]:
        """Its lines without the blanks at their ends."""
        return [line.text.rstrip() for line in self.lines]

    @cached_property
    def ours(self) -> frozenset[str]:
        """The texts of its lines of ours, without the blanks at their ends."""
        return frozenset(
            row for row, line in zip(self.bare, self.lines, strict=True) if line.part is not None
        )

    @cached_property
    def rows(self) -> Rows:
        """Its lines as they are written: only the last one may lack its end."""
        texts = [line.text for line in self.lines]
        return (*[text if text.endswith("\n") else f"{text}\n" for text in texts[:-1]], *texts[-1:])

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self.rows)

    def part_at(self, line: int) -> tuple[str, int]:
        """The key of the part at a line, counted from 0, and which row of it is there or above."""
        for each in reversed(self.lines[: line + 1]):
            if each.part is not None:
                return each.part, each.number
        return TOP, 0

    def end_of(self, key: str) -> int:
        """The line, counted from 0, below the last one of a part that is not blank; 0 if there is none."""
        said = [at for at, line in enumerate(self.lines) if line.part == key and line.text.strip()]
        return said[-1] + 1 if said else 0


def update(page: Page, parts: Sequence[Part]) -> Page:
    """
    The page once it has these *parts* and no others, with all that the user wrote at its place.

    A part that has gone stays as it is as long as the user has written below it. Rows end as in the page.
    """
    if page.lines and page.lines[0].text.endswith(CRLF):
        parts = [
            replace(part, rows=tuple(f"{row.rstrip(CRLF)}{CRLF}" for row in part.rows)) for part in parts
        ]
    written = _user_lines(page, {part.key for part in parts})
    ours, keys = _ours(page), {key for key, _, _ in written}
    ordered = _order_parts(page, parts, keys, ours)
    rows_below = {
        part.key: (at, _row_below(ours.get(part.key, ()), part))
        for at, part in enumerate(ordered)
        if part.key in keys
    }
    below, latest = dict[tuple[int, int], list[Line]](), (-1, 0)
    for key, number, line in written:  # in their order, whatever became of ours around them
        if key in rows_below:
            at, row_below = rows_below[key]
            latest = max(latest, (at, row_below(number)))
        below.setdefault(latest, []).append(line)
    lines, written_in = below.get((-1, 0), []), {at for at, _ in below}
    for at, part in enumerate(ordered):
        if at not in written_in:
            lines += part.lines
            continue
        for number, line in enumerate(part.lines):
            lines.append(line)
            lines += below.get((at, number), ())
    return Page(lines=tuple(lines))


def _ours(page: Page) -> dict[str, list[Line]]:
    """The lines of each part, by its key."""
    result = dict[str, list[Line]]()
    for line in page.lines:
        if line.part is not None:
            result.setdefault(line.part, []).append(line)
    return result


def _user_lines(page: Page, parts: Set[str]) -> list[tuple[str, int, Line]]:
    """
    The user's lines in their order, each with the part and the row that it is below or in the place of.

    Below a part that has gone nothing but blank lines counts as nothing.
    """
    found, part, number = list[tuple[str, int, Line]](), TOP, 0
    for line in page.lines:
        if line.part is not None:
            part, number = line.part, line.number
        elif line.over is not None and line.over.part is not None:
            found.append((line.over.part, line.over.number, line))
        else:
            found.append((part, number, line))
    said = {key for key, _, line in found if line.text.strip()} | parts | {TOP}
    return [each for each in found if each[0] in said]


def _order_parts(
    page: Page,
    parts: Sequence[Part],
    written: Set[str],
    ours: Mapping[str, Sequence[Line]],
) -> list[Part]:
    """The parts so that the user's lines keep their order, and none of them loses the part above it."""
    wanted = {part.key: part for part in parts}
    order = [part.key for part in parts]
    there = list(ours)
    for at, key in enumerate(there):
        if key in written and key not in wanted:
            wanted[key] = Part(key=key, rows=tuple(_with_end(line.text) for line in ours[key]))
            above = next((each for each in reversed(there[:at]) if each in wanted and each in order), None)
            order.insert(0 if above is None else order.index(above) + 1, key)
    kept = [key for key in there if key in written]
    slots = [at for at, key in enumerate(order) if key in written and key in ours]
    for at, key in zip(slots, kept, strict=True):
        order[at] = key
    return [wanted[key] for key in order]


def _with_end(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"


def _row_below(known: Sequence[Line], part: Part) -> Callable[[int], int]:
    """Finds the row of a part that now has above it what a row of the user's text had before."""
    before = [line.text.rstrip() for line in known]
    after = [row.rstrip() for row in part.rows]
    said = [number for number, row in enumerate(after) if row]
    below, done, at = dict[int, int](), 0, 0
    for i, j, k, m in [*opcodes(before, after), (len(before), len(before), len(after), len(after))]:
        below |= {line.number: at + n for n, line in enumerate(known[done:i])}
        below |= {line.number: min(k + n, m - 1) for n, line in enumerate(known[i:j]) if m > k}
        done, at = j, m

    def row_below(number: int) -> int:
        earlier = [each for each in below if each <= number]
        later = [below[each] for each in below if each > number]
        if earlier:
            last = max(earlier)
            return max(below[last], min(below[last] + number - last, min(later, default=len(after)) - 1))
        if later:
            return max(0, min(later) - 1)
        return said[-1] if said else len(after) - 1

    return row_below


def edits(before: Page, after: Page) -> tuple[TextEdit, ...]:
    """The edits that make *after* of *before*; none of them touches a line of the user's that is in both."""
    same = _common_head(before.lines, after.lines)
    start = sum([len(line.text) for line in before.lines[:same]])
    before, after = Page(lines=before.lines[same:]), Page(lines=after.lines[same:])
    there = {id(line) for line in before.lines if line.part is None}
    kept = there.intersection(id(line) for line in after.lines)
    old, new = _cut(before, kept), _cut(after, kept)
    edits = list[TextEdit]()
    for (ours, line), (now, _) in zip(old, new, strict=True):
        edits += (
            replace(each, span=Span(start=each.span.start + start, end=each.span.end + start))
            for each in _whole_rows(ours, now)
        )
        start += len(ours) + len(line)
    return tuple(edits)


def _common_head(one: Sequence[Line], other: Sequence[Line]) -> int:
    """
    Returns how many lines at the beginning are the same, each with its end and none of them the last.

    One of the user's is only the same if it is the same object.
    """
    size = min(len(one), len(other)) - 1
    for at, line, now in zip(range(size), one, other, strict=False):
        if (line is not now and (line.part is None or line != now)) or not line.text.endswith("\n"):
            return at
    return max(size, 0)


def _whole_rows(old: str, new: str) -> Iterator[TextEdit]:
    """
    The edits between two texts, each of whole rows.

    A client that does not compare versions may make one elsewhere: what is there then are rows of ours.
    """
    before, after = split_lines(old), split_lines(new)
    starts = [0, *accumulate(map(len, before))]
    for i, j, k, m in opcodes(before, after):
        yield TextEdit(span=Span(start=starts[i], end=starts[j]), new="".join(after[k:m]))


def _cut(page: Page, kept: set[int]) -> list[tuple[str, str]]:
    """The texts between the user's lines that are kept, each with the line behind it."""
    result, rows = list[tuple[str, str]](), list[str]()
    for line, row in zip(page.lines, page.rows, strict=True):
        if id(line) in kept and line.part is None:
            result.append(("".join(rows), line.text))
            rows = [row.removeprefix(line.text)]  # the end that it has now
        else:
            rows.append(row)
    return [*result, ("".join(rows), "")]
