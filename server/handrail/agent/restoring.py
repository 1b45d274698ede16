"""
Restore checkpoints (documents, the conversation, or both), preview a restore, and redo what it undid.

A restore has a checkpoint of its own with the state before it. To redo what a restore undid, that checkpoint
is restored, with the conversation if it was rewound too.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

from handrail.agent.host import Host
from handrail.agent.restore import restore as documents
from handrail.agent.restore import rewind
from handrail.agent.restore.restore import (
    Conversation,
    RestoreReport,
    RestoreRequest,
    ShouldContinue,
    always_continue,
)
from handrail.agent.restore.rewind import RestorePlan
from handrail.agent.restore.undone import collect_undone
from handrail.core.checkpoint import Checkpoint, Origin, Pruned, StepId
from handrail.core.conversation.label import shorten
from handrail.core.review.pending import ReviewMode
from handrail.ports import CheckpointError
from handrail.values import dataclass, replace

logger = logging.getLogger(__name__)

DRY_RUN = ""  # the checkpoint of a restore that is only previewed


@dataclass(frozen=True, slots=True, kw_only=True)
class Redo:
    """
    A request to reverse a restore.

    Attributes:
        checkpoint: The id of the checkpoint that the restore made; None for the newest one.
        should_continue: As for `RestoreRequest`.
    """

    checkpoint: str | None = None
    should_continue: ShouldContinue = always_continue


async def restore(host: Host, request: RestoreRequest) -> RestoreReport:
    """Restores a turn or a step. Raises CheckpointError, UnknownId, UnknownSession, Busy."""
    plan, ports = await _plan(host, request, host.new_id("r")), host.ports()
    step = replace(plan.step, label=shorten(plan.step.label))
    if plan.rewind is None:
        report = await documents.restore(ports, step, plan.request)
        await _recheck_reviews(host)
        _close_undone(host, plan.request, report, ())
        return report
    host.at_rest(step.session)
    release = host.archive.claim(step.session)
    host.rewinding.add(step.session)
    try:
        await host.archive.changes(step.session, plan.rewind)  # raises before anything is touched
        report = await documents.restore(ports, step, plan.request)
        await _recheck_reviews(host)
        _close_undone(host, plan.request, report, ())
        if not request.should_continue(1, 1):  # the session stays where the documents are, for the most part
            return report
        host.sessions[step.session], told = await host.archive.rewound(step.session, plan.rewind, ports)
        left = {each.turn for each in told.turns}
        gone = {each.id for each in host.turns.values() if each.session == step.session} - left
        _close_undone(host, plan.request, report, gone)
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
    except Exception:  # our fault, but the restore is made, and its report must reach the user
        logger.exception("The documents that a restore changed could not be checked")


async def dry_run(host: Host, request: RestoreRequest) -> RestoreReport:
    """
    Returns what `restore` would report, as far as that does not depend on the editor; changes nothing.

    Raises:
        The same as `restore`.
    """
    plan = await _plan(host, request, DRY_RUN)
    session = plan.step.session
    if plan.rewind is None:
        return await documents.dry_run(host.ports(), plan.request)
    host.at_rest(session)
    turns = await host.archive.turns_left(session, plan.rewind)
    report = await documents.dry_run(host.ports(), plan.request)
    return replace(report, conversation=Conversation(session=session, turns=turns))


async def redo(host: Host, wanted: Redo) -> RestoreRequest:
    """
    Returns the request that reverses a restore.

    Raises:
        CheckpointError: The restore does not exist.
    """
    known = await host.ports().checkpoints.list()
    name = wanted.checkpoint
    found = _newest_restore(known) if name is None else _restore_named(known, name)
    is_rewound = bool(found.session) and await host.archive.is_rewound_by(found.session, found.id)
    return RestoreRequest(
        checkpoint=found.id, conversation=is_rewound, should_continue=wanted.should_continue
    )


def _restore_named(known: Sequence[Checkpoint], name: str) -> Checkpoint:
    found = next((each for each in known if each.id == name), None)
    if found is None:
        raise CheckpointError(f"This workspace has no checkpoint {name!r}.")
    if found.origin not in (Origin.RESTORE, Origin.REDO):
        raise CheckpointError(
            f"Checkpoint {name} was not made by a restore, so there is no restore to undo. Restore the "
            "checkpoint instead."
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
    raise CheckpointError("This workspace has no restore to undo.")


async def prune(host: Host, checkpoints: Sequence[str] | None) -> Pruned:
    """
    Removes checkpoints, see the port. Raises CheckpointError if the turn of one is running, in any process.
    """
    for name in checkpoints or ():
        session = await host.archive.journals.of_turn(name)
        if session is not None and _is_running(host, session, name):
            raise CheckpointError(
                f"Nothing was removed, because turn {name} is still running. Stop it, or wait until it ends."
            )
    return await host.ports().checkpoints.prune(checkpoints)


def _is_running(host: Host, session: str, turn: str) -> bool:
    """Whether a turn is running here, or its session is at work in another process."""
    if turn in host.turns:
        return not host.turns[turn].task.done()
    if host.turns.running_turns(session):
        return False  # which is another turn, as one session runs in one process
    release = host.archive.journals.claim(session)
    if release is None:
        return True
    release()
    return False


async def _plan(host: Host, request: RestoreRequest, checkpoint: str) -> RestorePlan:
    """
    Plans a restore. Raises UnknownId while a command that the turn started is running.
    """
    host.background.refuse_restore(request.checkpoint, following=request.following)
    restores = (request.checkpoint.partition(".")[0],)
    own = StepId(session="", turn=checkpoint, number=1, label="", pinned=True, restores=restores)
    return await rewind.plan_restore(host.ports(), host.archive.of_turn, request, own)


def _close_undone(host: Host, request: RestoreRequest, report: RestoreReport, gone: Collection[str]) -> None:
    """Closes the failures of what was restored, and of turns that are *gone* from a conversation."""
    turn = host.turns.get(request.checkpoint.partition(".")[0])
    began = turn.began if turn is not None else 0  # another process's turn was before all of ours
    later = {each.id for each in host.turns.values() if each.began > began or turn is None}
    undone = collect_undone(host.ports(), request, report, {*gone, *(later if request.following else ())})
    failures = {each.id for each in host.ledger.mutations if undone is not None and undone.has(each)}
    if failures:
        host.ledger = host.ledger.drop(failures)
        host.on_ledger(host.ledger)
