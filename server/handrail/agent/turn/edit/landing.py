"""
Make planned changes of documents: the single code path of every edit, by calls and quick fixes.

The checkpoint is taken first, then the changes are sent and read back, then the result is stored in the
checkpoint. Prompts that the turn answers are removed with its first edit of their document (`prompted`). A
call that lands only in part is reverted, unless it is `partial`. Permission was obtained before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from handrail.agent.turn.edit import prompted, unsaved
from handrail.agent.turn.edit.corrections import Corrections, Listener, follow_rename
from handrail.agent.turn.edit.outcomes import outcomes
from handrail.agent.turn.edit.partial_call import PendingRevert, revert_partial_call
from handrail.agent.turn.edit.plan import PlannedFile
from handrail.agent.turn.edit.preimage import (
    Left,
    intended_texts,
    names,
    read_held,
    results,
    targets,
    written_texts,
)
from handrail.agent.turn.edit.reviewed import Tried
from handrail.agent.turn.edit.reviewed import made_changes as made_texts
from handrail.core.checkpoint import StepId, Target
from handrail.core.documents.change import Change, Landing, Status
from handrail.core.ledger.outcome import Outcome
from handrail.core.policy.place import Place
from handrail.ports import CheckpointError, Ports
from handrail.values import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """
    The planned files of one call, or of a quick fix.

    Attributes:
        title: The label for the user's undo list.
        partial: Whether edits that fit may stay if others do not fit.
    """

    title: str
    files: tuple[PlannedFile, ...]
    partial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LandedCall:
    """The outcome of each mutation of a call, and sentences about changes that cannot be undone."""

    outcomes: tuple[Outcome, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LandedCalls:
    """
    The results of planned calls.

    Attributes:
        calls: One value for each call that ran, in order.
        checkpoint: The id of the checkpoint with the earlier contents; None if none was taken.
        note: Says so if a restore will use the planned text instead of the text that was read back.
    """

    calls: tuple[LandedCall, ...]
    checkpoint: str | None = None
    note: str = ""


async def make(
    ports: Ports,
    step: StepId,
    calls: Sequence[PlannedCall],
    is_stopped: Callable[[], bool],
    listener: Listener | None = None,
) -> LandedCalls:
    """
    Makes what was planned, call by call.

    Args:
        ports: The ports of the server.
        step: The step whose checkpoint is taken.
        calls: The calls, no two of which change the same document.
        is_stopped: Called before each call; once it returns True, no other call begins.
        listener: Notified if a mutation that did not land shows after this has returned.

    Raises:
        CheckpointError: The earlier contents could not be stored, and the settings require that. Nothing was
            changed.
    """
    sending = [await prompted.add_removals(ports, step, call.files) for call in calls]
    coming = [change for files in sending for file in files for change in file.changes]
    before = await read_held(ports.editor, [change.uri for change in coming])
    checkpoint, lacking = None, dict[str, str]()
    if coming:
        checkpoint, lacking = await _checkpoint(ports, step, targets(before, intended_texts(before, coming)))
    made, ours, renames = [], dict[str, Left](), dict[str, str]()
    waiting: tuple[PendingRevert, ...] = ()
    tried: list[Tried] = []
    for call, wanted in zip(calls, sending, strict=True):
        if is_stopped():
            break
        done = await prompted.apply_planned(
            ports, call.files, wanted, f"handrail: {call.title}", partial=call.partial
        )
        changes, landings = done.changes, done.landings
        if not call.partial:
            reverted = await revert_partial_call(ports, step, changes, landings)
            landings, waiting = reverted.landings, (*waiting, *reverted.waiting)
        prompted.settle(ports, step, done.files, landings)
        _note_changes(ports, changes)
        ours |= await asyncio.to_thread(written_texts, before, changes, landings)
        renames |= names(changes, landings)
        made.append(await _made_call(ports, done.files, list(landings), lacking))
        tried.append((done.files, changes, landings))
    covered = {uri: document for uri, document in before.items() if uri not in lacking}
    note = ""
    if covered:
        note = await _record(ports, step, await results(ports.editor, covered, ours, renames))
    await ports.review.on_landing(await made_texts(ports, step, tried, before, ours))
    done_here = [pair for _, changes, landings in tried for pair in zip(changes, landings, strict=True)]
    await unsaved.note(ports, before, done_here, ours, renames)
    if listener is not None:  # not before the current result has been stored
        late = Corrections(ports=ports, step=step, before=before, listener=listener)
        for files, sent, told in tried:
            late.watch(files, sent, told, waiting)
    return LandedCalls(calls=tuple(made), checkpoint=checkpoint, note=note)


def _note_changes(ports: Ports, changes: Sequence[Change]) -> None:
    for place in (ports.workspace.resolve(change.uri) for change in changes):
        if isinstance(place, Place):
            ports.renames.on_agent_change(place.identity)


async def _checkpoint(
    ports: Ports, step: StepId, wanted: Sequence[Target]
) -> tuple[str | None, dict[str, str]]:
    """Takes the checkpoint; returns its id, and why it lacks documents that may be changed nevertheless."""
    try:
        return await ports.checkpoints.ensure(step, wanted), {}
    except CheckpointError:
        if ports.terms.needs_checkpoint:
            raise
    checkpoint, lacking = None, {}
    for target in wanted:
        try:
            checkpoint = await ports.checkpoints.ensure(step, [target])
        except CheckpointError as error:
            lacking[target.uri] = str(error)
    return checkpoint, lacking


async def _record(ports: Ports, step: StepId, left: Sequence[Target]) -> str:
    """Stores the post-images; if that fails, returns a note that a restore will use the planned text."""
    try:
        await ports.checkpoints.record(step, left)
    except CheckpointError as error:
        return (
            "handrail could not store the text that the document has after this edit: "
            f"{str(error).rstrip('.')}. If the editor changed that text further, such as by formatting it, a "
            "restore may not undo the edit completely."
        )
    return ""


async def _made_call(
    ports: Ports, files: Sequence[PlannedFile], landings: list[Landing], lacking: Mapping[str, str]
) -> LandedCall:
    result: list[Outcome] = []
    warnings = []
    for file in files:
        of_file = [landings.pop(0) for _ in file.changes]
        why = next((lacking[change.uri] for change in file.changes if change.uri in lacking), None)
        for outcome in await outcomes(ports.editor, file, of_file):
            landed = outcome.status is Status.LANDED
            result.append(follow_rename(ports, replace(outcome, uncovered=why)) if landed else outcome)
        if why is not None:
            warnings.append(
                f"{file.path} was changed without a checkpoint, so the change cannot be undone: {why}"
            )
    return LandedCall(outcomes=tuple(result), warnings=tuple(warnings))
