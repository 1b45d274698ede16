"""
Find where a session goes back to when a checkpoint is restored with its conversation.

A turn's place is where it began, a step's is before the message that made its calls, and that of a restore is
before it went back itself, so that going back can be taken back. Whether the session has such a place is for
`archive` to say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from handrail.agent.restore import Wish
from handrail.core.checkpoint import Checkpoint, StepId
from handrail.core.journal import Rewound
from handrail.ports import CheckpointError


def place(known: Iterable[Checkpoint], wish: Wish, own: StepId) -> tuple[StepId, Rewound | None]:
    """
    Name a restore, and its place in the conversation.

    Args:
        known: All checkpoints.
        wish: What is to be restored.
        own: The step of the restore itself, without session and label.

    Returns:
        That step, as it belongs to the checkpoint's session; and how that session goes back, None if it is
        not to, or nothing is known of the checkpoint. Raises CheckpointError if it has no session.
    """
    for found in known:
        for name, call in ((found.id, ""), *((step.id, step.call) for step in found.steps)):
            if name == wish.checkpoint:
                step = replace(own, session=found.session, label=f"Before restoring: {found.label}")
                if wish.conversation and not found.session:
                    raise CheckpointError(f"Checkpoint {name} belongs to no conversation.")
                back = Rewound(id=own.turn, before=found.turn, call=call)
                return step, back if wish.conversation else None
    return replace(own, label=f"Before restoring {wish.checkpoint}"), None
