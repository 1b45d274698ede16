"""
The lock under which files are changed: the client's half of "Files on disk" in `docs/protocol.md`.

Waiting takes place between attempts, so messages and Ctrl-C are still handled.
"""

import asyncio
import contextlib
import hashlib
import os
import stat
import sys
import time
import unicodedata
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import platformdirs

from handrail.headless.errors import EditRefusedError

WAIT_S = 2.0
PAUSE_S = 0.005
AS_IT_IS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
FOLDER = os.O_RDONLY | AS_IT_IS | getattr(os, "O_DIRECTORY", 0)


class _NoLockError(Exception):
    """The open file or folder cannot be locked."""


class _MovedError(Exception):
    """The path now names something other than what was locked."""


@contextlib.asynccontextmanager
async def hold(paths: Iterable[Path]) -> AsyncIterator[None]:
    """
    Hold the locks of files until the end of the block.

    Args:
        paths: With the links of their folders resolved. Of a folder that does not exist the nearest one
            above is locked: a file in it can only be new, and is made only if there is none.

    Raises:
        EditRefusedError: A lock cannot be had, or someone else kept one for `WAIT_S`.
    """
    wanted, until = sorted(set(paths)), time.monotonic() + WAIT_S
    while True:
        async with contextlib.AsyncExitStack() as kept:
            try:
                for path in await _lock_folders(wanted, until, kept):
                    await _lock_stand_in(path, until, kept)
                await _lock_documents(wanted, until, kept)
            except _MovedError:
                continue
            yield
            return


async def _lock_folders(paths: list[Path], until: float, kept: contextlib.AsyncExitStack) -> list[Path]:
    """Lock the folders of files, in the order of their numbers; give the files that need a stand-in."""
    without: list[Path] = []
    opened: dict[tuple[int, int], tuple[int, list[Path]]] = {}
    for path in paths:
        try:
            handle = _open_folder(path.parent)
        except PermissionError:
            without.append(path)
            continue
        kept.callback(os.close, handle)
        status = os.fstat(handle)
        opened.setdefault((status.st_dev, status.st_ino), (handle, []))[1].append(path)
    for _, (handle, inside) in sorted(opened.items()):
        try:
            await _lock(handle, inside[0], until)
        except _NoLockError:
            without += inside
    for handle, inside in opened.values():
        for path in inside:
            _check(handle, _nearest(path.parent))
    return without


def _open_folder(folder: Path) -> int:
    while True:
        try:
            return os.open(_nearest(folder), FOLDER)
        except FileNotFoundError:  # it went between looking and opening
            continue
        except PermissionError:
            raise
        except OSError as error:
            raise EditRefusedError(f"{folder} cannot be locked: {error.strerror}") from error


def _nearest(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next(each for each in (folder, *folder.parents) if each.is_dir() or each == each.parent)


async def _lock_documents(paths: list[Path], until: float, kept: contextlib.AsyncExitStack) -> None:
    """Lock the files that have other names too, which may lie in folders that are not locked."""
    opened: dict[tuple[int, int], tuple[int, Path]] = {}
    for path in paths:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode) or status.st_nlink < 2:
                continue
            handle = os.open(path, os.O_RDONLY | AS_IT_IS)
            kept.callback(os.close, handle)
            opened.setdefault((status.st_dev, status.st_ino), (handle, path))
    for _, (handle, path) in sorted(opened.items()):
        with contextlib.suppress(_NoLockError):  # its stand-in is held
            await _lock(handle, path, until)


async def _lock_stand_in(path: Path, until: float, kept: contextlib.AsyncExitStack) -> None:
    folder = _state_folder() / "handrail" / "locks"
    name = folder / hashlib.sha256(os.fsencode(_identity(path))).hexdigest()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(name, os.O_RDWR | os.O_CREAT | AS_IT_IS, 0o600)
        kept.callback(os.close, handle)
        await _lock(handle, path, until)
    except (OSError, _NoLockError) as error:
        raise EditRefusedError(
            f"{path.parent} cannot be locked, and neither can {name} ({error}): "
            "set XDG_STATE_HOME to a writable folder on a local disk"
        ) from error
    _check(handle, name)
    kept.callback(_remove, name)


def _remove(name: Path) -> None:
    with contextlib.suppress(OSError):
        name.unlink()


def _state_folder() -> Path:
    given = os.environ.get("XDG_STATE_HOME", "")
    return Path(given) if os.path.isabs(given) else platformdirs.user_state_path()


def _identity(path: Path) -> str:
    """The path as one string for all of its spellings."""
    real = os.path.normcase(os.path.realpath(path))
    return unicodedata.normalize("NFC", real).casefold() if sys.platform in ("darwin", "win32") else real


async def _lock(handle: int, path: Path, until: float) -> None:
    """Lock what is open, for a change of the file *path*."""
    try:
        while not _attempt(handle):
            if time.monotonic() >= until:
                who = _holder(handle) or "another program"
                raise EditRefusedError(
                    f"{path} cannot be changed now: {who} has kept the folder of this file locked for "
                    f"{WAIT_S:g} seconds"
                )
            await asyncio.sleep(PAUSE_S)
    except OSError as error:
        raise _NoLockError(error.strerror) from error


def _check(handle: int, path: Path) -> None:
    """Make sure that what is locked still is what its path names."""
    try:
        is_there = os.path.samestat(os.fstat(handle), path.lstat())
    except FileNotFoundError:
        is_there = False
    if not is_there:
        raise _MovedError


def _holder(handle: int) -> str:
    """Name the process that holds the lock of what is open, where the system has a list of them."""
    status = os.fstat(handle)
    key = f" {os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino} "
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text(encoding="ascii", errors="replace").splitlines():
            if key in line and " FLOCK " in line and "->" not in line:
                return f"process {line.split()[4]}"
    return ""


if sys.platform == "win32":
    import msvcrt

    def _attempt(handle: int) -> bool:
        os.lseek(handle, 1 << 30, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _attempt(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
