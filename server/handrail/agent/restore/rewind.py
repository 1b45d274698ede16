"""
Find the point to which a session is rewound when a checkpoint is restored with its conversation.

For a turn, this is its beginning; for a step, the point before the message that made its calls; for a
restore, the point before it rewound the session, so that a rewind can be undone. Whether the session has such
a point is decided by `archive`.
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
    How a wish is carried out.

    Attributes:
        step: The step of the restore itself, in the session that is restored.
        wish: The documents to restore.
        back: How the session is rewound; None if it is not.
    """

    step: StepId
    wish: Wish
    back: Rewound | None = None


def label_and_point(known: Iterable[Checkpoint], wish: Wish, own: StepId) -> Way | None:
    """
    Determines the label of a restore, and its point in the conversation.

    Args:
        known: All checkpoints.
        wish: What to restore.
        own: The step of the restore itself, without session and label.

    Returns:
        None if the checkpoint does not exist. Raises CheckpointError if it has no session to rewind.
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
    Determines the same for a turn that changed nothing and therefore has no checkpoint.

    Args:
        known, wish, own: As for `label_and_point`.
        session: The session of the turn.
        turns: All turns that were started in it, in order.

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
    Determines how to carry out a wish; the restore itself refuses an unknown checkpoint.

    Args:
        ports: The world.
        of_turn: Finds the session in which a turn was started, and all its turns.
        wish, own: As for `label_and_point`.
    """
    known = await ports.checkpoints.list()
    found = label_and_point(known, wish, own)
    if found is None and wish.conversation and (turns := await of_turn(wish.checkpoint)):
        found = way_of_turn(known, wish, own, *turns)
    return found or Way(step=own, wish=replace(wish, files=True))
