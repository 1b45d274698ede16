"""
Find the files that differ from git's last commit, from git's own files and the disk, without starting git.

A repository may name programs that git runs when it examines files, so git is not started. A file with the
size and times of its index entry counts as unchanged, as it does for git. Untracked files, links and
submodules are skipped. Line endings are not converted here, so a file that was found may have the same lines
as the commit.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from dulwich.index import ConflictedIndexEntry, Index, IndexEntry
from dulwich.object_store import iter_tree_contents
from dulwich.objects import Blob, Commit, ObjectID
from dulwich.repo import Repo

LIMIT_FILES = 500
LIMIT_BYTES = 10_000_000  # a larger file is taken for changed; no difference of it is shown anyway
Blobs = Mapping[bytes, bytes]
Entry = IndexEntry | ConflictedIndexEntry


def find_uncommitted(top: Path, folder: Path) -> dict[Path, str]:
    """
    The files below *folder* that may differ from the last commit of the work tree *top*, by their paths.

    Returns:
        The ids of what the commit holds of them; empty ids for new files. At most `LIMIT_FILES`.
        Raises what reading git's files raises; `layout.obstacle` must have found none.
    """
    with Repo(os.fspath(top)) as repository:
        committed, index = _committed_ids(repository), Path(repository.index_path())
        entries: Mapping[bytes, Entry] = dict(Index(os.fspath(index)).items()) if index.exists() else {}
        written_ns = index.stat().st_mtime_ns if entries else 0
        within = _prefix(top, folder)
        result = dict[Path, str]()
        for name in sorted({*entries, *committed}):
            if not name.startswith(within) or len(result) == LIMIT_FILES:
                continue
            path, entry = top / os.fsdecode(name), entries.get(name)
            if _differs(path, entry, committed.get(name, b""), written_ns):
                result[path] = committed.get(name, b"").decode("ascii")
        return result


def _prefix(top: Path, folder: Path) -> bytes:
    """Returns the prefix of the names of all files below *folder*."""
    below = Path(os.path.realpath(folder)).relative_to(os.path.realpath(top)).as_posix()
    return b"" if below == "." else os.fsencode(below) + b"/"


def _committed_ids(repository: Repo) -> Blobs:
    """The ids of the plain files of the last commit."""
    try:
        commit = repository[repository.head()]
    except KeyError:  # no commit yet
        return {}
    return dict(_files(repository, commit)) if isinstance(commit, Commit) else {}


def _files(repository: Repo, commit: Commit) -> Iterator[tuple[bytes, bytes]]:
    for entry in iter_tree_contents(repository.object_store, ObjectID(commit.tree)):
        if entry.path is not None and entry.sha is not None and stat.S_ISREG(entry.mode or 0):
            yield entry.path, entry.sha


def _differs(path: Path, entry: Entry | None, committed: bytes, written_ns: int) -> bool:
    """Whether a file may not be what the commit holds of it; *written_ns* is when the index was written."""
    if not isinstance(entry, IndexEntry):  # it is removed from the index, or in conflict
        return True
    if not stat.S_ISREG(entry.mode) or entry.skip_worktree:
        return False
    try:
        status = path.lstat()
    except OSError:
        return bool(committed)
    if not stat.S_ISREG(status.st_mode):
        return False
    if _is_fresh(status, entry, written_ns):
        return entry.sha != committed
    return status.st_size > LIMIT_BYTES or _blob(path) != committed


def _blob(path: Path) -> bytes:
    try:
        return Blob.from_string(path.read_bytes()).id
    except OSError:
        return b""


def _is_fresh(status: os.stat_result, entry: IndexEntry, written_ns: int) -> bool:
    """Whether the index knows the file as it is; one written at the same moment may have changed since."""
    return status.st_size == entry.size and status.st_mtime_ns == _ns(entry.mtime) < written_ns


def _ns(time: int | float | tuple[int, int]) -> int:
    if isinstance(time, tuple):
        return time[0] * 1_000_000_000 + time[1]
    return int(time * 1_000_000_000)
