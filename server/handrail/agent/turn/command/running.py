"""
One command that runs in the background, or has run there: what is known of it, and how that is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from handrail.agent.tools.call import Printed
from handrail.agent.turn.command import notes
from handrail.core.checkpoint import CommandChange, CommandEffects, NotCovered
from handrail.core.failure import Failure
from handrail.core.policy.shell import Appeared
from handrail.core.results import redact, screen
from handrail.core.results.unread import Unread
from handrail.ports import Document, Process

NAME_CHARS = 60  # of a command line, where several are named


@dataclass(kw_only=True)
class BackgroundCommand:
    """
    A command that runs in the background, or has run there.

    Attributes:
        line: The command line.
        folder: Where it runs, for people.
        process: What runs it.
        answer: How it ended; None while it runs.
        checkpoint: The checkpoint that has what it changed, once it has changed something.
    """

    id: str
    session: str
    turn: str
    call: str
    line: str
    folder: str
    process: Process
    answer: Printed | Failure | None = None
    checkpoint: str | None = None
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    unread: Unread = field(default_factory=Unread)
    changes: dict[str, CommandChange] = field(default_factory=dict)
    not_covered: dict[str, NotCovered] = field(default_factory=dict)
    edited: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    aside: list[Appeared] = field(default_factory=list)
    began: Sequence[Document] = ()
    held_back: str = ""
    is_withheld: bool = False
    waiters: int = 0
    task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        """Whether it runs."""
        return self.answer is None

    @property
    def state(self) -> str:
        """How it is, in a sentence."""
        match self.answer:
            case None:
                return "It is running."
            case Failure(message=message):
                return f"It has ended: {message}"
            case Printed(failure=Failure(message=message)):
                return f"It has ended: {message}"
            case Printed(text=text):
                return f"It has ended. {text.strip()}"

    def keep(self, effects: CommandEffects, named: Sequence[str]) -> None:
        """Notes what it has changed; *named* are paths that others have changed as well."""
        self.checkpoint = effects.checkpoint or self.checkpoint
        self.changes.update({each.path: each for each in effects.changes})
        for each in effects.not_covered:
            if each.path in named:
                self.edited.add(each.path)
            else:
                self.not_covered[each.path] = each

    def effects(self) -> list[str]:
        """What it has changed, and what of that cannot be taken back."""
        changed, left_out = list(self.changes.values()), list(self.not_covered.values())
        return [
            notes.changed_note(changed),
            notes.not_covered_note(left_out),
            notes.edited_note(sorted(self.edited)),
        ]

    def report(self, secrets: Sequence[str]) -> str:
        """How it is, and what it has printed since it was last looked at."""
        is_withheld = self.is_withheld or (isinstance(self.answer, Printed) and self.answer.withheld)
        text = "" if is_withheld else self.held_back + self.unread.take()
        if self.is_running:
            text, self.held_back = redact.settle_tail(text, secrets)
        else:
            text, self.held_back = redact.redact(text, secrets), ""
        said, self.notes = [self.state, *self.notes], []
        if not self.is_running:
            said += self.effects()
        shown = screen.plain(text)
        if shown:
            said.append(f"New output:\n{shown}")
        else:
            said.append(
                "Its output is withheld." if is_withheld else "It has printed nothing since the last read."
            )
        return f"{self.id}: {self.line}\n" + "\n".join(filter(None, said))


def names_of(commands: Sequence[BackgroundCommand]) -> str:
    """Commands as a list of them names them."""
    return ", ".join(
        f"{each.id} ({each.line.strip().partition(chr(10))[0][:NAME_CHARS]})" for each in commands
    )
