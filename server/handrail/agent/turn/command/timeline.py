"""
Takes snapshots while commands run in the background, to attribute each change to one command.

Every other command, edit and restore goes through `Checkpoints` here, which ends a segment and begins another
where needed; `core/ledger/segments` decides which command a segment belongs to. Without background commands,
all calls are passed on unchanged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from handrail.agent.turn.command.editor_activity import editor_activity_since
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
from handrail.core.ledger.segments import Runner, Segments, next_number
from handrail.ports import CheckpointError, Document, Ports
from handrail.ports import Checkpoints as CheckpointsPort
from handrail.values import dataclass, field, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """
    A background command, as the owner of changes.

    Attributes:
        step: The latest step of its turn.
        is_over: Whether its turn has ended.
        call: The call that started it.
        keep: Called with its changes.
        set_lost: Called with the reason if its changes cannot be determined.
    """

    id: str
    step: Callable[[], StepId]
    is_over: Callable[[], bool]
    call: str
    keep: Callable[[CommandEffects, frozenset[str]], None]
    set_lost: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Base:
    """The beginning of a segment: the snapshot, and the state of the editor."""

    snapshot: Snapshot
    step: StepId
    began: Sequence[Document]
    typed: Sequence[str]


@dataclass(kw_only=True)
class Timeline:
    """The segments of one server; `beneath` stores the changes in them."""

    beneath: CheckpointsPort | None = None
    _segments: Segments = field(default_factory=Segments)
    _owners: dict[str, Owner] = field(default_factory=dict)
    _changed: set[str] = field(default_factory=set)
    _base: _Base | None = None
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    def wrap(self, ports: Ports) -> Ports:
        """Returns *ports* with checkpoints that know about background commands."""
        self.beneath = ports.checkpoints
        return replace(ports, checkpoints=Checkpoints(beneath=ports.checkpoints, timeline=self, ports=ports))

    @property
    def running(self) -> tuple[str, ...]:
        """Returns the ids of the background commands."""
        return tuple(each.id for each in self._segments.running)

    def touch(self, targets: Sequence[Target]) -> None:
        """Notes that edits are about to change these documents."""
        self._segments = self._segments.touch(each.uri for each in targets)

    async def begin(self, owner: Owner, ports: Ports, stop: asyncio.Event) -> Snapshot:
        """Takes the snapshot before a background command. Raises CheckpointError."""
        async with self._one_at_a_time:
            step = owner.step()
            await self._kept.begin(step)  # later turns come after it, whenever its changes are known
            try:
                snapshot = await self._kept.before_command(step, stop, self._last)
            except CheckpointError:
                await self._withdraw(step.turn)
                raise
            await self._close(ports, snapshot)
            self._owners[owner.id] = owner
            self._segments = self._segments.start(Runner(id=owner.id, number=step.number))
            if self._segments.owner is None:  # the snapshot is not needed yet
                await self._kept.after_command(step, snapshot, until=snapshot)
            else:
                await self._open(ports, snapshot, step)
            return snapshot

    async def end(self, owner: str, ports: Ports) -> None:
        """Called when a background command has ended: stores its changes."""
        async with self._one_at_a_time:
            if owner not in self._owners:
                return
            left = self._segments.end(owner)
            now = self._segments.owner
            if now is not None and now.id == owner:
                later = await self._next(ports, left)
                await self._close(ports, later and later[0])
                self._segments = left
                if later is not None:
                    await self._open(ports, *later)
            self._segments = self._segments.end(owner)
            turn = self._owners.pop(owner).step().turn
            if owner not in self._changed:  # a change that it made and then reverted is still history
                await self._withdraw(turn)
            self._changed.discard(owner)

    async def begin_other(self, ports: Ports, step: StepId, stop: asyncio.Event | None) -> Snapshot:
        """Takes the snapshot before another command. Raises CheckpointError."""
        async with self._one_at_a_time:
            snapshot = await self._kept.before_command(step, stop, self._last)
            await self._close(ports, snapshot)
            self._segments = self._segments.other_began()
            return snapshot

    async def end_other(
        self, ports: Ports, step: StepId, snapshot: Snapshot, done: EditorActivity
    ) -> CommandEffects:
        """Finds what another command has changed. Raises CheckpointError."""
        async with self._one_at_a_time:
            self._segments = left = self._segments.end_other()
            later = await self._next(ports, left, snapshot)
            try:
                return await self._kept.after_command(step, snapshot, done, later[0] if later else None)
            finally:
                if later is not None:
                    await self._open(ports, *later)

    async def _withdraw(self, turn: str) -> None:
        """Forgets the step of a command that has changed nothing."""
        with suppress(CheckpointError):
            await self._kept.withdraw(turn)

    @property
    def _kept(self) -> CheckpointsPort:
        assert self.beneath is not None
        return self.beneath

    @property
    def _last(self) -> Snapshot | None:
        return self._base.snapshot if self._base is not None else None

    async def _next(
        self, ports: Ports, coming: Segments, since: Snapshot | None = None
    ) -> tuple[Snapshot, StepId] | None:
        """Returns the snapshot and the step with which the next segment begins; None if there is none."""
        if coming.owner is None:
            return None
        owner = self._owners[coming.owner.id]
        now = owner.step()
        number = next_number(coming.owner.number, now.number, is_over=owner.is_over())
        step = replace(now, number=number, call=now.call if number == now.number else owner.call)
        try:
            return await self._kept.before_command(step, None, since or self._last), step
        except CheckpointError as error:
            owner.set_lost(str(error))
            return None

    async def _open(self, ports: Ports, snapshot: Snapshot, step: StepId) -> None:
        """Begins a segment."""
        opened = await ports.editor.open_documents()
        typed = [each.uri for each in opened if each.unsaved]
        self._base = _Base(snapshot=snapshot, step=step, began=opened, typed=typed)
        if self._segments.owner is not None:
            self._segments = self._segments.keep_under(self._segments.owner.id, step.number)

    async def _close(self, ports: Ports, until: Snapshot | None) -> None:
        """Stores what has changed in the segment, if there is one."""
        base, self._base = self._base, None
        if base is None or self._segments.owner is None:
            return
        owner, edited = self._owners[self._segments.owner.id], self._segments.touched
        try:
            done = await editor_activity_since(base.typed, base.began, ports)
            done = replace(done, edited=sorted(edited))
            effects = await self._kept.after_command(base.step, base.snapshot, done, until)
        except CheckpointError as error:
            owner.set_lost(str(error))
        else:
            if effects.changes:
                self._changed.add(owner.id)
            owner.keep(effects, edited)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    """A Checkpoints port that is aware of background commands."""

    beneath: CheckpointsPort
    timeline: Timeline
    ports: Ports

    async def ensure(self, step: StepId, targets: Sequence[Target]) -> str:
        """Stores pre-images, see the port; these changes are not the background command's."""
        self.timeline.touch(targets)
        return await self.beneath.ensure(step, targets)

    async def begin(self, step: StepId) -> None:
        """Gives a step its place, see the port."""
        await self.beneath.begin(step)

    async def record(self, step: StepId, targets: Sequence[Target]) -> None:
        """Stores post-images, see the port."""
        await self.beneath.record(step, targets)

    async def before_command(
        self, step: StepId, stop: asyncio.Event | None = None, since: Snapshot | None = None
    ) -> Snapshot:
        """Takes a snapshot, see the port."""
        return await self.timeline.begin_other(self.ports, step, stop)

    async def after_command(
        self,
        step: StepId,
        snapshot: Snapshot,
        activity: EditorActivity = NOTHING,
        until: Snapshot | None = None,
    ) -> CommandEffects:
        """Finds what a command changed, see the port."""
        return await self.timeline.end_other(self.ports, step, snapshot, activity)

    async def withdraw(self, checkpoint: str) -> bool:
        """Forgets a checkpoint, see the port."""
        return await self.beneath.withdraw(checkpoint)

    async def list(self, session: str | None = None) -> tuple[Checkpoint, ...]:
        """Returns all checkpoints, see the port."""
        return await self.beneath.list(session)

    def set_limits(self, limits: Limits) -> None:
        """Sets the limits, see the port."""
        self.beneath.set_limits(limits)

    async def tidy(self) -> None:
        """Enforces the limits, see the port."""
        await self.beneath.tidy()

    async def prune(self, checkpoints: Sequence[str] | None) -> Pruned:
        """Removes checkpoints, see the port."""
        return await self.beneath.prune(checkpoints)

    async def verify(self) -> Soundness:
        """Reports damage, see the port."""
        return await self.beneath.verify()

    async def restore_plan(self, checkpoint: str, *, following: bool = False) -> tuple[Restoration, ...]:
        """Plans a restore, see the port."""
        return await self.beneath.restore_plan(checkpoint, following=following)

    async def kept_documents(self, checkpoint: str) -> tuple[KeptDocument, ...]:
        """Returns earlier contents, see the port."""
        return await self.beneath.kept_documents(checkpoint)

    async def write_for_editor(self, name: str, text: str) -> str:
        """Writes a text where an editor can open it, see the port."""
        return await self.beneath.write_for_editor(name, text)
