"""
Restore checkpoints (documents, the conversation, or both), preview a restore, and redo what it undid.

A restore has a checkpoint of its own with the state before it. To redo what a restore undid, that checkpoint
is restored, with the conversation if it was rewound too.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from handrail.agent.host import Host
from handrail.agent.restore import restore as documents
from handrail.agent.restore import rewind
from handrail.agent.restore.restore import Conversation, GoOn, RestoreReport, Wish, go_on
from handrail.agent.restore.rewind import Way
from handrail.agent.restore.undone import collect_undone
from handrail.core.checkpoint import Checkpoint, Origin, StepId
from handrail.core.conversation.label import shorten
from handrail.core.review.pending import ReviewMode
from handrail.ports import CheckpointError

logger = logging.getLogger(__name__)

FORESEEN = ""  # the checkpoint of a restore that is only previewed


@dataclass(frozen=True, slots=True, kw_only=True)
class Redo:
    """
    Which restore to reverse.

    Attributes:
        checkpoint: The id of the checkpoint that the restore made; None for the newest one.
        go_on: As for `Wish`.
    """

    checkpoint: str | None = None
    go_on: GoOn = go_on


async def restore(host: Host, wish: Wish) -> RestoreReport:
    """Restores a turn or a step. Raises CheckpointError, UnknownId, UnknownSession, Busy."""
    way, ports = await _way(host, wish, host.new_id("r")), host.ports()
    step = replace(way.step, label=shorten(way.step.label))
    if way.back is None:
        report = await documents.restore(ports, step, way.wish)
        await _recheck_reviews(host)
        _close_undone(host, way.wish, report, ())
        return report
    host.at_rest(step.session)
    release = host.archive.claim(step.session)
    host.rewinding.add(step.session)
    try:
        await host.archive.changes(step.session, way.back)  # raises before anything is touched
        report = await documents.restore(ports, step, way.wish)
        await _recheck_reviews(host)
        _close_undone(host, way.wish, report, ())
        if not wish.go_on(1, 1):  # the session stays where the documents are, for the most part
            return report
        host.sessions[step.session], told = await host.archive.rewound(step.session, way.back, ports)
        left = {each.turn for each in told.turns}
        gone = {each.id for each in host.turns.values() if each.session == step.session} - left
        _close_undone(host, way.wish, report, gone)
    finally:
        host.rewinding.discard(step.session)
        release()
    return replace(report, conversation=Conversation(session=step.session, turns=told.turns))


async def _recheck_reviews(host: Host) -> None:
    """Updates pending changes after a restore. An error is only logged: the documents have been restored."""
    if host.reviews.mode() != ReviewMode.PENDING:
        return
    try:
        await host.reviews.on_restore()
    except Exception:
        logger.exception("The documents that a restore changed could not be checked")


async def foresee(host: Host, wish: Wish) -> RestoreReport:
    """
    Returns what `restore` would report, as far as that does not depend on the editor; changes nothing.

    Raises:
        The same as `restore`.
    """
    way = await _way(host, wish, FORESEEN)
    session = way.step.session
    if way.back is None:
        return await documents.foresee(host.ports(), way.wish)
    host.at_rest(session)
    turns = await host.archive.turns_left(session, way.back)
    report = await documents.foresee(host.ports(), way.wish)
    return replace(report, conversation=Conversation(session=session, turns=turns))


async def redo(host: Host, wanted: Redo) -> Wish:
    """
    Returns the wish that reverses a restore.

    Raises:
        CheckpointError: The restore does not exist.
    """
    known = await host.ports().checkpoints.list()
    name = wanted.checkpoint
    found = _newest_restore(known) if name is None else _restore_named(known, name)
    went_back = bool(found.session) and await host.archive.went_back(found.session, found.id)
    return Wish(checkpoint=found.id, conversation=went_back, go_on=wanted.go_on)


def _restore_named(known: Sequence[Checkpoint], name: str) -> Checkpoint:
    found = next((each for each in known if each.id == name), None)
    if found is None:
        raise CheckpointError(f"This workspace has no checkpoint {name!r}.")
    if found.origin not in (Origin.RESTORE, Origin.REDO):
        raise CheckpointError(
            f"Checkpoint {name} was not made by a restore, so it cannot be redone. Restore it instead."
        )
    return found


def _newest_restore(known: Sequence[Checkpoint]) -> Checkpoint:
    """Returns the newest restore that has not been redone; *known* are all checkpoints, newest first."""
    redone = 0
    for each in known:
        if each.origin is Origin.REDO:
            redone += 1
        elif each.origin is Origin.RESTORE and redone:
            redone -= 1
        elif each.origin is Origin.RESTORE:
            return each
    raise CheckpointError("Nothing to redo.")


async def _way(host: Host, wish: Wish, checkpoint: str) -> Way:
    """
    Determines how to carry out a wish. Raises UnknownId while a command that its turn started is running.
    """
    host.background.refuse_restore(wish.checkpoint, following=wish.following)
    own = StepId(session="", turn=checkpoint, number=1, label="", pinned=True)
    return await rewind.find_way(host.ports(), host.archive.of_turn, wish, own)


def _close_undone(host: Host, wish: Wish, report: RestoreReport, gone: Collection[str]) -> None:
    """Closes the failures of what was restored, and of turns that are *gone* from a conversation."""
    turn = host.turns.get(wish.checkpoint.partition(".")[0])
    began = turn.began if turn is not None else 0  # another process's turn was before all of ours
    later = {each.id for each in host.turns.values() if each.began > began or turn is None}
    undone = collect_undone(host.ports(), wish, report, {*gone, *(later if wish.following else ())})
    failures = {each.id for each in host.ledger.mutations if undone is not None and undone.has(each)}
    if failures:
        host.ledger = host.ledger.drop(failures)
        host.on_ledger(host.ledger)
