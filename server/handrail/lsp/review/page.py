"""
The review document in one client: written as a file, opened, and from then on kept true by small edits.

The user's own lines in it are never touched. What they are follows from the texts that it has had: so an undo
in the editor, which brings our own earlier lines back, writes nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace

from handrail.agent.review.discussion import Discussion
from handrail.core.documents import page as pages
from handrail.core.documents import remarks as on_page
from handrail.core.documents.change import PlannedHunk, Tier, Update
from handrail.core.documents.page import Line, Page
from handrail.core.documents.text import split_lines
from handrail.core.review import comments
from handrail.lsp.documents import Documents, OpenDocument
from handrail.ports import Editor
from handrail.ports.errors import ServedError
from handrail.ports.served import ServedDocuments

logger = logging.getLogger(__name__)

NAME = "review.md"
PAUSE_S = 0.5  # between two updates
LIMIT_STATES = 50  # texts that it has had
RECENT = 3  # of them, from which a new one may follow
FOREIGN = "foreign"  # the part of lines of which nothing is known


def _same(page: Page) -> Page:
    return page


@dataclass
class ReviewPage:
    """
    The review document.

    Attributes:
        served: Writes it.
        opened: The documents that the client holds.
        editor: Changes it while the client holds it.
        discussion: What it shows.
        say: Tells the user something.
        begin: Does something beside all else.
        shown: Has the client ask anew what stands at its lines.
        uri: Where it is, once it was opened.
        sending: Held while comments are sent, so that none is sent twice.
    """

    served: ServedDocuments
    opened: Documents
    editor: Editor
    discussion: Callable[[], Discussion]
    say: Callable[[str], None]
    begin: Callable[[Coroutine[object, object, object]], None]
    shown: Callable[[], None]
    uri: str | None = None
    sending: asyncio.Lock = field(default_factory=asyncio.Lock)
    _saved: Page | None = None
    _states: dict[int, Page] = field(default_factory=dict)
    _note: str = ""
    _is_loaded: bool = False
    _is_waiting: bool = False
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    # ---- What the client tells --------------------------------------------------------------------

    def is_it(self, uri: str) -> bool:
        """Whether *uri* is the review document."""
        if self.uri is None or not uri.endswith(NAME):
            return False
        document = self.opened.find(self.uri)
        return uri == self.uri if document is None else self.opened.find(uri) is document

    async def found(self, uri: str) -> None:
        """A document was opened that may be it, from an earlier time."""
        there = await self.served.read(NAME) if uri.endswith(NAME) else None
        if there is not None and (document := self.opened.find(there[0])) is not None:
            self.uri = document.uri
            if problem := await self._tried():
                logger.warning("%s", problem)

    def look(self) -> None:
        """Take over what the user has written, if the client holds the document."""
        document = self._open()
        if document is not None and self._is_loaded:
            self._observed(_rows(document))

    def saved(self) -> None:
        """The client has saved the document."""
        self.look()
        self._saved = self.discussion().page

    def changed(self) -> None:
        """What it shows has changed: bring it up to date in a moment, if the client holds it."""
        if self._open() is not None and not self._is_waiting:
            self._is_waiting = True
            self.begin(self._bring_later())

    async def _bring_later(self) -> None:
        await asyncio.sleep(PAUSE_S)
        self._is_waiting = False
        if self._open() is not None and (problem := await self._tried()):
            logger.warning("%s", problem)

    async def _tried(self) -> str:
        """Bring it up to date; what is wrong if that cannot be."""
        try:
            await self.bring()
        except ServedError as error:
            return str(error)
        return ""

    # ---- Bringing it up to date -------------------------------------------------------------------

    async def bring(self, edit: Callable[[Page], Page] = _same) -> str:
        """
        Have it show what is pending now.

        Args:
            edit: What is done to it before, as its user would do it.

        Returns:
            Its URI. Raises ServedError if it cannot be written.
        """
        async with self._one_at_a_time:
            discussion = self.discussion()
            there = await self.served.read(NAME)
            if there is not None and self._open() is None:
                self.uri = self._spelled(there[0])
            await self._load(there is not None)
            if self._open() is not None:
                self.look()
            elif there is not None:
                self._observed(split_lines(there[1]))
            await discussion.bring(edit(on_page.without(discussion.page, discussion.old())))
            await self._write(edit, None if there is None else there[1])
            await self._keep()
            return self.uri or ""

    async def _write(self, edit: Callable[[Page], Page], on_disk: str | None) -> None:
        self.look()  # it may have been typed in since
        discussion, document = self.discussion(), self._open()
        before = discussion.page
        now = pages.updated(edit(on_page.without(before, discussion.old())), discussion.shown.parts)
        if document is None or on_disk is None:
            written = await self.served.write(NAME, now.text)
            if written.note:
                self.say(written.note)
            self._saved = now
        if document is None:
            self.uri = self._spelled(written.uri)
            discussion.page = now
            self._remember(now)
            return
        edits = pages.edits(before, now)
        was_clean = self._saved is not None and before.text == on_disk
        if edits:
            whole = PlannedHunk(number=None, tier=Tier.SAFE, edits=edits)
            update = Update(uri=document.uri, base=document.text, hunks=(whole,))
            self._remember(now)  # it may show at any time from now on
            await self.editor.apply([update], "handrail: review")
        self.look()
        if edits:
            self.shown()
        if edits and was_clean and self._open() is document:
            await self.editor.save([document.uri])

    def _spelled(self, uri: str) -> str:
        """The URI by which the client holds it, if it does."""
        document = self.opened.find(uri)
        return uri if document is None else document.uri

    def _open(self) -> OpenDocument | None:
        return self.opened.find(self.uri) if self.uri is not None else None

    def _observed(self, rows: Sequence[str]) -> None:
        """Take over what the document holds by now, as it follows from one of its latest texts."""
        rows = tuple(rows)
        page = self._states.get(hash(rows))
        if page is None or page.rows != rows:
            latest = list(self._states.values())[-RECENT:]
            saved = [] if self._saved is None else [self._saved]
            page = pages.likest([self.discussion().page, *latest, *saved], rows)
        self.discussion().page = page
        self._remember(page)

    def _remember(self, page: Page) -> None:
        key = hash(page.rows)
        self._states.pop(key, None)
        self._states[key] = page
        for old in list(self._states)[:-LIMIT_STATES]:
            del self._states[old]

    # ---- Keeping it -------------------------------------------------------------------------------

    async def _load(self, is_there: bool) -> None:
        """Take over what was known of it at an earlier time."""
        if self._is_loaded:
            return
        self._is_loaded = True
        note = await self.served.kept(NAME)
        discussion = self.discussion()
        try:
            latest, saved, said = json.loads(note or "")
            page, self._saved = pages.read(latest), pages.read(saved)
            subjects, sent = comments.read(said)
            # A turn that ran then has ended with its server.
            discussion.sent = [replace(each, state=each.state or "stopped") for each in sent]
            discussion.subjects = {each.key: each for each in subjects}
        except (ValueError, TypeError, RecursionError):
            page = None
        if page is not None:
            discussion.page = page
        elif is_there:  # nothing is known of its lines: they are shown no longer
            there = await self.served.read(NAME)
            rows = split_lines(there[1]) if there is not None else ()
            discussion.page = Page(
                lines=tuple(Line(text=row, part=FOREIGN, number=number) for number, row in enumerate(rows))
            )
        document = self._open()
        if document is not None:
            self._observed(_rows(document))

    async def keep(self) -> None:
        """Write down what is known of it."""
        async with self._one_at_a_time:
            await self._keep()

    async def _keep(self) -> None:
        discussion = self.discussion()
        latest = pages.as_json(discussion.page)
        saved = latest if self._saved in (None, discussion.page) else pages.as_json(self._saved or Page())
        note = json.dumps(
            [latest, saved, comments.as_json(list(discussion.subjects.values()), discussion.sent)]
        )
        if note != self._note:
            self._note = note
            await self.served.keep(NAME, note)


def _rows(document: OpenDocument) -> tuple[str, ...]:
    rows = document.lines if document.lines[-1] else document.lines[:-1]
    return tuple(rows)
