"""The journals of sessions, for those who want to know at once what is written to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from handrail.core.conversation.journal import Entry
from handrail.ports.sessions import Release, SessionInfo, Sessions
from handrail.values import dataclass


@dataclass
class WatchedSessions:
    """
    Sessions port.

    Attributes:
        journals: Those that are written.
        on_append: Told the session and what is appended to its journal.
        on_load: Told the session and all of its journal, which others may have written to.
    """

    journals: Sessions
    on_append: Callable[[str, Sequence[Entry]], None]
    on_load: Callable[[str, Sequence[Entry]], None]

    @property
    def folder(self) -> str:
        """The path of the folder of the journals."""
        return self.journals.folder

    def append(self, session: str, entries: Sequence[Entry]) -> None:
        """Has entries written, and tells of them."""
        self.journals.append(session, entries)
        self.on_append(session, entries)

    async def wait_until_written(self) -> None:
        """Waits until all is written."""
        await self.journals.wait_until_written()

    async def load(self, session: str) -> tuple[Entry, ...] | None:
        """All entries of a session."""
        journal = await self.journals.load(session)
        self.on_load(session, journal or ())
        return journal

    async def read(self, session: str, since: int = -1) -> tuple[tuple[Entry, ...], int] | None:
        """All entries of a session and the size of its journal, unless it has that size since."""
        return await self.journals.read(session, since)

    def uri(self, session: str) -> str | None:
        """Returns the URI of a session's journal."""
        return self.journals.uri(session)

    async def list(self, limit: int | None = None) -> tuple[SessionInfo, ...]:
        """All sessions, newest first."""
        return await self.journals.list(limit)

    async def remove(self, session: str) -> bool:
        """Removes a session's journal."""
        return await self.journals.remove(session)

    async def of_turn(self, turn: str) -> str | None:
        """The session in which a turn was begun."""
        return await self.journals.of_turn(turn)

    async def is_behind(self, session: str) -> bool:
        """Whether someone else has written to a journal."""
        return await self.journals.is_behind(session)

    def lacks_entries(self, session: str) -> bool:
        """Whether something could not be written to a journal yet."""
        return self.journals.lacks_entries(session)

    def claim(self, session: str) -> Release | None:
        """Keeps other processes from having turns in a session."""
        return self.journals.claim(session)
