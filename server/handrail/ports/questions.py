"""
Questions to the user: what is asked, and the port through which a turn asks.

Nothing is a yes but the exact choice. No is always the first choice, and the default.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

ALLOW, DENY = "allow", "deny"
FOR_SESSION, ALWAYS = "session", "always"  # a yes that holds for the session, or in this workspace for good
LEAVE = (DENY, ALLOW, FOR_SESSION, ALWAYS)
NO = "No"
TITLES = {DENY: NO, ALLOW: "Allow once", FOR_SESSION: "Allow for this session", ALWAYS: "Always allow here"}
LIMIT_ANSWER_CHARS = 10_000  # of an answer in the user's own words


class Kind(StrEnum):
    """What a question is about."""

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
    Something the user is asked. All of it but the ids may be text of a model, a file or a command.

    Attributes:
        id: Names it among all questions of a server.
        session, turn, call, tool: Who asks.
        kind: What it is about.
        subject: All of what it is about: paths, a command line, or the question itself.
        detail: Why it is asked.
        choices: What can be answered, `DENY` first.
        folder: Where a command runs.
        rules: What a lasting yes adds, in words.
        diff: What would be written, or has appeared.
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

    @property
    def asks_leave(self) -> bool:
        """Whether it asks whether something may be done; else it is the model's own."""
        return self.kind is not Kind.QUESTION

    @property
    def takes_text(self) -> bool:
        """Whether it may be answered in other words than the choices: only the model's own may."""
        return not self.asks_leave

    def takes(self, answer: str) -> bool:
        """Whether *answer* is one; what a client says to every question alike is not the user's own words."""
        is_text = answer.strip() not in ("", *LEAVE) and len(answer) <= LIMIT_ANSWER_CHARS
        return answer in self.choices or (self.takes_text and is_text)


class Approver(Protocol):
    """Asks the user."""

    async def ask(self, question: Question) -> str | None:
        """An answer that it takes; None if there was none in time. Cancelling it withdraws the question."""
        ...


class Clock(Protocol):
    """The time by which questions end."""

    def now(self) -> float:
        """Seconds since 1970."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Waits until that many seconds have passed."""
        ...


class MonotonicClock:
    """Real time, counted from any moment."""

    def now(self) -> float:
        """Seconds since that moment."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Waits."""
        await asyncio.sleep(seconds)
