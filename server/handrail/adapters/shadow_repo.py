"""
Checkpoints in a shadow repository: what documents held before a turn changed them, and after.

The repository is bare, lies in the user's state folder and never in a workspace, and knows nothing of the
user's own `.git`. A turn has a ref, a step has a commit, and a commit holds only what its step touched, so
the cost does not depend on the size of the workspace. An attempt that fails counts for nothing. Taking
documents back, comparing and pruning are done elsewhere.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import platformdirs
from dulwich.objects import ObjectID, ShaFile

from handrail.adapters import files
from handrail.adapters.disk_failure import reason
from handrail.adapters.shadow_commands import Commands
from handrail.adapters.shadow_images import Roots, entry_of, images_of, restoration_of, spots_of
from handrail.adapters.shadow_objects import Store
from handrail.adapters.shadow_record import Entry, Step, change, gaps, joined, joined_in_step, keep
from handrail.adapters.shadow_turns import Turn, Turns
from handrail.adapters.workspace import identity_of
from handrail.core.checkpoint import (
    Checkpoint,
    CheckpointStep,
    CommandEffects,
    Restoration,
    Snapshot,
    StepId,
    Target,
)
from handrail.ports import CheckpointError

REPOSITORY = "checkpoints.git"
STEP = re.compile(r"(?P<turn>.+)\.(?P<number>\d+)", re.DOTALL)
KNOWN_SHOWN = 5  # ids that an error names


def state_folder() -> Path:
    """Where programs keep their state for this user; `XDG_STATE_HOME` decides on every system."""
    given = os.environ.get("XDG_STATE_HOME", "")
    return Path(given) if os.path.isabs(given) else platformdirs.user_state_path()


def workspace_folder(state: Path, roots: Sequence[Path]) -> Path:
    """Where the state of a workspace is kept below *state*: named for its main folder, unlike any other's."""
    if not roots:
        return state / "handrail" / "no-folder"
    real = os.path.realpath(roots[0])
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(real)).strip(".-")[:40] or "folder"
    digest = hashlib.sha256(os.fsencode(identity_of(real))).hexdigest()[:12]
    return state / "handrail" / f"{readable}-{digest}"


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
        self._one_at_a_time = asyncio.Lock()
        self._known: dict[ObjectID, Turn] = {}

    @property
    def folder(self) -> Path:
        """The repository of the workspace, whether or not it is there yet."""
        return workspace_folder(self._state, self._roots()) / REPOSITORY

    async def ensure(self, step: StepId, targets: Sequence[Target]) -> str:
        """Keep pre-images, see the port; a document that is named twice is kept once."""
        async with self._one_at_a_time:
            await files.in_thread(self._ensure, tuple(self._roots()), step, targets)
        return step.turn

    async def record(self, step: StepId, targets: Sequence[Target]) -> None:
        """Keep post-images, see the port; of documents whose pre-image this step has."""
        async with self._one_at_a_time:
            await files.in_thread(self._record, tuple(self._roots()), step, targets)

    async def before_command(self, step: StepId) -> Snapshot:
        """Keep all that the folders hold, see the port."""
        async with self._one_at_a_time:
            return await files.in_thread(self._before_command, tuple(self._roots()), step)

    async def after_command(self, step: StepId, snapshot: Snapshot) -> CommandEffects:
        """Find what a command changed, see the port."""
        async with self._one_at_a_time:
            return await files.in_thread(self._after_command, tuple(self._roots()), step, snapshot)

    async def list(self, session: str | None = None) -> tuple[Checkpoint, ...]:
        """All checkpoints, see the port; paths that are known to be as they were are left out."""
        async with self._one_at_a_time:
            return await files.in_thread(self._list, tuple(self._roots()), session)

    async def restore_plan(self, checkpoint: str) -> tuple[Restoration, ...]:
        """What to take back, see the port; paths that are known to be as they were are left out."""
        async with self._one_at_a_time:
            return await files.in_thread(self._restore_plan, tuple(self._roots()), checkpoint)

    def _ensure(self, roots: Roots, step_id: StepId, targets: Sequence[Target]) -> None:
        with self._open(roots) as store:
            turns = Turns(store, self._known)
            turn = turns.read(step_id.turn)
            step = _step(turn, step_id) or self._new_step(turns, turn, step_id, roots)
            kept = {entry.identity for entry in step.entries}
            spots = [spot for spot in spots_of(targets, roots) if spot.identity not in kept]
            if not spots:
                return
            _refuse_inside(store.folder, roots)
            entries: list[Entry] = []
            blobs: list[ShaFile] = []
            for spot, image in images_of(spots):
                before, made = keep(image)
                blobs += made
                entries.append(entry_of(spot, before))
            store.make(self._state)
            turns.write(turn, replace(step, entries=(*step.entries, *entries)), blobs)

    def _record(self, roots: Roots, step_id: StepId, targets: Sequence[Target]) -> None:
        with self._open(roots) as store:
            turns = Turns(store, self._known)
            turn = turns.read(step_id.turn)
            step = _step(turn, step_id)
            entries = {entry.identity: entry for entry in step.entries} if step else {}
            blobs: list[ShaFile] = []
            for spot, image in images_of(spots_of(targets, roots)):
                if spot.identity not in entries:
                    raise CheckpointError(f"{spot.path} was not kept before it was changed.")
                after, made = keep(image)
                blobs += made
                entries[spot.identity] = replace(entries[spot.identity], after=after)
            if step is not None and (recorded := tuple(entries.values())) != step.entries:
                turns.write(turn, replace(step, entries=recorded), blobs)

    def _before_command(self, roots: Roots, step_id: StepId) -> Snapshot:
        with self._open(roots) as store:
            _refuse_inside(store.folder, roots)
            store.make_home(self._state)
            return Commands(store, roots).before(step_id)

    def _after_command(self, roots: Roots, step_id: StepId, snapshot: Snapshot) -> CommandEffects:
        with self._open(roots) as store:
            turns = Turns(store, self._known)
            turn = turns.read(step_id.turn)
            step = _step(turn, step_id) or self._new_step(turns, turn, step_id, roots)
            commands = Commands(store, roots)
            found = commands.after(snapshot.id)
            if found.entries:
                store.make(self._state)
                entries = joined_in_step(step.entries, found.entries)
                turns.write(turn, replace(step, entries=entries), found.blobs)
            commands.forget(snapshot.id)
            return CommandEffects(
                changes=found.changes,
                checkpoint=step_id.turn if found.entries else None,
                not_covered=found.not_covered,
            )

    def _new_step(self, turns: Turns, turn: Turn, step_id: StepId, roots: Roots) -> Step:
        serial = turn.steps[0].serial if turn.steps else turns.next_serial()
        time = self._clock().isoformat()
        return Step(id=step_id, serial=serial, time=time, roots=tuple(map(os.fspath, roots)))

    def _list(self, roots: Roots, session: str | None) -> tuple[Checkpoint, ...]:
        with self._open(roots) as store:
            found = map(_checkpoint, Turns(store, self._known).all())
            return tuple(each for each in found if session is None or each.session == session)

    def _restore_plan(self, roots: Roots, name: str) -> tuple[Restoration, ...]:
        with self._open(roots) as store:
            turns = Turns(store, self._known)
            steps = turns.read(name).steps
            if not steps and (found := STEP.fullmatch(name)):
                of_turn, first = turns.read(found["turn"]).steps, int(found["number"])
                if first in [step.id.number for step in of_turn]:
                    steps = tuple(step for step in of_turn if step.id.number >= first)
            if not steps:
                raise _unknown(turns, name)
            entries = [entry for entry in joined(steps) if change(entry)]
            return tuple(restoration_of(store, entry, gaps(steps, entry.identity)) for entry in entries)

    @contextmanager
    def _open(self, roots: Roots) -> Iterator[Store]:
        """The repository; what the disk refuses is said as a CheckpointError."""
        store = Store(workspace_folder(self._state, roots) / REPOSITORY)
        try:
            yield store
        except OSError as error:
            words, step = reason(error)
            raise CheckpointError(
                f"The checkpoints in {store.folder} are out of reach: {words}. {step}"
            ) from error
        finally:
            store.close()


