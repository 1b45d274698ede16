"""
What the user writes at the end of a conversation: its lines, and our heading above them.

The heading is ours whatever the user has made of it, and what was typed in its row is a part of the draft.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import groupby

from handrail.agent.chat.view import ASK, YOU
from handrail.core.documents import layout
from handrail.core.documents.page import Line, Page, Part

PLACE = Part(key=ASK, rows=(f"{YOU}\n", "\n"))  # below which the user writes
_TYPED_IN = re.compile(re.escape(YOU) + r"(?:[ \t]*:)?[ \t]*(?=[^ \t\r\n])")  # and more in the same row


def remove_draft(page: Page, sent: Sequence[Line]) -> Page:
    """The page without the lines of a draft that was sent."""
    if not sent:
        return page
    left = Counter(_cut_heading(line.text).rstrip() for line in sent)
    lines, is_draft = list[Line](), False
    for line in page.lines:
        is_draft = is_draft or line.part == ASK
        row = _cut_heading(line.text).rstrip()
        if is_draft and line.part is None and left[row] > 0:
            left[row] -= 1
        else:
            lines.append(line)
    return Page(lines=tuple(lines))


def remove_said(page: Page, sent: Collection[int], said: Collection[str]) -> Page:
    """
    The page without the lines of a draft that was sent before; they stay if one of them is not shown above.

    Args:
        sent: The identities of lines that were sent.
        said: The letters of the rows that are shown as said by the user.
    """
    at = draft_start(page.lines)
    again = {id(line) for line in page.lines[at:] if line.part is None and id(line) in sent}
    is_shown = all(
        layout.letters(line.text) in said for line in page.lines if id(line) in again and line.text.strip()
    )
    return Page(lines=tuple(line for line in page.lines if id(line) not in again)) if is_shown else page


def with_draft(page: Page, text: str) -> Page:
    """The page with *text* at the end of what the user writes."""
    lines = page.lines
    if not any(line.part == ASK for line in lines):  # nothing is written yet
        lines = (*lines, *PLACE.lines)
    written = any(line.part is None and line.text.strip() for line in lines[draft_start(lines) :])
    rows = ["", *text.split("\n")] if written else text.split("\n")
    return Page(lines=(*lines, *(Line(text=f"{row}\n", part=None) for row in rows)))


def draft_start(lines: Sequence[Line]) -> int:
    """Where the user's lines begin below our last heading; if it is gone, below our last line."""
    heading = next((at for at, line in enumerate(lines) if line.part == ASK and line.text.strip()), None)
    if heading is not None:
        return heading + 1
    ours = (at for at, line in enumerate(lines) if is_last_heading(line) or (line.part and line.text.strip()))
    last = max(ours, default=-1)
    typed = (at for at, line in enumerate(lines) if at > last and line.text.strip())
    return next(typed, len(lines))


def without_added_blanks(page: Page) -> Page:
    """Returns the page without the blank lines that a formatter has put among ours."""
    start = draft_start(page.lines)
    result = list[Line]()
    for is_theirs, run in groupby(page.lines[:start], lambda line: line.part is None):
        lines = list(run)
        result += () if is_theirs and not any(line.text.strip() for line in lines) else lines
    return Page(lines=(*result, *page.lines[start:]))


def has_heading(lines: Sequence[Line]) -> bool:
    """Whether our last heading stands as it was written."""
    return any(line.part == ASK and line.text.strip() for line in reversed(lines))


def is_last_heading(line: Line) -> bool:
    """Whether a line is what the user has left of our last heading, with nothing typed in it."""
    over = line.over
    is_of_it = line.part is None and over is not None and over.part == ASK and not over.number
    return is_of_it and bool(line.text.strip()) and not line.typed


def with_own_draft(page: Page) -> Page:
    """
    The page with every line of the draft as the user's, including blank ones that were ours.

    Our last heading is ours again if the user has written it once more above the draft.
    """
    at = draft_start(page.lines)
    lines = [
        line if line.part is None and line.over is None else replace(line, part=None, over=None)
        for line in page.lines[at:]
    ]
    if lines and lines[0].text.rstrip() == YOU:
        lines[0] = replace(lines[0], part=ASK)
        if not "".join(line.text for line in lines[1:2]).strip():
            lines[1:2] = [replace(line, part=ASK, number=1) for line in lines[1:2]]
    return Page(lines=(*page.lines[:at], *lines))


def with_heading(page: Page) -> Page:
    """The page with our last heading above the draft, even if the user has removed it or typed in its row."""
    at = draft_start(page.lines)
    is_there = has_heading(page.lines)
    if is_there or (at == len(page.lines) and not any(map(is_last_heading, page.lines))):
        return page
    above = (line for line in page.lines[:at] if line.part != ASK and not is_last_heading(line))
    return Page(lines=(*above, *PLACE.lines, *_without_heading(page.lines[at:])))


def message(page: Page, written: Sequence[Line]) -> str:
    """What the user says with these lines of the draft, without blank lines around it."""
    rows = written if has_heading(page.lines) else _without_heading(written)
    return "\n".join(line.text.rstrip("\r\n") for line in rows).strip("\n")


def _without_heading(written: Sequence[Line]) -> list[Line]:
    """The lines of a draft, the first of which may stand in the row of our heading."""
    if not written or _cut_heading(written[0].text) == written[0].text:
        return [*written]
    return [Line(text=_cut_heading(written[0].text), part=None), *written[1:]]


def _cut_heading(row: str) -> str:
    """A row without our heading, if there is more in it."""
    return _TYPED_IN.sub("", row, count=1) if _TYPED_IN.match(row) else row
