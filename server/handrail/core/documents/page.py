"""
A document that handrail and its user write together.

Most of its lines are ours, and can be made anew at any time; the others are the user's, and are never
touched. Whose a line is follows from where it stands: two texts are compared, and what was ours and is still
there is ours. No line is ours because of what it says.
"""

from __future__ import annotations

import json
import textwrap
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import groupby

from handrail.core.documents.edit import TextEdit, between, opcodes
from handrail.core.documents.spelling import common
from handrail.core.failure import Span

Rows = tuple[str, ...]
TOP = ""  # the part of what stands above all parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """
    Some lines of ours that belong together.

    Attributes:
        key: Names it among the parts of the page, for good.
        rows: Each with its end; the last one is empty, so that what the user writes below is apart.
    """

    key: str
    rows: Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """
    A line of the page.

    Attributes:
        text: With its end, which the very last line may lack.
        part: The key of the part that it belongs to; None if the user wrote it.
        number: Which row of the part it is.
        over: The line of ours in which the user wrote it, if it was one.
    """

    text: str
    part: str | None
    number: int = 0
    over: str = ""

    @property
    def typed(self) -> str:
        """What of it the user wrote."""
        row, ours = self.text.rstrip(), self.over.rstrip()
        if not ours:
            return row
        head = common(row, ours)
        left, rest = row[head:], ours[head:]
        tail = common(left[::-1], rest[::-1])
        return left[: len(left) - tail]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """
    What the user wrote at one place.

    Attributes:
        part: The part above it.
        row: The line of ours right above it; empty if there is none.
        number: Which row of the part that is.
        text: Without what is indented in all lines.
    """

    part: str
    row: str
    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The document, line by line."""

    lines: tuple[Line, ...] = ()

    @property
    def rows(self) -> Rows:
        """Its lines as they are written: only the last one may lack its end."""
        texts = [line.text for line in self.lines]
        return tuple(f"{text}\n" if not text.endswith("\n") else text for text in texts[:-1]) + tuple(
            texts[-1:]
        )

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


def observed(page: Page, now: Sequence[str]) -> Page:
    """The page after its user, or an editor, has changed it to the rows *now*."""
    before, after = [line.text.rstrip() for line in page.lines], [row.rstrip() for row in now]
    lines, done, at = list[Line](), 0, 0
    for i, j, k, m in [*opcodes(before, after), (len(before), len(before), len(after), len(after))]:
        lines += (replace(line, text=row) for line, row in zip(page.lines[done:i], now[at:k], strict=True))
        lines += _changed(page.lines[i:j], now[k:m])
        done, at = j, m
    return Page(lines=tuple(lines))


def _changed(before: Sequence[Line], now: Sequence[str]) -> list[Line]:
    """The lines of a stretch that has changed: what differs in blanks and signs only is as it was."""
    there, at, is_paired = dict[str, list[int]](), 0, len(before) == len(now)
    for number, line in enumerate(before):
        there.setdefault(_said(line.text), []).append(number)
    found = list[Line]()
    for number, row in enumerate(now):
        same = there.get(_said(row), []) if _said(row) else []
        if (first := bisect_left(same, at)) < len(same):
            at = same[first] + 1
            found.append(replace(before[same[first]], text=row))
        else:
            found.append(Line(text=row, part=None, over=_over(before[number], row) if is_paired else ""))
    return found


def _said(row: str) -> str:
    """What a formatter of Markdown leaves of a line."""
    return "".join(filter(str.isalnum, row))


def _over(before: Line, row: str) -> str:
    """The line of ours in which the user has written *row*, if that is what it is."""
    if before.part is None:
        return before.over
    ours, theirs = before.text.rstrip(), row.rstrip()
    head = common(ours, theirs)
    tail = common(ours[head:][::-1], theirs[head:][::-1])
    return before.text if ours and (head + tail) * 2 >= len(ours) else ""


def updated(page: Page, parts: Sequence[Part]) -> Page:
    """
    The page once it has these *parts* and no others, with all that the user wrote at its place.

    A part that has gone stays as it is as long as the user has written below it.
    """
    written = _written(page, {part.key for part in parts})
    ours = _ours(page)
    lines = [line for _, line in written.get(TOP, ())]
    for part in _ordered(page, parts, written, ours):
        known = ours.get(part.key, ())
        place = _places(known, part)
        below = dict[int, list[Line]]()
        for number, line in written.get(part.key, ()):
            below.setdefault(place(number), []).append(line)
        for number, row in enumerate(part.rows):
            lines.append(Line(text=row, part=part.key, number=number))
            lines += below.get(number, ())
    return Page(lines=tuple(lines))


def _ours(page: Page) -> dict[str, list[Line]]:
    """The lines of each part, by its key."""
    found = dict[str, list[Line]]()
    for line in page.lines:
        if line.part is not None:
            found.setdefault(line.part, []).append(line)
    return found


def _written(page: Page, parts: Set[str]) -> dict[str, list[tuple[int, Line]]]:
    """
    The user's lines by the part above them, each with the row of it that is right above.

    Below a part that has gone nothing but blank lines counts as nothing.
    """
    found, part, number = dict[str, list[tuple[int, Line]]](), TOP, 0
    for line in page.lines:
        if line.part is not None:
            part, number = line.part, line.number
        else:
            found.setdefault(part, []).append((number, line))
    return {
        key: lines
        for key, lines in found.items()
        if key in parts or key == TOP or any(line.text.strip() for _, line in lines)
    }


