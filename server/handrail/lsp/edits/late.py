"""
Track edits that were reported as failed, for as long as they may still show.

A client may answer null, refuse or say nothing, and show the edit a minute later. Each edit that did not land
waits here for the next changes of its document; if the document then shows more of it than was reported, or
has another name, the report is corrected. A new edit of the same document ends this. An edit that was sent
again, because it was proved missing, may have been made the first time after all. Then it is there twice; for
a while, the second copy is searched for and removed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from handrail.core.documents import edit
from handrail.core.documents.change import (
    Applied,
    Create,
    Landing,
    Partial,
    PlannedHunk,
    Tier,
    Update,
    rebase_update,
)
from handrail.core.documents.edit import TextEdit
from handrail.core.documents.reading_back.second_copy import second_copy
from handrail.core.failure import Code, Failure
from handrail.lsp.documents import Documents, OpenDocument
from handrail.lsp.edits.sending import overwritten_late
from handrail.lsp.edits.sent import Sent
from handrail.values import dataclass, replace

UndoCopy = Callable[[Update], Awaitable[bool]]
Tell = Callable[[Landing, str], None]  # what to report now, and the document in which it shows

LIMIT = 50  # awaited edits; each has a document's text


@dataclass(kw_only=True)
class _Awaited:
    """
    An edit of which something may show late.

    Attributes:
        failure: Why the part of it that does not show has not landed.
        rest: Why the part of the update that was not sent has not.
        at_first: The number of its hunks that were first reported as landed.
        count: The number that is in `uri`, as far as is known.
        until: If all of them were reported as landed: the time until which the document may be renamed.
        told: The corrected report.
        overwrote: The same, if it has overwritten the user's typing, which is final.
    """

    change: Update | Create
    sent: Sent
    failure: Failure
    rest: Failure | None
    at_first: int
    count: int
    uri: str
    until: float | None = None
    tell: Tell | None = None
    told: Landing | None = None
    overwrote: Landing | None = None

    def judge(self, seen: Sequence[str], document: OpenDocument) -> Landing:
        """Returns the report on it, if it shows in a document that had the texts *seen* since it was sent."""
        text = replace(document.text)
        if self.sent.texts_before(seen):  # otherwise it is no longer known
            self.overwrote = overwritten_late(self.sent, seen, text)
        if self.overwrote is not None:
            return self.overwrote
        failure = self.failure if self.count < len(self.sent.edits) else self.rest
        return self.sent.landing(text, failure, document.uri if document.uri != self.sent.uri else None)

    @property
    def is_half(self) -> bool:
        """Whether some of it shows and the rest may follow."""
        return 0 < self.count < len(self.sent.edits)


@dataclass(kw_only=True)
class _Copy:
    """
    The first attempt, *sent*, of an edit that landed the second time.

    Attributes:
        once: The text with one copy.
        told: The report after the second copy was removed, or could not be.
    """

    update: Update
    sent: Sent
    once: str
    landing: Applied
    until: float
    tell: Tell | None = None
    is_found: bool = False
    told: Applied | None = None


class Late:
    """
    The edits of one client that did not land, or may land twice.

    Args:
        documents: All documents.
        undo_copy: Removes the second copy of an edit; returns whether that landed.
        copies_s: How long to wait for a second copy, or for a new name of the document.
    """

    def __init__(self, documents: Documents, undo_copy: UndoCopy, copies_s: float) -> None:
        self._documents = documents
        self._undo_copy = undo_copy
        self._copies_s = copies_s
        self._awaited: list[_Awaited] = []
        self._copies: list[_Copy] = []
        self._undoing: set[asyncio.Task[None]] = set()

    def add(
        self,
        change: Update | Create,
        sent: Sent,
        landing: Landing,
        *,
        rest: Failure | None = None,
        is_blind: bool = False,
    ) -> None:
        """
        Waits for an edit, or a new document, whose *landing* was not as requested.

        A conflict is final if the client compares versions, and so is an edit that has overwritten typing.

        Args:
            rest: Why the part of the update that was not sent has not landed.
            is_blind: Whether the client does not compare versions, so that the edit may overwrite typing.
        """
        if isinstance(landing, Applied):
            return
        count = sum(landing.landed) if isinstance(landing, Partial) else 0
        document = self._documents.find(sent.uri)
        is_conflict = landing.failure.code is Code.STALE_DOCUMENT
        if is_conflict:
            count = sent.count_in(document.text.content) if document is not None else 0
            is_final = landing.has_overwritten and count == 0
            if not is_blind or is_final or count == len(sent.edits):
                return
        failure = landing.failure
        each = _Awaited(
            change=change, sent=sent, failure=failure, rest=rest, at_first=count, count=count, uri=sent.uri
        )
        self._awaited = [*self._awaited, each][-LIMIT:]
        if is_blind and document is not None and not is_conflict:  # else it has what was seen
            document.seen_late = [] if document.text.content == sent.base.content else [document.text.content]

    def watch_copies(self, update: Update, tries: Sequence[Sent], landing: Applied) -> None:
        """Waits for a second copy of a landed edit; all *tries* except the last seemed to fail."""
        until = asyncio.get_running_loop().time() + self._copies_s
        once = edit.apply(tries[-1].base.content, tries[-1].edits)
        copies = [_Copy(update=update, sent=each, once=once, landing=landing, until=until) for each in tries]
        self._copies = [*self._copies, *copies[:-1]][-LIMIT:]
        if (document := self._documents.find(tries[-1].uri)) is not None:
            self.recheck(document)

    def when_shown(self, change: Update | Create, tell: Tell) -> None:
        """Calls *tell* whenever more of *change* shows than was reported before, or was reverted."""
        for copy in self._copies:
            if copy.update is change:
                copy.tell = tell
                if copy.told is not None:
                    tell(copy.told, copy.sent.uri)
        for document in self._documents:
            self.recheck(document)
        for each in [each for each in self._awaited if each.change is change]:
            each.tell = tell
            shown = self._documents.find(each.uri)
            if shown is not None and each.sent.count_in(shown.text.content) < each.count:
                each.count, each.told, each.overwrote = each.at_first, None, None  # it is gone again
                self.recheck(shown)
            else:
                self._tell(each)

    def offers(self, document: OpenDocument) -> list[tuple[str, tuple[TextEdit, ...]]]:
        """
        Returns the edits of a document that did not land at all, adapted to its current text, with labels.
        """
        result = []
        for each in self._awaited:
            if not isinstance(each.change, Update):
                continue
            if each.uri == document.uri and not each.count and each.sent.edits:
                rebased = rebase_update(each.change, document.text.content)
                if not rebased.conflicts:
                    result.append((each.sent.label, rebased.edits))
        return result

    def forget(self, uri: str) -> None:
        """Stops waiting for edits of a document, because it is edited again."""
        self._awaited = [each for each in self._awaited if each.sent.uri != uri]
        self._copies = [each for each in self._copies if each.sent.uri != uri]
        if (document := self._documents.find(uri)) is not None:
            document.seen_late = None

    def recheck(self, document: OpenDocument) -> None:
        """Called when a document has changed or was opened."""
        now = asyncio.get_running_loop().time()
        self._awaited = [each for each in self._awaited if each.until is None or now <= each.until]
        # An edit is judged when it shows, even if it is reported later: the user may type over it until then.
        for each in [each for each in self._awaited if self._is_in(each.sent, document)]:
            count = each.sent.count_in(document.text.content)
            if count <= each.count and (document.uri == each.uri or count == 0):
                continue
            each.count, each.uri = count, document.uri
            each.told = each.judge(document.seen_late or (), document)
            self._tell(each)
        if seen := document.seen_late:  # an edit may overwrite typing in the text before it shows
            half = next((each for each in self._awaited if each.uri == document.uri and each.is_half), None)
            document.seen_late = [*(half.sent.texts_before(seen[:-1])[-1:] if half else ()), seen[-1]]
        for copy in [each for each in self._copies if each.sent.uri == document.uri and not each.is_found]:
            if now > copy.until:
                self._copies.remove(copy)
            elif back := second_copy(copy.sent.base, copy.sent.edits, copy.once, document.text.content):
                copy.is_found = True
                hunk = PlannedHunk(number=None, tier=Tier.SAFE, edits=back)
                undo = Update(uri=document.uri, base=replace(document.text), hunks=(hunk,))
                task = asyncio.ensure_future(self._undo(undo, copy))
                self._undoing.add(task)
                task.add_done_callback(self._undoing.discard)

    def _tell(self, each: _Awaited) -> None:
        """Reports on an edit, if there is a listener."""
        if each.tell is None or each.told is None:
            return
        if isinstance(each.told, Applied):
            each.until = asyncio.get_running_loop().time() + self._copies_s
        each.tell(each.told, each.uri)

    def _is_in(self, sent: Sent, document: OpenDocument) -> bool:
        return sent.is_in(document, is_gone=self._documents.find(sent.uri) is None)

    async def _undo(self, undo: Update, copy: _Copy) -> None:
        is_undone = await self._undo_copy(undo)
        copy.told = replace(copy.landing, was_doubled=is_undone, is_doubled=not is_undone)
        if copy.tell is not None:
            copy.tell(copy.told, copy.sent.uri)
