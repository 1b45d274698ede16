"""
Separate a model's reasoning from its answer, if its server sends both as one text with tags.

A tag counts at the beginning of the text or of a line outside of a code fence. If a text has an end tag but
no start tag, everything before the end tag is reasoning: some servers consume the start tag.
"""

from __future__ import annotations

import re

from handrail.core.conversation.message import Delta, Thought
from handrail.values import dataclass

NAMES = r"think|thinking|thought|reasoning"
OPEN = re.compile(rf"^[ \t]{{0,20}}(?:<(?:{NAMES})>|\[THINK\])", re.MULTILINE | re.IGNORECASE)
CLOSE = re.compile(rf"(?:</(?:{NAMES})>|\[/THINK\])", re.IGNORECASE)
FENCE = "```"
LONGEST = len("</reasoning>")  # of all tags
BEGUN = re.compile(r"[ \t]{0,20}(?:[<\[][A-Za-z]{0,9}|`{1,2})?$")  # what may become a tag or a fence


def answer_of(text: str) -> str:
    """*text* without the reasoning in it."""
    left = text
    close = CLOSE.search(text)
    if close is not None and OPEN.search(text, 0, close.start()) is None and _is_tag(text, close):
        left = text[close.end() :]
    stream = Stream()
    pieces = [*stream.add(left), *stream.end()]
    said = "".join(piece.text for piece in pieces if isinstance(piece, Delta))
    return text if said == text else said.strip()


def _is_tag(text: str, match: re.Match[str]) -> bool:
    """Whether an end stands alone in its line, outside of code."""
    before, after = text[: match.start()], text[match.end() :]
    is_alone = not before.rpartition("\n")[2].strip() or not after.partition("\n")[0].strip()
    return is_alone and before.count(FENCE) % 2 == 0


@dataclass(kw_only=True)
class Stream:
    """A text that comes in pieces."""

    _pending: str = ""
    _is_thought: bool = False
    _begins_line: bool = True
    _is_code: bool = False

    def add(self, text: str) -> list[Delta | Thought]:
        """Adds a piece of text; returns the part that is certainly not a tag."""
        self._pending += text
        result: list[Delta | Thought] = []
        while (tag := self._tag()) is not None:
            start, end = tag
            result += self._tell(start)
            self._pending = self._pending[end - start :]
            self._is_thought = not self._is_thought
        return result + self._tell(len(self._pending) - self._held_count())

    def end(self) -> list[Delta | Thought]:
        """Returns the rest of the text."""
        return self._tell(len(self._pending))

    def _tag(self) -> tuple[int, int] | None:
        """Returns the span of the next tag."""
        if self._is_thought:
            close = CLOSE.search(self._pending)
            return close.span() if close is not None else None
        for each in OPEN.finditer(self._pending):
            is_begun = self._begins_line or each.start() > 0
            if is_begun and not self._is_code ^ bool(self._pending[: each.start()].count(FENCE) % 2):
                return each.span()
        return None

    def _held_count(self) -> int:
        """Returns how many characters at the end may become a tag."""
        if self._is_thought:
            least = max(len(self._pending) - LONGEST, 0)
            at = max(self._pending.rfind(sign, least) for sign in "<[")
            return len(self._pending) - at if at >= 0 else 0
        start = self._pending.rfind("\n") + 1
        if start == 0 and not self._begins_line:
            return 0
        return len(self._pending) - start if BEGUN.match(self._pending, start) else 0

    def _tell(self, count: int) -> list[Delta | Thought]:
        text, self._pending = self._pending[:count], self._pending[count:]
        if not text:
            return []
        if self._is_thought:
            self._begins_line = True  # what follows the end of reasoning begins anew
            return [Thought(text=text)]
        self._begins_line = text.endswith("\n")
        self._is_code ^= bool(text.count(FENCE) % 2)
        return [Delta(text=text)]
