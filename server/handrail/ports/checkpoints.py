"""The port to what documents held before turns changed them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from handrail.core.checkpoint import (
    NOTHING,
    Checkpoint,
    CommandEffects,
    KeptDocument,
    Limits,
    Meanwhile,
    Pruned,
    Restoration,
    Snapshot,
    Soundness,
    StepId,
    Target,
)


class Checkpoints(Protocol):
    """Keeps what documents held before a turn changed them."""

    async def ensure(self, step: StepId, targets: Sequence[Target]) -> str:
        """
        Keeps the pre-image of each target that this step has not kept yet, and what each is to become.

        Returns:
            The checkpoint's id. Raises CheckpointError if any pre-image could not be kept: then nothing
            of this call counts as kept, and none of the targets may be changed.
        """
        ...

    async def begin(self, step: StepId) -> None:
        """
        Gives a step its place among all others before anything of it is kept.

        Raises CheckpointError.
        """
        ...

    async def record(self, step: StepId, targets: Sequence[Target]) -> None:
        """
        Keeps the post-image of targets that this step has changed, in place of what was intended.

        Raises CheckpointError: a restore then goes by what was intended.
        """
        ...

    async def before_command(
        self, step: StepId, stop: asyncio.Event | None = None, since: Snapshot | None = None
    ) -> Snapshot:
        """
        Keeps all that the workspace folders hold, before a command that may change any of it.

        Args:
            step: Whose command it is.
            stop: Set when the snapshot is not wanted any more.
            since: One that was taken before; what differs from it is asked for by `after_command`.

        Returns:
            The snapshot, to be given to `after_command` in any case.

        Raises:
            CheckpointError: It could not be taken, or was stopped: then the command must not run.
        """
        ...

    async def after_command(
        self,
        step: StepId,
        snapshot: Snapshot,
        meanwhile: Meanwhile = NOTHING,
        until: Snapshot | None = None,
    ) -> CommandEffects:
        """
        Finds what the command changed, and keeps it as part of the step.

        Args:
            snapshot: Taken before.
            meanwhile: What the editor did: what the user has saved is not the command's.
            until: A later snapshot, taken since *snapshot*; None for what is there now.

        Raises:
            CheckpointError: It could not be found, or kept.
        """
        ...

    async def withdraw(self, checkpoint: str) -> bool:
        """Forgets a turn's checkpoint if nothing that it keeps has changed; whether that is so."""
        ...

    async def list(self, session: str | None = None) -> tuple[Checkpoint, ...]:
        """All checkpoints, those of the newest turn first; of one session if given."""
        ...

    def set_limits(self, limits: Limits) -> None:
        """From now on, no more than this is kept; checked before each turn's first write."""
        ...

    async def tidy(self) -> None:
        """Enforces the limits, sweeps up what crashes have left, and packs; for when nothing runs."""
        ...

    async def prune(self, checkpoints: Sequence[str]) -> Pruned:
        """
        Removes checkpoints.

        Args:
            checkpoints: Ids of turns, pinned or not; none for all that the limits do not allow.

        Raises:
            CheckpointError: An id is not known; nothing was removed.
        """
        ...

    async def verify(self) -> Soundness:
        """Reads everything that is kept, and says what cannot be read."""
        ...

    async def restore_plan(self, checkpoint: str, *, following: bool = False) -> tuple[Restoration, ...]:
        """
        What taking back a turn means, or a step and what follows it in its turn.

        Args:
            checkpoint: The id of a turn or a step.
            following: Whether all later turns are to be taken back as well.

        Raises:
            CheckpointError: It is not known, or cannot be read.
        """
        ...

    async def kept_documents(self, checkpoint: str) -> tuple[KeptDocument, ...]:
        """What held then, of all documents that turns have changed since. Raises CheckpointError."""
        ...

    async def put_down(self, name: str, text: str) -> str:
        """Writes *text* where an editor can open it as a file; returns its URI. Raises CheckpointError."""
        ...
