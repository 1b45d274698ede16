"""
Limit what is stored: turns that are too old or take too much space are removed, the oldest first.

A pinned turn, and one that is being written or restored, stays whatever the limits say. A turn with a time in
the future was written with a wrong clock and is not old. Called by the only writer. The space left is
estimated from what was written, and measured from time to time.
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
RAISED = "Raise handrail.checkpoints.maxSize, which is in megabytes."
RAISED_ELSEWHERE = (
    "`handrail apply` always has this limit, as it reads no settings. Use `handrail run - --model paste` "
    "instead, and raise the setting checkpoints.maxSize, which is in megabytes."
)
# Those of turns have all been removed by then, except those of the current turn.
OR_PRUNE = (
    " Or, in a terminal, remove checkpoints of restores and undos with `handrail checkpoint prune ID`; "
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


def old_turns(
    turns: Iterable[Turn], limits: Limits, now: datetime, restores: Sequence[str] = ()
) -> list[Turn]:
    """The turns that nothing has been added to for too long, without those that a restore reads."""
    oldest = now - timedelta(days=limits.max_age_days)
    free, _ = _removable(turns, restores)
    return [turn for turn in free if datetime.fromisoformat(turn.steps[-1].time) < oldest]


def _removable(turns: Iterable[Turn], restores: Sequence[str]) -> tuple[list[Turn], list[Turn]]:
    """The turns that may go, the oldest first; and those that may go once *restores* are restored."""
    known = sorted(turns, key=lambda turn: turn.steps[0].serial)
    read = next((number for number, turn in enumerate(known) if turn.name in restores), len(known))
    free, kept = ([turn for turn in some if not turn.pinned] for some in (known[:read], known[read:]))
    return free, kept


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
    The bytes that are about to be written, and the turns that must stay.

    Attributes:
        size_bytes: How much; 0 if only the limit is to be kept.
        keep: The turn that it belongs to, which must not be removed for it.
        restores: The turns that a restore reads while this is written. They and all later ones stay: if the
            restore ends half-way, the rest of their texts is nowhere else.
    """

    size_bytes: int = 0
    keep: str = ""
    restores: Sequence[str] = ()


class _Shares:
    """How much removing turns would free."""

    def __init__(self, turns: Turns) -> None:
        self.known = turns.read_all()
        self.names = {turn.name: objects_of(turns.store, turn.commits) for turn in self.known}
        self._sizes = turns.store.sizes()

    def removable(self, need: Need) -> tuple[list[Turn], list[Turn]]:
        """The turns that may go, the oldest first; and those that may go once it is restored."""
        return _removable((turn for turn in self.known if turn.name != need.keep), need.restores)

    def choose(self, turns: Sequence[Turn], wanted: int) -> tuple[list[Turn], set[ObjectID], int]:
        """The first of *turns* that free *wanted* bytes together, what only they hold, and its bytes."""
        shared = Counter(name for each in self.names.values() for name in each)
        gone: list[Turn] = []
        freed = 0
        for turn in turns:
            if freed >= wanted:
                break
            gone.append(turn)
            shared.subtract(self.names[turn.name])
            freed += sum(self._sizes.get(name, 0) for name in self.names[turn.name] if not shared[name])
        only = {name for turn in gone for name in self.names[turn.name] if not shared[name]}
        return gone, only, freed


def make_room(turns: Turns, limits: Limits, room: DiskUsage, need: Need) -> list[str]:
    """
    Removes the oldest turns until there is room, and some to spare; nothing if even that is not enough.

    Args:
        turns: The repository's.
        limits: What is allowed. A restore may exceed it until the next step, if a turn that it reads would
            have to go otherwise.
        room: Measured again at the end.
        need: The bytes that are about to be written, and the turns that must stay.

    Returns:
        The ids of the turns that are gone. Raises CheckpointError if there is not enough room.
    """
    if room.measure() + need.size_bytes <= limits.max_bytes:
        return []
    shares = _Shares(turns)
    if not _is_enough(shares, limits, room, need):
        turns.store.repack()
        room.measure()
        shares = _Shares(turns)
        if not _is_enough(shares, limits, room, need):
            raise _full(limits, room, need, shares.known)
    wanted = room.used + need.size_bytes - int(limits.max_bytes * ROOMY)
    removable, read = shares.removable(need)
    gone, only, _ = shares.choose(removable, wanted)
    turns.remove(gone)
    turns.store.drop(only)
    if room.measure() + need.size_bytes > limits.max_bytes and not read:
        turns.store.repack()
        if room.measure() + need.size_bytes > limits.max_bytes:
            raise _full(limits, room, need, shares.known)
    return [turn.name for turn in gone]


def _is_enough(shares: _Shares, limits: Limits, room: DiskUsage, need: Need) -> bool:
    """Whether it would fit if everything went that may go; if nothing is to be written, all that may goes."""
    must = room.used + need.size_bytes - limits.max_bytes
    free = [turn for part in shares.removable(need) for turn in part]
    *_, freed = shares.choose(free, must)
    return need.size_bytes == 0 or freed + len(free) * STEP_BYTES >= must


def _full(limits: Limits, room: DiskUsage, need: Need, known: Iterable[Turn]) -> CheckpointError:
    raised = RAISED if limits.is_setting else RAISED_ELSEWHERE
    needed = f"; {_megabytes(need.size_bytes)} more are needed" if need.size_bytes else ""
    return CheckpointError(
        f"The checkpoints take up {_megabytes(room.used)}{needed}, but the limit is "
        f"{_megabytes(limits.max_bytes)}. {raised}{OR_PRUNE if any(turn.pinned for turn in known) else ''}"
    )


def _megabytes(size_bytes: int) -> str:
    """A size in the unit of the setting, rounded up, so that what exceeds a limit is shown to."""
    return f"{-(-size_bytes // 100_000) / 10:,.1f}".removesuffix(".0") + " MB"


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
