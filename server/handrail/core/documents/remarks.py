"""Finds the texts that the user has written on a page, place by place, and makes places for more."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Sequence

from handrail.core.documents.page import TOP, Line, Page
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """
    A text that the user wrote at one place.

    Attributes:
        part: The part above it.
        row: The line of ours right above it, or in the place of which it stands; empty if there is none.
        number: Which row of the part that is.
        is_code: Whether that is a row of a fenced block.
        text: Without what is indented in all lines.
    """

    part: str
    row: str
    number: int
    text: str
    is_code: bool = False


def remarks(page: Page) -> list[Remark]:
    """Returns what the user has written, place by place."""
    result = (_remark(above, lines) for above, lines in _runs(page) if above is not None)
    return [each for each in result if each is not None]


def _runs(page: Page) -> Iterator[tuple[Line | None, list[Line]]]:
    """
    The lines, in runs of ours and of the user's.

    With a run of the user's comes the line of ours that it is about; None with one of ours. Text that
    replaces a line of ours is about that line, and is a run of its own.
    """
    above, run = Line(text="", part=TOP), list[Line]()
    about: Line | None = None
    for line in page.lines:
        now = None if line.part is not None else line.over or (about if run and about is not None else above)
        if run and now is not about:
            yield about, run
            run = []
        run.append(line)
        about = now
        above = line if line.part is not None else above
    if run:
        yield about, run


def _remark(above: Line, lines: Sequence[Line]) -> Remark | None:
    """Returns the remark in a run of the user's lines; None if they are empty."""
    text = textwrap.dedent("\n".join(line.typed for line in lines)).strip("\n")
    if not text.strip("> \t\n") or above.part is None:  # a quote of nothing is nothing
        return None
    return Remark(
        part=above.part, row=above.text.rstrip(), number=above.number, text=text, is_code=above.is_code
    )


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


def remove_remarks(page: Page, gone: Collection[Remark]) -> Page:
    """The page without some remarks, and without the user's blank lines around them."""
    gone_keys = set(map(_key, gone))
    lines = list[Line]()
    for above, group in _runs(page):
        is_gone = (
            above is not None and (remark := _remark(above, group)) is not None and _key(remark) in gone_keys
        )
        lines += () if is_gone else group
    return Page(lines=tuple(lines))


def reword(page: Page, old: Remark, text: str) -> Page:
    """The page with *text* in the place of a remark; an empty text removes it."""
    if not text.strip():
        return remove_remarks(page, [old])
    new = [Line(text=f"{row}\n", part=None) for row in text.split("\n")]
    lines = list[Line]()
    for above, group in _runs(page):
        remark = None if above is None else _remark(above, group)
        if remark is not None and _key(remark) == _key(old):
            blank = [line for line in group if not line.text.strip()]
            lines += [*new, *blank[-1:]]
        else:
            lines += group
    return Page(lines=tuple(lines))


def _key(remark: Remark) -> tuple[str, int, str]:
    return remark.part, remark.number, remark.text
