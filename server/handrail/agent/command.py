"""
Run a command between two snapshots of the workspace folders.

The first is taken once the call is allowed, and without it nothing runs; the second says what the command
changed. Those files become part of the turn's checkpoint and of its outcomes, as if a tool had named them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from handrail.agent.tools.call import Command
from handrail.core.checkpoint import CommandChange, CommandEffects, NotCovered, StepId
from handrail.core.failure import Failure
from handrail.core.policy import Place
from handrail.core.verify import Mutation, Outcome, Status
from handrail.ports import CheckpointError, Ports

SHOWN = 10  # of each list that a result ends with


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a command answered, with what became of files below it, and what it changed."""

    found: str | Failure
    effects: CommandEffects


async def run(action: Command, places: Mapping[str, Place], ports: Ports, step: StepId) -> Ran:
    """
    Run a command that is allowed.

    Args:
        action: The command.
        places: The places of the paths that it names.
        ports: The world.
        step: Whose checkpoint the changes belong to.

    Raises:
        CheckpointError: No snapshot could be taken, so the command did not run.
    """
    if action.is_read_only:
        return Ran(found=await action.run(places, ports), effects=CommandEffects())
    snapshot = await ports.checkpoints.before_command(step)
    found = await action.run(places, ports)
    try:
        effects = await ports.checkpoints.after_command(step, snapshot)
    except CheckpointError as error:
        note = f"What the command changed could not be found out, and is in no checkpoint: {error}"
        return Ran(found=_with(found, note), effects=CommandEffects(not_covered=snapshot.not_covered))
    notes = (_changed(effects.changes), _left_out(effects.not_covered))
    return Ran(found=_with(found, *notes), effects=effects)


def outcome(change: CommandChange, mutation: Mutation, ports: Ports) -> Outcome:
    """What a command did to one file, as an outcome of its call; the whole document counts as rewritten."""
    place = ports.workspace.resolve(change.uri)
    identity = change.uri if isinstance(place, Failure) else place.identity
    named = replace(
        mutation, id=f"{mutation.id}:{change.path}", uri=change.uri, identity=identity, path=change.path
    )
    return Outcome(mutation=named, status=Status.LANDED)


def _with(found: str | Failure, *notes: str) -> str | Failure:
    """The answer with *notes* below it."""
    said = [note for note in notes if note]
    if isinstance(found, Failure):
        return replace(found, steps=(*found.steps, *said))
    return "\n".join((found.rstrip("\n"), *said)).lstrip("\n") if said else found


def _changed(changes: Sequence[CommandChange]) -> str:
    names = [f"{change.path} ({change.change})" for change in changes]
    return f"Files that changed meanwhile: {_some(names)}." if names else ""


def _left_out(left_out: Sequence[NotCovered]) -> str:
    names = [f"{each.path} ({each.reason})" for each in left_out]
    return f"Not covered by the checkpoint: {_some(names)}." if names else ""


def _some(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f", and {more} more" if more > 0 else "")
