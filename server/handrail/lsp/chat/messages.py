"""The user's sent messages in a conversation's document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handrail.agent.chat.view import ASK
from handrail.core.documents import layout
from handrail.core.documents.layout import Counted
from handrail.core.documents.page import Line, Page, Part
from handrail.lsp.chat import draft as drafts


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
