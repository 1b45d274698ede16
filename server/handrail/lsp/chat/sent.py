"""
The lines of a draft that were sent, until they are removed from the document.

From then on they are ours, in every text of the document that is known and recorded: so an editor that shows
an earlier text again makes no draft of them, even if the server was killed in between.
"""

from __future__ import annotations

import operator
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import groupby

from handrail.agent.chat.transcript import Interjection, TranscriptTurn
from handrail.agent.chat.view import ASK, SENT
from handrail.core.documents import layout
from handrail.core.documents.page import Line, Page, Part
from handrail.lsp.chat.draft import cut_heading, draft_start

MESSAGES = ("you:", "said:")  # prefixes of the keys of parts that show the user's messages


def key(turns: int | None = None) -> str:
    """
    Returns the key of the part of lines that are being sent, while there were so many *turns*; for None, of
    lines that were sent.
    """
    return SENT if turns is None else f"{SENT}{turns}"


def is_sent(line: Line) -> bool:
    """Whether a line was sent, or is being sent."""
    return line.part is not None and line.part.startswith(SENT)


def words(line: Line) -> str:
    """Returns the letters of a line of a draft, without our heading."""
    return layout.letters(cut_heading(line.text))


def mark(page: Page, lines: Iterable[Line], part: str) -> Page:
    """Returns the page with these lines of its draft in a part of ours."""
    numbers = {id(line): number for number, line in enumerate(lines)}

    def mark_line(line: Line) -> Line:
        number = numbers.get(id(line))
        return line if number is None else Line(text=line.text, part=part, number=number)

    return _change(page, mark_line)


def keep(before: Page, now: Page) -> Page:
    """
    Returns the page *now* with what was sent as of *before*.

    Where an update landed at the same time as the user typed, the lines of a draft may count as new. They are
    new if the update has the message.
    """
    was_sent = [line for _, lines in _parts(before) for line in lines]
    if not was_sent:
        return now
    known = _count_in_messages(now) - _count_in_messages(before)
    known += Counter(words(line) for _, lines in _parts(now) for line in lines)
    lost = dict[str, deque[Line]]()
    for line in was_sent:
        row = words(line)
        if known[row]:
            known[row] -= 1
        else:
            lost.setdefault(row, deque()).append(line)

    def mark_lost(line: Line) -> Line:
        same = lost.get(words(line)) if line.part is None else None
        return same.popleft()._replace(text=line.text) if same else line

    return _change(now, mark_lost)


def with_moved_lines(page: Page) -> Page:
    """Returns the page with lines of ours that the user moved into the draft as the user's."""
    start = draft_start(page.lines)
    below = page.lines[start:]
    lines = tuple(map(_disown, below))
    return page if all(map(operator.is_, below, lines)) else Page(lines=(*page.lines[:start], *lines))


def _disown(line: Line) -> Line:
    """Returns a line of the draft as the user's, unless it is of our heading or was sent."""
    part = _part_of(line)
    if part is None or part == ASK or part.startswith(SENT):
        return line
    return Line(text=line.text, part=None)


def finish(page: Page) -> Page:
    """Returns the page with the lines that were being sent as lines that were sent."""
    return _change(page, lambda line: line._replace(part=SENT) if is_sent(line) else line)


def remove(page: Page, turns: Sequence[TranscriptTurn]) -> Page:
    """
    Returns the page without the lines that were sent, or are shown as a message of these *turns*; of such a
    line that was typed in since, what was added stays.
    """
    gone = {part for part, lines in _parts(page, typed_in=True) if _is_shown(part, lines, turns)}
    if not gone:
        return page
    start = _tail_start(page)
    left = (_keep_added(line, gone) for line in page.lines[start:] if line.part not in gone)
    return Page(lines=(*page.lines[:start], *left))


def _keep_added(line: Line, gone: Set[str | None]) -> Line:
    """Returns what is left of a line that may have been typed in since it was sent."""
    if line.over is None or line.over.part not in gone:
        return line
    return Line(text=line.text.removeprefix(line.over.text.rstrip()).lstrip(" \t"), part=None)


def give_back(page: Page, turns: Sequence[TranscriptTurn]) -> Page:
    """Returns the page with the lines that are in no message of these *turns* as a draft again."""
    back = {part for part, lines in _parts(page, typed_in=True) if not _is_shown(part, lines, turns)}
    return _change(page, lambda line: Line(text=line.text, part=None) if _part_of(line) in back else line)


def parts(page: Page) -> list[Part]:
    """Returns the lines that are being sent, and are not shown as a message yet."""
    return [
        Part(
            key=part,
            rows=tuple(line.text if line.text.endswith("\n") else f"{line.text}\n" for line in lines),
            numbers=tuple(line.number for line in lines),
        )
        for part, lines in _parts(page)
    ]


def _is_shown(part: str, lines: Iterable[Line], turns: Sequence[TranscriptTurn]) -> bool:
    """Whether the words of lines that are being sent are in a message that was sent since."""
    if part == SENT:
        return True
    count = part.removeprefix(SENT)
    since = turns[int(count) :] if count.isdecimal() else ()
    said = {layout.letters(row) for one in since for text in _user_texts(one) for row in text.split("\n")}
    return bool(since) and said.issuperset(filter(None, map(words, lines)))


def _user_texts(one: TranscriptTurn) -> Iterator[str]:
    """Yields what the user has said to a turn."""
    yield one.prompt
    yield from one.steered
    yield from (item.text for item in one.items if isinstance(item, Interjection) and not item.is_ours)


def _parts(page: Page, *, typed_in: bool = False) -> list[tuple[str, list[Line]]]:
    """Returns the lines that were sent, or are being sent, by part; with *typed_in*, as they were sent."""
    tail = page.lines[_tail_start(page) :]
    found = [line.over if typed_in and line.over is not None else line for line in tail]
    lines = sorted(filter(is_sent, found), key=lambda line: (line.part or "", line.number))
    return [(part or "", [*own]) for part, own in groupby(lines, lambda line: line.part)]


def _count_in_messages(page: Page) -> Counter[str]:
    """Counts the lines of the user's messages, by their letters."""
    shown = (line for line in page.lines if line.part is not None and line.part.startswith(MESSAGES))
    return Counter(layout.letters(line.text) for line in shown)


def _part_of(line: Line) -> str | None:
    """Returns the key of the part of a line, or of the one that it was typed in."""
    return line.part if line.over is None else line.over.part


def _tail_start(page: Page) -> int:
    """Returns the line below our last one that is neither blank nor sent."""
    at = len(page.lines)
    while at:
        above = page.lines[at - 1]
        if above.part is not None and not is_sent(above) and above.text.strip():
            break
        at -= 1
    return at


def _change(page: Page, change: Callable[[Line], Line]) -> Page:
    """Returns the page with each line of the draft, or that was sent, changed."""
    start = _tail_start(page)
    before = page.lines[start:]
    after = tuple(change(line) if line.part is None or is_sent(line) else line for line in before)
    return page if all(map(operator.is_, before, after)) else Page(lines=(*page.lines[:start], *after))
