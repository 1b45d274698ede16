"""The state of one background command, running or ended, and how it is reported."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from handrail.agent.tools.call import CommandReport
from handrail.agent.turn.command import notes
from handrail.core.checkpoint import CommandChange, CommandEffects, NotCovered
from handrail.core.failure import Failure
from handrail.core.policy.shell import Appeared
from handrail.core.results import redact, screen
from handrail.core.results.unread import Unread
from handrail.ports import Document, Process
from handrail.values import dataclass, field

NAME_CHARS = 60  # of each command line in a list


@dataclass(kw_only=True)
class BackgroundCommand:
    """
    A background command, running or ended.

    Attributes:
        line: The command line.
        folder: Where it runs, for people.
        process: The port that runs it.
        answer: How it ended; None while it runs.
        checkpoint: The checkpoint with its changes, once there are any.
        is_withheld: Whether its output must not be read: it may have seen what it must not.
    """

    id: str
    session: str
    turn: str
    call: str
    line: str
    folder: str
    process: Process
    answer: CommandReport | Failure | None = None
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
        """Describes its state in a sentence."""
        match self.answer:
            case None:
                return "It is running."
            case Failure(message=message) | CommandReport(failure=Failure(message=message)):
                return f"It has ended. {message}"
            case CommandReport(text=text):
                return f"It has ended. {text.strip()}"

    def keep(self, effects: CommandEffects, named: Sequence[str]) -> None:
        """Stores its changes; *named* are paths that others have changed too."""
        self.checkpoint = effects.checkpoint or self.checkpoint
        self.changes.update({each.path: each for each in effects.changes})
        for each in effects.not_covered:
            if each.path in named:
                self.edited.add(each.path)
            else:
                self.not_covered[each.path] = each

    def effects(self) -> list[str]:
        """Returns its changes, and which of them cannot be undone."""
        changed, left_out = list(self.changes.values()), list(self.not_covered.values())
        return [
            notes.changed_note(changed),
            notes.not_covered_note(left_out),
            notes.edited_note(sorted(self.edited)),
        ]

    def report(self, secrets: Sequence[str]) -> str:
        """Returns its state, and its output since the last report."""
        text = "" if self.is_withheld else self.held_back + self.unread.take()
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
            said.append("Its output is withheld." if self.is_withheld else "It has printed nothing new.")
        return f"{self.id}: {self.line}\n" + "\n".join(filter(None, said))


def names_of(commands: Sequence[BackgroundCommand]) -> str:
    """Names commands in a list."""
    return ", ".join(
        f"{each.id} ({each.line.strip().partition(chr(10))[0][:NAME_CHARS]})" for each in commands
    )
