"""
What a contained command has written that is not simply a change of a file.

What appears and runs later is taken away before anything else runs, and is there again only after a yes.
What a command changed only in a layer is said, since it is not in the workspace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from handrail.agent.tools.call import Console, Printed
from handrail.core.checkpoint import NOTHING, CommandEffects, NotCovered, StepId
from handrail.core.policy.verdict import ASKED, Place
from handrail.ports import CheckpointError, Ports


def uris(not_covered: Sequence[NotCovered], ports: Ports) -> tuple[str, ...]:
    """The URIs of what a snapshot does not cover."""
    places = (ports.workspace.resolve(each.path) for each in not_covered)
    return tuple(place.uri for place in places if isinstance(place, Place))


def note_made(before: Sequence[NotCovered], after: Sequence[NotCovered], ports: Ports) -> None:
    """Tell of the folders that a command has made, and that no snapshot covers: they are its own."""
    known = {each.path for each in before}
    ports.process.made(uris([each for each in after if each.path not in known], ports))


def tell_layers(printed: Printed, ports: Ports, console: Console) -> tuple[str, ...]:
    """The paths of which a command changed something in a layer only; the user is told once of each."""
    paths = []
    for uri, layer in printed.layers:
        place = ports.workspace.resolve(uri)
        path = place.path if isinstance(place, Place) else uri
        paths.append(path)
        if layer not in console.named:
            console.named.add(layer)
            said = f"{path} is in no checkpoint, so what commands change in it lies in a layer"
            console.notice(f"{said}, which goes when the server ends: {layer}", False)
    return tuple(paths)


async def put_back(
    printed: Printed, effects: CommandEffects, ports: Ports, step: StepId, console: Console
) -> tuple[CommandEffects, tuple[str, ...]]:
    """
    Ask about what has appeared and was taken away, and have be there again what the user allows.

    Returns:
        The effects, with what is there again; and the paths of what is not.
    """
    places = [found for uri in printed.appeared if isinstance(found := ports.workspace.resolve(uri), Place)]
    left = []
    for place in places:
        why = place.why or ASKED.get(place.standing, "")
        if not await console.keeps(f"Keep {place.path}, which a command has written?", why):
            left.append(place.path)
            continue
        try:
            snapshot = await ports.checkpoints.before_command(step)
            is_back = await ports.process.put_back(place.uri) is None
            again = await ports.checkpoints.after_command(step, snapshot, NOTHING)
        except CheckpointError:  # then it could not be taken back
            is_back = False
        else:
            changes = (*effects.changes, *again.changes)
            effects = replace(effects, changes=changes, checkpoint=again.checkpoint or effects.checkpoint)
        if not is_back:
            left.append(place.path)
    return effects, tuple(left)
