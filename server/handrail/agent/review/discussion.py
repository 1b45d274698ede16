"""
What the user and the agent say about changes: a page on which all that is pending stands, and comments below.

The page is a view. What it shows follows from what is pending; only the comments that have not been sent are
in it alone. They are sent together, as one turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from handrail.agent.archive import Archive
from handrail.agent.review.reviews import Reviews
from handrail.agent.review.view import View, view
from handrail.agent.review.wanted import Wanted
from handrail.agent.turns import UnknownId
from handrail.core.conversation.label import label_of
from handrail.core.documents import page as pages
from handrail.core.documents.page import Page, Remark
from handrail.core.documents.text import split_lines
from handrail.core.failure import Failure
from handrail.core.review import comments
from handrail.core.review.comments import Comment, Sent, Status, Subject
from handrail.core.review.pending import ReviewMode

LIMIT_SENT = 50  # comments that are remembered after they were sent


@dataclass
class Discussion:
    """
    All that is said.

    Attributes:
        reviews: What is pending.
        archive: Knows what turns were about.
        spelled: Gives the URI by which the client knows a document.
        new_id: Makes an id that begins as given.
        page: The review document, as it was when it was last looked at.
        subjects: What is commented on and is not pending: lines, and changes that went; by their keys.
        sent: The comments that were sent, in order.
        waiting: The keys of what the user is about to comment on.
        shown: What the page was last made to show.
    """

    reviews: Reviews
    archive: Archive
    spelled: Callable[[str], str] = lambda uri: uri
    page: Page = field(default_factory=Page)
    subjects: dict[str, Subject] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    waiting: set[str] = field(default_factory=set)
    shown: View = field(default_factory=View)
    _labels: dict[str, str] = field(default_factory=dict)

    new_id: Callable[[str], str] = lambda kind: kind

    # ---- What the page shows ----------------------------------------------------------------------

    async def bring(self, page: Page) -> None:
        """Work out what the page is to show, as far as that follows from what the user has written in it."""
        await self.reviews.refresh()
        commented = {each.part for each in pages.remarks(page)} | self.waiting
        pending = {each.key: each for each in self._pending()}
        for key in commented:
            known = self.subjects.get(key) or self.shown.subjects.get(key)
            if known is not None and key not in pending:
                gone = replace(known, status=Status.GONE) if known.status is Status.PENDING else known
                self.subjects[key] = await self._found(gone)
        self.subjects = {
            key: each for key, each in self.subjects.items() if key in commented and key not in pending
        }
        subjects = _in_order([*pending.values(), *self.subjects.values()])
        turns = {turn for each in subjects for turn in each.turns} | {each.turn for each in self.sent}
        for turn in sorted(turns - set(self._labels)):
            self._labels[turn] = label_of(await self.archive.prompt(turn) or "")
        is_on = self.reviews.mode() != ReviewMode.OFF
        self.shown = view(subjects, self.sent, self._labels, is_on=is_on)

    def _pending(self) -> list[Subject]:
        return [
            comments.of_hunk(known, hunk, self.spelled(known.uri))
            for known in self.reviews.shown
            for hunk in known.document.hunks
        ]

    async def _found(self, subject: Subject) -> Subject:
        """Lines where they stand now."""
        if subject.status is not Status.LINES:
            return subject
        document = await self.reviews.ports().editor.read(subject.uri)
        if isinstance(document, Failure):
            return subject
        return comments.found(subject, split_lines(document.text.content))

    # ---- Comments ---------------------------------------------------------------------------------

    async def on_hunk(self, hunk: str) -> str:
        """The key of what is said of a hunk. Raises UnknownId."""
        await self.reviews.refresh()
        self.reviews.hunks(Wanted(hunks=[hunk]))
        self.waiting.add(comments.key_of(hunk))
        return comments.key_of(hunk)

    async def on_lines(self, uri: str, first: int, last: int) -> str:
        """The key of what is said of some lines of a document, counted from 0. Raises UnknownId."""
        ports = self.reviews.ports()
        place, document = ports.workspace.resolve(uri), await ports.editor.read(uri)
        if isinstance(place, Failure):
            raise UnknownId(place.message)
        if isinstance(document, Failure):
            raise UnknownId(document.message)
        rows = split_lines(document.text.content)
        first = max(0, min(first, len(rows) - 1))
        wanted = tuple(rows[first : max(first, last) + 1])
        for each in self.subjects.values():
            is_same = (each.path, each.start, each.rows) == (place.path, first, wanted)
            if is_same and each.status is Status.LINES:
                self.waiting.add(each.key)
                return each.key
        key = self.new_id("lines")
        self.subjects[key] = Subject(
            key=key,
            hunk="",
            uri=self.spelled(uri),
            path=place.path,
            start=first,
            before=wanted,
            rows=wanted,
            status=Status.LINES,
        )
        self.waiting.add(key)
        return key

    def undone(self, hunk: Subject) -> None:
        """A hunk was undone, and the user is about to say why."""
        self.subjects[hunk.key] = replace(hunk, status=Status.UNDONE)
        self.waiting.add(hunk.key)

    def comments(self) -> list[Comment]:
        """What was written and has not been sent."""
        return [self._comment(each) for each in pages.remarks(self.page)]

    def _comment(self, remark: Remark) -> Comment:
        on = next((each.on for each in self.sent if each.key == remark.part), remark.part)
        kind, _, name = on.partition(":")
        about = {"document": name, "turn": self._labels.get(name, "")}.get(kind, "")
        subject = self.subjects.get(on) or self.shown.subjects.get(on)
        return Comment(subject=subject, remark=remark, about=about)

    async def session(self, found: Sequence[Comment]) -> str | None:
        """The session in which comments are to be answered: that of the latest turn that they are about."""
        turns = [turn for each in found if each.subject is not None for turn in each.subject.turns]
        for turn in reversed(turns):
            known = await self.archive.of_turn(turn)
            if known is not None:
                return known[0]
        return None

    def took(self, found: Sequence[Comment], turn: str) -> None:
        """Comments were sent, and *turn* answers them: they are not the user's draft any more."""
        for each in found:
            subject = each.subject
            sent = Sent(
                key=self.new_id("sent"),
                on=subject.key if subject is not None else "",
                path=subject.path if subject is not None else "",
                place=subject.place if subject is not None else "",
                text=each.remark.text,
                turn=turn,
            )
            self.sent.append(sent)
        del self.sent[:-LIMIT_SENT]
        self.waiting.clear()

    def ended(self, turn: str, state: str) -> None:
        """The turn that answers comments has ended."""
        self.sent = [replace(each, state=state) if each.turn == turn else each for each in self.sent]


def _in_order(subjects: Sequence[Subject]) -> list[Subject]:
    return sorted(subjects, key=lambda each: (each.path, each.start))
