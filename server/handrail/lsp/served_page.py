"""
A served document that the client may open and type in: written as a file, and from then on kept true by small
edits.

The user's own lines in it are never touched. What they are follows from the texts that it has had: so an undo
in the editor, which brings our own earlier lines back, writes nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field

from handrail.core.documents import page as pages
from handrail.core.documents import page_json, page_reading
from handrail.core.documents.change import PlannedHunk, Tier, Update
from handrail.core.documents.layout import Counted
from handrail.core.documents.page import Line, Page, Part
from handrail.core.documents.text import split_lines
from handrail.lsp.documents import Documents, OpenDocument
from handrail.ports import Editor
from handrail.ports.errors import ServedError
from handrail.ports.served import ServedDocuments

logger = logging.getLogger(__name__)

PAUSE_S = 0.5  # between two updates
LIMIT_STATES = 50  # texts that it has had
RECENT = 3  # of them, and of those that were sent, from which a new one may follow
LIMIT_TRIES = 5  # to bring it up to date, one after the other
FOREIGN = "foreign"  # the part of lines of which nothing is known
Edit = Callable[[Page], Page]


def unchanged_page(page: Page) -> Page:
    """The page as it is."""
    return page


@dataclass
class ServedPage(ABC):
    """
    A served document in one client.

    Attributes:
        served: Writes it.
        opened: The documents that the client holds.
        editor: Changes it while the client holds it.
        say: Tells the user something.
        begin: Does something beside all else.
        shown: Has the client ask anew what stands at its lines.
        takes_edits: Whether the client can be asked to edit it; else the file is written, to be reloaded.
        name: The file's.
        uri: Where it is, once it was opened.
        is_loaded: Whether what was known of it at an earlier time was read.
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
    _saved: Page | None = None
    _states: dict[int, Page] = field(default_factory=dict)
    _sent: list[Page] = field(default_factory=list)
    _unread: tuple[Sequence[str], Page] | None = None  # what a client holds, and what its file has by now
    _tries: int = 0
    _note: str = ""
    is_loaded: bool = False
    _is_waiting: bool = False
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    # ---- What it shows ----------------------------------------------------------------------------

    @property
    @abstractmethod
    def page(self) -> Page:
        """What it holds, as far as is known."""

    @page.setter
    @abstractmethod
    def page(self, now: Page) -> None: ...

    @property
    @abstractmethod
    def parts(self) -> Sequence[Part]:
        """What of it is ours."""

    def parts_in(self, page: Page) -> Sequence[Part]:
        """What of it is ours, where it holds *page* so far."""
        return self.parts

    @abstractmethod
    async def prepare(self, page: Page) -> None:
        """Make the parts what they should be by now, for a page with these lines of the user's."""

    def clean(self, page: Page) -> Page:
        """The page without those lines of the user's that are done with."""
        return page

    def assign(self, page: Page) -> Page:
        """Correct whose the lines of a page are, where the comparison of texts cannot tell."""
        return page

    @abstractmethod
    def as_json(self) -> str:
        """What else is to be kept of it."""

    @abstractmethod
    def take_up(self, kept: str) -> None:
        """Take over what was kept of it at an earlier time. Raises ValueError."""

    def has_news(self) -> bool:
        """Whether the client has to ask anew what can be done at its lines, once they were edited."""
        return True

    @property
    def tells_itself(self) -> bool:
        """Whether what is ours follows from what is kept elsewhere, so that it is known again by its rows."""
        return False

    @property
    def owns_copies(self) -> bool:
        """Whether a sentence of ours that appears once more is ours, not something that the user wrote."""
        return True

    @staticmethod
    def reading(line: Line) -> Counted:
        """By what a line is known again when an editor has laid the document out anew."""
        return page_reading.plain(line)

    @property
    def pause_s(self) -> float:
        """How long to wait before the next update."""
        return PAUSE_S

    # ---- What the client tells --------------------------------------------------------------------

    def is_it(self, uri: str) -> bool:
        """Whether *uri* is this document."""
        if self.uri is None or not uri.endswith(self.name):
            return False
        document = self.opened.find(self.uri)
        return uri == self.uri if document is None else self.opened.find(uri) is document

    async def on_open(self, uri: str) -> None:
        """A document was opened that may be it, from an earlier time: bring it up to date."""
        if await self.recognise(uri):
            await self.update()

    async def recognise(self, uri: str) -> bool:
        """Whether a document that was opened is this one; from then on it is known as such."""
        there = await self.served.read(self.name) if uri.endswith(self.name) else None
        document = self.opened.find(there[0]) if there is not None else None
        if document is None:
            return False
        self.uri = document.uri
        if not self.is_loaded:  # what can be done at its lines is known before it is brought up to date
            async with self._one_at_a_time:
                await self._load(is_there=True)
        return True

    def look(self) -> None:
        """Take over what the user has written, if the client holds the document."""
        document = self._open()
        if document is not None and self.is_loaded:
            was_unread = self._unread is not None
            self._observe(document.rows)
            if was_unread and self._unread is None and not self._is_true():
                self.on_change()  # it was typed in before it was reloaded: the file is to have both

    def on_save(self) -> None:
        """The client has saved the document."""
        self.look()
        self._saved = self.page

    def on_change(self) -> None:
        """What it shows has changed: bring it up to date in a moment, if the client holds it."""
        if self._open() is not None and not self._is_waiting:
            self._is_waiting = True
            self.begin(self._bring_later())

    async def _bring_later(self) -> None:
        await asyncio.sleep(self.pause_s)
        self._is_waiting = False
        if self._open() is not None:
            await self.update()

    async def update(self) -> None:
        """Bring it up to date, if that can be."""
        try:
            await self.bring()
        except ServedError as error:
            logger.warning("%s", error)

    async def recall(self) -> None:
        """Take over what is known of it, from an earlier time or by what it holds now; nothing is written."""
        async with self._one_at_a_time:
            there = await self.served.read(self.name)
            await self._take_over(there)
            await self.prepare(self.page)

    async def rename(self, name: str) -> None:
        """Have its file another name, if there is something to know it by and the client does not hold it."""
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
            await self.served.keep(name, note)  # the other one stays, for an editor that comes with that name
            self.name, self.uri = name, self._client_uri(uri)

    # ---- Bringing it up to date -------------------------------------------------------------------

    async def bring(self, edit: Edit = unchanged_page) -> str:
        """
        Have it show what it should show now.

        Args:
            edit: What is done to it before, as its user would do it.

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
        """Take over what is known of it, and what its file or the client holds; None if there is no file."""
        if there is not None and self._open() is None:
            self.uri = self._client_uri(there[0])
        await self._load(is_there=there is not None)
        if self._open() is not None:
            self.look()
        elif there is not None:
            self._observe(split_lines(there[1]))

    async def _write(self, edit: Edit, on_disk: str | None) -> None:
        self.look()  # it may have been typed in since
        document, before = self._open(), self.page
        after = edit(self.clean(before))
        now = pages.update(after, self.parts_in(after))
        reloads = document is not None and not self.takes_edits() and now.text != before.text
        if document is None or on_disk is None or reloads:
            rows = () if document is None else tuple(document.rows)
            written = await self.served.write(self.name, now.text)
            if written.note:
                self.say(written.note)
            self._saved = now
        if document is None:
            self.uri = self._client_uri(written.uri)
            self.page = now
            self._remember(now)
            return
        if reloads:
            self._unread = (rows, now)
            self._sent = [*self._sent, now][-RECENT:]
            self.page = now
            self.look()  # it may have been typed in while the file was written
            return
        edits = pages.edits(before, now)
        was_clean = self._saved is not None and before.text == on_disk
        if edits:
            whole = PlannedHunk(number=None, tier=Tier.SAFE, edits=edits)
            update = Update(uri=document.uri, base=document.text, hunks=(whole,))
            self._remember(now)  # it may show at any time from now on, also after more typing
            self._sent = [*self._sent, now][-RECENT:]
            await self.editor.apply([update], f"handrail: {self.name.removesuffix('.md')}")
        self.look()
        if edits and self.has_news():
            self.shown()
        self._tries = self._tries + 1 if edits and not self._is_true() else 0
        if 0 < self._tries <= LIMIT_TRIES:  # it was refused, or typed in just then
            self.on_change()
        if edits and was_clean and self._open() is document:
            await self.editor.save([document.uri])

    def _is_read(self) -> bool:
        """Whether a client that takes no edits holds what was written for it."""
        return self._unread is None and self._is_true()

    def _is_true(self) -> bool:
        """Whether it shows what it should, as far as is known."""
        page = self.clean(self.page)
        return not pages.edits(self.page, pages.update(page, self.parts_in(page)))

    def _client_uri(self, uri: str) -> str:
        """The URI by which the client holds it, if it does."""
        document = self.opened.find(uri)
        return uri if document is None else document.uri

    @property
    def is_open(self) -> bool:
        """Whether the client holds it."""
        return self._open() is not None

    def _open(self) -> OpenDocument | None:
        return self.opened.find(self.uri) if self.uri is not None else None

    def _observe(self, rows: Sequence[str]) -> None:
        """Take over what the document holds by now, as it follows from one of its latest texts."""
        rows = tuple(rows)
        if self._unread is not None and rows == tuple(self._unread[0]):
            self.page = self._unread[1]  # the client has not reloaded it yet
            return
        self._unread = None
        page = self._states.get(hash(rows))
        if page is None or page.rows != rows:
            saved = [] if self._saved is None else [self._saved]
            known = [self.page, *list(self._states.values())[-RECENT:], *saved]
            likest = page_reading.likest(
                known, rows, self._sent, owns_copies=self.owns_copies, reading=self.reading
            )
            page = self.assign(likest)
        self.page = page
        self._remember(page)

    def _remember(self, page: Page) -> None:
        key = hash(page.rows)
        self._states.pop(key, None)
        self._states[key] = page
        for old in list(self._states)[:-LIMIT_STATES]:
            del self._states[old]

    # ---- Keeping it -------------------------------------------------------------------------------

    async def _load(self, *, is_there: bool) -> None:
        """Take over what was known of it at an earlier time."""
        if self.is_loaded:
            return
        note = await self.served.kept_note(self.name)
        page: Page | None = None
        try:
            latest, saved, said = json.loads(note or "")
            page = page_json.read(latest)
            self._saved = page if saved == latest else page_json.read(saved)
            self.take_up(said)
        except (ValueError, TypeError, RecursionError):
            page = None
        if page is not None:
            self.page = page
        elif is_there and not self.tells_itself:  # nothing is known of its lines: they are shown no longer
            there = await self.served.read(self.name)
            rows = split_lines(there[1]) if there is not None else ()
            self.page = Page(
                lines=tuple(Line(text=row, part=FOREIGN, number=number) for number, row in enumerate(rows))
            )
        if self.tells_itself:  # what was kept last may be older than what the document holds
            await self.prepare(self.page)
            self._sent.append(pages.update(Page(), self.parts))
        self.is_loaded = True  # and not before: what is typed while this waits is looked at once, and now
        document = self._open()
        if document is not None:
            self._observe(document.rows)

    async def keep(self) -> None:
        """Write down what is known of it."""
        async with self._one_at_a_time:
            await self._keep()

    async def _keep(self) -> None:
        latest = page_json.as_json(self.page)
        saved = latest if self._saved in (None, self.page) else page_json.as_json(self._saved or Page())
        note = json.dumps([latest, saved, self.as_json()])
        if note != self._note:
            self._note = note
            await self.served.keep(self.name, note)
