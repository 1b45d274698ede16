"""
A name in a folder that is held open, so that no one can replace the folder.

A path is checked first and used later; in the meantime, a folder in it may be replaced by a link that leads
out of the workspace. So the folders of a path are opened one by one, none of them through a link, and files
are then read, created, replaced and removed relative to the innermost. On systems without such calls
(Windows), the whole path is used.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from handrail.values import dataclass

BINARY = getattr(os, "O_BINARY", 0)  # Windows would translate line ends
NO_BLOCK = getattr(os, "O_NONBLOCK", 0) | BINARY  # a pipe must not hold us up
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
SEARCH = (
    0x40100000 if sys.platform == "darwin" else os.O_RDONLY
)  # there O_SEARCH, which Python has no name for
# A folder may be passed through that must not be listed.
FOLDER = getattr(os, "O_PATH", SEARCH) | getattr(os, "O_DIRECTORY", 0) | NO_FOLLOW
CAN_HOLD = {os.open, os.mkdir, os.stat, os.unlink, os.link, os.rename} <= os.supports_dir_fd

STRAY = re.compile(r"\.handrail-(?:[0-9a-f]{16}|[a-z0-9_]{8})")  # files that were not finished
YOUNG_S = 60.0  # a write takes hundredths of a second
_swept: set[Path] = set()


@dataclass(frozen=True, slots=True)
class Entry:
    """
    A path, reached through the open folder that holds it.

    Attributes:
        folder: The open folder that holds it; None to go by the whole path, links included.
    """

    path: Path
    folder: int | None = None

    @property
    def name(self) -> Path | str:
        """Its name for the system, relative to `folder`."""
        return self.path if self.folder is None else self.path.name

    def sibling(self, name: str) -> Entry:
        """Another name in the same folder."""
        return Entry(self.path.with_name(name), self.folder)

    def open(self, flags: int, mode: int = 0o777) -> int:
        """A handle; a link is followed only if the whole path is used. Raises OSError."""
        follows = 0 if self.folder is None else NO_FOLLOW
        return os.open(self.name, flags | NO_BLOCK | follows, mode, dir_fd=self.folder)

    def status(self) -> os.stat_result:
        """Returns the status of the entry, without following a link. Raises OSError."""
        return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)

    def set_mode(self, mode: int) -> None:
        """Set the permission bits of the file. Raises OSError."""
        if self.folder is None:
            os.chmod(self.path, mode)
            return
        handle = self.open(os.O_RDONLY)
        try:
            os.fchmod(handle, mode)
        finally:
            os.close(handle)

    def link(self, other: Entry) -> None:
        """Give the file *other* this name, too. Raises OSError."""
        os.link(other.name, self.name, src_dir_fd=other.folder, dst_dir_fd=self.folder)

    def replace(self, other: Entry) -> None:
        """Give *other* this name, and take it from whatever has it. Raises OSError."""
        os.replace(other.name, self.name, src_dir_fd=other.folder, dst_dir_fd=self.folder)

    def unlink(self, *, missing_ok: bool = False) -> None:
        """Remove it; if *missing_ok*, it may be gone already. Raises OSError."""
        try:
            os.unlink(self.name, dir_fd=self.folder)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def sync_folder(self) -> None:
        """Bring the folder's entries to the disk. Raises OSError."""
        sync_folder("." if self.folder is not None else self.path.parent, self.folder)


def sync_folder(name: Path | str, within: int | None = None) -> None:
    """Bring the entries of a folder, by its name in the open folder *within*, to the disk. Raises OSError."""
    handle = os.open(name, os.O_RDONLY, dir_fd=within)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def hold(path: Path) -> Iterator[Entry]:
    """
    Hold the folder of *path* open, every link of which must have been resolved.

    Raises OSError if a folder of it is not there, or is a link by now.
    """
    handle = _open(path.parent, make=False) if CAN_HOLD else None
    try:
        yield Entry(path, handle)
    finally:
        if handle is not None:
            os.close(handle)


def make_folders(folder: Path) -> None:
    """Make a folder and those above it, none of them through a link. Raises OSError."""
    if CAN_HOLD:
        os.close(_open(folder, make=True))
    else:
        os.makedirs(folder, exist_ok=True)


def sweep(file: Entry) -> None:
    """
    Remove temporary files that a killed writer has left next to *file*. The caller holds the folder's lock.

    A folder is looked through once. Young files stay: where folders cannot be locked, someone may be
    writing them.
    """
    folder = file.path.parent
    if folder in _swept:
        return
    _swept.add(folder)
    with suppress(OSError):
        for name in filter(STRAY.fullmatch, os.listdir(folder)):
            stray = file.sibling(name)
            with suppress(OSError):
                status = stray.status()
                is_old = time.time() - status.st_mtime > YOUNG_S
                if is_old and not stat.S_ISDIR(status.st_mode):
                    stray.unlink()


def _open(folder: Path, *, make: bool) -> int:
    handle = os.open(folder.anchor, FOLDER)
    try:
        for name in folder.parts[1:]:
            handle = _enter(handle, name, make=make)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _enter(handle: int, name: str, *, make: bool) -> int:
    """The folder *name* in the open folder *handle*, which is closed."""
    try:
        inner = os.open(name, FOLDER, dir_fd=handle)
    except FileNotFoundError:
        if not make:
            raise
        with suppress(FileExistsError):  # someone else was quicker
            os.mkdir(name, dir_fd=handle)
        inner = os.open(name, FOLDER, dir_fd=handle)
    os.close(handle)
    return inner
