"""The conversations that one client has opened as documents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from urllib.parse import unquote

from handrail.agent.chat.backlog import Backlog
from handrail.agent.chat.journals import WatchedSessions
from handrail.core.conversation.journal import Entry
from handrail.core.ledger.report import Ended, Event
from handrail.lsp.chat import naming
from handrail.lsp.chat.elsewhere import OtherWindows
from handrail.lsp.chat.page import ChatPage
from handrail.lsp.chat.paths import Paths
from handrail.lsp.served import record
from handrail.ports.served import ServedDocuments
from handrail.ports.sessions import Sessions
from handrail.values import dataclass, field

CLOSED_S = 1.0  # a document that is reopened so soon was not closed: some editors reload this way


@dataclass(kw_only=True)
class Chats:
    """
    The documents of conversations, by session.

    Attributes:
        served: Stores them.
        page: Creates the page of a session.
        paths: The paths of the workspace's files.
        others: Follows what other windows record of the shown conversations.
        latest: The session that was opened, or sent to, last.
    """

    served: ServedDocuments
    page: Callable[[str, str], ChatPage]
    paths: Paths
    others: OtherWindows
    latest: str | None = None
    _pages: dict[str, ChatPage] = field(default_factory=dict)
    _before: dict[str, Backlog] = field(default_factory=dict)
    _closed: dict[str, object] = field(default_factory=dict)  # sessions that no one has asked for since
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def of_session(self, session: str) -> ChatPage:
        """Returns the page of a session; creates it if necessary."""
        self.latest = session
        self._closed.pop(session, None)
        async with self._one_at_a_time:
            page = self._pages.get(session)
            if page is None:  # it is notified of everything from now on
                page = self._make_page(session, naming.first_name(session))
                await page.load()
                await self._name_by_title(page)
        return page

    async def _name_by_title(self, page: ChatPage) -> None:
        """Name the file by its title, unless the client holds it or another file has the name."""
        first, titled = (
            naming.first_name(page.session),
            naming.titled_name(page.session, page.transcript.title),
        )
        if page.is_open or page.name != first or not page.transcript.turns or titled == first:
            return
        if await self.served.read(titled) is None or await self._session_of(titled) == page.session:
            await page.rename(titled)

    async def on_close(self, uri: str) -> None:
        """The client holds the document of a conversation no longer; it may have asked for it again."""
        page = self.of_uri(uri)
        self.follow()
        if page is None:
            return
        closed = self._closed[page.session] = object()
        await asyncio.sleep(CLOSED_S)
        async with self._one_at_a_time:
            if self._closed.get(page.session) is closed:
                await self._name_by_title(page)

    def _make_page(self, session: str, name: str) -> ChatPage:
        page = self._pages[session] = self.page(session, name)
        page.before = self._before.pop(session, page.before)
        return page

    def has(self, session: str) -> bool:
        """Whether a session has a document."""
        return session in self._pages

    def of_uri(self, uri: str) -> ChatPage | None:
        """Returns the page of a document, if it is a conversation."""
        return next((page for page in self._pages.values() if page.has_uri(uri)), None)

    def second(self, uri: str) -> str:
        """Returns why nothing is sent from a second document of a conversation; otherwise empty."""
        return next(filter(None, (page.second(uri) for page in self._pages.values())), "")

    def _page_beside(self, uri: str) -> ChatPage | None:
        """Returns the page of a document or of another one of its file, if that is a conversation."""
        pages = self._pages.values()
        return self.of_uri(uri) or next((page for page in pages if page.second(uri)), None)

    async def on_open(self, uri: str) -> None:
        """Called when a document was opened that may be an earlier conversation."""
        async with self._one_at_a_time:
            known, name = self._page_beside(uri), unquote(uri).rpartition("/")[2]
            if known is None and naming.NAME.fullmatch(name):
                known = await self._from_note(name)
            if known is not None:
                await known.recognise(uri)
        if known is not None:
            await known.on_open(uri)
            self.follow()

    async def _from_note(self, name: str) -> ChatPage | None:
        """Returns the page of a file from its stored state; None if it is not ours."""
        session = await self._session_of(name)
        if session is None:
            return None
        page = self._pages.get(session)
        if page is None:
            page = self._make_page(session, name)
            self.latest = session
        elif page.name != name:  # the client still has it under an earlier name
            await page.rename(name)
        return page if page.name == name else None

    async def _session_of(self, name: str) -> str | None:
        """Returns the session of a conversation's file from its stored state."""
        return record.state_of(await self.served.kept_note(name) or "") or None

    async def forget(self, session: str) -> None:
        """Removes the documents of a session that was deleted; one that the client holds stays with it."""
        async with self._one_at_a_time:
            page = self._pages.get(session)
            if page is not None and not page.is_shown:
                del self._pages[session]
            for name in await self.served.names_with_notes():
                if not naming.NAME.fullmatch(name) or await self._session_of(name) != session:
                    continue
                if page is None or not page.is_open or page.name != name:
                    await record.forget(self.served, name)

    async def knows(self, uri: str) -> None:
        """Waits until it is known whether a document is a conversation, if it may be one."""
        if naming.NAME.fullmatch(unquote(uri).rpartition("/")[2]):
            await self.settle()

    async def settle(self) -> None:
        """Waits until it is known which opened documents are conversations."""
        async with self._one_at_a_time:
            pass

    def follow(self) -> None:
        """Follows what other windows record of the conversations that the client shows now."""
        self.others.follow(page for page in self._pages.values() if page.is_shown)

    def on_change(self) -> None:
        """Called when something has changed that may concern calls of any conversation, such as failures."""
        for page in self._pages.values():
            if page.feed is not None:
                page.feed.note()

    def watch(self, journals: Sessions) -> WatchedSessions:
        """Returns *journals* as a port that tells the conversations what is recorded and read."""
        return WatchedSessions(journals, self.on_entries, self.on_load)

    def on_entries(self, session: str, entries: Sequence[Entry]) -> None:
        """Called when an entry of a session is recorded."""
        page = self._pages.get(session)
        if page is not None:
            page.on_entries(entries)
        elif session in self._before:
            self._before[session].drop_recorded_text(entries)

    def on_load(self, session: str, entries: Sequence[Entry]) -> None:
        """Called when the journal of a session was read."""
        page = self._pages.get(session)
        if page is not None:
            page.renew(entries)

    def on_event(self, session: str, turn: str, event: Event) -> None:
        """Called with an event of a turn."""
        page = self._pages.get(session)
        if isinstance(event, Ended):
            self.follow()  # the folder of journals may not have been there before
        if page is not None:
            page.on_event(turn, event)
        elif isinstance(event, Ended):
            self._before.pop(session, None)
        else:
            self._before.setdefault(session, Backlog()).on_event(turn, event)
