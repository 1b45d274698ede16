"""
The documents that an editor has open for one file: an edit is made in all of them or in none.

If an edit shows late in one, it is then made in the others. If a revert shows late, after the edit was
reported as landed, the edit is removed from the others too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
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
from handrail.lsp.edits.sending import Sending, Sent
from handrail.ports import Editor

Told = Callable[[Landing], None]
LIMIT = 50  # reverts that are waited for


@dataclass(frozen=True, slots=True, kw_only=True)
class _Whole:
    """
    The update that a part belongs to which is made in one more document of a file.

    Attributes:
        failure: Why the rest of it has not landed.
    """

    update: Update
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """
    A revert that has not landed, and may show late.

    Attributes:
        update: What is taken back, as it is known to whoever is told.
        part: What of it was made.
        undo: What was sent.
        failure: What is told of it.
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
        late: What may show late.
    """

    def __init__(self, documents: Documents, sending: Sending, disk: Editor, copies_s: float) -> None:
        self.one_at_a_time = asyncio.Lock()
        self.late = Late(documents, self._undo_copy, copies_s)
        self._documents, self._sending, self._disk = documents, sending, disk
        self._ways: list[_Way] = []
        self._working: set[asyncio.Task[None]] = set()

    async def update(self, update: Update, label: str) -> Landing:
        """Makes an update of an open document, in all documents of its file unless it is for one alone."""
        document = self._documents.find(update.uri)
        beside = self._documents.siblings(document) if document and not update.is_alone else ()
        if document and beside and (failure := self.check_alike(document)):
            return Rejected(failure=failure)
        landing = await self._send(update, label, update.uri)
        if document and beside:
            landing = await self._update_beside(update, label, landing, (document, *beside))
        return landing

    def check_alike(self, document: OpenDocument) -> Failure | None:
        """Why no document of a file is edited: the editor holds others of it, with other texts."""
        beside = self._documents.siblings(document)
        if all(each.text.content == document.text.content for each in beside):
            return None
        return open_twice([document.uri, *(each.uri for each in beside)])

    def _is_blind(self, sent: Sent) -> bool:
        """Whether the client makes what was sent in whatever text it holds by then."""
        return not self._sending.wire.client.compares(sent.version)

    async def _send(self, update: Update, label: str, uri: str, part_of: _Whole | None = None) -> Landing:
        """Makes an update in the document that is open as *uri*."""
        document = self._documents.find(uri)
        if document is not None and self._sending.wire.client.apply_edit:  # else each waits for the user
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
        """Takes the second copy of an edit back; whether that landed."""
        async with self.one_at_a_time:
            landing, _ = await self._sending.update(undo, "handrail: remove a second copy")
        return isinstance(landing, Applied)

    async def _update_beside(
        self, update: Update, label: str, landing: Landing, views: Sequence[OpenDocument]
    ) -> Landing:
        """Makes what has landed in the first of a file's documents in all others, or takes it back there."""
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
        """Takes *part* of an update back in documents of its file, as one did not take it; what to tell."""
        for view in views:
            if (undo := await self._way_back(part, view.uri)) is None:
                continue
            landing, tries = await self._sending.update(undo, "handrail: revert a partial edit")
            failure = with_what_was_overwritten(failure, landing)
            if tries and not isinstance(landing, Applied):
                self.late.add(undo, tries[-1], landing, is_blind=self._is_blind(tries[-1]))
                way = _Way(update=update, part=part, undo=undo, failure=failure)
                self._ways = [*self._ways, way][-LIMIT:]
        return failure

    async def _way_back(self, part: Update, uri: str) -> Update | None:
        """What takes *part* back in the document that is open as *uri*; None if nothing of it is there."""
        document = self._documents.find(uri)
        if document is None:
            return None
        text = document.text
        of_part = [hunk.edits for hunk in part.hunks if hunk.edits]
        hunks = await asyncio.to_thread(revert_hunks, text, part.base, of_part)
        return Update(uri=uri, base=text, hunks=hunks, is_divisible=True) if hunks else None

    def _watch_ways(self, update: Update, tell: Told) -> None:
        for way in [way for way in self._ways if way.update is update]:
            self.late.when_shown(way.undo, partial(self._undone_late, way, tell))

    def _undone_late(self, way: _Way, tell: Told, landing: Landing, uri: str) -> None:
        if isinstance(landing, Applied):
            self._begin(self._undo_others(way, tell, uri))
        elif landing.has_overwritten:
            tell(Rejected(failure=with_what_was_overwritten(way.failure, landing), has_overwritten=True))

    async def _undo_others(self, way: _Way, tell: Told, uri: str) -> None:
        """A revert shows in the document *uri*: what stands in the others by now goes as well."""
        self._ways = [each for each in self._ways if each is not way]
        async with self.one_at_a_time:
            others = [view for view in self._views(way.update) if view.uri != uri]
            failure = await self._undo(way.update, way.part, others, way.failure)
        if not any(_has_landed(way.part, view.text.content) for view in others):  # else it was typed into
            tell(Rejected(failure=failure))
        self._watch_ways(way.update, tell)

    # ---- What shows late --------------------------------------------------------------------------

    def when_shown(self, update: Update, tell: Told) -> None:
        """Has *tell* called when more of an update shows than was told; see the port."""
        self.late.when_shown(update, partial(self._shown_late, update, tell))
        self._watch_ways(update, tell)

    def on_change(self, document: OpenDocument) -> None:
        """A document has changed: it may show an edit that was told not to stand."""
        self.late.recheck(document)

    def _views(self, update: Update) -> Sequence[OpenDocument]:
        """All documents of the file that an update is of."""
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
        """Tells of an edit that shows in another document, if that is the same one by another name."""
        saved = await self._disk.read(update.uri)
        if isinstance(saved, Failure):  # else the document was closed, and a like one opened
            tell(landing)

    async def _complete(self, update: Update, tell: Told, landing: Applied | Partial, uri: str) -> None:
        """
        Makes an update that shows late in the document *uri* in the others of its file; then tells of it.
        """
        part, whole = _landed_hunks(update, landing)
        async with self.one_at_a_time:
            views = self._views(update)
            for view in views:
                missing = _missing_hunks(part, view.text.content)
                if view.uri == uri or not missing.hunks:  # what was changed there since is the user's
                    continue
                other = await self._send(missing, "handrail: make the same edit", view.uri, whole)
                if not isinstance(other, Applied):
                    tell(Rejected(failure=await self._undo(update, part, views, other.failure)))
                    self._watch_ways(update, tell)
                    return
        tell(landing)


def _has_landed(part: Update, now: str) -> bool:
    return any(fate in LANDED for fate in fates(part.base, part.edits, now))


def _missing_hunks(update: Update, now: str) -> Update:
    """Those hunks of an update whose places in a text are as they were before it; what was changed is not."""
    there = dict(zip(update.edits, fates(update.base, update.edits, now), strict=True))
    hunks = tuple(hunk for hunk in update.hunks if all(there[each] is Fate.ABSENT for each in hunk.edits))
    return replace(update, hunks=hunks)


def _landed_hunks(update: Update, landing: Applied | Partial) -> tuple[Update, _Whole]:
    """Those hunks of an update that have landed, and why the others have not."""
    if isinstance(landing, Applied):
        return update, _Whole(update=update)
    there = {each for each, is_there in zip(update.edits, landing.landed, strict=True) if is_there}
    part = replace(update, hunks=tuple(hunk for hunk in update.hunks if there.issuperset(hunk.edits)))
    return part, _Whole(update=update, failure=landing.failure)
