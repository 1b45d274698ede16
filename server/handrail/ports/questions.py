"""
Questions to the user, and the port through which a turn asks them.

Only the exact choice counts as a yes. No is always the first choice, and the default.
"""

from __future__ import annotations

import asyncio
import time
from enum import StrEnum
from typing import Protocol

from handrail.values import dataclass

ALLOW, DENY = "allow", "deny"
FOR_SESSION, ALWAYS = "session", "always"  # a yes that holds for the session, or in this workspace for good
LEAVE = (DENY, ALLOW, FOR_SESSION, ALWAYS)
NO = "No"
TITLES = {
    DENY: NO,
    ALLOW: "Allow once",
    FOR_SESSION: "Allow in this conversation",
    ALWAYS: "Always allow in this workspace",
}
YES = "Yes"  # where no lasting yes is offered
LIMIT_ANSWER_CHARS = 10_000  # of an answer in the user's own words


class Kind(StrEnum):
    """The kinds of questions, by what they are about."""

    COMMAND = "command"
    FILE = "file"
    OUTSIDE = "outside"
    TOOL = "tool"
    QUESTION = "question"
    SAVING = "saving"
    APPEARED = "appeared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """
    A question to the user. All of its texts except the ids may come from a model, a file or a command.

    Attributes:
        id: Unique among all questions of a server.
        session, turn, call, tool: Where the question comes from.
        kind: What it is about.
        subject: The complete subject: paths, a command line, or the question itself.
        detail: Why it is asked.
        choices: The possible answers, `DENY` first.
        folder: Where a command runs.
        rules: The rules that a lasting yes adds, in words.
        diff: What would be written, or the contents of files that have appeared.
        changes_files: Whether the tool would change the files, and not only read them; None if it is about
            something else.
    """

    id: str
    turn: str
    call: str
    tool: str
    subject: str
    session: str = ""
    kind: Kind = Kind.TOOL
    detail: str = ""
    choices: tuple[str, ...] = LEAVE
    folder: str = ""
    rules: tuple[str, ...] = ()
    diff: str = ""
    changes_files: bool | None = None

    @property
    def asks_permission(self) -> bool:
        """Whether it asks for permission; otherwise it is a question by the model."""
        return self.kind is not Kind.QUESTION

    @property
    def takes_text(self) -> bool:
        """Whether the user may answer in their own words, as only questions by the model allow."""
        return not self.asks_permission

    @property
    def could_last(self) -> bool:
        """Whether a lasting yes is offered too."""
        return FOR_SESSION in self.choices or ALWAYS in self.choices

    def title(self, choice: str) -> str:
        """What a choice is called, if the question asks for permission."""
        return title_of(choice, could_last=self.could_last)

    def takes(self, answer: str) -> bool:
        """
        Whether *answer* is valid. A reply that a client gives to every question does not count as the user's
        own words.
        """
        is_text = answer.strip() not in ("", *LEAVE) and len(answer) <= LIMIT_ANSWER_CHARS
        return answer in self.choices or (self.takes_text and is_text)


def title_of(choice: str, *, could_last: bool) -> str:
    """What a choice is called where a lasting yes is offered too, or is not."""
    return YES if choice == ALLOW and not could_last else TITLES.get(choice, choice)


class Approver(Protocol):
    """Asks the user."""

    async def ask(self, question: Question) -> str | None:
        """
        Asks and returns a valid answer; None if there was none in time. Cancelling this withdraws the
        question.
        """
        ...


class Clock(Protocol):
    """The clock by which questions time out."""

    def now(self) -> float:
        """Seconds since 1970."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Waits until that many seconds have passed."""
        ...


class MonotonicClock:
    """Real time, counted from an arbitrary moment."""

    def now(self) -> float:
        """Seconds since that moment."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Waits."""
        await asyncio.sleep(seconds)
