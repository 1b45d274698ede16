"""
Checkpoints in a shadow repository: the contents of documents before and after a turn changed them.

The repository is bare, is in the user's state folder and never in a workspace, and is independent of the
user's own `.git`. A turn has a ref, a step has a commit, and a commit contains only what its step touched, so
the cost does not depend on the size of the workspace. This is the port; the work is done by `repository` in
threads, so the event loop never waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from handrail.adapters.checkpoints import private
from handrail.adapters.checkpoints.images import real_roots
from handrail.adapters.checkpoints.limits import DiskUsage
from handrail.adapters.checkpoints.repository import LIMITED, REPOSITORY, CheckpointRepository, Memory
from handrail.adapters.files import files, stopping
from handrail.adapters.state.home import workspace_folder
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
from handrail.ports import CheckpointError


class ShadowRepo:
    """The Checkpoints port; one for each server."""

    def __init__(
        self, state: Path, roots: Callable[[], Sequence[Path]], clock: Callable[[], datetime]
    ) -> None:
        """
        Nothing is made before something is kept.

        Args:
            state: What `state_folder` gives; the repository is `handrail/<workspace>/checkpoints.git` in it.
            roots: The workspace folders at the moment; the first one tells whose repository it is.
            clock: The time, with its offset.
        """
        self._state = state
        self._roots = roots
        self._clock = clock
        self._limits = Limits()
        self._one_at_a_time = asyncio.Lock()
        self._homes: dict[tuple[Path, ...], Path] = {}  # by the main folder, if there is one
        self._memories: dict[Path, Memory] = {}

    @property
    def folder(self) -> Path:
        """The repository of the workspace, whether or not it is there yet."""
        return workspace_folder(self._state, self._roots()) / REPOSITORY

    async def ensure(self, step: StepId, targets: Sequence[Target]) -> str:
        """Keeps pre-images, see the port; a document that is named twice is kept once."""
        async with self._one_at_a_time:
            await files.in_thread(self._repository().ensure, step, targets)
        return step.turn

    async def begin(self, step: StepId) -> None:
        """Gives a step its place among all others, see the port."""
        async with self._one_at_a_time:
            await files.in_thread(self._repository().begin, step)

    async def record(self, step: StepId, targets: Sequence[Target]) -> None:
        """Keeps post-images, see the port; of documents whose pre-image this step has."""
        async with self._one_at_a_time:
            await files.in_thread(self._repository().record, step, targets)

    async def before_command(
        self, step: StepId, stop: asyncio.Event | None = None, since: Snapshot | None = None
    ) -> Snapshot:
        """Keeps all that the folders hold, see the port."""
        async with self._one_at_a_time:
            try:
                return await stopping.in_thread(stop, self._repository().before_command, step, since)
            except stopping.StoppedError as error:
                raise CheckpointError("The snapshot was stopped before it was complete") from error

    async def after_command(
        self,
        step: StepId,
        snapshot: Snapshot,
        activity: EditorActivity = NOTHING,
        until: Snapshot | None = None,
    ) -> CommandEffects:
        """Finds what a command changed, see the port."""
        async with self._one_at_a_time:
            return await files.in_thread(self._repository().after_command, step, snapshot, activity, until)

    async def list(self, session: str | None = None) -> tuple[Checkpoint, ...]:
        """All checkpoints, see the port; paths that are known to be as they were are left out."""
        async with self._one_at_a_time:
            return await files.in_thread(self._repository().list, session)

    async def restore_plan(self, checkpoint: str, *, following: bool = False) -> tuple[Restoration, ...]:
        """Returns what to restore, see the port, without paths that are known to be unchanged."""
        async with self._one_at_a_time:
            return await files.in_thread(self._repository().restore_plan, checkpoint, following=following)

    async def kept_documents(self, checkpoint: str) -> tuple[KeptDocument, ...]:
        """Returns the earlier contents of documents, see the port."""
        async with self._one_at_a_time:
            return await files.in_thread(self._repository().held_documents, checkpoint)

    async def write_for_editor(self, name: str, text: str) -> str:
        """Writes a text as a file, see the port; the last ones are kept."""
        return await files.in_thread(self._repository().write_for_editor, name, text)

    async def withdraw(self, checkpoint: str) -> bool:
        """Forgets a checkpoint of nothing, see the port."""
        async with self._one_at_a_time:
            return await files.in_thread(self._repository().withdraw, checkpoint)

    def set_limits(self, limits: Limits) -> None:
        """From now on, no more than this is kept."""
        self._limits = limits

    async def prune(self, checkpoints: Sequence[str] | None) -> Pruned:
        """Removes checkpoints, see the port."""
        async with self._one_at_a_time:
            return await files.in_thread(self._repository().prune, checkpoints)

    async def verify(self) -> Soundness:
        """Looks whether all is sound, see the port."""
        async with self._one_at_a_time:
            return await files.in_thread(self._repository().verify)

    async def settle(self) -> None:
        """Waits for what a checkpoint does after it has ended: then its folder can be removed."""
        await files.in_thread(private.settle)

    async def tidy(self) -> None:
        """Housekeeping, see the port."""
        await files.in_thread(self._repository().own_snapshots)  # only commands have to wait for that
        async with self._one_at_a_time:
            await files.in_thread(self._repository().tidy)

    def _repository(self) -> CheckpointRepository:
        roots = tuple(self._roots())
        main = real_roots(roots[:1])  # the others are resolved in the thread: one may be on a slow disk
        if (home := self._homes.get(main)) is None:
            home = self._homes[main] = workspace_folder(self._state, main)
        if (memory := self._memories.get(home)) is None:
            usage = DiskUsage(folders=tuple(home / name for name in LIMITED))
            memory = self._memories[home] = Memory(room=usage)
        return CheckpointRepository(
            state=self._state,
            home=home,
            roots=roots,
            main=main,
            clock=self._clock,
            limits=self._limits,
            memory=memory,
        )
