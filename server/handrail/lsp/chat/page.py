"""The document of one conversation in one client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from handrail.agent.chat.before import Before
from handrail.agent.chat.transcript import Round, Transcript
from handrail.agent.chat.view import ASK, Answer, Shown, View
from handrail.core.conversation.journal import Entry
from handrail.core.documents import layout, page_reading
from handrail.core.documents.layout import Counted
from handrail.core.documents.page import Line, Page, Part
from handrail.core.ledger.report import Asked, Ended, Event
from handrail.lsp.chat import draft as drafts
from handrail.lsp.chat import messages
from handrail.lsp.chat.feed import Feed
from handrail.lsp.protocol import Mode
from handrail.lsp.served_page import Edit, ServedPage, unchanged_page
from handrail.ports import Question
from handrail.ports.sessions import Sessions

LEAST_PAUSE_S, MOST_PAUSE_S = 0.1, 2.0  # between two updates
SHARE = 9  # so many times as long as an update takes nothing is done, so that it takes a tenth at most
SAID = "you:"  # how the keys of the parts begin that show what the user said
LIMIT_GONE = 2_000  # lines that were sent, of which is known that they were
KEEP_S = 1.0  # so often it is written down, at most, what is whose while a turn runs


def _unset() -> View:
    raise AssertionError("a view is given")


@dataclass
class ChatPage(ServedPage):
    """
    A conversation.

    Attributes:
        session: Its id.
        journals: Where it is written down.
        running: The turns of the session that run in this server.
        asked: The open questions of these turns.
        view: Shows it.
        transcript: What was said and done.
        shown_now: What of that is shown.
        mode: Of its turns, as the user has chosen it; else that of the settings.
        told: What a command has to say.
        sending: Held while the user's text is sent, so that none is sent twice.
        queued: What the user said for later, by the turn that it will begin; and whether that may still be.
        feed: Tells the client of changes, if it shows the conversation in a view of its own.
    """

    session: str = ""
    journals: Sessions | None = None
    running: Callable[[], Iterable[str]] = tuple
    asked: Callable[[], Iterable[Question]] = tuple
    view: View = field(default_factory=_unset)
    transcript: Transcript = field(default_factory=Transcript)
    shown_now: Shown = field(default_factory=Shown)
    mode: Mode | None = None
    told: list[Answer] = field(default_factory=list)
    sending: asyncio.Lock = field(default_factory=asyncio.Lock)
    queued: dict[str, tuple[str, bool]] = field(default_factory=dict)
    feed: Feed | None = None
    _page: Page = field(default_factory=Page)
    before: Before | None = field(default_factory=Before)  # the journal was read
    _said: object = None
    _back: list[str] = field(default_factory=list)  # of the user's, what no turn has read
    _sent_lines: list[Line] = field(default_factory=list)  # of the user's, which still stand in the document
    _gone_lines: list[Line] = field(
        default_factory=list
    )  # and which do no longer, unless the user undoes that
    _may_be_laid_out: bool = False  # by a formatter, since it was saved
    _took_s: float = 0.0
    _kept_keys: tuple[str, ...] = ()
    _kept_at: float = float("-inf")
    _read_bytes: int = 0  # of the journal
    _read_again: str = ""  # the turn without an end for which the journal was read once more

    @property
    def page(self) -> Page:
        """What it holds, as far as is known."""
        return self._page

    @page.setter
    def page(self, now: Page) -> None:
        self._page = now

    @property
    def parts(self) -> Sequence[Part]:
        """Turns, and what came of them; at the end the place where the user writes."""
        return self.shown_now.parts

    def parts_in(self, page: Page) -> Sequence[Part]:
        """A message that the user has changed stays as it is, until it is sent again or restored."""
        changed = self._changed_messages(page)
        return [
            messages.keep_left(part, changed[part.key]) if part.key in changed else part
            for part in self.parts
        ]

    def assign(self, page: Page) -> Page:
        """Without our last heading, what was typed below our last line is the draft, blank lines included."""
        return page if drafts.has_heading(page.lines) else drafts.with_own_draft(page)

    def clean(self, page: Page) -> Page:
        """The page with our last heading above the draft, even if the user has removed it."""
        return drafts.with_heading(page)

    @property
    def tells_itself(self) -> bool:
        """The journal tells all that is ours."""
        return True

    @property
    def owns_copies(self) -> bool:
        """A message may repeat an earlier one, or a sentence of the model's."""
        return False

    @staticmethod
    def reading(line: Line) -> Counted:
        """The words of what the user has said; the letters of what is ours, since all of it is made anew."""
        if line.part is None or (line.part == ASK and line.number):
            return page_reading.plain(line)
        if line.part == ASK:
            return layout.message
        return messages.counting_rule(line) if line.part.startswith(SAID) else layout.letters

    @property
    def pause_s(self) -> float:
        """How long to wait before the next update: the longer it takes, the more seldom."""
        return min(max(LEAST_PAUSE_S, self._took_s * SHARE), MOST_PAUSE_S)

    async def prepare(self, page: Page) -> None:
        """Read the journal, if it was not read yet, and show what is known by now."""
        await self.load()
        await self._look_elsewhere()
        self.shown_now = self.view.render(self.transcript, self.told)

    def on_change(self) -> None:
        """Something has changed: bring the document up to date, and tell whoever has read it."""
        super().on_change()
        if self.feed is not None:
            self.feed.note()

    def has_news(self) -> bool:
        """Whether a turn, a question or a command has begun or ended; what moves, an editor moves itself."""
        running = self.transcript.running
        said = (
            running and running.turn,
            tuple(self.shown_now.questions),
            tuple(key for key, call in self.shown_now.calls.items() if call.is_running),
            len(self.transcript.rounds),
        )
        before, self._said = self._said, said
        return said != before

    def as_json(self) -> str:
        """The session."""
        return self.session

    def take_up(self, kept: str) -> None:
        """The session is known."""

    async def bring(self, edit: Edit = unchanged_page) -> str:
        """Have it show the conversation as it is now. Returns its URI; raises ServedError."""
        clock = asyncio.get_running_loop()
        began = clock.time()
        self._back += self.transcript.unread()
        back = "\n".join(self._back)
        sent = [*self._sent_lines]
        if self._open() is None or self._may_be_laid_out:
            tidy, self._may_be_laid_out = drafts.without_added_blanks, False
        else:
            tidy = unchanged_page

        def remove_sent(page: Page) -> Page:
            return drafts.remove_draft(self._remove_gone(edit(tidy(page))), sent)

        brought = await super().bring(lambda page: _give_back(remove_sent(page), back))
        if self.takes_edits() or self._is_read():  # else they stand in what the client holds
            current = {id(line) for line in self.page.lines}
            self._gone_lines += (line for line in self._sent_lines if id(line) not in current)
            self._gone_lines = self._gone_lines[-LIMIT_GONE:]
            self._sent_lines = [line for line in self._sent_lines if id(line) in current]
        there = {line.text.rstrip() for line in self.draft}
        if all(row.rstrip() in there for row in back.split("\n")):
            self._back = []
        self._took_s = clock.time() - began
        return brought

    def _remove_gone(self, page: Page) -> Page:
        """The page without what was sent, and stands there again because the user has undone our edit."""
        gone = {id(line) for line in self._gone_lines}
        if not any(id(line) in gone for line in page.lines):
            return page
        said = (row for part in self.parts if part.key.startswith(SAID) for row in part.rows)
        return drafts.remove_said(page, gone, frozenset(map(layout.letters, said)))

    def on_save(self) -> None:
        """The client has saved the document, which a formatter may have laid out anew."""
        super().on_save()
        self._may_be_laid_out = True

    async def _keep(self) -> None:
        now, keys = asyncio.get_running_loop().time(), tuple(part.key for part in self.parts)
        if self.transcript.running is None or now - self._kept_at >= KEEP_S or keys != self._kept_keys:
            self._kept_at, self._kept_keys = now, keys
            await super()._keep()

    async def ready(self) -> None:
        """Take over what the user has written, without changing anything. Raises ServedError."""
        if self.is_loaded:
            self.look()
        else:
            await self.bring()

    # ---- The conversation -------------------------------------------------------------------------

    async def load(self) -> None:
        """Read the journal."""
        if self.before is None or self.journals is None:
            return
        entries, size = await self.journals.read(self.session) or ((), 0)
        if self.before is None:
            return  # it was read while this waited
        self._read_bytes = size
        before, self.before = self.before, None
        self.transcript.add([*entries, *before.since(entries)])
        self.transcript.runs(self.running())
        running = set(self.running())
        for turn, event in before.events:
            if turn in running:
                self.transcript.tell(turn, event)
        for each in self.asked():
            event = Asked(call=each.call, subject=each.subject, question=each.id)
            self.transcript.tell(each.turn, event)

    async def catch_up(self) -> None:
        """Show what another process has written down of the session."""
        if self.before is not None or any(self.running()):
            return
        await self._read_news()
        before = self.is_elsewhere
        await self._look_elsewhere()
        if self.is_elsewhere != before:
            self.on_change()

    async def _read_news(self) -> None:
        news = None if self.journals is None else await self.journals.read(self.session, self._read_bytes)
        if news is not None:
            entries, self._read_bytes = news
            self.renew(entries)

    async def _look_elsewhere(self) -> None:
        """See whether another process runs the turn that has no end, or has written its end by now."""
        last = next((each for each in self.transcript.rounds[-1:] if not each.state), None)
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

    def hear(self, entries: Sequence[Entry]) -> None:
        """Something is written down of the session."""
        if self.before is not None:
            self.before.hear(entries)
        else:
            self.transcript.add(entries, is_now=True)
            self.on_change()

    def renew(self, entries: Sequence[Entry]) -> None:
        """The journal was read: if others have written to it, all of it is shown."""
        if self.before is None and len(entries) > self.transcript.count:
            self.transcript = Transcript()
            self.transcript.add(entries)
            self.transcript.runs(self.running())
            self.on_change()

    def tell(self, turn: str, event: Event) -> None:
        """Something happens in a turn of the session."""
        if isinstance(event, Ended) and turn in self.queued:
            self.queued[turn] = (self.queued[turn][0], False)
        if self.before is not None:
            self.before.tell(turn, event)
        else:
            self.transcript.tell(turn, event)
            self.on_change()

    # ---- What the user writes ---------------------------------------------------------------------

    @property
    def is_elsewhere(self) -> bool:
        """Whether another process runs its turn, as far as is known."""
        return any(each.is_elsewhere for each in self.transcript.rounds[-1:])

    @property
    def is_shown(self) -> bool:
        """Whether the client shows it, as a document or in a view of its own."""
        return self.feed is not None or self._open() is not None

    @property
    def draft(self) -> tuple[Line, ...]:
        """The user's lines below our last heading that were not sent."""
        rows, sent = self._page.lines, {id(line) for line in self._sent_lines}
        return tuple(
            each for each in rows[drafts.draft_start(rows) :] if each.part is None and id(each) not in sent
        )

    def note_sent(self, sent: Sequence[Line]) -> None:
        """These lines were sent: they go with the next update that the editor takes."""
        self._sent_lines += sent

    @property
    def place(self) -> int:
        """
        The line, counted from 0, where the user writes or goes on.

        It is one that every editor shows: Vim has no line behind the last line end.
        """
        rows = self._page.lines
        said = [at for at, line in enumerate(rows) if line.text.strip()]
        if said and rows[said[-1]].part is None:
            return said[-1]
        return max(len(rows) - 1, 0)

    def is_ours(self, line: int) -> bool:
        """Whether a line, counted from 0, is one of ours."""
        rows = self._page.lines
        return line < len(rows) and rows[line].part is not None

    def begins_at(self, line: int) -> bool:
        """Whether what the user writes begins at a line, counted from 0."""
        rows = self._page.lines
        first = drafts.draft_start(rows)
        return first <= line and not any(each.text.strip() for each in rows[first:line] if each.part is None)

    def changed_message(self) -> Round | None:
        """The first turn whose message has other words by now than those that were sent."""
        changed = self._changed_messages(self._page)
        return next((one for one in self.transcript.rounds if f"you:{one.turn}" in changed), None)

    def is_changed(self, turn: str) -> bool:
        """Whether the user's message of a turn has other words by now than those that were sent."""
        return f"you:{turn}" in self._changed_messages(self._page)

    def message(self, turn: str) -> str:
        """What the user's message of a turn is in the document by now."""
        key = f"you:{turn}"
        rows = (
            line.text
            for own, line in messages.owned_lines(self._page)
            if own == key and not messages.is_heading(line)
        )
        return "\n".join(row.rstrip("\r\n") for row in rows).strip("\n")

    def _changed_messages(self, page: Page) -> dict[str, list[Line]]:
        """By part the lines of the user's messages that have other words by now than were sent."""
        there = dict[str, list[Line]]()
        for key, line in messages.owned_lines(page):
            if key.startswith(SAID):
                there.setdefault(key, []).append(line)
        sent = self.shown_now.messages
        return {
            part.key: there[part.key]
            for part in sent.values()
            if part.key in there and messages.are_changed(there[part.key], part.lines)
        }


def _give_back(page: Page, text: str) -> Page:
    return drafts.with_draft(page, text) if text else page
