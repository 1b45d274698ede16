"""
Find what commands have left in layers, and copy it to the folders that the layers cover.

A layer is the upper folder of an overlay: files as they were written, folders on the way to them, a device
without a number for each name that was removed. A folder that took the place of another one is marked as
opaque. Nothing in it is trusted: no link is followed, neither there nor at the target. Source:
https://docs.kernel.org/filesystems/overlayfs.html
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from enum import StrEnum
from pathlib import Path

from handrail.values import dataclass

LAYERS = "layers"
NAMES = "folders.txt"  # says what each layer is of, a row for each: its name, a colon, the path
OPAQUE = ("user.overlay.opaque", "trusted.overlay.opaque")
FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
PIECE_BYTES = 1 << 20
LIMIT_DEPTH = 100  # of folders in one another; what lies deeper is left out


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


class LayerAction(StrEnum):
    """The action for one path of a layer, in the words that users see."""

    WRITTEN = "written"
    REMOVED = "removed"
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerChange:
    """A path of a layer, relative to its folder, and the action for it; *why* it was left out."""

    path: str
    action: LayerAction
    why: str = ""


def kept_layers(home: Path) -> tuple[KeptLayer, ...]:
    """All layers of the user whose state is kept in *home*, the latest first; but for unreadable ones."""
    result = []
    for names in sorted((home / LAYERS).glob(f"*/{NAMES}")):
        for row in names.read_text("utf-8", "surrogateescape").split("\n"):
            name, _, folder = row.partition(": ")
            lies_in = names.parent / name
            with suppress(OSError):
                status = lies_in.lstat()
                if folder and stat.S_ISDIR(status.st_mode) and any(changes(lies_in, Path(folder))):
                    made = KeptLayer(
                        id=f"{names.parent.name}/{name}",
                        lies_in=lies_in,
                        folder=Path(folder),
                        changed_at=status.st_mtime,
                    )
                    result.append(made)
    return tuple(sorted(result, key=lambda each: each.changed_at, reverse=True))


def changes(lies_in: Path, target: Path) -> Iterator[LayerChange]:
    """Yields what taking over a layer into *target*, which need not exist, would do. Raises OSError."""
    with ExitStack() as opened:
        handle = opened.enter_context(_of_layer(os.fspath(lies_in), None))
        there = opened.enter_context(_of_target(os.fspath(target), None)) if target.exists() else None
        yield from _Walk(is_dry=True).walk(handle, there, "", 0)


def take_over(lies_in: Path, target: Path) -> Iterator[LayerChange]:
    """
    Write what a layer holds into *target*, path by path; tells of each as `changes` does.

    Raises:
        OSError: The target is not a folder, or cannot be written.
    """
    target.mkdir(parents=True, exist_ok=True)
    with _of_layer(os.fspath(lies_in), None) as handle, _of_target(os.fspath(target), None) as there:
        yield from _Walk(is_dry=False).walk(handle, there, "", 0)


@contextmanager
def _of_target(name: str, folder: int | None) -> Iterator[int]:
    handle = os.open(name, FOLDER, dir_fd=folder)
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def _of_layer(name: str, folder: int | None) -> Iterator[int]:
    """A folder of a layer; the kernel closes some of them to everybody, and commands may close theirs."""
    try:
        handle = os.open(name, FOLDER, dir_fd=folder)
    except PermissionError:
        there = os.open(name, FOLDER | getattr(os, "O_PATH", 0), dir_fd=folder)
        try:
            os.chmod(f"/proc/self/fd/{there}", 0o700)  # this folder, whatever has its name by now
            handle = os.open(f"/proc/self/fd/{there}", FOLDER & ~getattr(os, "O_NOFOLLOW", 0))
        finally:
            os.close(there)
    try:
        yield handle
    finally:
        os.close(handle)


@dataclass(frozen=True, slots=True)
class _Walk:
    """Goes through a layer and its target folder in parallel, and takes the layer over unless it *is_dry*."""

    is_dry: bool

    def walk(self, handle: int, there: int | None, above: str, depth: int) -> Iterator[LayerChange]:
        """An open folder of the layer; *there* is None if the target has no such folder."""
        names = sorted(os.listdir(handle))
        if there is not None and _is_opaque(handle):
            for name in sorted(set(os.listdir(there)).difference(names)):
                yield from self._remove(there, name, above)
        for name in names:
            status, path = os.stat(name, dir_fd=handle, follow_symlinks=False), above + name
            kind = stat.S_IFMT(status.st_mode)
            if kind == stat.S_IFDIR and depth < LIMIT_DEPTH:
                yield from self._folder((handle, there), (name, path), stat.S_IMODE(status.st_mode), depth)
            elif kind == stat.S_IFCHR and status.st_rdev == 0:
                yield from self._remove(there, name, above)
            elif kind in (stat.S_IFREG, stat.S_IFLNK):
                if there is not None and _is_same(handle, there, name):
                    continue
                if there is not None and _is_folder(there, name):
                    yield from self._remove(there, name, above)
                if not self.is_dry and there is not None:
                    _copy_over(handle, there, name, status)
                yield LayerChange(path=path, action=LayerAction.WRITTEN)
            else:
                why = (
                    "it is nested too deeply"
                    if kind == stat.S_IFDIR
                    else "it is a pipe, a socket or a device"
                )
                yield LayerChange(path=path, action=LayerAction.LEFT_OUT, why=why)

    def _remove(self, there: int | None, name: str, above: str) -> Iterator[LayerChange]:
        """Remove what has a name in the target, all of it, if anything has."""
        if there is None or not _is_there(there, name):
            return
        yield LayerChange(path=above + name + "/" * _is_folder(there, name), action=LayerAction.REMOVED)
        if not self.is_dry:
            _remove(there, name, 0)

    def _folder(
        self, folders: tuple[int, int | None], named: tuple[str, str], mode: int, depth: int
    ) -> Iterator[LayerChange]:
        handle, there = folders
        name, path = named
        is_new = there is None or not _is_folder(there, name)
        if is_new:
            yield LayerChange(path=f"{path}/", action=LayerAction.WRITTEN)
        with ExitStack() as opened:
            below, below_there = opened.enter_context(_of_layer(name, handle)), None
            if there is not None and is_new and not self.is_dry:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=there)
                os.mkdir(name, 0o700, dir_fd=there)
            if there is not None and not (is_new and self.is_dry):
                below_there = opened.enter_context(_of_target(name, there))
            yield from self.walk(below, below_there, f"{path}/", depth + 1)
            if below_there is not None and is_new:
                os.fchmod(below_there, (mode | stat.S_IRWXU) & 0o777)


def _is_there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _is_same(handle: int, there: int, name: str) -> bool:
    """Whether what has a name in both open folders is the same already."""
    if not _is_there(there, name):
        return False
    ours, theirs = (os.stat(name, dir_fd=each, follow_symlinks=False) for each in (handle, there))
    if stat.S_IFMT(ours.st_mode) != stat.S_IFMT(theirs.st_mode):
        return False
    if stat.S_ISLNK(ours.st_mode):
        return os.readlink(name, dir_fd=handle) == os.readlink(name, dir_fd=there)
    if (ours.st_size, ours.st_mode & 0o777) != (theirs.st_size, theirs.st_mode & 0o777):
        return False
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with (
        suppress(PermissionError),
        os.fdopen(os.open(name, flags, dir_fd=handle), "rb") as one,
        os.fdopen(os.open(name, flags, dir_fd=there), "rb") as other,
    ):
        while (piece := one.read(PIECE_BYTES)) == other.read(PIECE_BYTES):
            if not piece:
                return True
    return False


def _is_folder(folder: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _is_opaque(handle: int) -> bool:
    if not hasattr(os, "getxattr"):
        return False
    for name in OPAQUE:
        with suppress(OSError):
            if os.getxattr(handle, name) == b"y":
                return True
    return False


def _copy_over(handle: int, there: int, name: str, status: os.stat_result) -> None:
    """Put a file or a link in the place of what has its name."""
    made = f".handrail-{os.urandom(6).hex()}"
    try:
        if stat.S_ISLNK(status.st_mode):
            os.symlink(os.readlink(name, dir_fd=handle), made, dir_fd=there)
        else:
            _copy(handle, there, (name, made))
        os.replace(made, name, src_dir_fd=there, dst_dir_fd=there)
    except BaseException:
        with suppress(OSError):
            os.unlink(made, dir_fd=there)
        raise


def _copy(handle: int, there: int, names: tuple[str, str]) -> None:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(names[0], flags, dir_fd=handle), "rb") as read:
        mode = os.fstat(read.fileno()).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "It is no longer a file", names[0])
        target = os.open(names[1], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=there)
        with os.fdopen(target, "wb") as write:
            shutil.copyfileobj(read, write, PIECE_BYTES)
            os.fchmod(write.fileno(), mode & 0o777)


def _remove(folder: int, name: str, depth: int) -> None:
    """Remove what has a name in an open folder, all of it."""
    if not _is_folder(folder, name):
        os.unlink(name, dir_fd=folder)
        return
    if depth >= LIMIT_DEPTH:
        raise OSError(errno.ELOOP, "Its folders are nested too deeply", name)
    with _of_target(name, folder) as below:
        for each in os.listdir(below):
            _remove(below, each, depth + 1)
    os.rmdir(name, dir_fd=folder)
