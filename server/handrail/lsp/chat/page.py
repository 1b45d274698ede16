"""The document of one conversation in one client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager

from handrail.agent.chat import steering
from handrail.agent.chat.backlog import Backlog
from handrail.agent.chat.steering import UnreadMessage
from handrail.agent.chat.transcript import Transcript, TranscriptTurn
from handrail.agent.chat.view import ASK, TITLE, Answer, Shown, View, facts_key
from handrail.agent.turn.approvals import asked_event
from handrail.core.conversation.journal import Entry, Returned
from handrail.core.documents import layout, page_reading
from handrail.core.documents.layout import Counted
from handrail.core.documents.page import Line, Page, Part
from handrail.core.ledger.report import Ended, Event
from handrail.lsp.chat import draft as drafts
from handrail.lsp.chat import interrupted, messages, sent
from handrail.lsp.chat.feed import Feed
from handrail.lsp.served.page import Edit, ServedPage, unchanged_page
from handrail.ports import Question
from handrail.ports.sessions import Sessions
from handrail.values import dataclass, field

LEAST_PAUSE_S, MOST_PAUSE_S = 0.1, 2.0  # between two updates
SHARE = 30  # pauses are this many times as long as an update: so all take less than a thirtieth of a core
SAID = "you:"  # prefix of the keys of parts that show the user's messages
KEEP_S = 1.0  # how often, at most, the whole document is recorded while a turn runs


def _unset() -> View:
    raise AssertionError("a view is given")


@dataclass
class ChatPage(ServedPage):
    """
    The document of one conversation.

    Attributes:
        session: Its id.
        journals: Stores its journal.
        running: The turns of the session that run in this server.
        asked: The open questions of these turns.
        view: Renders it.
        transcript: Its content.
        shown_now: The current state that is shown.
        told: The answers of slash commands.
        sending: Held while the user's text is sent, so that nothing is sent twice.
        queued: The queued messages, by the turn that each will start; and whether it still can.
        feed: Sends changes to the client, if it shows the conversation in a view of its own.
    """

    session: str = ""
    journals: Sessions | None = None
    running: Callable[[], Iterable[str]] = tuple
    asked: Callable[[], Iterable[Question]] = tuple
    view: View = field(default_factory=_unset)
    transcript: Transcript = field(default_factory=Transcript)
    shown_now: Shown = field(default_factory=Shown)
    told: list[Answer] = field(default_factory=list)
    sending: asyncio.Lock = field(default_factory=asyncio.Lock)
    queued: dict[str, tuple[str, bool]] = field(default_factory=dict)
    feed: Feed | None = None
    _page: Page = field(default_factory=Page)
    before: Backlog | None = field(default_factory=Backlog)  # the journal was read
    _said: object = None
    _back: list[UnreadMessage] = field(default_factory=list)  # to be a draft again
    _is_new: bool = True  # no unread messages were looked for
    _is_sending: bool = False
    _may_be_laid_out: bool = False  # by a formatter, since it was saved
    _took_s: float = 0.0
    _kept_keys: tuple[str, ...] = ()
    _kept_at: float = float("-inf")
    _read_bytes: int = 0  # of the journal
    _read_again: str = ""  # the unfinished turn for which the journal was read again

    @property
    def page(self) -> Page:
        """Its current page, as far as is known."""
        return self._page

    @page.setter
    def page(self, now: Page) -> None:
        self._page = now

    @property
    def parts(self) -> Sequence[Part]:
        """The turns and their results, and at the end the place where the user writes."""
        return self.shown_now.parts

    def parts_in(self, page: Page) -> Sequence[Part]:
        """
        Leaves a message that the user has changed as it is, until it is sent again or restored; and the words
        of an answer whose server was killed.
        """
        changed = self._changed_messages(page)
        parts = (
            messages.keep_left(part, changed[part.key]) if part.key in changed else part
            for part in self.parts
        )
        shown = interrupted.with_words(parts, page, self.transcript.turns)
        return [*shown, *sent.parts(page)]

    def assign(self, page: Page) -> Page:
        """
        If our last heading is missing, everything below our last line is the draft, including blank lines.
        """
        page = page if drafts.has_heading(page.lines) else drafts.with_own_draft(page)
        page = sent.keep(self._page, page)
        page = sent.with_moved_lines(page)
        undone = messages.undone_lines(self._page, page, self.shown_now.messages.values())
        return sent.mark(page, undone, sent.key()) if undone else page

    def settle(self, page: Page) -> Page:
        """Returns the page with what could not be sent as a draft again."""
        return page if self._is_sending else sent.give_back(page, self.transcript.turns)

    def clean(self, page: Page) -> Page:
        """
        Returns the page without what was sent, and with our last heading above the draft, even if the user
        removed it.
        """
        return drafts.with_heading(sent.remove(page, self.transcript.turns))

    @property
    def is_derived(self) -> bool:
        """True: all our lines can be derived from the journal."""
        return True

    @property
    def owns_copies(self) -> bool:
        """False: a message may repeat an earlier one, or a sentence of the model."""
        return False

    @staticmethod
    def reading(line: Line) -> Counted:
        """
        Compares the user's messages by words, and our own lines by letters, since they are all generated
        again.
        """
        if line.part is None or (line.part == ASK and line.number) or sent.is_sent(line):
            return page_reading.plain(line)
        if line.part == ASK:
            return layout.message
        if line.part == TITLE:
            return facts_key
        return messages.counting_rule(line) if line.part.startswith(SAID) else layout.letters

    @property
    def pause_s(self) -> float:
        """The time to wait before the next update: the longer an update takes, the longer the pause."""
        return min(max(LEAST_PAUSE_S, self._took_s * SHARE), MOST_PAUSE_S)

    async def prepare(self, page: Page) -> None:
        """Reads the journal, if necessary, and updates the parts, all of which are written by then."""
        await self.load()
        await self._check_elsewhere()
        written, journals = -1, self.journals
        while journals is not None and written != (written := self.transcript.count):
            await journals.wait_until_written()  # else a kill may lose a message that is shown
        self._back += steering.take_unread(self.transcript.turns, is_loaded=self._is_new)
        self._is_new = False
        self.shown_now = self.view.render(self.transcript, self.told)

    def on_change(self) -> None:
        """Called when something has changed: updates the document, and notifies clients that have read it."""
        super().on_change()
        if self.feed is not None:
            self.feed.note()

    def has_news(self) -> bool:
        """
        Whether a turn, a question or a command has begun or ended; the editor itself moves existing marks.
        """
        running = self.transcript.running
        said = (
            running and running.turn,
            tuple(self.shown_now.questions),
            tuple(key for key, call in self.shown_now.calls.items() if call.is_running),
            len(self.transcript.turns),
        )
        before, self._said = self._said, said
        return said != before

    def as_json(self) -> str:
        """Returns the session."""
        return self.session

    def load_state(self, kept: str) -> None:
        """Does nothing: the session is known."""

    async def refresh(self, edit: Edit = unchanged_page) -> str:
        """Makes it show the current conversation. Returns its URI; raises ServedError."""
        clock = asyncio.get_running_loop()
        began = clock.time()
        if self._open() is None or self._may_be_laid_out:
            tidy, self._may_be_laid_out = drafts.without_added_blanks, False
        else:
            tidy = unchanged_page

        def give_back(page: Page) -> Page:
            return drafts.with_texts(edit(tidy(page)), [each.text for each in self._back])

        brought = await super().refresh(give_back)
        if self._back and all(drafts.has_text(self.page, each.text) for each in self._back):
            self._note_returned(each.turn for each in self._back)
            self._back = []
        self._took_s = clock.time() - began
        return brought

    def _note_returned(self, turns: Iterable[str]) -> None:
        if self.journals is not None and (entries := [Returned(turn=each) for each in dict.fromkeys(turns)]):
            self.journals.append(self.session, entries)

    def drop_unread(self) -> None:
        """Drops the messages to turns that waited and never began."""
        dropped = [turn for turn, (_, may_begin) in self.queued.items() if not may_begin]
        self._note_returned(dropped)
        for turn in dropped:
            del self.queued[turn]

    def on_save(self) -> None:
        """Called when the client has saved the document, which a formatter may have changed."""
        super().on_save()
        self._may_be_laid_out = True

    async def _keep(self) -> None:
        now, keys = asyncio.get_running_loop().time(), tuple(part.key for part in self.parts)
        if self.transcript.running is None or now - self._kept_at >= KEEP_S or keys != self._kept_keys:
            self._kept_at, self._kept_keys = now, keys
            await super()._keep()

    async def ready(self) -> None:
        """Reads what the user has written, without changing anything. Raises ServedError."""
        if self.is_loaded:
            self.observe()
        else:
            await self.refresh()

    # ---- The conversation -------------------------------------------------------------------------

    async def load(self) -> None:
        """Reads the journal."""
        if self.before is None or self.journals is None:
            return
        entries, size = await self.journals.read(self.session) or ((), 0)
        if self.before is None:
            return  # it was read while this waited
        self._read_bytes = size
        before, self.before = self.before, None
        self.transcript.add([*entries, *before.entries_since(entries)])
        self.transcript.runs(self.running())
        running = set(self.running())
        for turn, event in before.events:
            if turn in running:
                self.transcript.on_event(turn, event)
        await self._check_elsewhere()
        if not self.is_elsewhere and not running:
            waited = steering.never_begun(entries)
            self._back += waited
            self.queued |= {each.turn: (each.text, False) for each in waited}
        for each in self.asked():
            self.transcript.on_event(each.turn, asked_event(each))

    async def catch_up(self) -> None:
        """Shows what another process has recorded of the session."""
        if self.before is not None or any(self.running()):
            return
        await self._read_news()
        before = self.is_elsewhere
        await self._check_elsewhere()
        if self.is_elsewhere != before:
            self.on_change()

    async def _read_news(self) -> None:
        news = None if self.journals is None else await self.journals.read(self.session, self._read_bytes)
        if news is not None:
            entries, self._read_bytes = news
            self.renew(entries)

    async def _check_elsewhere(self) -> None:
        """Checks whether another process is running the unfinished turn, or has recorded its end."""
        last = next((each for each in self.transcript.turns[-1:] if not each.state), None)
        if last is None or self.journals is None or last.is_running or any(self.running()):
            return
        release = self.journals.claim(self.session)
        if release is not None:
            release()
        if last.is_elsewhere != (release is None):
            last.is_elsewhere = release is None
            last.changes += 1
        if release is None:
            self._read_again = ""
        elif self._read_again != last.turn:  # its end may have been written since the journal was read
            self._read_again = last.turn
            await self._read_news()

    def on_entries(self, entries: Sequence[Entry]) -> None:
        """Called when an entry of the session is recorded."""
        if self.before is not None:
            self.before.on_entries(entries)
        else:
            self.transcript.add(entries, is_now=True)
            self.on_change()

    def renew(self, entries: Sequence[Entry]) -> None:
        """Called when the journal was read: if others have written to it, all of it is shown."""
        if self.before is None and len(entries) > self.transcript.count:
            self.transcript = Transcript()
            self.transcript.add(entries)
            self.transcript.runs(self.running())
            self.on_change()

    def on_event(self, turn: str, event: Event) -> None:
        """Called with an event of a turn of the session."""
        if isinstance(event, Ended) and turn in self.queued:
            self.queued[turn] = (self.queued[turn][0], False)
        if self.before is not None:
            self.before.on_event(turn, event)
        else:
            self.transcript.on_event(turn, event)
            self.on_change()

    # ---- What the user writes ---------------------------------------------------------------------

    @property
    def is_elsewhere(self) -> bool:
        """Whether another process is running its turn, as far as is known."""
        return any(each.is_elsewhere for each in self.transcript.turns[-1:])

    @property
    def is_shown(self) -> bool:
        """Whether the client shows it, as a document or in a view of its own."""
        return self.feed is not None or self._open() is not None

    @property
    def draft(self) -> tuple[Line, ...]:
        """The user's unsent lines below our last heading."""
        rows = self._page.lines
        return tuple(each for each in rows[drafts.draft_start(rows) :] if each.part is None)

    @asynccontextmanager
    async def send(self, lines: Sequence[Line]) -> AsyncIterator[None]:
        """
        Sends these lines of the draft: the next update removes them, unless this ends with an error.

        Recorded before, so that they are sent once even if the server is killed.
        """
        running = self.transcript.running is not None
        key = sent.key(len(self.transcript.turns) - running)
        self._is_sending = True
        try:
            await self.revise(lambda page: sent.mark(page, lines, key))
            yield
            await self.revise(sent.finish)
        finally:
            self._is_sending = False
            self.page = self.settle(self.page)

    @property
    def draft_line(self) -> int:
        """The line, counted from 0, where the user writes."""
        return drafts.last_line(self._page)

    def is_ours(self, line: int) -> bool:
        """Whether a line, counted from 0, is one of ours."""
        rows = self._page.lines
        return line < len(rows) and rows[line].part is not None

    def begins_at(self, line: int) -> bool:
        """Whether the draft begins at a line, counted from 0."""
        return drafts.begins_at(self._page, line)

    def changed_message(self) -> TranscriptTurn | None:
        """Returns the first turn whose message now differs in words from what was sent."""
        changed = self._changed_messages(self._page)
        return next((one for one in self.transcript.turns if f"you:{one.turn}" in changed), None)

    def is_changed(self, turn: str) -> bool:
        """Whether the user's message of a turn now differs in words from what was sent."""
        return f"you:{turn}" in self._changed_messages(self._page)

    def message(self, turn: str) -> str:
        """Returns the current text of a turn's message in the document."""
        key = f"you:{turn}"
        rows = (
            line.text
            for own, line in messages.owned_lines(self._page)
            if own == key and not messages.is_heading(line)
        )
        return "\n".join(row.rstrip("\r\n") for row in rows).strip("\n")

    def _changed_messages(self, page: Page) -> dict[str, list[Line]]:
        return messages.find_changed(page, self.shown_now.messages.values())
