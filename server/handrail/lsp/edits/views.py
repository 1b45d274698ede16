"""
The documents that an editor has open for one file: an edit is made in all of them or in none.

If an edit shows late in one, it is then made in the others. If a revert shows late, after the edit was
reported as landed, the edit is removed from the others too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial

from handrail.core.documents.change import (
    Applied,
    Landing,
    Partial,
    Rejected,
    Update,
    with_what_was_overwritten,
)
from handrail.core.documents.readback import LANDED, Fate, fates
from handrail.core.documents.revert import revert_hunks
from handrail.core.failure import Failure
from handrail.lsp.documents import Documents, OpenDocument
from handrail.lsp.edits.answers import open_twice
from handrail.lsp.edits.late import Late
from handrail.lsp.edits.sending import Sending
from handrail.lsp.edits.sent import Sent
from handrail.ports import Editor
from handrail.values import dataclass, replace

Told = Callable[[Landing], None]
LIMIT = 50  # awaited reverts


@dataclass(frozen=True, slots=True, kw_only=True)
class _Whole:
    """
    The update of a part that is made in another document of a file.

    Attributes:
        failure: Why the rest of it has not landed.
    """

    update: Update
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _PendingRevert:
    """
    A revert that has not landed, and may show late.

    Attributes:
        update: The update that it reverts, as known to the listener.
        part: The part of it that was made.
        undo: The revert that was sent.
        failure: The failure to report.
    """

    update: Update
    part: Update
    undo: Update
    failure: Failure


class Views:
    """
    Updates of open documents, each in all documents of its file.

    Attributes:
        one_at_a_time: Held while something is sent.
        late: Edits that may show late.
    """

    def __init__(self, documents: Documents, sending: Sending, disk: Editor, copies_s: float) -> None:
        self.one_at_a_time = asyncio.Lock()
        self.late = Late(documents, self._undo_copy, copies_s)
        self._documents, self._sending, self._disk = documents, sending, disk
        self._reverts: list[_PendingRevert] = []
        self._working: set[asyncio.Task[None]] = set()

    async def update(self, update: Update, label: str) -> Landing:
        """Makes an update of an open document, in all documents of its file unless it is for only one."""
        document = self._documents.find(update.uri)
        beside = self._documents.siblings(document) if document and not update.is_alone else ()
        if document and beside and (failure := self.check_alike(document)):
            return Rejected(failure=failure)
        landing = await self._send(update, label, update.uri)
        if document and beside:
            landing = await self._update_beside(update, label, landing, (document, *beside))
        return landing

    def check_alike(self, document: OpenDocument) -> Failure | None:
        """Returns why no document of a file can be edited: another one of the file has a different text."""
        beside = self._documents.siblings(document)
        if all(each.text.content == document.text.content for each in beside):
            return None
        return open_twice([document.uri, *(each.uri for each in beside)])

    def _is_blind(self, sent: Sent) -> bool:
        """Whether the client applies an edit to any text."""
        return not self._sending.wire.client.compares(sent.version)

    async def _send(self, update: Update, label: str, uri: str, part_of: _Whole | None = None) -> Landing:
        """Makes an update in the document that is open as *uri*."""
        document = self._documents.find(uri)
        if document is not None and self._sending.wire.client.apply_edit:  # otherwise each waits for the user
            self.late.forget(document.uri)
        landing, tries = await self._sending.update(replace(update, uri=uri), label)
        if tries:
            whole = part_of or _Whole(update=update)
            sent = replace(tries[-1].as_part_of(update, whole.update), label=label)
            self.late.add(whole.update, sent, landing, rest=whole.failure, is_blind=self._is_blind(sent))
        if isinstance(landing, Applied) and len(tries) > 1:
            self.late.watch_copies(update, tries, landing)
        return landing

    async def _undo_copy(self, undo: Update) -> bool:
        """Removes the second copy of an edit; returns whether that landed."""
        async with self.one_at_a_time:
            landing, _ = await self._sending.update(undo, "handrail: remove a second copy")
        return isinstance(landing, Applied)

    async def _update_beside(
        self, update: Update, label: str, landing: Landing, views: Sequence[OpenDocument]
    ) -> Landing:
        """Repeats what has landed in the first of a file's documents in all others, or reverts it there."""
        if isinstance(landing, Rejected):
            return landing
        part, whole = _landed_hunks(update, landing)
        failure = whole.failure if not update.is_divisible else None
        done = [views[0]]
        for view in views[1:] if failure is None else ():
            other = await self._send(part, label, view.uri, whole)
            if not isinstance(other, Applied):
                failure = other.failure
                break
            done.append(view)
        if failure is None:
            return landing
        return Rejected(failure=await self._undo(update, part, done, failure))

    # ---- Reverts --------------------------------------------------------------------------------

    async def _undo(
        self, update: Update, part: Update, views: Sequence[OpenDocument], failure: Failure
    ) -> Failure:
        """
        Reverts *part* of an update in documents of its file, because one rejected it; returns the report.
        """
        for view in views:
            if (undo := await self._revert(part, view.uri)) is None:
                continue
            landing, tries = await self._sending.update(undo, "handrail: revert a partial edit")
            failure = with_what_was_overwritten(failure, landing)
            if tries and not isinstance(landing, Applied):
                self.late.add(undo, tries[-1], landing, is_blind=self._is_blind(tries[-1]))
                revert = _PendingRevert(update=update, part=part, undo=undo, failure=failure)
                self._reverts = [*self._reverts, revert][-LIMIT:]
        return failure

    async def _revert(self, part: Update, uri: str) -> Update | None:
        """
        Returns the revert of *part* in the document that is open as *uri*; None if nothing of it is there.
        """
        document = self._documents.find(uri)
        if document is None:
            return None
        text = document.text
        of_part = [hunk.edits for hunk in part.hunks if hunk.edits]
        hunks = await asyncio.to_thread(revert_hunks, text, part.base, of_part)
        return Update(uri=uri, base=text, hunks=hunks, is_divisible=True) if hunks else None

    def _watch_reverts(self, update: Update, tell: Told) -> None:
        for revert in [revert for revert in self._reverts if revert.update is update]:
            self.late.when_shown(revert.undo, partial(self._undone_late, revert, tell))

    def _undone_late(self, revert: _PendingRevert, tell: Told, landing: Landing, uri: str) -> None:
        if isinstance(landing, Applied):
            self._begin(self._undo_others(revert, tell, uri))
        elif landing.has_overwritten:
            tell(Rejected(failure=with_what_was_overwritten(revert.failure, landing), has_overwritten=True))

    async def _undo_others(self, revert: _PendingRevert, tell: Told, uri: str) -> None:
        """Called when a revert shows in the document *uri*: reverts the others too."""
        self._reverts = [each for each in self._reverts if each is not revert]
        async with self.one_at_a_time:
            others = [view for view in self._views(revert.update) if view.uri != uri]
            failure = await self._undo(revert.update, revert.part, others, revert.failure)
        if not any(_has_landed(revert.part, view.text.content) for view in others):  # else typed in
            tell(Rejected(failure=failure))
        self._watch_reverts(revert.update, tell)

    # ---- What shows late --------------------------------------------------------------------------

    def when_shown(self, update: Update, tell: Told) -> None:
        """Calls *tell* when more of an update shows than was reported; see the port."""
        self.late.when_shown(update, partial(self._shown_late, update, tell))
        self._watch_reverts(update, tell)

    def on_change(self, document: OpenDocument) -> None:
        """Called when a document has changed: it may show an edit that was reported as failed."""
        self.late.recheck(document)

    def _views(self, update: Update) -> Sequence[OpenDocument]:
        """Returns all documents of the file of an update."""
        document = self._documents.find(update.uri)
        return (document, *self._documents.siblings(document)) if document is not None else ()

    def _begin(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.ensure_future(work)
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    def _shown_late(self, update: Update, tell: Told, landing: Landing, uri: str) -> None:
        if isinstance(landing, Applied | Partial) and landing.uri is not None:
            self._begin(self._renamed_late(update, tell, landing))
        elif update.is_alone or len(self._views(update)) < 2 or isinstance(landing, Rejected):
            tell(landing)
        else:
            self._begin(self._complete(update, tell, landing, uri))

    async def _renamed_late(self, update: Update, tell: Told, landing: Landing) -> None:
        """Reports an edit that shows in another document, if that is the same one under another name."""
        saved = await self._disk.read(update.uri)
        if isinstance(saved, Failure):  # otherwise the document was closed, and a similar one opened
            tell(landing)

    async def _complete(self, update: Update, tell: Told, landing: Applied | Partial, uri: str) -> None:
        """
        Makes an update that shows late in the document *uri* in the others of its file, then reports it.
        """
        part, whole = _landed_hunks(update, landing)
        async with self.one_at_a_time:
            views = self._views(update)
            for view in views:
                missing = _missing_hunks(part, view.text.content)
                if view.uri == uri or not missing.hunks:  # later changes there are the user's
                    continue
                other = await self._send(missing, "handrail: make the same edit", view.uri, whole)
                if not isinstance(other, Applied):
                    tell(Rejected(failure=await self._undo(update, part, views, other.failure)))
                    self._watch_reverts(update, tell)
                    return
        tell(landing)


def _has_landed(part: Update, now: str) -> bool:
    return any(fate in LANDED for fate in fates(part.base, part.edits, now, part.numbers))


def _missing_hunks(update: Update, now: str) -> Update:
    """Returns the hunks of an update whose places in a text are unchanged."""
    of_each = fates(update.base, update.edits, now, update.numbers)
    there = dict(zip(update.edits, of_each, strict=True))
    hunks = tuple(hunk for hunk in update.hunks if all(there[each] is Fate.ABSENT for each in hunk.edits))
    return replace(update, hunks=hunks)


def _landed_hunks(update: Update, landing: Applied | Partial) -> tuple[Update, _Whole]:
    """Returns the hunks of an update that have landed, and why the others have not."""
    if isinstance(landing, Applied):
        return update, _Whole(update=update)
    there = {each for each, is_there in zip(update.edits, landing.landed, strict=True) if is_there}
    part = replace(update, hunks=tuple(hunk for hunk in update.hunks if there.issuperset(hunk.edits)))
    return part, _Whole(update=update, failure=landing.failure)
