"""
Revert the landed part of a call that failed half-way, so that a call is made as a whole or not at all.

Each change is undone by its inverse, adapted to the current text of the document: what the user typed since
stays. An edit that cannot be undone without touching the user's text is left, and reported as landed. Which
edits are left is read from the document, not concluded from the result of the revert.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence, Set

from handrail.core.checkpoint import Image, Restoration, StepId
from handrail.core.documents.change import (
    Applied,
    Change,
    Create,
    Delete,
    Landing,
    Partial,
    PlannedHunk,
    Rejected,
    Update,
    with_what_was_overwritten,
)
from handrail.core.documents.edit import TextEdit
from handrail.core.documents.readback import LANDED, Fate, fates
from handrail.core.documents.revert import revert_hunks
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.ports import CheckpointError, Document, Ports
from handrail.values import dataclass, replace

LABEL = "handrail: revert a partial edit"
WHOLE_EDIT = ("Read the document again.", "Then send the whole edit again.")  # none of it is left


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRevert:
    """
    A revert that has not landed; it may show late.

    Attributes:
        change: The change that it reverts.
        update: The update that was sent.
        edits: The edits of the change that it reverts.
        gone: The landing to report for the change once the revert has landed.
    """

    change: Update
    update: Update
    edits: frozenset[TextEdit]
    gone: Landing


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertedCall:
    """The current landings, and the reverts that may still show."""

    landings: tuple[Landing, ...]
    waiting: tuple[PendingRevert, ...] = ()


async def revert_partial_call(
    ports: Ports, step: StepId, changes: Sequence[Change], landings: Sequence[Landing]
) -> RevertedCall:
    """
    Reverts those of *changes* that landed, unless all of them did.

    Args:
        ports: The ports of the server.
        step: The step whose checkpoint has the pre-images.
        changes: The changes of one call, in the order in which they were made.
        landings: The landing of each change.

    Returns:
        The current landings: reverted changes count as rejected, with a failure that says so.
    """
    left, waiting = list(landings), list[PendingRevert]()
    bad = next((at for at, landing in enumerate(landings) if not isinstance(landing, Applied)), None)
    if bad is None:
        return RevertedCall(landings=tuple(left))
    place = ports.workspace.resolve(changes[bad].uri)
    path = changes[bad].uri if isinstance(place, Failure) else place.path
    for at in reversed(range(len(changes))):
        landing = landings[at]
        if isinstance(landing, Rejected):
            continue
        if isinstance(change := changes[at], Update):
            left[at], reverts = await _undo(ports, change, landing, path)
            waiting += reverts
        elif await _is_undone(ports, step, change):
            left[at] = Rejected(failure=_reverted_failure(change, landing, path))
    return RevertedCall(landings=tuple(left), waiting=tuple(waiting))


def _reverted_failure(change: Change, landing: Landing, bad: str, *, is_whole: bool = True) -> Failure:
    """
    Returns the failure for edits that landed and were reverted.

    Args:
        bad: The path of the document whose edit did not land.
        is_whole: Whether none of the change is left.
    """
    if isinstance(landing, Partial):
        what = "The part that landed was reverted" if is_whole else "Only some of what landed was reverted"
        is_missing = is_whole and landing.failure.code is Code.NOT_AS_WRITTEN
        steps = WHOLE_EDIT if is_missing else landing.failure.steps
        return replace(landing.failure, message=f"{landing.failure.message} {what}.", steps=steps)
    return Failure(
        code=Code.BAD_PATCH,
        uri=change.uri,
        message=f"This edit landed, but the edit of {bad}, which was sent with it, did not, so this one was "
        f"reverted.",
        steps=("Fix the edit that did not land, then send the call again.", "Or send this edit alone."),
        is_applicable=True,
    )


async def _is_undone(ports: Ports, step: StepId, change: Create | Delete) -> bool:
    match change:
        case Create():
            return await _is_removed(ports, step, change)
        case Delete():
            image = await _pre_image(ports, step, change.uri)
            if image is None or image.raw is None:
                return False
            return await ports.editor.put(change.uri, None, image.raw, image.mode) is None


async def _undo(
    ports: Ports, change: Update, landing: Landing, bad: str
) -> tuple[Landing, list[PendingRevert]]:
    """
    Reverts what landed of *change* in each document of its file, and checks what is left of it.

    A hunk that cannot be reverted in one of them is left in all.
    """
    where = landing.uri or change.uri
    views = await _views(ports, where)
    if not views:
        return landing, []
    tried, kept, late = set[TextEdit](), set[TextEdit](), list[_Sent]()
    # More may show since it was told, unless that was made over what was typed, which stays told.
    grows = not (isinstance(landing, Partial) and landing.has_overwritten)
    left = _landed_edits(change, landing) | (await _shown_edits(change, views) if grows else set())
    while left and not late:
        tried |= left
        is_apart = len({view.text.content for view in views}) > 1
        undone = await _revert_in_all(ports, change, views if is_apart else views[:1], left - kept, is_apart)
        kept |= undone.kept
        late = undone.failed
        views = await _views(ports, undone.renamed or where)
        where = undone.renamed or where
        left = await _shown_edits(change, views) - tried if grows else set()
    if where != change.uri:  # it was renamed since
        landing = replace(landing, uri=where)
    reverts = [each.landing for each in late]
    gone = _landing_of_rest(change, landing, kept, (bad, reverts))
    waiting = [
        PendingRevert(change=change, update=each.update, edits=frozenset(tried - kept), gone=gone)
        for each in late
    ]
    if not waiting:
        return gone, []
    there = await _shown_edits(change, views) & tried if views else tried
    return _landing_of_rest(change, landing, kept | there, (bad, reverts)), waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sent:
    """A revert in one document, and its result."""

    update: Update
    landing: Landing

    @property
    def refused(self) -> frozenset[int] | None:
        """The numbers of its hunks that did not land; None if none did."""
        if not isinstance(self.landing, Partial):
            return None
        landed = dict(zip(self.update.edits, self.landing.landed, strict=True))
        numbers = [hunk.number for hunk in self.update.hunks if not all(landed[each] for each in hunk.edits)]
        return None if None in numbers else frozenset(number for number in numbers if number is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RevertAttempt:
    """
    The result of one attempt to revert a change in all documents of its file.

    Attributes:
        kept: The edits that cannot be reverted in one of them.
        failed: The revert that did not land, if any.
        renamed: The document's new name, if it was renamed in the meantime.
    """

    kept: set[TextEdit]
    failed: list[_Sent]
    renamed: str | None = None


async def _revert_in_all(
    ports: Ports, change: Update, views: Sequence[Document], wanted: Set[TextEdit], is_alone: bool
) -> _RevertAttempt:
    """
    Reverts *wanted* in all *views*; a hunk that one of them does not revert is made again in all.

    Args:
        is_alone: Whether each revert is for its document alone; otherwise the editor makes it in all
            documents of the file.
    """
    kept = set[TextEdit]()
    for view in views:
        _, stays = await asyncio.to_thread(_revert_hunks, view.text, change, wanted - kept)
        kept |= stays
    done, renamed = list[Update](), None
    for view in views:
        hunks, _ = await asyncio.to_thread(_revert_hunks, view.text, change, wanted - kept)
        if not hunks:
            continue
        sent = Update(uri=view.uri, base=view.text, hunks=hunks, is_alone=is_alone, is_divisible=True)
        (landing,) = await ports.editor.apply([sent], LABEL)
        renamed = landing.uri or renamed
        if not isinstance(landing, Applied):
            failed = _Sent(update=sent, landing=landing)
            for each in done:
                await _make_again(ports, each, failed.refused)
            return _RevertAttempt(kept=kept, failed=[failed], renamed=renamed)
        done.append(sent)
    return _RevertAttempt(kept=kept, failed=[], renamed=renamed)


async def _make_again(ports: Ports, revert: Update, numbers: Set[int] | None) -> None:
    """Undoes those hunks of a revert that have *numbers*, or all of them."""
    view = await ports.editor.read(revert.uri)
    if isinstance(view, Failure):
        return
    wanted = [
        hunk.edits for hunk in revert.hunks if numbers is None or hunk.number in numbers or not hunk.number
    ]
    if hunks := await asyncio.to_thread(revert_hunks, view.text, revert.base, wanted):
        again = Update(uri=view.uri, base=view.text, hunks=hunks, is_alone=True, is_divisible=True)
        await ports.editor.apply([again], "handrail: make an edit again")


async def revert_other_documents(ports: Ports, revert: PendingRevert) -> PendingRevert | None:
    """
    Reverts in the other documents of a file what a late revert has reverted in one of them.

    Returns:
        A revert that one of them does not show; None if the change is gone in all.
    """
    others = [each for each in await _views(ports, revert.update.uri) if each.uri != revert.update.uri]
    undone = await _revert_in_all(ports, revert.change, others, revert.edits, is_alone=True)
    return next((replace(revert, update=each.update) for each in undone.failed), None)


def _landed_edits(change: Update, landing: Landing) -> set[TextEdit]:
    """The edits that were reported as landed."""
    if isinstance(landing, Partial):
        return {each for each, landed in zip(change.edits, landing.landed, strict=True) if landed}
    return set(change.edits)


async def _shown_edits(change: Update, views: Sequence[Document]) -> set[TextEdit]:
    """The edits that are in any of the documents of a file."""
    edits = set[TextEdit]()
    for view in views:
        of_view = await asyncio.to_thread(_fates, change, view.text)
        edits |= {each for each, fate in zip(change.edits, of_view, strict=True) if fate in LANDED}
    return edits


def _fates(change: Update, now: Text) -> tuple[Fate, ...]:
    return fates(change.base, change.edits, now.content, change.numbers)


def _revert_hunks(
    now: Text, change: Update, wanted: Set[TextEdit]
) -> tuple[tuple[PlannedHunk, ...], set[TextEdit]]:
    """
    Returns the reverts of hunks, and the edits of hunks that are at least partly there and cannot be
    reverted.
    """
    hunks = [[each for each in hunk.edits if each in wanted] for hunk in change.hunks]
    reverted = revert_hunks(now, change.base, [hunk for hunk in hunks if hunk])
    if any(hunk.number is None for hunk in reverted):
        return reverted, set()
    undone = {hunk.number for hunk in reverted}
    of = dict(zip(change.edits, _fates(change, now), strict=True))
    left = [hunk for number, hunk in enumerate(filter(None, hunks), 1) if number not in undone]
    stays = [hunk for hunk in left if any(of[each] is not Fate.ABSENT for each in hunk)]
    return reverted, {each for hunk in stays for each in hunk}


def _landing_of_rest(
    change: Update, landing: Landing, left: Set[TextEdit], why: tuple[str, Sequence[Landing]]
) -> Landing:
    """
    Returns the landing of *change* if only the edits *left* remain of what had landed.

    Args:
        why: The path of the document whose edit did not land, and the results of the reverts.
    """
    if left == _landed_edits(change, landing):
        return landing
    bad, reverts = why
    landed = tuple(each in left for each in change.edits)
    failure = _reverted_failure(change, landing, bad, is_whole=not any(landed))
    for revert in reverts:
        failure = with_what_was_overwritten(failure, revert)
    if any(landed):
        return Partial(landed=landed, failure=failure, uri=landing.uri)
    return Rejected(failure=failure, uri=landing.uri)


async def _views(ports: Ports, uri: str) -> list[Document]:
    """Returns the document *uri*, then the other open documents of the same file."""
    first = await ports.editor.read(uri)
    if isinstance(first, Failure):
        return []
    place = ports.workspace.resolve(uri)
    others = (
        [each for each in await ports.editor.open_documents() if each.uri != first.uri]
        if first.is_open
        else []
    )
    if isinstance(place, Failure):
        return [first]
    resolved = [(each, ports.workspace.resolve(each.uri)) for each in others]
    same = [each for each, at in resolved if not isinstance(at, Failure) and at.identity == place.identity]
    return [first, *same]


async def _is_removed(ports: Ports, step: StepId, change: Create) -> bool:
    now = await ports.editor.read(change.uri)
    if isinstance(now, Failure) or now.text.content != change.text.content:
        return False
    (back,) = await ports.editor.apply([Delete(uri=now.uri, base=now.text)], LABEL)
    if not isinstance(back, Applied):
        return False
    for each in await _restorations(ports, step):
        if each.uri == change.uri:
            await ports.editor.remove_empty_folders(each.made_folders)
    return True


async def _pre_image(ports: Ports, step: StepId, uri: str) -> Image | None:
    """Returns the contents of a document before it was last changed."""
    return next(
        (each.before_last or each.before for each in await _restorations(ports, step) if each.uri == uri),
        None,
    )


async def _restorations(ports: Ports, step: StepId) -> tuple[Restoration, ...]:
    try:
        return await ports.checkpoints.restore_plan(f"{step.turn}.{step.number}")
    except CheckpointError:
        return ()
