"""
Find the point to which a session is rewound when a checkpoint is restored with its conversation.

For a turn, this is its beginning; for a step, the point before the message that made its calls; for a
restore, the point before it rewound the session, so that a rewind can be undone. Whether the session has such
a point is decided by `archive`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

from handrail.agent.restore.restore import RestoreRequest
from handrail.core.checkpoint import REDOING, RESTORING, Checkpoint, Origin, StepId
from handrail.core.conversation.journal import Rewound
from handrail.ports import CheckpointError, Ports
from handrail.values import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePlan:
    """
    A planned restore: of documents, and of the conversation.

    Attributes:
        step: The step of the restore itself, in the session that is restored.
        request: The documents to restore.
        rewind: How the session is rewound; None if it is not.
    """

    step: StepId
    request: RestoreRequest
    rewind: Rewound | None = None


def plan_for_checkpoint(
    known: Iterable[Checkpoint], request: RestoreRequest, own: StepId
) -> RestorePlan | None:
    """
    Determines the label of a restore, and its point in the conversation.

    Args:
        known: All checkpoints.
        request: What to restore.
        own: The step of the restore itself, without session and label.

    Returns:
        None if the checkpoint does not exist. Raises CheckpointError if it has no session to rewind.
    """
    for checkpoint in known:
        for name, call in ((checkpoint.id, ""), *((step.id, step.call) for step in checkpoint.steps)):
            if name == request.checkpoint:
                step = replace(own, session=checkpoint.session, label=_label(checkpoint))
                if request.conversation and not checkpoint.session:
                    raise CheckpointError(f"Checkpoint {name} does not belong to a conversation.")
                rewind = Rewound(id=own.turn, before=checkpoint.turn, call=call)
                return RestorePlan(
                    step=step, request=request, rewind=rewind if request.conversation else None
                )
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


def plan_for_turn(
    known: Iterable[Checkpoint], request: RestoreRequest, own: StepId, session: str, turns: Sequence[str]
) -> RestorePlan:
    """
    Determines the same for a turn that changed nothing and therefore has no checkpoint.

    Args:
        known, request, own: As for `plan_for_checkpoint`.
        session: The session of the turn.
        turns: All turns that were started in it, in order.

    Returns:
        With what follows, documents go back from the first later turn on that changed any.
    """
    there = {checkpoint.id for checkpoint in known}
    later = (turn for turn in turns[turns.index(request.checkpoint) + 1 :] if turn in there)
    first = next(later, None) if request.following else None
    return RestorePlan(
        step=replace(own, session=session, label=f"{RESTORING}a turn that changed nothing"),
        request=replace(request, files=False) if first is None else replace(request, checkpoint=first),
        rewind=Rewound(id=own.turn, before=request.checkpoint),
    )


async def plan_restore(
    ports: Ports,
    of_turn: Callable[[str], Awaitable[tuple[str, list[str]] | None]],
    request: RestoreRequest,
    own: StepId,
) -> RestorePlan:
    """
    Determines how to restore what is requested; the restore itself refuses an unknown checkpoint.

    Args:
        ports: The ports of the server.
        of_turn: Finds the session in which a turn was started, and all its turns.
        request, own: As for `plan_for_checkpoint`.
    """
    known = await ports.checkpoints.list()
    found = plan_for_checkpoint(known, request, own)
    if found is None and request.conversation and (turns := await of_turn(request.checkpoint)):
        found = plan_for_turn(known, request, own, *turns)
    return found or RestorePlan(step=own, request=replace(request, files=True))
