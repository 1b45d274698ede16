"""
Run a command between two snapshots of the workspace folders.

The first is taken once the call is allowed; without it nothing runs, unless a setting of the user permits
that. The user is told what it does not cover before the command runs. The second shows what the command
changed. The changed files become part of the turn's checkpoint and its outcomes, as if a tool had named them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from handrail.agent.tools.call import Command, CommandReport, Console
from handrail.agent.turn.command import appeared, notes, reloading, saving
from handrail.agent.turn.command.editor_activity import editor_activity_since
from handrail.agent.turn.output import STOPPED, STOPPED_ALONE
from handrail.agent.turn.resolve import Ready
from handrail.core.checkpoint import CommandChange, CommandEffects, StepId
from handrail.core.documents.change import Status
from handrail.core.failure import Failure
from handrail.core.ledger.outcome import Mutation, Outcome
from handrail.core.policy.containment import Profile
from handrail.ports import CheckpointError, Document, Ports
from handrail.values import dataclass, replace

SLOW_S = 1.0  # by then, people wonder whether anything is happening


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRun:
    """The result of a command, with notes about files below it, and its changes."""

    answer: CommandReport | Failure
    effects: CommandEffects


async def run(  # noqa: PLR0913, PLR0917  # all that it has to do with
    ready: Ready, action: Command, ports: Ports, step: StepId, console: Console, saver: saving.Saver
) -> CommandRun:
    """
    Runs an allowed command.

    Args:
        ready: The call, with the places of the paths that it names.
        action: The command.
        ports: The ports of the server.
        step: The step whose checkpoint the changes belong to.
        console: Receives its output, and stops it.
        saver: Decides what may be saved before it.

    Raises:
        CheckpointError: No snapshot could be taken, and the user's terms need one, so it did not run.
    """
    console = replace(console, script=action.script, contained=action.contained)
    if action.is_read_only:
        return await _run_read_only(ready, action, ports, console)
    # Documents are saved before the snapshot, so that undoing the command does not undo the save.
    typed = await saving.save(ports, saver, step)
    if console.stop.is_set():
        return _stopped_result(console)
    unsaved = notes.stale_text_note(typed, ports)
    try:
        with show_if_slow(console, "Taking the checkpoint before the command ..."):
            snapshot = await ports.checkpoints.before_command(step, console.stop)
    except CheckpointError as error:
        if console.stop.is_set():
            return _stopped_result(console)
        if ports.terms.needs_checkpoint:
            raise
        lost = f"The command's changes cannot be undone: {error}"
        console.notice(lost, True)
        answer, _ = await _run(ready, action, ports, console)
        ran = CommandRun(answer=notes.add_notes(answer, lost), effects=CommandEffects())
        return await _ask_about_appeared(ran, unsaved, ports, step, console)
    works = action.contained.profile is Profile.WORK
    if works:  # files that the snapshot does not cover are changed only in layers
        not_covered = appeared.uris(snapshot.not_covered, ports)
        console = replace(console, contained=replace(action.contained, not_covered=not_covered))
    else:
        notes.tell_gaps(snapshot, console)
    answer, began = await _run(ready, action, ports, console)
    try:
        with show_if_slow(console, "Looking for the command's changes ..."):
            done = await editor_activity_since(typed, began, ports)
            effects = await ports.checkpoints.after_command(step, snapshot, done)
    except CheckpointError as error:
        note = f"The command's changes could not be determined, so no checkpoint covers them: {error}"
        effects = CommandEffects(not_covered=snapshot.not_covered)
        ran = CommandRun(answer=notes.add_notes(answer, note), effects=effects)
        return await _ask_about_appeared(ran, unsaved, ports, step, console)
    if not works:
        said = (notes.changed_note(effects.changes), notes.not_covered_note(effects.not_covered), unsaved)
        return CommandRun(answer=notes.add_notes(answer, *said), effects=effects)
    lost = appeared.note_created_folders(snapshot.not_covered, effects, ports)
    ran = CommandRun(answer=notes.add_notes(answer, lost), effects=effects)
    return await _ask_about_appeared(ran, unsaved, ports, step, console)


def _stopped_result(console: Console) -> CommandRun:
    """Returns the result of a command that was stopped before it began."""
    return CommandRun(answer=STOPPED_ALONE if console.stops_alone() else STOPPED, effects=CommandEffects())


@contextmanager
def show_if_slow(console: Console, what: str) -> Iterator[None]:
    """Shows *what* is being done to the user, if it takes long."""
    timer = asyncio.get_running_loop().call_later(SLOW_S, console.notice, what, False)
    try:
        yield
    finally:
        timer.cancel()


async def _run(
    ready: Ready, action: Command, ports: Ports, console: Console
) -> tuple[CommandReport | Failure, Sequence[Document]]:
    """
    Runs a command that may change files; returns its result, and the documents as they were when it began.
    """
    began = await ports.editor.open_documents()
    saved = await reloading.saved_texts(began, ports)
    answer = await action.run(ready.places, ports, console)
    if isinstance(answer, CommandReport):
        answer = await appeared.put_back_saved(answer, began, ports)
    with show_if_slow(console, "Waiting for the editor to reload files ..."):
        outdated = await reloading.reload(saved, ports, console)
    return notes.add_notes(answer, outdated), began


async def _run_read_only(ready: Ready, action: Command, ports: Ports, console: Console) -> CommandRun:
    """Runs a read-only command, which sees the editor's unsaved text where that is possible."""
    seen, typed = await saving.editor_texts(ports, action.contained.profile)
    console = replace(console, contained=replace(action.contained, copies=seen))
    answer = await action.run(ready.places, ports, console)
    return CommandRun(
        answer=notes.add_notes(answer, notes.stale_text_note(typed, ports)), effects=CommandEffects()
    )


async def _ask_about_appeared(
    ran: CommandRun, unsaved: str, ports: Ports, step: StepId, console: Console
) -> CommandRun:
    """Adds to the result what a contained command wrote other than plain changes of files."""
    if isinstance(ran.answer, Failure):
        return replace(
            ran, answer=notes.add_notes(ran.answer, notes.changed_note(ran.effects.changes), unsaved)
        )
    effects, told = await appeared.ask(ran.answer, ran.effects, ports, step, console)
    layered = appeared.tell_layers(ran.answer, ports, console)
    said = (notes.changed_note(effects.changes), *told, notes.layered_note(layered), unsaved)
    return CommandRun(answer=notes.add_notes(ran.answer, *said), effects=effects)


def outcome(change: CommandChange, mutation: Mutation, ports: Ports) -> Outcome:
    """Returns an outcome for one file that a command changed; the whole document counts as rewritten."""
    place = ports.workspace.resolve(change.uri)
    identity = change.uri if isinstance(place, Failure) else place.identity
    named = replace(
        mutation, id=f"{mutation.id}:{change.path}", uri=change.uri, identity=identity, path=change.path
    )
    return Outcome(mutation=named, status=Status.LANDED)
