"""
Limit what is stored: turns that are too old or take too much space are removed, the oldest first.

A pinned turn, and one that is being written, stays whatever the limits say. A turn with a time in the future
was written with a wrong clock and is not old. Called by the only writer. The space left is estimated from
what was written, and measured from time to time.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from dulwich.objects import Commit, ObjectID, ShaFile, Tree

from handrail.adapters.checkpoints.store import BLOCK_BYTES, NEWEST, Store
from handrail.adapters.checkpoints.turns import REFS, Turn, Turns
from handrail.core.checkpoint import Limits
from handrail.ports import CheckpointError
from handrail.values import dataclass, field

MEASURE_EVERY = 200  # writes; walking a folder of ten thousand objects takes tens of milliseconds
STEP_BYTES = 8 * BLOCK_BYTES  # what a step takes beside its documents: record, trees, commit, folders
LARGE_SHARE = 100  # a hundredth of the limit is large: what may be left out is not worth a checkpoint then
ROOMY = 0.8  # of the limit that is left when it has been hit, so that it is not hit at each write
RAISED = "Raise handrail.checkpoints.maxSize."
RAISED_ELSEWHERE = (
    "`handrail apply` reads no settings: raise the setting checkpoints.maxSize, and use "
    "`handrail run - --model paste` instead."
)
# Those of turns have all been removed by then, except those of the current turn.
OR_PRUNE = (
    " Or remove checkpoints of restores and undos in a terminal, with `handrail checkpoint prune ID`; "
    "`handrail checkpoint list` shows their IDs."
)


def used_bytes(folder: Path) -> int:
    """Returns the bytes that a folder takes on the disk."""
    total = 0
    for at, _, names in os.walk(folder):
        for name in names:
            try:
                status = os.lstat(os.path.join(at, name))
            except FileNotFoundError:
                continue
            total += getattr(status, "st_blocks", 0) * 512 or status.st_size
    return total


def old_turns(turns: Iterable[Turn], limits: Limits, now: datetime) -> list[Turn]:
    """The turns that nothing has been added to for too long."""
    oldest = now - timedelta(days=limits.max_age_days)
    return [
        turn for turn in turns if not turn.pinned and datetime.fromisoformat(turn.steps[-1].time) < oldest
    ]


@dataclass(kw_only=True)
class DiskUsage:
    """The room that folders take together, guessed between two measurements."""

    folders: tuple[Path, ...]
    used: int = 0
    writes: int = field(default=MEASURE_EVERY)

    def use_after(self, need: int) -> int:
        """Returns the bytes that will be in use once *need* more are written."""
        if self.writes >= MEASURE_EVERY:
            self.measure()
        return self.used + need

    def has_room_for(self, objects: Iterable[ShaFile], limits: Limits) -> bool:
        """Whether what need not be kept is small, or fits without anything being removed for it."""
        need = bytes_of(objects)
        return need * LARGE_SHARE < limits.max_bytes or self.use_after(2 * need) < limits.max_bytes

    def take(self, need: int) -> None:
        """Takes note of what is written."""
        self.writes += 1
        self.used += need

    def doubt(self) -> None:
        """Someone else has written; measure before the next write."""
        self.writes = MEASURE_EVERY

    def measure(self) -> int:
        """Looks at the disk."""
        self.used, self.writes = sum(map(used_bytes, self.folders)), 0
        return self.used


def bytes_of(objects: Iterable[ShaFile]) -> int:
    """Returns the most bytes that a step with these documents may take."""
    return STEP_BYTES + sum(BLOCK_BYTES + each.raw_length() for each in objects)


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """
    The number of bytes that are about to be written, for the turn *keep*, which must not be removed for them.
    """

    size_bytes: int = 0
    keep: str = ""


def make_room(turns: Turns, limits: Limits, room: DiskUsage, need: Need) -> list[str]:
    """
    Removes the oldest turns until there is room, and some to spare.

    Args:
        turns: The repository's.
        limits: What is allowed.
        room: Measured again at the end.
        need: The bytes that are about to be written.

    Returns:
        The ids of the turns that are gone. Raises CheckpointError if that is not enough.
    """
    store = turns.store
    wanted = room.measure() + need.size_bytes - int(limits.max_bytes * ROOMY)
    if wanted <= 0:
        return []
    known = sorted(turns.read_all(), key=lambda turn: turn.steps[0].serial)
    sizes = store.sizes()
    names = {turn.name: objects_of(store, turn.commits) for turn in known}
    shared = Counter(name for each in names.values() for name in each)
    gone: list[Turn] = []
    for turn in known:
        if wanted <= 0:
            break
        if turn.pinned or turn.name == need.keep:
            continue
        gone.append(turn)
        shared.subtract(names[turn.name])
        wanted -= sum(sizes.get(name, 0) for name in names[turn.name] if not shared[name])
    turns.remove(gone)
    store.drop({name for turn in gone for name in names[turn.name] if not shared[name]})
    if room.measure() + need.size_bytes > limits.max_bytes:
        store.repack()
        if room.measure() + need.size_bytes > limits.max_bytes:
            raised = RAISED if limits.is_setting else RAISED_ELSEWHERE
            raise CheckpointError(
                f"The checkpoints take up {room.used:,} bytes; {need.size_bytes:,} more are needed, but the "
                f"limit is {limits.max_bytes:,}. {raised}"
                f"{OR_PRUNE if any(turn.pinned for turn in known) else ''}"
            )
    return [turn.name for turn in gone]


def objects_of(store: Store, commits: Sequence[ObjectID]) -> set[ObjectID]:
    """Everything that commits are made of, as far as it can be read."""
    result: set[ObjectID] = set()
    waiting: list[tuple[type[Commit | Tree], ObjectID]] = [(Commit, name) for name in commits]
    while waiting:
        kind, name = waiting.pop()
        if name in result:
            continue
        result.add(name)
        try:
            made = store.read(kind, name)
        except CheckpointError:
            continue
        if isinstance(made, Commit):
            waiting.append((Tree, made.tree))
            waiting += [(Commit, parent) for parent in made.parents]
        else:
            for entry in made.iteritems():
                if entry.mode == 0o040000:
                    waiting.append((Tree, entry.sha))
                else:
                    result.add(entry.sha)
    return result


def reachable(store: Store) -> set[ObjectID]:
    """Everything that any ref leads to."""
    refs = [*(f"{REFS}/{name}" for name in store.names(REFS)), NEWEST]
    return objects_of(store, [head for ref in refs if (head := store.target(ref)) is not None])
