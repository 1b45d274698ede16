"""The port to what is written down of sessions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from handrail.core.conversation.journal import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """
    A session as a list shows it.

    Attributes:
        id: Names it.
        title: As the user has named it, else the first line of its first prompt.
        time: When it was last written to, RFC 3339 with offset.
        turns: How many turns it has.
    """

    id: str
    title: str
    time: str
    turns: int


Release = Callable[[], None]


class Sessions(Protocol):
    """Keeps the journals of sessions; nothing is ever taken out of one, but one may be removed."""

    def append(self, session: str, entries: Sequence[Entry]) -> None:
        """Has entries written at the end of a session's journal, in order; what cannot be is logged."""
        ...

    async def wait_until_written(self) -> None:
        """Waits until all that was appended is in the journals."""
        ...

    async def load(self, session: str) -> tuple[Entry, ...] | None:
        """All entries of a session, as far as they can be read; None if there is no such session."""
        ...

    async def read(self, session: str, since: int = -1) -> tuple[tuple[Entry, ...], int] | None:
        """
        Looks at a session that others may continue with; what they write is not known here by that.

        Args:
            session: Its id.
            since: How many bytes its journal had when it was looked at before.

        Returns:
            All its entries, and how many bytes its journal has; None if there is nothing new.
        """
        ...

    def uri(self, session: str) -> str | None:
        """Where the journal of a session is; None if it is nowhere."""
        ...

    async def list(self, limit: int | None = None) -> tuple[SessionInfo, ...]:
        """All sessions, newest first; only the newest *limit* of them, if given."""
        ...

    async def remove(self, session: str) -> bool:
        """Removes a session's journal permanently; returns whether it is gone now."""
        ...

    async def of_turn(self, turn: str) -> str | None:
        """The session in which a turn was begun; None if none knows it."""
        ...

    async def is_behind(self, session: str) -> bool:
        """Whether someone else has written to a journal since it was last written to or loaded here."""
        ...

    def claim(self, session: str) -> Release | None:
        """Keeps other processes from having turns in a session, until it is released; None if one has."""
        ...


class Unwritten:
    """Sessions port that keeps nothing."""

    def append(self, session: str, entries: Sequence[Entry]) -> None:
        """Nothing is written."""

    async def wait_until_written(self) -> None:
        """Nothing is waited for."""

    async def load(self, session: str) -> tuple[Entry, ...] | None:
        """There is no session."""
        return None

    async def read(self, session: str, since: int = -1) -> None:
        """There is no session."""

    def uri(self, session: str) -> None:
        """There is no session."""

    async def list(self, limit: int | None = None) -> tuple[SessionInfo, ...]:
        """There is no session."""
        return ()

    async def remove(self, session: str) -> bool:
        """There is no session."""
        return True

    async def of_turn(self, turn: str) -> str | None:
        """There is no session."""
        return None

    async def is_behind(self, session: str) -> bool:
        """No one writes."""
        return False

    def claim(self, session: str) -> Release:
        """No one else knows of it."""
        return lambda: None
