"""
Find where a session goes back to when a checkpoint is restored with its conversation.

A turn's place is where it began, a step's is before the message that made its calls, and that of a restore is
before it went back itself, so that going back can be taken back. Whether the session has such a place is for
`archive` to say.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from handrail.agent.restore.restore import Wish
from handrail.core.checkpoint import REDOING, RESTORING, Checkpoint, Origin, StepId
from handrail.core.conversation.journal import Rewound
from handrail.ports import CheckpointError, Ports


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """
    How a wish is granted.

    Attributes:
        step: Of the restore itself, as it belongs to the session of what is restored.
        wish: What is to be restored of documents.
        back: How that session goes back; None if it is not to.
    """

    step: StepId
    wish: Wish
    back: Rewound | None = None


def way(known: Iterable[Checkpoint], wish: Wish, own: StepId) -> Way | None:
    """
    Names a restore, and its place in the conversation.

    Args:
        known: All checkpoints.
        wish: What is to be restored.
        own: The step of the restore itself, without session and label.

    Returns:
        None if there is no such checkpoint. Raises CheckpointError if it has no session to go back.
    """
    for checkpoint in known:
        for name, call in ((checkpoint.id, ""), *((step.id, step.call) for step in checkpoint.steps)):
            if name == wish.checkpoint:
                step = replace(own, session=checkpoint.session, label=_label(checkpoint))
                if wish.conversation and not checkpoint.session:
                    raise CheckpointError(f"Checkpoint {name} does not belong to a conversation.")
                back = Rewound(id=own.turn, before=checkpoint.turn, call=call)
                return Way(step=step, wish=wish, back=back if wish.conversation else None)
    return None


def _label(checkpoint: Checkpoint) -> str:
    """To restore the checkpoint of a restore is to redo what that undid, and the other way round."""
    match checkpoint.origin:
        case Origin.RESTORE:
            return REDOING + checkpoint.label.removeprefix(RESTORING)
        case Origin.REDO:
            return RESTORING + checkpoint.label.removeprefix(REDOING)
        case _:
            return RESTORING + checkpoint.label


def way_of_turn(
    known: Iterable[Checkpoint], wish: Wish, own: StepId, session: str, turns: Sequence[str]
) -> Way:
    """
    Names a restore of a turn that changed nothing, and so has no checkpoint.

    Args:
        known, wish, own: As for `way`.
        session: The one that the turn belongs to.
        turns: All that were begun in it, in order.

    Returns:
        With what follows, documents go back from the first later turn on that changed any.
    """
    there = {checkpoint.id for checkpoint in known}
    later = (turn for turn in turns[turns.index(wish.checkpoint) + 1 :] if turn in there)
    first = next(later, None) if wish.following else None
    return Way(
        step=replace(own, session=session, label=f"Before rewinding to {wish.checkpoint}"),
        wish=replace(wish, files=False) if first is None else replace(wish, checkpoint=first),
        back=Rewound(id=own.turn, before=wish.checkpoint),
    )


async def find_way(
    ports: Ports,
    of_turn: Callable[[str], Awaitable[tuple[str, list[str]] | None]],
    wish: Wish,
    own: StepId,
) -> Way:
    """
    How a wish is granted; one of an unknown checkpoint is for the restore to refuse.

    Args:
        ports: The world.
        of_turn: Finds the session in which a turn was begun, and all turns of that.
        wish, own: As for `way`.
    """
    known = await ports.checkpoints.list()
    found = way(known, wish, own)
    if found is None and wish.conversation and (turns := await of_turn(wish.checkpoint)):
        found = way_of_turn(known, wish, own, *turns)
    return found or Way(step=own, wish=replace(wish, files=True))
