"""
A served document that the user may open and type in: it is written as a file, and then kept up to date by
small edits.

The user's own lines in it are never changed. Which lines these are is derived from the earlier texts of the
document: if the editor's undo restores earlier lines of ours, these do not count as typed by the user.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from urllib.parse import unquote

from handrail.core.documents import page as pages
from handrail.core.documents import page_reading
from handrail.core.documents.change import PlannedHunk, Tier, Update
from handrail.core.documents.layout import Counted
from handrail.core.documents.page import Line, Page, Part
from handrail.core.documents.text import split_lines
from handrail.lsp.documents import Documents, OpenDocument
from handrail.lsp.served.record import PageRecord
from handrail.lsp.served.texts import KnownTexts
from handrail.ports import Editor
from handrail.ports.errors import ServedError
from handrail.ports.served import ServedDocuments
from handrail.values import dataclass, field

logger = logging.getLogger(__name__)

PAUSE_S = 0.5  # between two updates
LIMIT_TRIES = 5  # attempts in a row to bring it up to date
FOREIGN = "foreign"  # the part of unknown lines
Edit = Callable[[Page], Page]


def unchanged_page(page: Page) -> Page:
    """Returns the page unchanged."""
    return page


@dataclass
class ServedPage(ABC):
    """
    A served document in one client.

    Attributes:
        served: Writes it.
        opened: The client's open documents.
        editor: Changes it while it is open.
        say: Shows a message to the user.
        begin: Starts a background task.
        shown: Asks the client to refresh what it shows at the document's lines.
        takes_edits: Whether the client accepts edits of it; otherwise the file is written, to be reloaded.
        name: The file's name.
        uri: Its URI, once it was opened.
        is_loaded: Whether its stored state was read.
    """

    served: ServedDocuments
    opened: Documents
    editor: Editor
    say: Callable[[str], None]
    begin: Callable[[Coroutine[object, object, object]], None]
    shown: Callable[[], None]
    takes_edits: Callable[[], bool] = lambda: True
    name: str = ""
    uri: str | None = None
    _texts: KnownTexts = field(default_factory=KnownTexts)
    _unread: tuple[Sequence[str], Page] | None = None  # what a client holds, and what its file has by now
    _tries: int = 0
    _record: PageRecord = field(init=False)
    is_loaded: bool = False
    _is_waiting: bool = False
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._record = PageRecord(self.served)

    # ---- What it shows ----------------------------------------------------------------------------

    @property
    @abstractmethod
    def page(self) -> Page:
        """Its current page, as far as is known."""

    @page.setter
    @abstractmethod
    def page(self, now: Page) -> None: ...

    @property
    @abstractmethod
    def parts(self) -> Sequence[Part]:
        """The parts that are ours."""

    def parts_in(self, page: Page) -> Sequence[Part]:
        """Returns the parts that are ours, given the current *page*."""
        return self.parts

    @abstractmethod
    async def prepare(self, page: Page) -> None:
        """Updates the parts, for a page with these lines of the user's."""

    def clean(self, page: Page) -> Page:
        """Returns the page without lines of the user's that are no longer needed."""
        return page

    def assign(self, page: Page) -> Page:
        """Corrects the owners of a page's lines where comparing texts is not enough."""
        return page

    def settle(self, page: Page) -> Page:
        """Corrects the owners of lines by what has become known of them since they were recorded."""
        return page

    @abstractmethod
    def as_json(self) -> str:
        """Returns what else to store about it."""

    @abstractmethod
    def load_state(self, kept: str) -> None:
        """Restores its stored state. Raises ValueError."""

    def has_news(self) -> bool:
        """Whether the client must refresh the actions at its lines after an edit."""
        return True

    @property
    def is_derived(self) -> bool:
        """
        Whether our lines can be derived from state that is stored elsewhere, and recognised by their text.
        """
        return False

    @property
    def owns_copies(self) -> bool:
        """Whether a second copy of a line of ours is ours too, and not something that the user wrote."""
        return True

    @staticmethod
    def reading(line: Line) -> Counted:
        """Returns the rule by which a line is recognised after an editor has reformatted the document."""
        return page_reading.plain(line)

    @property
    def pause_s(self) -> float:
        """The time to wait before the next update."""
        return PAUSE_S

    # ---- What the client tells --------------------------------------------------------------------

    def has_uri(self, uri: str) -> bool:
        """Whether *uri* is this document."""
        if self.uri is None or not unquote(uri).endswith(self.name):
            return False
        document = self.opened.find(self.uri)
        return uri == self.uri if document is None else self.opened.find(uri) is document

    def second(self, uri: str) -> str:
        """Returns why nothing is done in a second document of its file; otherwise empty."""
        first = self.opened.find(self.uri) if self.uri is not None else None
        if first is None or uri not in {each.uri for each in self.opened.siblings(first)}:
            return ""
        return (
            f"This document is open twice. handrail uses {first.uri}; in {uri} it shows nothing new and "
            "sends nothing. Close one of the two."
        )

    async def on_open(self, uri: str) -> None:
        """Called when a document was opened that may be an earlier version of it: brings it up to date."""
        if why := self.second(uri):
            self.say(why)
        elif await self.recognise(uri):
            await self.update()

    async def recognise(self, uri: str) -> bool:
        """Recognises an opened document as this one; returns whether it is."""
        there = await self.served.read(self.name) if unquote(uri).endswith(self.name) else None
        document = self.opened.find(there[0]) if there is not None else None
        if document is None:
            return False
        self.uri = document.uri
        if not self.is_loaded:  # the actions at its lines are known before it is up to date
            async with self._one_at_a_time:
                await self._load(is_there=True)
        return True

    def observe(self) -> None:
        """Reads what the user has written, if the document is open."""
        document = self._open()
        if document is not None and self.is_loaded:
            was_unread = self._unread is not None
            self._observe(document.rows)
            if was_unread and self._unread is None and not self._is_current():
                self.on_change()  # the user typed before the reload: the file must have both

    def on_save(self) -> None:
        """Called when the client has saved the document."""
        self.observe()
        self._texts.saved = self.page

    def on_change(self) -> None:
        """Called when its contents have changed: brings it up to date in a moment, if it is open."""
        if self._open() is not None and not self._is_waiting:
            self._is_waiting = True
            self.begin(self._bring_later())

    async def _bring_later(self) -> None:
        await asyncio.sleep(self.pause_s)
        self._is_waiting = False
        if self._open() is not None:
            await self.update()

    async def update(self) -> None:
        """Brings it up to date, if possible."""
        try:
            await self.refresh()
        except ServedError as error:
            logger.warning("%s", error)

    async def recall(self) -> None:
        """Restores its state from storage or from its current text; writes nothing."""
        async with self._one_at_a_time:
            there = await self.served.read(self.name)
            await self._take_over(there)
            await self.prepare(self.page)

    async def rename(self, name: str) -> None:
        """Renames its file, if it can be recognised under the new name and is not open."""
        async with self._one_at_a_time:
            if self._open() is not None:
                return
            there, note = await self.served.read(self.name), await self.served.kept_note(self.name)
            if there is None:
                self.name = name
                return
            if note is None or self.opened.find(there[0]) is not None:
                return
            uri = await self.served.rename(self.name, name)
            if uri is None:
                return
            await self.served.keep(name, note)  # the other file stays, for an editor that opens that name
            self.name, self.uri = name, self._client_uri(uri)

    # ---- Bringing it up to date -------------------------------------------------------------------

    async def refresh(self, edit: Edit = unchanged_page) -> str:
        """
        Makes it show its current contents.

        Args:
            edit: A change to make first, as if the user made it.

        Returns:
            Its URI. Raises ServedError if it cannot be written.
        """
        async with self._one_at_a_time:
            there = await self.served.read(self.name)
            await self._take_over(there)
            await self.prepare(edit(self.clean(self.page)))
            await self._write(edit, None if there is None else there[1])
            await self._keep()
            return self.uri or ""

    async def _take_over(self, there: tuple[str, str] | None) -> None:
        """Restores its state, and reads the file or the open document; None if there is no file."""
        if there is not None and self._open() is None:
            self.uri = self._client_uri(there[0])
        await self._load(is_there=there is not None)
        if self._open() is not None:
            self.observe()
        elif there is not None:
            self._observe(split_lines(there[1]))

    async def _write(self, edit: Edit, on_disk: str | None) -> None:
        self.observe()  # the user may have typed in it since
        document, before = self._open(), self.page
        after = edit(self.clean(before))
        now = pages.update(after, self.parts_in(after))
        reloads = document is not None and not self.takes_edits() and now.text != before.text
        self._texts.remember(now)  # it may show at any time from now on, even after more typing
        if document is None or on_disk is None or reloads:
            rows = () if document is None else tuple(document.rows)
            if document is not None or not self.is_derived:  # else all of it can be derived again
                await self._record.write_next(self.name, before, now)
            written = await self.served.write(self.name, now.text)
            if written.note:
                self.say(written.note)
            self._texts.saved = now = self._texts.find(now.rows) or now
        if document is None:
            self.uri = self._client_uri(written.uri)
            self.page = now
            return
        if reloads:
            self._unread = (rows, now)
            self._texts.note_sent(now)
            self.page = now
            self.observe()  # the user may have typed in it while the file was written
            return
        edits = pages.edits(before, now)
        was_clean = self._texts.saved is not None and before.text == on_disk
        if edits:
            whole = PlannedHunk(number=None, tier=Tier.SAFE, edits=edits)
            update = Update(uri=document.uri, base=document.text, hunks=(whole,), is_alone=True)
            self._texts.note_sent(now)
            await self._record.write_next(self.name, before, now)
            await self.editor.apply([update], f"handrail: {self.name.removesuffix('.md')}")
        self.observe()
        if edits and self.has_news():
            self.shown()
        is_done = self.page is now or not edits or self._is_current()
        self._tries = 0 if is_done else self._tries + 1
        if 0 < self._tries <= LIMIT_TRIES:  # it was refused, or the user was just typing
            self.on_change()
        if edits and was_clean and self._open() is document:
            await self.editor.save([document.uri])

    def _is_current(self) -> bool:
        """Whether it is up to date, as far as is known."""
        page = self.clean(self.page)
        return not pages.edits(self.page, pages.update(page, self.parts_in(page)))

    def _client_uri(self, uri: str) -> str:
        """The URI under which it is open, if it is."""
        document = self.opened.find(uri)
        return uri if document is None else document.uri

    @property
    def is_open(self) -> bool:
        """Whether it is open."""
        return self._open() is not None

    def _open(self) -> OpenDocument | None:
        return self.opened.find(self.uri) if self.uri is not None else None

    def _observe(self, rows: Sequence[str]) -> None:
        """Reads the document's current text, as a change of one of its latest texts."""
        rows = tuple(rows)
        if self._unread is not None and rows == tuple(self._unread[0]):
            self.page = self._unread[1]  # the client has not reloaded it yet
            return
        self._unread = None
        page = self._texts.find(rows)
        if page is None:
            likest = self._texts.read(self.page, rows, owns_copies=self.owns_copies, reading=self.reading)
            page = self.assign(likest)
        self.page = page = self.settle(page)
        self._texts.remember(page)

    async def revise(self, change: Edit) -> None:
        """Changes the owners of lines, but no row, in all its texts that are known, and records them."""
        self.page = change(self.page)
        self._texts.revise(change)
        if self._unread is not None:
            self._unread = (self._unread[0], change(self._unread[1]))
        await self._record.write_next(self.name, self.page, *self._texts.sent[-1:])

    # ---- Keeping it -------------------------------------------------------------------------------

    async def _load(self, *, is_there: bool) -> None:
        """Loads its stored state."""
        if self.is_loaded:
            return
        if self.is_derived:  # the stored state may be older than the document
            await self.prepare(self.page)
            self._texts.sent.append(pages.update(Page(), self.parts))
        parts = self.parts if self.is_derived else ()
        stored = await self._record.read(self.name, parts)
        page: Page | None = None
        if stored is not None:
            with suppress(ValueError, TypeError):
                self.load_state(stored.state)
                page, self._texts.saved = stored.latest, stored.saved
                self._texts.sent += stored.sent
                for each in (stored.page, *reversed(stored.sent)):
                    self._texts.remember(each)  # the latest owners of the same lines last
        if page is not None:
            self.page = page
        elif is_there and not self.is_derived:  # nothing is known about its lines: they are no longer shown
            there = await self.served.read(self.name)
            rows = split_lines(there[1]) if there is not None else ()
            self.page = Page(
                lines=tuple(Line(text=row, part=FOREIGN, number=number) for number, row in enumerate(rows))
            )
        self.is_loaded = True  # not earlier: typing during the wait is examined once, now
        document = self._open()
        if document is not None:
            self._observe(document.rows)

    async def keep(self) -> None:
        """Stores its state."""
        async with self._one_at_a_time:
            await self._keep()

    async def _keep(self) -> None:
        await self._record.write(self.name, self.page, self._texts.saved, self.as_json())
