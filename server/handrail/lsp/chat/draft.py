"""
The draft: what the user writes at the end of a conversation, below our heading.

The heading stays ours even if the user changes it; text that was typed in its line is part of the draft.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from handrail.agent.chat.view import ASK, YOU
from handrail.core.documents.page import Line, Page, Part

DRAFT_HEADING = Part(key=ASK, rows=(f"{YOU}\n", "\n"))  # below which the user writes
_TYPED_IN = re.compile(re.escape(YOU) + r"(?:[ \t]*:)?[ \t]*(?=[^ \t\r\n])")  # and more in the same row


def with_draft(page: Page, text: str) -> Page:
    """Returns the page with *text* at the end of the draft."""
    lines = page.lines
    if not any(line.part == ASK for line in lines):  # the draft is empty
        lines = (*lines, *DRAFT_HEADING.lines)
    written = any(line.part is None and line.text.strip() for line in lines[draft_start(lines) :])
    rows = ["", *text.split("\n")] if written else text.split("\n")
    return Page(lines=(*lines, *(Line(text=f"{row}\n", part=None) for row in rows)))


def with_texts(page: Page, texts: Sequence[str]) -> Page:
    """Returns the page with each of these texts in the draft, at its end if it is not there."""
    for text in texts:
        page = page if has_text(page, text) else with_draft(page, text)
    return page


def has_text(page: Page, text: str) -> bool:
    """Whether all rows of a text are in the draft."""
    draft = page.lines[draft_start(page.lines) :]
    there = {line.text.rstrip() for line in draft if line.part is None} | {""}
    return there.issuperset(row.rstrip() for row in text.split("\n"))


def draft_start(lines: Sequence[Line]) -> int:
    """
    Returns where the user's lines begin: below our last heading or, if that is gone, below our last line.
    """
    for at in range(len(lines) - 1, -1, -1):  # from the end, as there is only one and a draft is short
        if lines[at].part == ASK and lines[at].text.strip():
            return at + 1
    ours = (at for at, line in enumerate(lines) if is_last_heading(line) or (line.part and line.text.strip()))
    last = max(ours, default=-1)
    typed = (at for at, line in enumerate(lines) if at > last and line.text.strip())
    return next(typed, len(lines))


def last_line(page: Page) -> int:
    """
    Returns the line, counted from 0, where the user writes.

    Every editor shows it: Vim has no line after the last line ending.
    """
    said = [at for at, line in enumerate(page.lines) if line.text.strip()]
    if said and page.lines[said[-1]].part is None:
        return said[-1]
    return max(len(page.lines) - 1, 0)


def begins_at(page: Page, line: int) -> bool:
    """Whether the draft begins at a line, counted from 0."""
    first = draft_start(page.lines)
    above = (each for each in page.lines[first:line] if each.part is None)
    return first <= line and not any(each.text.strip() for each in above)


def without_added_blanks(page: Page) -> Page:
    """Returns the page without the blank lines that a formatter has put among ours."""
    start = draft_start(page.lines)
    if all(line.part is not None or line.text.strip() for line in page.lines[:start]):
        return page
    result = list[Line]()
    for is_theirs, run in groupby(page.lines[:start], lambda line: line.part is None):
        lines = list(run)
        result += () if is_theirs and not any(line.text.strip() for line in lines) else lines
    return Page(lines=(*result, *page.lines[start:]))


def has_heading(lines: Sequence[Line]) -> bool:
    """Whether our last heading is unchanged."""
    return any(line.part == ASK and line.text.strip() for line in reversed(lines))


def is_last_heading(line: Line) -> bool:
    """Whether a line is what is left of our last heading, without typed text."""
    over = line.over
    is_of_it = line.part is None and over is not None and over.part == ASK and not over.number
    return is_of_it and bool(line.text.strip()) and not line.typed


def with_own_draft(page: Page) -> Page:
    """
    Returns the page with all lines of the draft as the user's, even blank lines that were ours.

    Our last heading is ours again if the user typed it again above the draft.
    """
    at = draft_start(page.lines)
    lines = [
        line if line.part is None and line.over is None else line._replace(part=None, over=None)
        for line in page.lines[at:]
    ]
    if lines and lines[0].text.rstrip() == YOU:
        lines[0] = lines[0]._replace(part=ASK)
        if not "".join(line.text for line in lines[1:2]).strip():
            lines[1:2] = [line._replace(part=ASK, number=1) for line in lines[1:2]]
    return Page(lines=(*page.lines[:at], *lines))


def with_heading(page: Page) -> Page:
    """
    Returns the page with our last heading above the draft, even if the user removed it or typed in its line.
    """
    at = draft_start(page.lines)
    is_there = has_heading(page.lines)
    if is_there or (at == len(page.lines) and not any(map(is_last_heading, page.lines))):
        return page
    above = (line for line in page.lines[:at] if line.part != ASK and not is_last_heading(line))
    return Page(lines=(*above, *DRAFT_HEADING.lines, *_without_heading(page.lines[at:])))


def message(page: Page, written: Sequence[Line]) -> str:
    """Returns the message in these lines of the draft, without blank lines around it."""
    rows = written if has_heading(page.lines) else _without_heading(written)
    return "\n".join(line.text.rstrip("\r\n") for line in rows).strip("\n")


def cut_heading(row: str) -> str:
    """Returns a line without our heading, if it has more text."""
    return _TYPED_IN.sub("", row, count=1) if _TYPED_IN.match(row) else row


def _without_heading(written: Sequence[Line]) -> list[Line]:
    """Returns the lines of a draft, the first of which may be in the line of our heading."""
    if not written or cut_heading(written[0].text) == written[0].text:
        return [*written]
    return [Line(text=cut_heading(written[0].text), part=None), *written[1:]]
