"""
What a contained command has written that is not simply a change of a file.

What appears and runs later is taken away before anything else runs, and is there again only after a yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from handrail.agent.tools.call import Console
from handrail.core.checkpoint import CommandChange, CommandEffects, Image, Kind, NotCovered
from handrail.core.policy.containment import Contained
from handrail.core.policy.verdict import ASKED, Place, Standing
from handrail.ports import Ports

ASIDE = frozenset({Standing.RUNS_LATER, Standing.PROTECTED, Standing.OWN})
NOTHING = Image(raw=None)


def uris(not_covered: Sequence[NotCovered], ports: Ports) -> tuple[str, ...]:
    """The URIs of what a snapshot does not cover."""
    places = (ports.workspace.resolve(each.path) for each in not_covered)
    return tuple(place.uri for place in places if isinstance(place, Place))


def note_made(before: Sequence[NotCovered], after: Sequence[NotCovered], ports: Ports) -> None:
    """Tell of the folders that a command has made, and that no snapshot covers: they are its own."""
    known = {each.path for each in before}
    ports.process.made(uris([each for each in after if each.path not in known], ports))


async def set_aside(
    effects: CommandEffects, contained: Contained, ports: Ports, console: Console
) -> tuple[CommandEffects, tuple[str, ...]]:
    """
    Take away what runs later or holds keys, and has appeared; then ask about each whether it may stay.

    Args:
        effects: What the command did.
        contained: How it ran: what was opened for it is its to write.
        console: Asks the user.

    Returns:
        The effects without what was taken away for good, and the paths of that.
    """
    found: list[tuple[CommandChange, Place, Image]] = []
    for change in effects.changes:
        place = ports.workspace.resolve(change.uri)
        is_asked = isinstance(place, Place) and place.standing in ASIDE and place.uri not in contained.opened
        if change.change is not Kind.CREATED or not is_asked or not isinstance(place, Place):
            continue
        image = await ports.editor.look(place.uri)
        if image is not None and await ports.editor.lay(place.uri, image, NOTHING) is None:
            found.append((change, place, image))
    left: list[CommandChange] = []
    for change, place, image in found:
        question = f"Keep {place.path}, which a command has written?"
        is_kept = await console.keeps(question, place.why or ASKED[place.standing])
        if not is_kept or await ports.editor.lay(place.uri, NOTHING, image) is not None:
            left.append(change)
    kept = tuple(change for change in effects.changes if change not in left)
    return replace(effects, changes=kept), tuple(change.path for change in left)
