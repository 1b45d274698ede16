"""
The shadow repository of one workspace, with blocking calls; `port` calls it in threads.

Documents are read before the lock is taken, so that no one waits for a slow disk; writing holds the lock. A
failed attempt leaves nothing behind.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from dulwich.objects import ObjectID, ShaFile

from handrail.adapters.checkpoints import housekeeping, images
from handrail.adapters.checkpoints.commands import EDITED, NOTES, SAVED, SCRATCH, Commands, note_edited
from handrail.adapters.checkpoints.limits import DiskUsage, Need, bytes_of, make_room, old_turns, used_bytes
from handrail.adapters.checkpoints.packs import Written
from handrail.adapters.checkpoints.record import Step, StepEntries, change, join_steps, joined_in_step, keep
from handrail.adapters.checkpoints.store import Store
from handrail.adapters.checkpoints.turns import Turn, Turns, add_later, checkpoint_of, steps_of, unknown
from handrail.adapters.files import files
from handrail.adapters.files.failure import reason
from handrail.adapters.state import lock
from handrail.adapters.worktrees import borrowed
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
from handrail.values import dataclass, field, replace

logger = logging.getLogger(__name__)

REPOSITORY, LOCK, TREES, TIDYING = "checkpoints.git", "lock", "trees.lock", "tidying.lock"
WAIT_TREES_S = 120.0  # the first snapshot of a large folder that is no git repository reads all of it
MISSHAPEN = (AttributeError, KeyError, TypeError, ValueError)  # what a damaged note may raise
SHOWN, SHOWN_KEPT = "shown", 50  # the folder of texts for an editor to open, and how many stay
LIMITED = (REPOSITORY, SCRATCH, NOTES, SHOWN)  # the folders of a workspace's state that count for the limit


@dataclass(kw_only=True)
class Memory:
    """The cache of a repository that a server keeps from call to call; all of it can be read again."""

    room: DiskUsage
    known: dict[ObjectID, Turn] = field(default_factory=dict)
    written: Written = field(default_factory=Written)
    is_outside_of: images.Roots | None = None  # the folders that it was found not to be in
    is_swept: bool = False
    is_recovered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRepository:
    """
    The repository of one workspace.

    Attributes:
        state, home: The user's state folder, and the workspace's in it.
        roots: The workspace folders.
        main: Where the first of them really is; empty if there is none.
        clock: The time, with its offset.
        limits: How much is kept.
    """

    state: Path
    home: Path
    roots: images.Roots
    main: images.Roots
    clock: Callable[[], datetime]
    limits: Limits
    memory: Memory

    # ---- Documents --------------------------------------------------------------------------------

    def ensure(self, step_id: StepId, targets: Sequence[Target]) -> None:
        """Keeps the pre-images of those targets that the step has not kept yet, and what all will become."""
        with self._open() as store:
            known = Turns(store, self.memory.known).read(step_id.turn).step(step_id)
            growing, reals = StepEntries(known.entries if known else ()), self._reals()
            spots = [
                spot
                for spot in images.resolve_targets(targets, self.roots, reals)
                if not spot.target.is_past
                or images.identity_in(growing.last, spot, self.roots) not in growing.last
            ]
            if not spots and (known or not step_id.pinned):  # a restore's own names a place in a session
                return
            self._refuse_inside(reals)
            blobs: list[ShaFile] = []
            for spot, image in images.images_of(spots):
                before, made = keep(image)
                intended, more = images.keep_intended(spot, image)
                if not self.memory.room.has_room_for(more, self.limits):
                    intended, more = None, []
                blobs += (*made, *more)
                entry = growing.touch(replace(images.entry_of(spot, before), intended=intended))
                growing.put(replace(entry, intended=intended))
            note_edited(self.home, [spot.target.uri for spot in spots])
            with self._locked_turns(store) as turns:
                turn = turns.read(step_id.turn)
                step = turn.step(step_id) or self._new_step(turns, turn, step_id)
                grown = replace(step, entries=tuple(growing.entries))
                self._write(turns, turn, grown, blobs, step_id.restores)

    def record(self, step_id: StepId, targets: Sequence[Target]) -> None:
        """Keeps the post-images of targets whose pre-images the step has."""
        with self._open() as store:
            turn = Turns(store, self.memory.known).read(step_id.turn)
            step = turn.step(step_id)
            growing = StepEntries(step.entries if step else ())
            blobs: list[ShaFile] = []
            names: dict[str, str] = {}
            for spot, image in images.images_of(images.resolve_targets(targets, self.roots, self._reals())):
                if (identity := images.identity_in(growing.last, spot, self.roots)) not in growing.last:
                    raise CheckpointError(f"{spot.path} was changed before a checkpoint was taken.")
                before = growing.entries[growing.last[identity]]
                after, made = images.keep_after(spot, image, before.before)
                blobs += made
                growing.put(replace(before, after=after, intended=None))
                if spot.target.renamed is not None and identity == spot.identity:
                    names[identity] = spot.target.renamed
            if step is not None and (recorded := tuple(growing.entries)) != step.entries:
                with self._locked_turns(store) as turns:
                    self._write(turns, turn, replace(step, entries=recorded), blobs, step_id.restores)
            if names:
                self._rename(store, step_id, names)

    def _rename(self, store: Store, step_id: StepId, names: Mapping[str, str]) -> None:
        """Gives documents of a turn, by identity, the names that they have now."""
        with self._locked_turns(store) as turns:
            for step in turns.read(step_id.turn).steps:
                if (entries := images.rename(step.entries, names, self.roots)) != step.entries:
                    self._write(turns, turns.read(step_id.turn), replace(step, entries=entries), [])

    # ---- Commands ---------------------------------------------------------------------------------

    def begin(self, step_id: StepId) -> None:
        """Gives a step its place among all others."""
        with self._open() as store:
            self._refuse_inside(self._reals())
            with self._locked_turns(store) as turns:
                turn = turns.read(step_id.turn)
                if turn.step(step_id) is None:
                    self._write(turns, turn, self._new_step(turns, turn, step_id), [])

    def before_command(self, step_id: StepId, since: Snapshot | None) -> Snapshot:
        """Keeps all that the folders hold."""
        with self._open() as store:
            self._refuse_inside(self._reals())
            store.make_home(self.state)
            with lock.hold(self.home / TREES, writes=True, wait_s=WAIT_TREES_S):
                return Commands(self.home, self.roots).take_before(step_id, since.id if since else "")

    def after_command(
        self, step_id: StepId, snapshot: Snapshot, activity: EditorActivity, until: Snapshot | None
    ) -> CommandEffects:
        """Finds what a command changed, and keeps it as part of the step."""
        with self._open() as store:
            return self._end_command(store, step_id, (snapshot.id, until.id if until else ""), activity)

    def _end_command(
        self, store: Store, step_id: StepId, names: tuple[str, str], activity: EditorActivity = NOTHING
    ) -> CommandEffects:
        commands = Commands(self.home, self.roots)
        self.memory.room.doubt()
        with lock.hold(self.home / TREES, writes=True, wait_s=WAIT_TREES_S):
            found = commands.find_changes(*names)
            for uris, why in ((activity.saved, SAVED), (activity.edited, EDITED)):
                theirs = images.resolve_targets([Target(uri=uri) for uri in uris], self.roots)
                found = found.drop({spot.identity for spot in theirs}, why)
        if found.entries:
            with self._locked_turns(store) as turns:
                turn = turns.read(step_id.turn)
                step = turn.step(step_id) or self._new_step(turns, turn, step_id)
                beneath, blobs = images.add_unsaved(
                    found.entries, images.resolve_targets(activity.unsaved, self.roots)
                )
                entries = joined_in_step(step.entries, beneath)
                self._write(turns, turn, replace(step, entries=entries), [*found.blobs, *blobs])
        commands.forget(names[0])
        return CommandEffects(
            changes=found.changes,
            checkpoint=step_id.turn if found.entries else None,
            not_covered=found.not_covered,
        )

    def recover(self) -> None:
        """Keeps what commands changed whose server died while they ran; each server asks for it once."""
        memory = self.memory
        if memory.is_recovered or not self.home.exists():
            return
        memory.is_recovered = True
        commands = Commands(self.home, self.roots)
        for name, step_id in commands.left_behind():
            try:
                with self._open() as store:
                    edited = EditorActivity(edited=commands.edited_documents(name))
                    self._end_command(store, step_id, (name, ""), edited)
            except (CheckpointError, *MISSHAPEN) as error:
                logger.warning("The changes that a command made before a crash are unknown: %s", error)
                commands.forget(name)

    # ---- What is kept -----------------------------------------------------------------------------

    def list(self, session: str | None) -> tuple[Checkpoint, ...]:
        """All checkpoints, or those of a session."""
        self.recover()
        with self._open() as store, self._reading():
            found = map(checkpoint_of, Turns(store, self.memory.known).read_some())
            return tuple(each for each in found if session is None or each.session == session)

    def restore_plan(self, name: str, *, following: bool) -> tuple[Restoration, ...]:
        """Returns how to restore a turn, or its steps from one on; if *following*, all later turns too."""
        with self._open() as store, self._reading():
            turns = Turns(store, self.memory.known)
            steps = add_later(turns, steps_of(turns, name)) if following else steps_of(turns, name)
            return images.restorations_of(store, steps)

    def held_documents(self, name: str) -> tuple[KeptDocument, ...]:
        """Returns the earlier contents of all documents that turns have changed since."""
        with self._open() as store, self._reading():
            turns = Turns(store, self.memory.known)
            entries = join_steps(add_later(turns, steps_of(turns, name)))
            return tuple(
                KeptDocument(uri=entry.uri, path=entry.path, image=images.stored_image(store, entry.before))
                for entry in entries
            )

    def write_for_editor(self, name: str, text: str) -> str:
        """Writes a text as a file in the state folder; returns its URI."""
        with self._open() as store:
            store.make_home(self.state)
            folder = self.home / SHOWN
            folder.mkdir(mode=0o700, exist_ok=True)
            path = folder / re.sub(r"[^A-Za-z0-9._-]", "-", name)
            path.unlink(missing_ok=True)
            files.create(path, text.encode("utf-8", "surrogatepass"), 0o600)
            for old in sorted(folder.iterdir(), key=lambda each: each.stat().st_mtime)[:-SHOWN_KEPT]:
                old.unlink(missing_ok=True)
            return files.uri_of(path)

    # ---- Housekeeping -----------------------------------------------------------------------------

    def withdraw(self, name: str) -> bool:
        """Forgets a turn if all that it keeps is as it was."""
        with self._open() as store, self._locked_turns(store) as turns:
            turn = turns.read(name)
            is_empty = not any(map(change, join_steps(turn.steps)))
            turns.remove([turn] if turn.steps and is_empty else [])
            return is_empty

    def prune(self, names: Sequence[str] | None) -> Pruned:
        """Removes turns by their ids, or, if *names* is None, what the limits do not allow."""
        if not self.home.exists():
            if names:
                raise unknown((), names[0])
            return Pruned(removed=(), bytes_used=0)
        with self._open() as store, lock.hold(self.home / LOCK, writes=True):
            turns = Turns(store, self.memory.known)
            known = {turn.name: turn for turn in turns.read_all()}
            for name in names or ():
                if name not in known:
                    raise unknown(tuple(known), name)
            chosen = [known[name] for name in names or ()]
            gone = old_turns(known.values(), self.limits, self.clock()) if names is None else chosen
            turns.remove(gone)
            housekeeping.drop_unnamed(store)
            removed = [turn.name for turn in gone]
            if names is None:
                removed += make_room(turns, self.limits, self.memory.room, Need())
            return Pruned(removed=tuple(removed), bytes_used=self.memory.room.measure())

    def verify(self) -> Soundness:
        """Reads everything from the disk, and has git look at it too."""
        with self._open(Memory(room=self.memory.room)) as store, self._reading():
            checkpoints, problems = housekeeping.problems(store, Turns(store, {}))
            return Soundness(checkpoints=checkpoints, problems=tuple(problems))

    def tidy(self) -> None:
        """Enforces the limits and packs, if there is enough to be packed."""
        with self._open() as store:
            if not housekeeping.is_due(store):
                return
        self.prune(None)
        with self._open() as store, lock.hold(self.home / TIDYING, writes=True, wait_s=0):
            packing = housekeeping.pack(store)
        with self._open() as store, self._locked_turns(store) as turns:
            if packing is not None:
                housekeeping.retire(store, packing)
            housekeeping.repair_newest(store, turns)
            self.memory.room.measure()

    # ---- How --------------------------------------------------------------------------------------

    def _write(
        self, turns: Turns, turn: Turn, step: Step, blobs: Sequence[ShaFile], restores: Sequence[str] = ()
    ) -> None:
        """Writes a step, once there is room for it; *restores* as for `Need`."""
        room = self.memory.room
        if not turn.steps and (known := self._remembered_turns(turns)):
            turns.remove(old_turns(known, self.limits, self.clock(), restores))
        there = turn.blobs
        size_bytes = bytes_of(each for each in blobs if each.id not in there)
        need = Need(size_bytes=size_bytes, keep=step.id.turn, restores=restores)
        if room.use_after(need.size_bytes) > self.limits.max_bytes:
            self._drop_scratch()
            make_room(turns, self.limits, room, need)
        room.take(need.size_bytes)
        turns.write(turn, step, blobs)

    def own_snapshots(self) -> None:
        """Copies what snapshots borrow, unless it takes a large part of the room or a command runs."""
        if not self.home.exists() or any((self.home / NOTES).glob("*.json")):
            return
        with (
            self._open(),
            suppress(CheckpointError),
            lock.hold(self.home / TREES, writes=True, wait_s=0),
        ):
            borrowed.copy_borrowed(self.home / SCRATCH, self.limits.max_bytes // 8)

    def _drop_scratch(self) -> None:
        """Removes the store of snapshots, if it takes a large part of the room and no command needs it."""
        scratch = self.home / SCRATCH
        if used_bytes(scratch) * 4 < self.limits.max_bytes or any((self.home / NOTES).glob("*.json")):
            return
        with suppress(CheckpointError), lock.hold(self.home / TREES, writes=True, wait_s=0):
            shutil.rmtree(scratch, ignore_errors=True)

    def _remembered_turns(self, turns: Turns) -> Sequence[Turn]:
        """The turns, read once in a while: reading all of them takes long, and they grow old slowly."""
        memory = self.memory
        if memory.is_swept:
            return ()
        memory.is_swept = True
        turns.store.sweep()
        return turns.read_all()

    def _new_step(self, turns: Turns, turn: Turn, step_id: StepId) -> Step:
        is_late = bool(turn.steps) and not turns.is_newest(turn)  # a command of it runs on in the background
        serial = turns.next_serial() if is_late or not turn.steps else turn.steps[0].serial
        roots = tuple(map(os.fspath, self.roots))
        return Step(id=step_id, serial=serial, time=self.clock().isoformat(), roots=roots)

    @contextmanager
    def _locked_turns(self, store: Store) -> Iterator[Turns]:
        """As the only writer, in a repository that is there."""
        store.make_home(self.state)
        with lock.hold(self.home / LOCK, writes=True):
            store.make(self.state)
            yield Turns(store, self.memory.known)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """While no one writes; where there is nothing yet, there is nothing to wait for."""
        if not self.home.exists():
            yield
            return
        with lock.hold(self.home / LOCK, writes=False):
            yield

    @contextmanager
    def _open(self, memory: Memory | None = None) -> Iterator[Store]:
        """The repository; what the disk refuses is said as a CheckpointError."""
        store = Store(self.home / REPOSITORY, (memory or self.memory).written)
        try:
            yield store
        except OSError as error:
            words = ". ".join(reason(error))
            raise CheckpointError(f"The checkpoints in {store.folder} cannot be used: {words}") from error
        finally:
            store.close()

    def _reals(self) -> images.Roots:
        """Where the folders really are."""
        return self.main + images.real_roots(self.roots[1:])

    def _refuse_inside(self, reals: images.Roots) -> None:
        if self.memory.is_outside_of != reals:
            images.refuse_inside(self.home / REPOSITORY, self.roots, reals)
            self.memory.is_outside_of = reals