def _step(turn: Turn, step_id: StepId) -> Step | None:
    return next((step for step in turn.steps if step.id.number == step_id.number), None)


def _refuse_inside(folder: Path, roots: Roots) -> None:
    store = Path(os.path.realpath(folder))
    for root in roots:
        if store.is_relative_to(os.path.realpath(root)):
            raise CheckpointError(
                f"Checkpoints cannot be kept: their folder {store} lies inside the workspace folder {root}. "
                "Set XDG_STATE_HOME to a folder outside."
            )


def _unknown(turns: Turns, name: str) -> CheckpointError:
    known = [turn.steps[0].id.turn for turn in turns.all()[:KNOWN_SHOWN]]
    those = f"The newest are: {', '.join(known)}." if known else "This workspace has none yet."
    return CheckpointError(f"There is no checkpoint {name} in this workspace. {those}")


def _checkpoint(turn: Turn) -> Checkpoint:
    first = turn.steps[0]
    return Checkpoint(
        id=first.id.turn,
        session=first.id.session,
        turn=first.id.turn,
        label=first.id.label,
        time=first.time,
        root=first.roots[0] if first.roots else "",
        steps=tuple(
            CheckpointStep(
                id=f"{first.id.turn}.{step.id.number}",
                paths=tuple(entry.path for entry in step.entries if change(entry)),
            )
            for step in turn.steps
        ),
        paths=tuple(path for path in map(change, joined(turn.steps)) if path),
    )
