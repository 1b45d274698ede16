"""The user's sent messages in a conversation's document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from handrail.agent.chat.view import ASK, YOU
from handrail.core.documents import layout
from handrail.core.documents.layout import Counted
from handrail.core.documents.page import Line, Page, Part
from handrail.lsp.chat import draft as drafts

LIMIT_UNDONE = 50  # of the latest messages, those that may be a draft again


def is_heading(line: Line) -> bool:
    """Whether a line is the heading of ours above a message."""
    return line.part is not None and not line.number


def words(lines: Sequence[Line]) -> str:
    """Returns the words of a text, without its layout."""
    said = (counting_rule(line)(line.text) for line in lines if not is_heading(line))
    return " ".join(filter(None, said))


def are_changed(there: Sequence[Line], sent: Sequence[Line]) -> bool:
    """Whether the words of a message differ from those that were sent."""
    return tuple(there) != tuple(sent) and words(there) != words(sent)


def counting_rule(line: Line) -> Counted:
    """Returns the rule for comparing lines of a message: by words, and in code exactly."""
    is_code = line.is_code or (line.over is not None and line.over.is_code)
    return layout.message_code if is_code else layout.message


def keep_left(part: Part, there: Sequence[Line]) -> Part:
    """Returns what is left of the lines of a part; the lines around it always stay."""
    around = {0, 1, len(part.rows) - 1}
    kept = sorted(around | {line.number for line in there if line.part == part.key})
    return Part(key=part.key, rows=tuple(part.rows[at] for at in kept), numbers=tuple(kept))


def owned_lines(page: Page) -> Iterator[tuple[str, Line]]:
    """Yields each line with the key of the part that it is in."""
    key, below = "", drafts.draft_start(page.lines)
    for at, line in enumerate(page.lines):
        key = ASK if at == below else line.part or (line.over.part if line.over is not None else None) or key
        yield key, line


def find_changed(page: Page, sent: Iterable[Part]) -> dict[str, list[Line]]:
    """Returns, by part, the lines of those *sent* messages whose words were changed."""
    parts, there = {part.key: part for part in sent}, dict[str, list[Line]]()
    for key, line in owned_lines(page):
        if key in parts:
            there.setdefault(key, []).append(line)
    return {key: lines for key, lines in there.items() if are_changed(lines, parts[key].lines)}


def undone_lines(before: Page, now: Page, sent: Iterable[Part]) -> list[Line]:
    """
    Returns the lines of a draft that is a sent message again because the editor undid our edit that moved it.

    Args:
        before: The page until now, which has the message.
        now: The page, which has its text only as a draft.
        sent: The parts that show the user's messages.
    """
    if _count_headings(now) >= _count_headings(before):  # as with every key; the rest reads the whole draft
        return []
    draft = [line for line in now.lines[drafts.draft_start(now.lines) :] if line.part is None]
    text = _letters(line.text for line in draft)
    latest = [*sent][-LIMIT_UNDONE:] if text else []
    same = {part.key for part in latest if _letters(part.rows[1:]) == text}
    return draft if same & _visible_parts(before) - _visible_parts(now) else []


def _count_headings(page: Page) -> int:
    """Counts the headings above messages: one that the user moves keeps its heading, or takes it along."""
    return sum(row == YOU for row in page.bare)


def _letters(rows: Iterable[str]) -> list[str]:
    """Returns the letters of all rows that have any."""
    return [letters for row in rows if (letters := layout.letters(row))]


def _visible_parts(page: Page) -> set[str]:
    """Returns the keys of the parts of which more than a heading is there."""
    return {line.part for line in page.lines if line.part is not None and line.number and line.text.strip()}


def restore_part(page: Page, part: Part) -> Page:
    """Returns the page with a part restored, and without what the user has written in it."""
    lines, is_there = list[Line](), False
    for key, line in owned_lines(page):
        if key != part.key:
            lines.append(line)
        elif not is_there:
            lines += part.lines
            is_there = True
    return Page(lines=tuple(lines))
