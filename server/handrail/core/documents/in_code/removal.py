"""
Remove a prompt from its document, together with the first edit that answers it.

The comment is searched for in the text of the edit, at the place that corresponds to the one from which it
was sent. If it has changed, it stays as the user wrote it; if the edit itself touches it, nothing is added to
the edit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from handrail.core.documents import edit
from handrail.core.documents.change import PlannedHunk, Tier, Update
from handrail.core.documents.edit import TextEdit
from handrail.core.documents.in_code.prompts import BLANKS, TERMINATOR, Prompt, prompts, prompts_at
from handrail.core.documents.text import Text
from handrail.core.failure import Span
from handrail.values import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class SentPrompt:
    """
    A prompt that a turn answers.

    Attributes:
        identity: Of its document.
        content: The text from which it was sent.
        prompt: Where it stood, and what it said.
        language, path: What tells the language of the document.
    """

    identity: str
    content: str
    prompt: Prompt
    language: str
    path: str


def removal_edit(sent: SentPrompt, now: str) -> TextEdit | None:
    """The edit of *now* that removes the comment; None if it is no longer there as it was sent."""
    before = sent.prompt
    start = edit.carry(before.span, edit.edits_between(sent.content, now)).start
    row = Text(now).line_at(min(start, len(now)))
    for there in prompts_at(prompts(now, sent.language, sent.path), row, row):
        if there.first == row and there.text == before.text and there.is_alone == before.is_alone:
            return TextEdit(span=_comment_span(there, now), new="")
    return None


def _comment_span(prompt: Prompt, content: str) -> Span:
    """The comment with its rows, or behind code with the blanks before it."""
    start, end = prompt.span.start, prompt.span.end
    head = content[max(content.rfind("\n", 0, start), content.rfind("\r", 0, start)) + 1 : start]
    begin = start - len(head) + len(head.rstrip(" \t"))
    is_first = not head.strip(" \t")
    if prompt.is_alone:
        behind = _end(BLANKS, content, end)
        return Span(start=start - len(head), end=_end(TERMINATOR, content, behind))
    if is_first:  # code stands behind it, and keeps the indentation
        return Span(start=start, end=_end(BLANKS, content, end))
    return Span(start=begin, end=end)


def _end(pattern: re.Pattern[str], content: str, offset: int) -> int:
    match = pattern.match(content, offset)
    return match.end() if match is not None else offset


def with_removals(update: Update, sent: Sequence[SentPrompt]) -> Update:
    """*update*, which also removes comments that it does not touch; the same value if there are none."""
    taken, result = [each.span for each in update.edits], list[TextEdit]()
    for each in sent:
        gone = removal_edit(each, update.base.content)
        if gone is not None and not any(_meet(gone.span, span) for span in taken):
            result.append(gone)
            taken.append(gone.span)
    if not result:
        return update
    number = max((hunk.number or 1 for hunk in update.hunks), default=0) + 1
    edits = tuple(sorted(result, key=lambda each: each.span.start))
    return replace(update, hunks=(*update.hunks, PlannedHunk(number=number, tier=Tier.SAFE, edits=edits)))


def _meet(one: Span, other: Span) -> bool:
    """Whether two spans have text in common, or one is inserted inside the other."""
    return one.start < other.end and other.start < one.end
