"""The port to the stored journals of sessions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from handrail.core.conversation.journal import Entry
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """
    A session as shown in a list.

    Attributes:
        id: Its id.
        title: The user's title, otherwise the first line of its first prompt.
        time: When it was last written to, RFC 3339 with offset.
        turns: How many turns it has, without those that were rewound.
    """

    id: str
    title: str
    time: str
    turns: int


Release = Callable[[], None]


class Sessions(Protocol):
    """Stores the journals of sessions; a journal only grows, but may be removed as a whole."""

    def append(self, session: str, entries: Sequence[Entry]) -> None:
        """Appends entries to a session's journal, in order. A failure to write is logged."""
        ...

    async def wait_until_written(self) -> None:
        """Waits until all that was appended is in the journals."""
        ...

    async def load(self, session: str) -> tuple[Entry, ...] | None:
        """Returns all entries of a session that can be read; None if it does not exist."""
        ...

    async def read(self, session: str, since: int = -1) -> tuple[tuple[Entry, ...], int] | None:
        """
        Reads a session that another process may be continuing, without taking its entries as known here.

        Args:
            session: Its id.
            since: The size of its journal, in bytes, at the last call.

        Returns:
            All its entries, and the size of its journal in bytes; None if there is nothing new.
        """
        ...

    @property
    def folder(self) -> str:
        """The path of the folder of the journals, for people."""
        ...

    def uri(self, session: str) -> str | None:
        """Returns the URI of a session's journal; None if it has none."""
        ...

    async def list(self, limit: int | None = None) -> tuple[SessionInfo, ...]:
        """Returns all sessions, newest first, or only the newest *limit* of them."""
        ...

    async def remove(self, session: str) -> bool:
        """Removes a session's journal permanently; returns whether it no longer exists."""
        ...

    async def of_turn(self, turn: str) -> str | None:
        """Returns the session in which a turn was started; None if it is unknown."""
        ...

    async def is_behind(self, session: str) -> bool:
        """Whether another process has written to a journal since it was last written or loaded here."""
        ...

    def lacks_entries(self, session: str) -> bool:
        """Whether something that was appended to a journal could not be written to it yet."""
        ...

    def claim(self, session: str) -> Release | None:
        """Keeps other processes from running turns in a session until released; None if one runs a turn."""
        ...


class NoSessions:
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

    @property
    def folder(self) -> str:
        """Nowhere."""
        return ""

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

    def lacks_entries(self, session: str) -> bool:
        """Nothing is to be written."""
        return False

    def claim(self, session: str) -> Release:
        """No one else knows of it."""
        return lambda: None
