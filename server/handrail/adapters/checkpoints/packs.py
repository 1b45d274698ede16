"""
The packs of a repository of our own: which exist, what they contain, which are joined.

Our own packs are small and without deltas, so they are read here; those of git are read by dulwich. Damaged
packs are skipped, and neither joined nor removed.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import closing, suppress
from functools import lru_cache
from operator import sub
from pathlib import Path

from dulwich.object_format import SHA1
from dulwich.objects import ObjectID, RawObjectID
from dulwich.pack import Pack

from handrail.adapters.checkpoints import pack
from handrail.adapters.checkpoints.pack import DAMAGE, Entry, Held
from handrail.values import dataclass, field

logger = logging.getLogger(__name__)

SMALL_BYTES = 64_000  # of a pack that is made one with others: written again in no time
SEVERAL = 6  # small packs: each has to be looked into for what is read
LARGE_BYTES = 64_000_000  # of a pack that is left to git
READ_BYTES = 1_000_000  # of a pack whose index is read as a whole
MANY_PACKS = 40  # to open them all takes longer than to write one
PACK_SUFFIXES = (".idx", ".bitmap", ".rev", ".mtimes", ".pack")  # git may have added some
# What git has made, at the user's command, to find things faster: it may name packs and commits that go.
CACHES = (
    "pack/multi-pack-index",
    "pack/multi-pack-index.d",
    "info/commit-graph",
    "info/commit-graphs",
)


def remove_caches(objects: Path) -> None:
    """
    Removes what git keeps about all the objects in a folder; without it, git looks at them itself.

    What cannot be removed stays: only git uses it, and `verify` tells.
    """
    for cache in CACHES:
        path = os.path.join(objects, cache)
        if os.path.lexists(path):
            try:
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
                for bitmap in objects.glob(f"{cache}-*"):
                    bitmap.unlink(missing_ok=True)
            except OSError as error:
                logger.warning(
                    "%s may list objects that are removed now, but it could not be removed itself: %s",
                    path,
                    error,
                )


@dataclass(slots=True)
class Written:
    """
    What a server remembers of its packs from one opening of the repository to the next.

    Attributes:
        held: The contents of the last small ones that it wrote, by path, newest last.
        left: How many there are to join, as far as it knows: those that it left when it looked, and those
            that it has written since. At first it must look.
    """

    held: dict[str, Held] = field(default_factory=dict)
    left: int = SEVERAL


class Packs:
    """The packs in *folder*, which need not be there."""

    def __init__(self, folder: Path | str, written: Written | None = None) -> None:
        """
        Opens nothing yet.

        Args:
            folder: Where the packs are.
            written: Keeps what is remembered; None to forget it.
        """
        self._folder = os.fspath(folder)
        self._written = Written() if written is None else written
        self._extents: list[tuple[Path, Mapping[ObjectID, tuple[int, int]]]] = []
        self._unread: Iterator[tuple[Path, int]] | None = None

    def list_all(self) -> list[tuple[Path, int]]:
        """The packs, the newest first, and how many bytes each has."""
        whole = sorted(self._statuses(), key=lambda each: each[1].st_mtime_ns, reverse=True)
        return [(Path(path), status.st_size) for path, status in whole]

    def _statuses(self) -> list[tuple[str, os.stat_result]]:
        """The packs of which both files are there, in any order."""
        try:
            with os.scandir(self._folder) as there:
                found = {each.name: each for each in there}
        except FileNotFoundError:
            return []
        return [
            (each.path, each.stat())
            for name, each in found.items()
            if name.endswith(".pack") and name.removesuffix(".pack") + ".idx" in found
        ]

    def files_of(self, entries: Iterable[Entry]) -> dict[str, bytes]:
        """The files of a pack of *entries*, by path, the index last: with it the pack is there."""
        self._forget()
        made = pack.make_pack(entries)
        base = os.path.join(self._folder, made.name)
        self._written.left += 1
        if len(made.pack) <= SMALL_BYTES:
            self._written.held[base + ".pack"] = made.held
        for old in list(self._written.held)[:-SEVERAL]:
            del self._written.held[old]
        return {base + ".pack": made.pack, base + ".idx": made.index}

    def packs_to_join(self, size: int, gone: Set[ObjectID]) -> dict[str, list[Entry]]:
        """
        Returns the entries of packs, by path, that are joined with what is written now.

        These are small packs that hold something of *gone*, all small ones once they are several, or half
        of too many. To write the others again and to remove them would take longer than to write what is new.

        Args:
            size: The bytes of what is written.
            gone: The objects to leave out, since no one needs them.
        """
        if not gone and self._written.left < SEVERAL:
            return {}
        there = self._names()
        packs = (name for name in there if name.endswith(".pack"))
        whole = [name for name in packs if f"{name.removesuffix('.pack')}.idx" in there]
        self._written.left = len(whole)
        if not gone and len(whole) < SEVERAL:
            return {}
        sizes = sorted(self._sizes_of(whole))
        too_many = len(sizes) > MANY_PACKS
        limit = LARGE_BYTES if too_many else max(SMALL_BYTES, 2 * size)
        small = [path for held, path in sizes if held <= limit]
        takes_all = too_many or len(small) >= SEVERAL
        result: dict[str, list[Entry]] = {}
        for path in small[: MANY_PACKS // 2] if takes_all or gone else ():
            with suppress(OSError, ValueError):  # damaged, or made by git: it stays as it is
                known = self._written.held.get(path)
                held = known.entries if known else pack.read(Path(path))
                left = [entry for entry in held if entry.name not in gone]
                if takes_all or len(left) < len(held):
                    result[path] = left
        self._written.left = len(small) - len(result)
        return result

    def _names(self) -> Set[str]:
        """The names of all files that are there."""
        try:
            return frozenset(os.listdir(self._folder))
        except FileNotFoundError:
            return frozenset()

    def _sizes_of(self, names: Iterable[str]) -> Iterator[tuple[int, str]]:
        """Yields the size of each pack that can be read, and its path."""
        for name in names:
            with suppress(OSError):
                path = f"{self._folder}{os.sep}{name}"
                yield _size_of(path), path

    def packs_without(self, names: Set[ObjectID]) -> Iterator[tuple[Path, list[Entry]]]:
        """The packs that hold some of *names*, and what else is in each; not the large ones, nor git's."""
        for path, size in self.list_all():
            with suppress(OSError, ValueError):
                if size <= LARGE_BYTES and not names.isdisjoint(pack.list_objects(path).names):
                    yield path, [entry for entry in pack.read(path) if entry.name not in names]

    def retire(self, made: Path, before: Iterable[Path], needed: Set[ObjectID]) -> Set[ObjectID]:
        """Removes those of the packs *before* whose *needed* objects are all in *made*; returns its ids."""
        held = frozenset(pack.list_objects(made).names)
        for path in before:
            with suppress(OSError, ValueError):  # damaged: it stays for who wants to look into it
                if path != made and not needed & set(pack.list_objects(path).names) - held:
                    self.remove(os.fspath(path))
        return held

    def remove(self, path: str) -> None:
        """Removes a pack; first what says that it is there."""
        self._forget()
        self._written.held.pop(path, None)
        remove_caches(Path(self._folder).parent)
        base = path.removesuffix(".pack")
        for suffix in PACK_SUFFIXES:
            with suppress(FileNotFoundError):
                os.unlink(base + suffix)

    def sizes(self) -> dict[ObjectID, int]:
        """All objects in packs, and what each takes."""
        result: dict[ObjectID, int] = {}
        for path, _ in self.list_all():
            with suppress(OSError, ValueError):
                there = pack.list_objects(path)
                result |= zip(there.names, map(sub, there.ends, there.starts), strict=True)
        return result

    def find(self, name: ObjectID) -> tuple[int, bytes] | None:
        """The kind and content of an object in one of our packs; None if it is elsewhere."""
        for known, held in reversed(tuple(self._written.held.items())):  # where it is need not be looked up
            if name in held.extents:
                with suppress(OSError, ValueError):
                    return pack.content(known, name, *held.extents[name])
        for path, extents in self._read_extents():
            if name in extents:
                with suppress(OSError, ValueError):
                    return pack.content(path, name, *extents[name])
        return None

    def _read_extents(self) -> Iterator[tuple[Path, Mapping[ObjectID, tuple[int, int]]]]:
        """Yields the extents of each pack; a pack is read only if those before it were not enough."""
        yield from self._extents
        if self._unread is None:
            self._unread = iter(self.list_all())
        for path, size in self._unread:
            if size <= READ_BYTES:
                try:
                    self._extents.append((path, pack.list_objects(path).extents))
                except (OSError, ValueError):
                    continue
                yield self._extents[-1]

    def _forget(self) -> None:
        self._extents, self._unread = [], None

    def search(self, name: ObjectID) -> tuple[int, bytes] | None:
        """The same in any pack, each for itself, for when one of them is damaged."""
        wanted = RawObjectID(bytes.fromhex(name.decode("ascii")))
        for path, _ in self.list_all():
            with (
                suppress(*DAMAGE),
                closing(Pack(os.fspath(path.with_suffix("")), object_format=SHA1)) as read,
                suppress(*DAMAGE),  # before it is closed: an error on its way still looks into it
            ):
                return pack.genuine(name, *read.get_raw(wanted))
        return None


@lru_cache(maxsize=4 * MANY_PACKS)
def _size_of(path: str) -> int:
    """The size of a pack: its name is made from its content. Raises OSError."""
    return os.stat(path).st_size
