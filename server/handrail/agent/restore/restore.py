"""
Restore a checkpoint, path by path, without losing what was typed since.

This module chooses what to restore, and takes a checkpoint first, so that the restore can be undone too. How
one path is restored is decided in `document`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from handrail.agent.restore.document import Conflict, PartialRestore, Tally, restore_lines, restore_path
from handrail.agent.restore.dry_run import dry_run_one, preview
from handrail.agent.restore.moved import Sources, conflict, find_held, find_sources, hold_back
from handrail.agent.restore.names import identity, unfollowed_identity
from handrail.agent.restore.renamed import follow
from handrail.agent.turn.edit.corrections import keep_late
from handrail.agent.turn.edit.preimage import NOTHING, names, pin_targets, read_held, targets, written_texts
from handrail.core.checkpoint import Intended, Restoration, StepId, Target
from handrail.core.conversation.journal import JournalTurn
from handrail.core.documents.change import Landing, Update
from handrail.core.documents.revert import Lines
from handrail.ports import CheckpointError, Document, Ports
from handrail.values import dataclass, field

ShouldContinue = Callable[[int, int], bool]  # told how many documents are done, of how many; whether to go on
STOPPED = "The restore was stopped before it reached this document. The document is unchanged."


def always_continue(done: int, of: int) -> bool:
    """Reports nothing and never stops."""
    return True


LATE: set[asyncio.Task[None]] = set()  # the event loop alone does not keep tasks alive


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A session and the turns that it has, in order."""

    session: str
    turns: tuple[JournalTurn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReport:
    """
    The outcome of a restore: the URI of each path, or of what was asked for, is in exactly one of the five.

    Attributes:
        checkpoint: The id of the checkpoint taken before; None if nothing was touched.
        conversation: The session that was rewound too; None if that was not requested.
    """

    restored: tuple[str, ...]
    unchanged: tuple[str, ...]
    deleted: tuple[str, ...]
    partial: tuple[PartialRestore, ...]
    conflicts: tuple[Conflict, ...]
    checkpoint: str | None
    conversation: Conversation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRequest:
    """
    A request to restore a checkpoint, in whole or in part.

    Attributes:
        checkpoint: The id of a turn, or of a step: that step and the later ones of its turn.
        uris: The documents; None: all.
        following: Whether to undo everything done in the workspace since, too: turns of all sessions, quick
            fixes, restores, and undos in a review.
        files: Whether to restore documents at all.
        conversation: Whether to rewind the session too, to before the turn or the step.
        lines: Lines of the one document in *uris*, as it is now: only changes that touch them are restored.
        should_continue: Called before each document; once it returns False, the others are conflicts.
    """

    checkpoint: str
    uris: Sequence[str] | None = None
    following: bool = False
    files: bool = True
    conversation: bool = False
    lines: Lines | None = None
    should_continue: ShouldContinue = field(default=always_continue, compare=False)


async def restore(ports: Ports, step: StepId, request: RestoreRequest) -> RestoreReport:
    """
    Restores a checkpoint, or some documents of it.

    Args:
        ports: The ports of the server.
        step: The step whose checkpoint is taken first.
        request: What to restore.

    Raises:
        CheckpointError: The checkpoint is unknown, or the one before the restore could not be taken.
    """
    plan, tally = await _plan(ports, request)
    plan = await _hold_back(ports, request, plan, tally)
    made, rest = _in_order(plan, tally.sources)
    before = await _restore(ports, step, request, made, tally) if made else None
    if request.lines is None:  # a folder that a command made where a file was
        folders = [each.uri for each in rest if each.uri in each.made_folders]
        await ports.editor.remove_empty_folders(folders)
    if rest or (request.conversation and before is None):
        before = await _restore(ports, step, request, rest, tally)
    if before is not None and not request.conversation and await ports.checkpoints.withdraw(before):
        before = None
    for update in tally.refused:
        ports.editor.when_shown(update, partial(_shown_late, ports, step, update))
    return _report(tally, before)


async def dry_run(ports: Ports, request: RestoreRequest) -> RestoreReport:
    """
    Returns what `restore` would report, as far as that does not depend on the editor; changes nothing.

    Raises:
        CheckpointError: The checkpoint is unknown, or cannot be read.
    """
    plan, tally = await _plan(ports, request)
    plan = await _hold_back(ports, request, plan, tally)
    made, rest = _in_order(plan, tally.sources)
    for each in (*made, *rest):
        if request.should_continue(tally.done, tally.count):
            await dry_run_one(ports, each, request.lines, tally)
        else:
            tally.conflicts.append(Conflict(uri=each.uri, reason=STOPPED))
    return _report(tally, None)


async def _plan(ports: Ports, request: RestoreRequest) -> tuple[tuple[Restoration, ...], Tally]:
    """Resolves a wish, and finds documents that cannot be restored."""
    plan: tuple[Restoration, ...] = ()
    tally = Tally()
    if request.files:
        plan = await ports.checkpoints.restore_plan(request.checkpoint, following=request.following)
        plan = await follow(ports, plan)
    if request.uris is not None:
        plan, missing = _choose(ports, plan, request.uris)
        reason = "This document is not in the checkpoint."
        tally.conflicts += [Conflict(uri=uri, reason=reason) for uri in missing]
    tally.count = len(plan)
    return plan, tally


Plan = tuple[Restoration, ...]


async def _hold_back(ports: Ports, request: RestoreRequest, plan: Plan, tally: Tally) -> Plan:
    """
    Makes documents that hold text which cannot be restored in others conflicts; returns the rest of the plan.
    """
    is_simple = request.lines is not None or len(plan) < 2
    sources = {} if is_simple else await asyncio.to_thread(find_sources, plan)
    if not sources:
        return plan
    foreseen, tally.sources = Tally(), sources
    made, rest = _in_order(plan, sources)
    for each in (*made, *rest):
        await dry_run_one(ports, each, None, foreseen)
    left = {*(each.uri for each in foreseen.conflicts), *(each.uri for each in foreseen.partial)}
    held = find_held(sources, left)
    for uri in held - left:
        missing = [source for source in sources[uri] if source in left or source in held]
        tally.conflicts.append(conflict(ports, uri, sorted(missing)))
    return tuple(each for each in plan if each.uri not in held - left)


def _in_order(plan: Plan, sources: Sources) -> tuple[Plan, Plan]:
    """
    Returns the part of a plan that is restored first, and the rest.

    Files that the turn created are removed first: they may be in the way of others, or be links. But one that
    holds text of others is removed after these, unless it is in the way of one.
    """
    others = {each.uri.casefold() for each in plan if each.before.raw is not None}
    above = {uri[:at] for uri in others for at, letter in enumerate(uri) if letter == "/"}

    def is_first(each: Restoration) -> bool:
        if each.before.raw is not None:
            return False
        name = each.uri.casefold()
        below = (name[:at] for at, letter in enumerate(name) if letter == "/")
        is_in_way = (
            each.is_unfollowed or name in others or name in above or any(map(others.__contains__, below))
        )
        return is_in_way or each.uri not in sources

    first = tuple(each for each in plan if is_first(each))
    rest = [each for each in plan if not is_first(each)]
    return first, tuple(sorted(rest, key=lambda each: each.uri in sources))


def _report(tally: Tally, checkpoint: str | None) -> RestoreReport:
    return RestoreReport(
        restored=tuple(tally.restored),
        unchanged=tuple(tally.unchanged),
        deleted=tuple(tally.deleted),
        partial=tuple(tally.partial),
        conflicts=tuple(tally.conflicts),
        checkpoint=checkpoint,
    )


def _shown_late(ports: Ports, step: StepId, update: Update, landing: Landing) -> None:
    """
    Called if the editor shows an update that it had refused: corrects the checkpoint before the restore.
    """
    document = Document(uri=update.uri, text=update.base, version=0, unsaved=True)
    before, sent, told = {update.uri: document}, [update], [landing]
    kept = keep_late(ports, step, before, written_texts(before, sent, told), names(sent, told))
    task = asyncio.ensure_future(kept)
    LATE.add(task)
    task.add_done_callback(LATE.discard)


def _choose(
    ports: Ports, plan: Sequence[Restoration], uris: Sequence[str]
) -> tuple[tuple[Restoration, ...], list[str]]:
    """
    Selects the parts of a plan for *uris*; returns URIs that match none.

    A link goes by its own name, a renamed document by both of its names.
    """
    named = [(uri, identity(ports, uri), unfollowed_identity(ports, uri)) for uri in dict.fromkeys(uris)]
    chosen, met = [], set[str]()
    for each in plan:
        identify = unfollowed_identity if each.is_unfollowed else identity
        names = {identify(ports, uri) for uri in (each.uri, each.renamed_from) if uri}
        meant = {uri for uri, document, lies in named if (lies if each.is_unfollowed else document) in names}
        met |= meant
        if meant:
            chosen.append(each)
    return tuple(chosen), [uri for uri, *_ in named if uri not in met]


async def _restore(ports: Ports, step: StepId, request: RestoreRequest, plan: Plan, tally: Tally) -> str:
    """Takes a checkpoint, restores part of the plan, and returns the checkpoint's id."""
    plan, before, coming = await _keep(ports, step, request, plan, tally)
    left, opened = list[Target](), {identity(ports, each.uri) for each in await ports.editor.open_documents()}
    for each in plan:
        if not request.should_continue(tally.done, tally.count):
            tally.conflicts.append(Conflict(uri=each.uri, reason=STOPPED))
        elif hold_back(ports, each.uri, tally):
            pass
        elif request.lines is None:
            await restore_path(ports, each, tally)
        else:
            await restore_lines(ports, each, request.lines, tally)
        is_open = identity(ports, each.uri) in opened
        left.append(await _left_target(ports, each, None if is_open else coming.get(each.uri), tally))
    await ports.editor.remove_empty_folders(
        sorted({folder for each in plan for folder in each.made_folders}, key=len, reverse=True)
    )
    await ports.checkpoints.record(step, left)
    return before


async def _left_target(ports: Ports, each: Restoration, coming: Intended | None, tally: Tally) -> Target:
    """
    Returns what a restore left of a path, without what others wrote there since.

    Args:
        coming: The planned contents of a file; None for an open document, which the editor may have
            formatted.
        tally: The results of all paths so far.
    """
    if each.is_unfollowed:
        return Target(uri=each.uri, is_unfollowed=True)
    if any(each.uri == conflict.uri for conflict in tally.conflicts) or each.uri in tally.unchanged:
        return Target(uri=each.uri, is_untouched=True)
    if coming is not None and each.uri in tally.deleted:
        return Target(uri=each.uri, is_gone=True)
    if coming is not None and coming.raw is not None and each.uri in tally.restored:
        return Target(uri=each.uri, raw=coming.raw)
    (target,) = pin_targets(await read_held(ports.editor, [each.uri]))
    return target


async def _targets(
    ports: Ports, plan: Sequence[Restoration], coming: Mapping[str, Intended] = NOTHING
) -> list[Target]:
    documents = await read_held(ports.editor, [each.uri for each in plan if not each.is_unfollowed])
    unfollowed = (Target(uri=each.uri, is_unfollowed=True) for each in plan if each.is_unfollowed)
    return [*targets(documents, coming), *unfollowed]


async def _plan_documents(
    ports: Ports, request: RestoreRequest, plan: Sequence[Restoration]
) -> dict[str, Intended]:
    previews = {
        each.uri: await preview(ports, each, request.lines) for each in plan if not each.is_unfollowed
    }
    return {uri: intended for uri, intended in previews.items() if intended is not None}


async def _keep(
    ports: Ports, step: StepId, request: RestoreRequest, plan: tuple[Restoration, ...], tally: Tally
) -> tuple[tuple[Restoration, ...], str, Mapping[str, Intended]]:
    """
    Takes the checkpoint before a restore; a path that cannot be stored becomes a conflict.

    Returns:
        The rest of the plan, the checkpoint's id, and the planned contents of documents, if known.
    """
    coming = await _plan_documents(ports, request, plan)
    try:
        return plan, await ports.checkpoints.ensure(step, await _targets(ports, plan, coming)), coming
    except CheckpointError as error:
        kept: list[Restoration] = []
        checkpoint, is_conflict = step.turn, False
        for each in plan:
            try:
                checkpoint = await ports.checkpoints.ensure(step, await _targets(ports, [each], coming))
                kept.append(each)
            except CheckpointError as problem:
                foreseen = Tally()
                await dry_run_one(ports, each, request.lines, foreseen)
                is_conflict = is_conflict or bool(foreseen.conflicts)  # a checkpoint would not have helped
                tally.conflicts.append(Conflict(uri=each.uri, reason=str(problem)))
        if not kept and not is_conflict and not (tally.restored or tally.deleted):
            raise error
        return tuple(kept), checkpoint, coming
