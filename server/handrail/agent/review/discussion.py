"""
The discussion of changes: a page with all that is pending, and comments of the user and the agent below.

The page is a view. What it shows follows from what is pending; only the comments that have not been sent are
in it alone. They are sent together, as one turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from handrail.agent.archive import Archive
from handrail.agent.review.reviews import Reviews
from handrail.agent.review.selection import HunkSelection
from handrail.agent.review.view import View, view
from handrail.agent.turns import UnknownId
from handrail.core.conversation.label import label_of
from handrail.core.documents import remarks as on_page
from handrail.core.documents.page import Page
from handrail.core.documents.remarks import Remark
from handrail.core.documents.text import split_lines
from handrail.core.failure import Failure
from handrail.core.policy.place import Place, PlaceKind
from handrail.core.review import comments
from handrail.core.review.comments import Comment, Sent, Status, Subject
from handrail.core.review.hunks import Hunk
from handrail.core.review.pending import Kind, Pending, ReviewMode
from handrail.values import dataclass, field, replace

COMMENTED = (PlaceKind.INSIDE, PlaceKind.PROTECTED, PlaceKind.RUNS_LATER)
LIMIT_TEXTS = 100  # that are remembered to follow what comments are about
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
    new_id: Callable[[str], str] = lambda kind: kind
    _labels: dict[str, str] = field(default_factory=dict)
    _texts: dict[str, Sequence[str]] = field(default_factory=dict)  # that the positions of subjects refer to

    # ---- What the page shows ----------------------------------------------------------------------

    async def refresh(self, page: Page) -> None:
        """Works out what the page is to show, as far as that follows from what the user has written in it."""
        await self.reviews.refresh()
        commented = {each.part for each in on_page.remarks(page)} | self.waiting
        pending = {each.key: each for each in self.pending_subjects()}
        for key in commented:
            known = self.subjects.get(key) or self.shown.subjects.get(key)
            if known is not None and key not in pending:
                gone = replace(known, status=Status.GONE) if known.status is Status.PENDING else known
                self.subjects[key] = await self._relocate(gone)
        self.subjects = {
            key: each for key, each in self.subjects.items() if key in commented and key not in pending
        }
        subjects = _in_order([*pending.values(), *self.subjects.values()])
        turns = {turn for each in subjects for turn in each.turns} | {each.turn for each in self.sent}
        for turn in sorted(turns - set(self._labels)):
            self._labels[turn] = label_of(await self.archive.prompt(turn) or "")
        is_on = self.reviews.mode() != ReviewMode.OFF
        self.shown = view(subjects, self.sent, self._labels, commented, is_on=is_on)

    def pending_subjects(self) -> list[Subject]:
        """All changes that are pending."""
        return [
            each for known in self.reviews.shown for each in self._subjects_of(known, known.document.hunks)
        ]

    def _subjects_of(self, known: Pending, hunks: Iterable[Hunk]) -> list[Subject]:
        uri = self.spelled(known.uri)
        uris = [known.uri, *((known.origin.uri,) if known.origin is not None else ())]
        places = [self.reviews.ports().workspace.resolve(each) for each in uris]
        is_protected = any(isinstance(place, Place) and place.kind is PlaceKind.PROTECTED for place in places)
        return [comments.of_hunk(known, hunk, uri, is_protected=is_protected) for hunk in hunks]

    async def _relocate(self, subject: Subject) -> Subject:
        """Returns lines, or a change that was kept or undone, with the current position."""
        is_decided = subject.status in (Status.KEPT, Status.UNDONE)
        if subject.is_change and not (is_decided and subject.kind is Kind.CHANGED):
            return subject
        document = await self.reviews.ports().editor.read(subject.uri)
        if isinstance(document, Failure):
            return replace(subject, is_lost=True) if is_decided else replace(subject, status=Status.CHANGED)
        return self._follow(subject, split_lines(document.text.content))

    def _follow(self, subject: Subject, rows: Sequence[str]) -> Subject:
        """Returns a subject with its position in the current text."""
        if subject.kind is not Kind.CHANGED:
            return subject
        before, now = self._texts.get(subject.key), tuple(rows)
        found = comments.relocate(subject, before, now)
        if not found.is_lost and found.status is not Status.CHANGED and now != before:
            self._note_text(subject.key, now)
        return found

    def _note_text(self, key: str, rows: Sequence[str]) -> None:
        """Notes the text that a subject's position refers to."""
        self._texts.pop(key, None)
        self._texts[key] = rows
        for old in list(self._texts)[:-LIMIT_TEXTS]:
            del self._texts[old]

    # ---- Comments ---------------------------------------------------------------------------------

    async def on_hunk(self, hunk: str) -> str:
        """The key of what is said of a hunk. Raises UnknownId."""
        await self.reviews.refresh()
        self.reviews.hunks(HunkSelection(hunks=[hunk]))
        self.waiting.add(comments.key_of(hunk))
        return comments.key_of(hunk)

    async def on_lines(self, uri: str, first: int, last: int) -> str:
        """The key of what is said of some lines of a document, counted from 0. Raises UnknownId."""
        ports = self.reviews.ports()
        place = ports.workspace.resolve(uri)
        if isinstance(place, Failure):
            raise UnknownId(place.message)
        if place.kind not in COMMENTED:
            raise UnknownId(
                f"{place.path} is outside the workspace, or belongs to version control or handrail, so its "
                "text is not sent to the model. You cannot comment on its lines."
            )
        document = await ports.editor.read(uri)
        if isinstance(document, Failure):
            raise UnknownId(document.message)
        rows = split_lines(document.text.content)
        first = max(0, min(first, len(rows) - 1))
        wanted = tuple(rows[first : max(first, last) + 1])
        for each in self.subjects.values():
            if (each.path, each.start, each.rows, each.status) == (place.path, first, wanted, Status.LINES):
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
            is_protected=place.kind is PlaceKind.PROTECTED,
        )
        self.waiting.add(key)
        self._note_text(key, rows)
        return key

    def subjects_of(self, wanted: HunkSelection) -> list[Subject]:
        """The hunks that are meant, as they are now. Raises UnknownId."""
        found = self.reviews.hunks(wanted)
        for identity, hunks in found.items():
            for hunk in hunks:
                self._note_text(comments.key_of(hunk.id), self.reviews.pending[identity].document.rows)
        return [
            each
            for identity, hunks in found.items()
            for each in self._subjects_of(self.reviews.pending[identity], hunks)
        ]

    def note_decision(self, subjects: Iterable[Subject], status: Status, *, says_why: bool = False) -> None:
        """The user has kept or undone hunks, and may be about to say why."""
        for each in subjects:
            place = self.reviews.ports().workspace.resolve(each.uri)
            rows = self.reviews.held(place.identity) if isinstance(place, Place) else None
            decided = replace(each, status=status)
            self.subjects[each.key] = decided if rows is None else self._follow(decided, rows)
            if says_why:
                self.waiting.add(each.key)

    def comments(self) -> list[Comment]:
        """The comments that were written and not sent."""
        old = set(self.old())
        return [self._comment(each) for each in on_page.remarks(self.page) if each not in old]

    def commented_subjects(self) -> list[Subject]:
        """
        Returns the subjects of comments, to be stored: after a crash, a pending change may be gone with
        unsaved text.
        """
        written = {each.part for each in on_page.remarks(self.page)} | self.waiting
        pending = [each for key, each in self.shown.subjects.items() if key in written]
        return [*self.subjects.values(), *(each for each in pending if each.key not in self.subjects)]

    def old(self) -> list[Remark]:
        """The comments that are on the page, again or still, although they were sent."""
        sent = {(each.part, each.text) for each in self.sent}
        return [each for each in on_page.remarks(self.page) if (each.part, each.text) in sent]

    def _comment(self, remark: Remark) -> Comment:
        answered = next((each for each in self.sent if each.key == remark.part), None)
        kind, _, name = remark.part.partition(":")
        about = {"document": name, "turn": self._labels.get(name, "")}.get(kind, "")
        subject = self.subjects.get(remark.part) or self.shown.subjects.get(remark.part)
        if answered is not None and answered.subject is not None:
            key = answered.subject.key
            subject = self.subjects.get(key) or self.shown.subjects.get(key) or answered.subject
        return Comment(subject=subject, remark=remark, about=about)

    async def session(self, comments: Sequence[Comment]) -> tuple[str | None, set[str]]:
        """
        Chooses the session that answers comments: the latest one that made one of the changes.

        Returns:
            The session, None for a new one; and its turns.
        """
        turns = {turn for each in comments if each.subject is not None for turn in each.subject.turns}
        turns = turns or {turn for each in self.shown.subjects.values() for turn in each.turns}
        of = dict[str, set[str]]()
        for turn in turns | {each.turn for each in self.sent}:
            known = await self.archive.of_turn(turn)
            if known is not None:
                of[known[0]] = set(known[1])
        latest = [each.id for each in await self.archive.journals.list() if each.id in of]
        return (latest[0], of[latest[0]]) if latest else (None, set())

    def mark_sent(self, comments: Sequence[Comment], turn: str) -> None:
        """Comments were sent, and *turn* answers them: they are no longer the user's draft."""
        self.sent += [
            Sent(
                key=self.new_id("sent"),
                part=each.remark.part,
                subject=each.subject,
                text=each.remark.text,
                turn=turn,
            )
            for each in comments
        ]
        del self.sent[:-LIMIT_SENT]
        self.waiting.clear()

    def end_turn(self, turn: str, state: str) -> None:
        """The turn that answers comments has ended."""
        self.sent = [replace(each, state=state) if each.turn == turn else each for each in self.sent]

    def take_unread(self, turn: str) -> list[Sent]:
        """
        Makes comments drafts again if the turn to which they were sent has read none of them. Returns them.
        """
        back = [each for each in self.sent if each.turn == turn]
        self.sent = [each for each in self.sent if each.turn != turn]
        for each in back:
            if each.subject is not None:
                self.subjects[each.subject.key] = each.subject
                self.waiting.add(each.subject.key)
        return back


def _in_order(subjects: Sequence[Subject]) -> list[Subject]:
    return sorted(subjects, key=lambda each: (each.path, each.start))
