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
import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import platformdirs
from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tree

from handrail.adapters import files
from handrail.adapters.disk_failure import reason
from handrail.adapters.shadow_objects import NEWEST, Store
from handrail.adapters.shadow_record import Entry, Kept, Step, change, from_json, joined, keep, unsaved_of
from handrail.adapters.shadow_tree import RECORD, commit, stored_name, stored_path, stored_untitled
from handrail.adapters.workspace import identity_of, root_names, shown_path
from handrail.ports import (
    Checkpoint,
    CheckpointError,
    CheckpointStep,
    Image,
    Restoration,
    StepId,
    Target,
)

logger = logging.getLogger(__name__)

TURNS = "refs/handrail/turns"
STEP = re.compile(r"(?P<turn>.+)\.(?P<number>\d+)", re.DOTALL)
KNOWN_SHOWN = 5  # ids that an error names


def state_folder() -> Path:
    """Where programs keep their state for this user; `XDG_STATE_HOME` decides on every system."""
    given = os.environ.get("XDG_STATE_HOME", "")
    return Path(given) if os.path.isabs(given) else platformdirs.user_state_path()


def workspace_folder(state: Path, roots: Sequence[Path]) -> Path:
    """Where handrail keeps the state of a workspace: named for its main folder, and unlike any other's."""
    if not roots:
        return state / "handrail" / "no-folder"
    real = os.path.realpath(roots[0])
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(real)).strip(".-")[:40] or "folder"
    digest = hashlib.sha256(os.fsencode(identity_of(real))).hexdigest()[:12]
    return state / "handrail" / f"{readable}-{digest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """The steps of a turn, ascending, and the commit of each."""

    steps: tuple[Step, ...] = ()
    commits: tuple[ObjectID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spot:
    """A target with its names; `real` is None for a document that has no file."""

    target: Target
    real: Path | None
    identity: str
    path: str
    stored: str


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
        self._last: tuple[ObjectID, _Turn] | None = None  # as a turn comes back at each of its steps

    @property
    def folder(self) -> Path:
        """The repository of the workspace, whether or not it is there yet."""
        return workspace_folder(self._state, self._roots()) / "checkpoints.git"

    async def ensure(self, step: StepId, targets: Sequence[Target]) -> str:
        """Keep pre-images, see the port; a document that has several spellings is kept once."""
        async with self._one_at_a_time:
            await files.in_thread(self._ensure, step, targets)
        return step.turn

    async def record(self, step: StepId, targets: Sequence[Target]) -> None:
        """Keep post-images, see the port; of documents whose pre-image this step has."""
        async with self._one_at_a_time:
            await files.in_thread(self._record, step, targets)

    async def list(self, session: str | None = None) -> tuple[Checkpoint, ...]:
        """All checkpoints, see the port; paths that are known to be as they were are left out."""
        async with self._one_at_a_time:
            return await files.in_thread(self._list, session)

    async def restore_plan(self, checkpoint: str) -> tuple[Restoration, ...]:
        """What to take back, see the port; paths that are known to be as they were are left out."""
        async with self._one_at_a_time:
            return await files.in_thread(self._restore_plan, checkpoint)

    # ---- Keeping ------------------------------------------------------------------------------------

    def _ensure(self, step_id: StepId, targets: Sequence[Target]) -> None:
        with self._open() as store:
            turn = self._turn(store, step_id.turn)
            step = self._step(store, turn, step_id)
            kept = {entry.identity for entry in step.entries}
            spots = {
                spot.identity: spot
                for spot in reversed(_spots(targets, tuple(self._roots())))
                if spot.identity not in kept
            }
            if not spots:
                return
            self._refuse_inside_workspace()
            entries, blobs = [], []
            for spot, image in _images(reversed(spots.values())):
                before, made = keep(image)
                blobs += made
                entries.append(_entry(spot, before))
            step = replace(step, entries=(*step.entries, *entries))
            self._write(store, turn, step, blobs)

    def _record(self, step_id: StepId, targets: Sequence[Target]) -> None:
        with self._open() as store:
            turn = self._turn(store, step_id.turn)
            step = self._step(store, turn, step_id)
            entries = {entry.identity: entry for entry in step.entries}
            blobs = []
            for spot, image in _images(_spots(targets, tuple(self._roots()))):
                if spot.identity not in entries:
                    raise CheckpointError(f"{spot.path} was not kept before it was changed.")
                after, made = keep(image)
                blobs += made
                entries[spot.identity] = replace(entries[spot.identity], after=after)
            if (entered := tuple(entries.values())) != step.entries:
                self._write(store, turn, replace(step, entries=entered), blobs)

    def _step(self, store: Store, turn: _Turn, step_id: StepId) -> Step:
        """The step as far as it is kept, or a new one."""
        for step in turn.steps:
            if step.id.number == step_id.number:
                return step
        serial = turn.steps[0].serial if turn.steps else self._next_serial(store)
        roots = tuple(os.fspath(root) for root in self._roots())
        return Step(id=step_id, serial=serial, time=self._clock().isoformat(), roots=roots)

    def _next_serial(self, store: Store) -> int:
        newest = store.target(NEWEST)
        try:
            return 1 + (self._chain(store, newest).steps[0].serial if newest else 0)
        except CheckpointError:  # damaged; it must not keep the next turn from being kept
            return 1 + max((turn.steps[0].serial for turn in self._turns(store)), default=0)

    def _refuse_inside_workspace(self) -> None:
        store = Path(os.path.realpath(self.folder))
        for root in self._roots():
            if store.is_relative_to(os.path.realpath(root)):
                raise CheckpointError(
                    f"Checkpoints cannot be kept: their folder {store} lies inside the workspace folder "
                    f"{root}. Set XDG_STATE_HOME to a folder outside."
                )

    def _write(self, store: Store, turn: _Turn, changed: Step, objects: Sequence[ShaFile]) -> None:
        """Commit the changed step, and anew what follows it, then move the refs."""
        number = changed.id.number
        kept = [step for step in turn.steps if step.id.number < number]
        later = [step for step in turn.steps if step.id.number > number]
        commits, written = list(turn.commits[: len(kept)]), list(objects)
        for step in (changed, *later):
            name, made = commit(step, commits[-1] if commits else None)
            commits.append(name)
            written += made
        store.make(self._state)
        store.write(written)
        store.point(_ref(changed.id.turn), commits[-1])
        self._last = (commits[-1], _Turn(steps=(*kept, changed, *later), commits=tuple(commits)))
        store.point(NEWEST, commits[-1])

    # ---- Reading ------------------------------------------------------------------------------------

    def _list(self, session: str | None) -> tuple[Checkpoint, ...]:
        with self._open() as store:
            turns = [turn for turn in self._turns(store) if session in (None, turn.steps[0].id.session)]
            return tuple(_checkpoint(turn) for turn in turns)

    def _turns(self, store: Store) -> Sequence[_Turn]:
        """All turns that can be read, the newest first."""
        turns = []
        for name in store.names(TURNS):
            head = store.target(f"{TURNS}/{name}")
            try:
                turns.append(self._chain(store, head) if head else _Turn())
            except CheckpointError as error:
                logger.warning("Left out of the list: %s: %s", name, error)
        turns = [turn for turn in turns if turn.steps]
        return sorted(turns, key=lambda turn: (turn.steps[0].serial, turn.steps[0].time), reverse=True)

    def _restore_plan(self, name: str) -> tuple[Restoration, ...]:
        with self._open() as store:
            steps = self._turn(store, name).steps
            if not steps and (named := STEP.fullmatch(name)):
                of_turn, first = self._turn(store, named["turn"]).steps, int(named["number"])
                if first in [step.id.number for step in of_turn]:
                    steps = tuple(step for step in of_turn if step.id.number >= first)
            if not steps:
                raise self._unknown(store, name)
            return tuple(_restoration(store, entry) for entry in joined(steps) if change(entry))

    def _unknown(self, store: Store, name: str) -> CheckpointError:
        known = [turn.steps[0].id.turn for turn in self._turns(store)[:KNOWN_SHOWN]]
        those = f"The newest are: {', '.join(known)}." if known else "This workspace has none yet."
        return CheckpointError(f"There is no checkpoint {name} in this workspace. {those}")

    def _turn(self, store: Store, name: str) -> _Turn:
        """The turn as it stands in the repository; without steps if nothing of it is kept."""
        head = store.target(_ref(name))
        if head is None:
            return _Turn()
        if self._last is None or self._last[0] != head:
            self._last = (head, self._chain(store, head))
        return self._last[1]

    def _chain(self, store: Store, head: ObjectID) -> _Turn:
        steps, commits = [], []
        at: ObjectID | None = head
        while at is not None:
            made = store.read(Commit, at)
            tree = store.read(Tree, made.tree)
            if RECORD.encode() not in tree:
                raise CheckpointError(f"The checkpoint is damaged: commit {at.decode()} has no record.")
            _, record = tree[RECORD.encode()]
            steps.append(from_json(store.read(Blob, record).data))
            commits.append(at)
            at = made.parents[0] if made.parents else None
        return _Turn(steps=tuple(reversed(steps)), commits=tuple(reversed(commits)))

    @contextmanager
    def _open(self) -> Iterator[Store]:
        """The repository; what the disk refuses is said as a CheckpointError."""
        store = Store(self.folder)
        try:
            yield store
        except OSError as error:
            words, step = reason(error)
            raise CheckpointError(
                f"The checkpoint folder {store.folder} cannot be used: {words}. {step}"
            ) from error
        finally:
            store.close()


def _ref(turn: str) -> str:
    """The ref of a turn; ids are opaque, refs are picky."""
    return f"{TURNS}/" + re.sub(r"[^%A-Za-z0-9_-]", lambda c: stored_name(c[0]), turn)


def _spots(targets: Sequence[Target], roots: Sequence[Path]) -> list[_Spot]:
    reals = tuple(Path(os.path.realpath(root)) for root in roots)
    names = root_names(roots)
    spots = []
    for target in targets:
        path = files.path_of(target.uri)
        if path is None:
            identity = shown = target.uri
            real, stored = None, stored_untitled(target.uri)
        else:
            real = Path(os.path.realpath(path))
            identity, shown = files.uri_of(identity_of(real)), shown_path(os.fspath(real), reals, names)
            stored = stored_path(real, reals, names)
        spots.append(_Spot(target=target, real=real, identity=identity, path=shown, stored=stored))
    return spots


def _images(spots: Sequence[_Spot]) -> list[tuple[_Spot, Image]]:
    """What each document holds now; raises CheckpointError naming all that cannot be read."""
    images, problems = [], []
    for spot in spots:
        try:
            images.append((spot, _image(spot)))
        except OSError as error:
            words = (
                f"it has {error.size:,} bytes" if isinstance(error, files.TooLargeError) else reason(error)[0]
            )
            problems.append(f"{spot.path}: {words}")
    if problems:
        raise CheckpointError(f"No checkpoint could be taken of {'; '.join(problems)}.")
    return images


def _image(spot: _Spot) -> Image:
    unsaved = spot.target.unsaved
    try:
        found = files.read(spot.real, files.LIMIT_KEPT_BYTES) if spot.real else None
    except (FileNotFoundError, NotADirectoryError):
        found = None
    if found is None:
        return Image(raw=None, unsaved=unsaved)
    return Image(raw=found.raw, mode=found.mode, unsaved=unsaved)


def _entry(spot: _Spot, before: Kept) -> Entry:
    path = files.path_of(spot.target.uri)
    is_link = path is not None and os.path.islink(path)
    return Entry(
        uri=spot.target.uri,
        identity=spot.identity,
        path=spot.path,
        stored=spot.stored,
        link=os.readlink(path) if path is not None and is_link else None,
        made_folders=tuple(map(files.uri_of, files.missing_folders(spot.real))) if spot.real else (),
        before=before,
    )


def _checkpoint(turn: _Turn) -> Checkpoint:
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


def _restoration(store: Store, entry: Entry) -> Restoration:
    return Restoration(
        uri=entry.uri,
        before=_stored_image(store, entry.before),
        after=_stored_image(store, entry.after) if entry.after else None,
        made_folders=entry.made_folders,
    )


def _stored_image(store: Store, kept: Kept) -> Image:
    raw = store.read(Blob, ObjectID(kept.blob.encode())).data if kept.blob else None
    unsaved = None
    if kept.unsaved is not None:
        unsaved = unsaved_of(kept.unsaved, store.read(Blob, ObjectID(kept.unsaved.blob.encode())).data)
    return Image(raw=raw, mode=kept.mode, unsaved=unsaved)
