"""
Check that the objects which a scratch store borrows from the user's repository are there and can be read.

Each object is looked for once. After that, only those are looked for again whose folder has changed: deleting
a file changes the times of its folder. What damages a file in its place is not noticed again. Where the
folders that matter are not all known, as with a repository that borrows objects itself, every object is
looked for each time.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import zlib
from collections.abc import Collection, Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path

from handrail.adapters.worktrees.git import Git

PACKS = "pack"
FOLDERS = frozenset({PACKS, *(f"{number:02x}" for number in range(256))})
RACE_NS = 2 * 10**9  # a folder that has just changed may change again without another time
FEW = 10_000  # objects whose beginning is looked at; git soon packs that many
READ_BYTES = 32_000_000  # takes less than half a second

Times = Mapping[
    str, Sequence[int]
]  # by the name of a folder: its device, number and times of change; empty for none


def are_there(git: Git, blobs: Collection[bytes]) -> bool:
    """
    Returns whether all *blobs* of a store that borrows can be had. Raises CheckpointError.

    The caller asks about all that the store needs, each time.
    """
    note = git.folder / "present.json"
    now_ns = time.time_ns()
    times, known = _times(_lender(git)), _read_times(note)
    sure = {name for name, each in times.items() if known.get(name) == each}
    doubtful = [each.decode("ascii") for each in _doubtful_blobs(sure, blobs)]
    stores, are_few = _stores(git), len(doubtful) <= FEW
    loose = {
        each for each in doubtful if (path := _loose(stores, each)) and (not are_few or _is_deflated(path))
    }
    if not _has_all(git, [each for each in doubtful if each not in loose]):
        return False
    racing = {each[:2] for each in loose if not times.get(each[:2])}
    racing |= {name for name, each in times.items() if each and max(each[2:]) > now_ns - RACE_NS}
    settled = {name: each for name, each in times.items() if name not in racing}
    if settled != known:
        note.write_text(json.dumps(settled), encoding="ascii")
    return True


def _doubtful_blobs(sure: Set[str], blobs: Collection[bytes]) -> Collection[bytes]:
    """Returns those of *blobs* that may have gone with a folder that is not *sure* to be as it was."""
    prefixes = {each.encode("ascii") for each in sure}
    return [each for each in blobs if each[:2] not in prefixes] if PACKS in sure else blobs


def are_readable(git: Git, blobs: Collection[bytes], names: Sequence[bytes]) -> bool:
    """
    Returns whether *blobs* are sound, if they are few: then all are read, once. Raises CheckpointError.

    Args:
        git: The store that borrows.
        blobs: All that it needs.
        names: The files of its work tree, whose sizes tell how much there is to read.
    """
    read = git.folder / "read"
    if read.exists():
        return True
    if not _is_little(git.work_tree, names):
        read.touch()
        return True
    stores = _stores(git)
    wanted = [each.decode("ascii") for each in blobs]
    loose = {blob: path for blob in wanted if (path := _loose(stores, blob))}
    packed = [blob for blob in wanted if blob not in loose]
    if not all(_is_sound(path, blob) for blob, path in loose.items()):
        return False
    if packed and len(git.blobs(packed)) < len(packed):
        return False
    read.touch()
    return True


def _lender(git: Git) -> str:
    return os.fsdecode((git.folder / "objects" / "info" / "alternates").read_bytes()).removesuffix("\n")


def _stores(git: Git) -> Sequence[str]:
    return _lender(git), os.fspath(git.folder / "objects")


def _times(store: str) -> Times:
    """Returns what the folders of an object store look like now; nothing if others belong to it too."""
    times: dict[str, Sequence[int]] = {name: [] for name in FOLDERS}
    try:
        if os.path.lexists(os.path.join(store, "info", "alternates")):
            return {}
        for name in FOLDERS & set(os.listdir(store)):
            status = os.stat(os.path.join(store, name))
            times[name] = [status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns]
    except OSError:
        return {}
    return times


def _read_times(note: Path) -> Times:
    try:
        known = json.loads(note.read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    return known if isinstance(known, dict) else {}


def _loose(stores: Sequence[str], blob: str) -> str:
    """Returns the path of an object that is a file of its own; empty if none is, or only an empty one."""
    for store in stores:
        path = f"{store}/{blob[:2]}/{blob[2:]}"
        with suppress(OSError):
            if os.stat(path).st_size:  # a crash may leave an empty one
                return path
    return ""


def _is_deflated(path: str) -> bool:
    """Whether a loose object can be read, and begins as one: a crash may leave it full of zeros."""
    try:
        with open(path, "rb") as file:
            head = file.read(2)
    except OSError:
        return False
    return len(head) == 2 and head[0] & 15 == zlib.DEFLATED and int.from_bytes(head, "big") % 31 == 0


def _has_all(git: Git, blobs: Sequence[str]) -> bool:
    """Whether git finds all of these objects, in whatever store."""
    if not blobs:
        return True
    given = "".join(f"{blob}\n" for blob in blobs).encode("ascii")
    said = git.run("cat-file", "--buffer", "--batch-check=%(objecttype)", given=given)
    return said == b"blob\n" * len(blobs)


def _is_little(top: Path, names: Sequence[bytes]) -> bool:
    """Whether files have at most as many bytes in all as are read at once."""
    left, folder = READ_BYTES, os.fsencode(top)
    for name in names:
        try:
            left -= os.lstat(b"%b/%b" % (folder, name)).st_size
        except OSError:  # deleted
            continue
        if left < 0:
            return False
    return True


def _is_sound(path: str, blob: str) -> bool:
    """Whether a loose object is what its name says."""
    try:
        raw = zlib.decompress(Path(path).read_bytes())
    except (OSError, zlib.error):
        return False
    return hashlib.sha1(raw).hexdigest() == blob