def _ordered(
    page: Page,
    parts: Sequence[Part],
    written: Mapping[str, Sequence[object]],
    ours: Mapping[str, Sequence[Line]],
) -> list[Part]:
    """The parts so that the user's lines keep their order, and none of them loses the part above it."""
    wanted = {part.key: part for part in parts}
    order = [part.key for part in parts]
    there = list(ours)
    for at, key in enumerate(there):
        if key in written and key not in wanted:
            wanted[key] = Part(key=key, rows=tuple(_ended(line.text) for line in ours[key]))
            above = next((each for each in reversed(there[:at]) if each in wanted and each in order), None)
            order.insert(0 if above is None else order.index(above) + 1, key)
    kept = [key for key in there if key in written]
    slots = [at for at, key in enumerate(order) if key in written]
    for at, key in zip(slots, kept, strict=True):
        order[at] = key
    return [wanted[key] for key in order]


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"


def _places(known: Sequence[Line], part: Part) -> Callable[[int], int]:
    """Tells below which row of a part stands what stood below a row of it before."""
    before = [line.text.rstrip() for line in known]
    after = [row.rstrip() for row in part.rows]
    said = [number for number, row in enumerate(after) if row]
    place, done, at = dict[int, int](), 0, 0
    for i, j, _, m in [*opcodes(before, after), (len(before), len(before), len(after), len(after))]:
        place |= {line.number: at + n for n, line in enumerate(known[done:i])}
        done, at = j, m

    def found(number: int) -> int:
        earlier = [place[each] for each in place if each <= number]
        if earlier:
            return max(earlier)
        if place:
            return max(0, min(place.values()) - 1)
        return said[-1] if said else len(after) - 1

    return found


def edits(before: Page, after: Page) -> tuple[TextEdit, ...]:
    """The edits that make *after* of *before*; none of them touches a line of the user's that is in both."""
    kept = {id(line) for line in after.lines if line.part is None}
    old, new = _cut(before, kept), _cut(after, kept)
    found, start = list[TextEdit](), 0
    for (ours, line), (now, _) in zip(old, new, strict=True):
        found += (
            replace(each, span=Span(start=each.span.start + start, end=each.span.end + start))
            for each in between(ours, now)
        )
        start += len(ours) + len(line)
    return tuple(found)


def _cut(page: Page, kept: set[int]) -> list[tuple[str, str]]:
    """The texts between the user's lines that are kept, each with the line behind it."""
    found, text = list[tuple[str, str]](), ""
    for line, row in zip(page.lines, page.rows, strict=True):
        if id(line) in kept and line.part is None:
            found.append((text, line.text))
            text = row.removeprefix(line.text)  # the end that it has now
        else:
            text += row
    return [*found, (text, "")]


def remarks(page: Page) -> list[Remark]:
    """What the user has written, place by place."""
    found = (_remark(above, lines) for above, lines in _runs(page) if above is not None)
    return [each for each in found if each is not None]


def _runs(page: Page) -> Iterator[tuple[Line | None, list[Line]]]:
    """The lines, in runs of ours and of the user's; before a run of the user's the line of ours above it."""
    above = Line(text="", part=TOP)
    for is_ours, group in groupby(page.lines, key=lambda line: line.part is not None):
        lines = list(group)
        yield None if is_ours else above, lines
        above = lines[-1]


def _remark(above: Line, lines: Sequence[Line]) -> Remark | None:
    """What a run of the user's lines says; None for nothing."""
    text = textwrap.dedent("\n".join(line.typed for line in lines)).strip("\n")
    if not text.strip() or above.part is None:
        return None
    return Remark(part=above.part, row=above.text.rstrip(), number=above.number, text=text)


def with_remark(page: Page, key: str, text: str) -> Page:
    """The page with *text* written by the user below the part *key*, and what is written there already."""
    at = room(page, key)
    if not text and at < len(page.lines) and page.lines[at].part is None:
        return page
    new = tuple(Line(text=f"{row}\n", part=None) for row in text.split("\n"))
    return Page(lines=(*page.lines[:at], *new, *page.lines[at:]))


def room(page: Page, key: str) -> int:
    """The line, counted from 0, below a part and what is written there, at which there is room for more."""
    at = page.end_of(key)
    while at < len(page.lines) and page.lines[at].part is None and page.lines[at].text.strip():
        at += 1
    return at


def without(page: Page, gone: Collection[Remark]) -> Page:
    """The page without some remarks, and without the user's blank lines around them."""
    places = set(map(_place, gone))
    lines = list[Line]()
    for above, group in _runs(page):
        is_gone = (
            above is not None and (remark := _remark(above, group)) is not None and _place(remark) in places
        )
        lines += () if is_gone else group
    return Page(lines=tuple(lines))


def _place(remark: Remark) -> tuple[str, int, str]:
    return remark.part, remark.number, remark.text


def likest(pages: Sequence[Page], now: Sequence[str]) -> Page:
    """The page *now*, as it follows from that of *pages* that leaves least of it to the user."""
    found = [observed(page, now) for page in pages] or [observed(Page(), now)]
    return min(found, key=lambda page: sum(line.part is None for line in page.lines))


# ---- As it is kept ------------------------------------------------------------------------------------


def as_json(page: Page) -> str:
    """The page as JSON."""
    return json.dumps([[line.text, line.part, line.number, line.over] for line in page.lines])


def read(text: str) -> Page | None:
    """What `as_json` has written; None if it is nothing of the kind."""
    try:
        lines = tuple(
            Line(text=str(row), part=None if part is None else str(part), number=int(number), over=str(over))
            for row, part, number, over in json.loads(text)
        )
    except (ValueError, TypeError, RecursionError):
        return None
    return Page(lines=lines)
