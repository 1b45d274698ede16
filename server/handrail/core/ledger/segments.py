"""
Attribute changes to their authors while commands run in the background.

Theory of operation. While a command runs in the background, snapshots of the workspace cut the time into
segments: one is taken when it starts, before and after every other command, and when the last one ends. What
differs between two snapshots belongs to one command: to the other command if one ran, otherwise to the
background command that started last. Changes by edits and saves in the segment do not belong to it.

    b1 starts      terminal: make      patch a.py            b1 ends
    S1 --- b1 --- S2 --- make --- S3 --- b1, without a.py --- S4

Nothing is changed between two segments, so the whole is the sum of its parts. Each is kept under a step of
the turn that started its command, and no two under the same one once that turn is over: what others changed
in between stays visible.
"""

from __future__ import annotations

from collections.abc import Iterable

from handrail.values import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """
    A background command.

    Attributes:
        number: The step of its turn under which the current segment is stored.
    """

    id: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """
    The current segment.

    Attributes:
        running: The background commands, in the order in which they started.
        others: The number of other running commands.
        touched: The URIs that edits have changed in this segment.
    """

    running: tuple[Runner, ...] = ()
    others: int = 0
    touched: frozenset[str] = frozenset()

    @property
    def owner(self) -> Runner | None:
        """The command that the changes of this segment belong to; None if another command runs, or none."""
        return self.running[-1] if self.running and not self.others else None

    def start(self, runner: Runner) -> Segments:
        """Adds *runner*, from a new snapshot on."""
        return replace(self, running=(*self.running, runner), touched=frozenset())

    def end(self, command: str) -> Segments:
        """
        Notes that the background command with that id has ended, with a new snapshot if the segment was its
        own.
        """
        left = tuple(each for each in self.running if each.id != command)
        was_owner = self.owner is not None and self.owner.id == command
        return replace(self, running=left, touched=frozenset() if was_owner else self.touched)

    def other_began(self) -> Segments:
        """Notes that another command has begun, with a new snapshot."""
        return replace(self, others=self.others + 1, touched=frozenset())

    def end_other(self) -> Segments:
        """Notes that another command has ended, with a new snapshot if it was the last one."""
        return replace(self, others=max(self.others - 1, 0), touched=frozenset())

    def touch(self, uris: Iterable[str]) -> Segments:
        """Notes that edits are about to change these documents."""
        return replace(self, touched=self.touched | frozenset(uris)) if self.running else self

    def keep_under(self, command: str, number: int) -> Segments:
        """Stores the current segment of a background command under that step."""
        running = (replace(each, number=number) if each.id == command else each for each in self.running)
        return replace(self, running=tuple(running))


def next_number(last: int, step: int, *, is_over: bool) -> int:
    """
    Returns the step under which a new segment is stored.

    Args:
        last: The step of the previous segment; 0 for none.
        step: The latest step of the turn.
        is_over: Whether the turn has ended.
    """
    return max(last, step) + 1 if is_over else max(last, step)
