"""
Read files' contents in git's index and HEAD from git's own files, without starting git.

Unsupported repositories (a split index, another hash) count as if nothing was recorded. Nothing is read again
while neither the index nor HEAD has changed.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dulwich.index import ConflictedIndexEntry, Index
from dulwich.object_store import tree_lookup_path
from dulwich.objects import Blob, Commit, ObjectID
from dulwich.repo import Repo

from handrail.adapters.files.files import in_thread, path_of
from handrail.adapters.git import layout
from handrail.adapters.git.layout import UNREADABLE
from handrail.adapters.git.uncommitted import find_uncommitted
from handrail.ports.review import Uncommitted

LIMIT_BYTES = 200_000_000  # of an index; a larger one would hold others up
UNREAD = (
    "handrail cannot read git's files in {top}: {why}. Staging or committing there does not mark "
    "changes as kept, so keep them yourself."
)
NOT_PLAIN = "the index may be split or sparse, the repository may not use SHA-1, or a file may be damaged"
Blobs = tuple[str, str]

logger = logging.getLogger(__name__)


class GitRecords:
    """The Records port."""

    def __init__(self) -> None:
        self.unreadable: Callable[[str], None] = logger.warning
        self._unread: dict[Path, str] = {}  # work trees, and why; the user is told of each once
        self._told: set[Path] = set()
        self._stamps: dict[Path, tuple[object, ...]] = {}
        self._tops: dict[Path, Path] = {}  # the work trees of folders

    async def recorded_ids(self, uris: Sequence[str], *, again: bool = False) -> Mapping[str, Blobs]:
        """Returns the ids of the contents of files in the index and in HEAD."""
        ids = await in_thread(self._recorded_ids, uris, again)
        for top, why in list(self._unread.items()):  # threads add to it
            if top not in self._told:
                self._told.add(top)
                self.unreadable(UNREAD.format(top=top, why=why))
        return ids

    async def uncommitted_files(self, folders: Sequence[str]) -> Uncommitted:
        """The tracked files below folders that differ on the disk from the last commit, with its ids."""
        return await in_thread(self._uncommitted_files, folders)

    async def content(self, uri: str, blob: str) -> bytes | None:
        """The bytes of a file that git holds."""
        path = path_of(uri)
        return None if path is None else await in_thread(_content, path, blob)

    def is_recorded(self, raw: bytes, blob: str) -> bool:
        """Whether git would hold *raw* under the id *blob*, without any conversion."""
        return Blob.from_string(raw).id.decode("ascii") == blob

    def _recorded_ids(self, uris: Sequence[str], again: bool) -> Mapping[str, Blobs]:
        result = dict[str, Blobs]()
        by_top = dict[Path, list[tuple[str, Path]]]()
        for uri in uris:
            path = path_of(uri)
            top = self._top(path.parent) if path is not None else None
            if path is not None and top is not None:
                by_top.setdefault(top, []).append((uri, path))
        for top, files in by_top.items():
            try:
                result |= self._ids_in(top, files, again)
            except UNREADABLE as error:
                if self._unread.setdefault(top, NOT_PLAIN) is NOT_PLAIN and top not in self._told:
                    logger.warning("Git's index or HEAD in %s cannot be read: %r", top, error)
        return result

    def _uncommitted_files(self, folders: Sequence[str]) -> Uncommitted:
        result, unread = dict[str, str](), dict[str, None]()
        for folder in filter(None, map(path_of, folders)):
            if (top := self._top(folder)) is None:
                continue
            try:
                files = {} if (why := layout.obstacle(top)) else find_uncommitted(top, folder)
            except UNREADABLE as error:
                files, why = {}, repr(error)
            if why:
                logger.warning("The uncommitted changes in %s cannot be read: %s", top, why)
                unread[os.fspath(top)] = None
            result |= {path.as_uri(): blob for path, blob in files.items()}
        return Uncommitted(files=result, unread=tuple(unread))

    def _top(self, folder: Path) -> Path | None:
        if folder not in self._tops and (found := _top(folder)) is not None:
            self._tops[folder] = found
        return self._tops.get(folder)

    def _ids_in(self, top: Path, files: Sequence[tuple[str, Path]], again: bool) -> Mapping[str, Blobs]:
        if why := layout.obstacle(top):
            self._unread.setdefault(top, why)
            return {}
        with Repo(os.fspath(top)) as repository:
            index = Path(repository.index_path())
            stamp = (_stamp(index), _head(repository))
            if not again:  # else whoever asks for what has changed would not be told of it
                if stamp == self._stamps.get(top):
                    return {}
                self._stamps[top] = stamp
            names = {uri: _name(top, path) for uri, path in files}
            staged = _staged_ids(index, set(names.values()))
            return {
                uri: (staged.get(name, ""), _committed_id(repository, name)) for uri, name in names.items()
            }


def _top(folder: Path) -> Path | None:
    """The work tree that a folder lies in."""
    real = Path(os.path.realpath(folder))
    return next((each for each in (real, *real.parents) if os.path.lexists(each / ".git")), None)


def _name(top: Path, path: Path) -> bytes:
    """A file as git names it in a work tree."""
    return os.fsencode(Path(os.path.realpath(path.parent), path.name).relative_to(top).as_posix())


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0, 0
    return status.st_ino, status.st_size, status.st_mtime_ns


def _head(repository: Repo) -> bytes:
    try:
        return bytes(repository.head())
    except KeyError:  # no commit yet
        return b""


def _staged_ids(index: Path, names: set[bytes]) -> Mapping[bytes, str]:
    if not index.exists() or index.stat().st_size > LIMIT_BYTES:
        return {}
    entries = Index(os.fspath(index))
    found = ((name, entries[name]) for name in names if name in entries)
    return {
        name: entry.sha.decode("ascii")
        for name, entry in found
        if not isinstance(entry, ConflictedIndexEntry)
    }


def _committed_id(repository: Repo, name: bytes) -> str:
    head = _head(repository)
    commit = repository[ObjectID(head)] if head else None
    if not isinstance(commit, Commit):
        return ""
    try:
        _, sha = tree_lookup_path(repository.__getitem__, commit.tree, name)
    except UNREADABLE:
        return ""
    return sha.decode("ascii")


def _content(path: Path, blob: str) -> bytes | None:
    top = _top(path.parent)
    try:
        if top is None:
            return None
        with Repo(os.fspath(top)) as repository:
            found = repository[ObjectID(blob.encode("ascii"))]
            return found.data if isinstance(found, Blob) else None
    except UNREADABLE:
        return None
