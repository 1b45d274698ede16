"""The port to checkpoints: the contents of documents before turns changed them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from handrail.core.checkpoint import (
    NOTHING,
    Checkpoint,
    CommandEffects,
    EditorActivity,
    KeptDocument,
    Limits,
    Pruned,
    Restoration,
    Snapshot,
    Soundness,
    StepId,
    Target,
)


class Checkpoints(Protocol):
    """Stores the contents of documents before a turn changes them."""

    async def ensure(self, step: StepId, targets: Sequence[Target]) -> str:
        """
        Stores the pre-image of each target for which this step has none yet, and the intended post-image.

        Returns:
            The checkpoint's id. Raises CheckpointError if any pre-image could not be stored. Then nothing of
            this call is stored, and none of the targets may be changed.
        """
        ...

    async def begin(self, step: StepId) -> None:
        """
        Gives a step its place in the order of all steps, before anything of it is stored.

        Raises CheckpointError.
        """
        ...

    async def record(self, step: StepId, targets: Sequence[Target]) -> None:
        """
        Stores the actual post-image of targets that this step has changed, in place of the intended one.

        Raises CheckpointError; a restore then uses the intended one.
        """
        ...

    async def before_command(
        self, step: StepId, stop: asyncio.Event | None = None, since: Snapshot | None = None
    ) -> Snapshot:
        """
        Takes a snapshot of the workspace folders before a command that may change them.

        Args:
            step: The step that the command belongs to.
            stop: Set when the snapshot is no longer needed.
            since: An earlier snapshot with which `after_command` will compare this one.

        Returns:
            The snapshot, which must be passed to `after_command` in any case.

        Raises:
            CheckpointError: It could not be taken, or was stopped. Then the command must not run.
        """
        ...

    async def after_command(
        self,
        step: StepId,
        snapshot: Snapshot,
        activity: EditorActivity = NOTHING,
        until: Snapshot | None = None,
    ) -> CommandEffects:
        """
        Finds what the command changed, and stores it as part of the step.

        Args:
            snapshot: The snapshot that was taken before the command.
            activity: What the editor did while the command ran: the user's saves are not changes by the
                command.
            until: A snapshot that was taken after *snapshot*; None for the current state.

        Raises:
            CheckpointError: The changes could not be found, or not stored.
        """
        ...

    async def withdraw(self, checkpoint: str) -> bool:
        """Removes a turn's checkpoint if no document in it has changed; returns whether it was removed."""
        ...

    async def list(self, session: str | None = None) -> tuple[Checkpoint, ...]:
        """Returns all checkpoints, or those of one session, newest turn first."""
        ...

    def set_limits(self, limits: Limits) -> None:
        """Sets the limits, which are enforced before each turn's first write."""
        ...

    async def tidy(self) -> None:
        """Enforces the limits, removes what crashes left, and packs objects, while nothing is running."""
        ...

    async def prune(self, checkpoints: Sequence[str] | None) -> Pruned:
        """
        Removes checkpoints.

        Args:
            checkpoints: Ids of turns, pinned or not; None: all those beyond the limits.

        Raises:
            CheckpointError: An id is unknown; nothing was removed.
        """
        ...

    async def verify(self) -> Soundness:
        """Reads everything that is stored, and reports what cannot be read."""
        ...

    async def restore_plan(self, checkpoint: str, *, following: bool = False) -> tuple[Restoration, ...]:
        """
        Plans the restore of a turn, or of a step and the later steps of its turn.

        Args:
            checkpoint: The id of a turn or a step.
            following: Whether to undo all later checkpoints too, also those of other sessions, and of quick
                fixes, restores and undos.

        Raises:
            CheckpointError: The checkpoint is unknown, or cannot be read.
        """
        ...

    async def kept_documents(self, checkpoint: str) -> tuple[KeptDocument, ...]:
        """Returns the earlier contents of documents that were changed since. Raises CheckpointError."""
        ...

    async def write_for_editor(self, name: str, text: str) -> str:
        """Writes *text* where an editor can open it as a file; returns its URI. Raises CheckpointError."""
        ...
