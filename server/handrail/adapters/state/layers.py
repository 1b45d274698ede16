"""
What commands have left in layers: found by workspace, and taken over into the folders that they lie over.

A layer is the upper folder of an overlay: files as they were written, folders on the way to them, a device
without a number for each name that was removed. A folder that took the place of another one is marked as
opaque. Nothing in it is trusted: no link is followed, neither there nor where it is taken over to.
Source: https://docs.kernel.org/filesystems/overlayfs.html
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

LAYERS = "layers"
NAMES = "folders.txt"  # says what each layer is of, a row for each: its name, a colon, the path
OPAQUE = ("user.overlay.opaque", "trusted.overlay.opaque")
FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptLayer:
    """
    A layer in which something was written.

    Attributes:
        id: Names it, for people.
        lies_in: The folder that holds what was written.
        folder: The folder that it lay over.
        changed_at: When something was last written to it at its top, as `os.stat` has times.
    """

    id: str
    lies_in: Path
    folder: Path
    changed_at: float


class Did(StrEnum):
    """What became of one path of a layer, in the words in which people are told."""

    WRITTEN = "written"
    REMOVED = "removed"
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A path of a layer, relative to its folder, and what became of it; *why* it was left out."""

    path: str
    did: Did
    why: str = ""


def kept_layers(home: Path) -> tuple[KeptLayer, ...]:
    """The layers of a workspace, whose state is kept in *home*; the latest first."""
    found = []
    for names in sorted((home / LAYERS).glob(f"*/{NAMES}")):
        for row in names.read_text("utf-8", "surrogateescape").splitlines():
            name, _, folder = row.partition(": ")
            lies_in = names.parent / name
            with suppress(OSError):
                status = lies_in.lstat()
                if folder and stat.S_ISDIR(status.st_mode) and any(changes(lies_in)):
                    made = KeptLayer(
                        id=f"{names.parent.name}/{name}",
                        lies_in=lies_in,
                        folder=Path(folder),
                        changed_at=status.st_mtime,
                    )
                    found.append(made)
    return tuple(sorted(found, key=lambda each: each.changed_at, reverse=True))


def changes(lies_in: Path) -> Iterator[Taken]:
    """What taking a layer over would do. Raises OSError."""
    with _opened(os.fspath(lies_in), None) as handle:
        yield from _walk(handle, None, "")


def take_over(lies_in: Path, target: Path) -> Iterator[Taken]:
    """
    Write what a layer holds into *target*, path by path.

    Raises:
        OSError: The target is no folder, or cannot be written.
    """
    target.mkdir(parents=True, exist_ok=True)
    with _opened(os.fspath(lies_in), None) as handle, _opened(os.fspath(target), None) as there:
        yield from _walk(handle, there, "")


@contextmanager
def _opened(name: str, folder: int | None) -> Iterator[int]:
    """A folder; the kernel closes some of a layer's to everybody, and commands may close theirs."""
    try:
        handle = os.open(name, FOLDER, dir_fd=folder)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=folder)
        handle = os.open(name, FOLDER, dir_fd=folder)
    try:
        yield handle
    finally:
        os.close(handle)


def _walk(handle: int, there: int | None, above: str) -> Iterator[Taken]:
    """Go through an open folder of a layer; with the folder *there* that it is taken over to, do so."""
    names = sorted(os.listdir(handle))
    if there is not None and _is_opaque(handle):
        for name in set(os.listdir(there)).difference(names):
            _remove(there, name)
            yield Taken(path=above + name, did=Did.REMOVED)
    for name in names:
        status, path = os.stat(name, dir_fd=handle, follow_symlinks=False), above + name
        kind = stat.S_IFMT(status.st_mode)
        if kind == stat.S_IFDIR:
            yield from _walk_folder(handle, there, (name, path), stat.S_IMODE(status.st_mode))
        elif kind == stat.S_IFCHR and status.st_rdev == 0:
            if there is not None:
                _remove(there, name)
            yield Taken(path=path, did=Did.REMOVED)
        elif kind in (stat.S_IFREG, stat.S_IFLNK):
            if there is not None:
                _place(handle, there, name, status)
            yield Taken(path=path, did=Did.WRITTEN)
        else:
            yield Taken(path=path, did=Did.LEFT_OUT, why="it is a pipe, a socket or a device")


def _walk_folder(handle: int, there: int | None, named: tuple[str, str], mode: int) -> Iterator[Taken]:
    name, path = named
    if there is None:
        with _opened(name, handle) as below:
            yield from _walk(below, None, f"{path}/")
        return
    with suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.stat(name, dir_fd=there, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=there)
    is_new = False
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=there)
        is_new = True
    with _opened(name, handle) as below, _opened(name, there) as below_there:
        yield from _walk(below, below_there, f"{path}/")
        if is_new:
            os.fchmod(below_there, mode | stat.S_IRWXU)
            yield Taken(path=f"{path}/", did=Did.WRITTEN)


def _is_opaque(handle: int) -> bool:
    if not hasattr(os, "getxattr"):
        return False
    for name in OPAQUE:
        with suppress(OSError):
            if os.getxattr(handle, name) == b"y":
                return True
    return False


def _place(handle: int, there: int, name: str, status: os.stat_result) -> None:
    """Put a file or a link in the place of what has its name."""
    made = f".handrail-{os.urandom(6).hex()}"
    try:
        if stat.S_ISLNK(status.st_mode):
            os.symlink(os.readlink(name, dir_fd=handle), made, dir_fd=there)
        else:
            _copy(handle, there, (name, made), stat.S_IMODE(status.st_mode))
        with suppress(FileNotFoundError):
            if stat.S_ISDIR(os.stat(name, dir_fd=there, follow_symlinks=False).st_mode):
                _remove(there, name)
        os.replace(made, name, src_dir_fd=there, dst_dir_fd=there)
    except BaseException:
        with suppress(OSError):
            os.unlink(made, dir_fd=there)
        raise


def _copy(handle: int, there: int, names: tuple[str, str], mode: int) -> None:
    source = os.open(names[0], os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0), dir_fd=handle)
    with os.fdopen(source, "rb") as read:
        target = os.open(names[1], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=there)
        with os.fdopen(target, "wb") as write:
            shutil.copyfileobj(read, write, PIECE_BYTES)
            os.fchmod(write.fileno(), mode)


def _remove(folder: int, name: str) -> None:
    """Remove what has a name in an open folder, all of it; nothing may be there."""
    with suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=folder)
            return
        with _opened(name, folder) as below:
            for each in os.listdir(below):
                _remove(below, each)
        os.rmdir(name, dir_fd=folder)
