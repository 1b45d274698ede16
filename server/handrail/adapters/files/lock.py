"""
The lock under which handrail's processes change files: `docs/protocol.md` has the rule, "Files on disk".

A process that replaces, creates or removes a document's file holds the lock of its real folder, from before
the comparison until after the check of what was written. The lock is the system's own, so it ends with its
holder, and leaves nothing behind. A file with several names is locked too, because its other names may be in
other folders.

If a folder cannot be locked, a separate lock file is used for each document. Other programs are not kept out;
because of them, `disk` compares what it finds.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from handrail.adapters.files.paths import identity_of
from handrail.adapters.files.system_lock import take

WAIT_S = 2.0  # a change takes some hundredths of a second, on a slow disk tenths
PAUSE_S = 0.005
LOCKS = Path("/proc/locks")  # where Linux says who holds which lock
AS_IT_IS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class HeldError(OSError):
    """Someone else held the lock for all of `WAIT_S`; `holder` says who, if that is known."""

    def __init__(self, holder: str) -> None:
        super().__init__(errno.EAGAIN, "The lock is held")
        self.holder = holder


class NoLockError(OSError):
    """There can be no lock, neither of the folder nor of a file that stands in for it."""


@contextmanager
def hold(path: Path, stand_ins: Path | None) -> Iterator[None]:
    """
    Hold the lock of a document or a place; blocks, so call it in a thread.

    Args:
        path: With every link of its folder resolved; the folder exists, the file need not.
        stand_ins: Where a file is made if the folder cannot be locked; None for nowhere.

    Raises:
        HeldError: Someone else held it for `WAIT_S`.
        NoLockError: It cannot be locked, and no file can stand in.
        OSError: The folder does not exist.
    """
    until = time.monotonic() + WAIT_S
    with ExitStack() as kept:
        folder = _folder(path.parent, until)
        if folder is None:
            kept.enter_context(_stand_in(path, stand_ins, until))
        else:
            kept.callback(os.close, folder)
            document = _document(path, until)
            if document is not None:
                kept.callback(os.close, document)
        yield


def _folder(folder: Path, until: float) -> int | None:
    """The open folder, locked; None if it cannot be, as on many network file systems and on Windows."""
    flags = os.O_RDONLY | AS_IT_IS | getattr(os, "O_DIRECTORY", 0)
    while True:
        try:
            handle = os.open(folder, flags)
        except PermissionError:
            return None
        try:
            _wait(handle, until)
            if _is_at(handle, folder):
                return handle
        except NoLockError:
            os.close(handle)
            return None
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # another folder has taken its place, and has a lock of its own


def _document(path: Path, until: float) -> int | None:
    """The open file, locked, if it has other names; None if it has not, or no one here could change it."""
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink < 2:
            return None
        handle = os.open(path, os.O_RDONLY | AS_IT_IS)
    except (FileNotFoundError, PermissionError):
        return None
    try:
        _wait(handle, until)
    except BaseException:
        os.close(handle)
        raise
    return handle


@contextmanager
def _stand_in(path: Path, folder: Path | None, until: float) -> Iterator[None]:
    if folder is None:
        raise NoLockError(errno.ENOLCK, "No lock is available")
    name = folder / hashlib.sha256(os.fsencode(identity_of(path))).hexdigest()
    while True:
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            handle = os.open(name, os.O_RDWR | os.O_CREAT | AS_IT_IS, 0o600)
        except OSError as error:
            raise NoLockError(error.errno, error.strerror) from error
        try:
            _wait(handle, until)
            if _is_at(handle, name):
                try:
                    yield
                finally:
                    with suppress(OSError):  # while we hold it, so whoever waits for it takes another one
                        os.unlink(name)
                return
        finally:
            os.close(handle)


def _wait(handle: int, until: float) -> None:
    """Lock what is open. Raises HeldError when it is *until*, and NoLockError if it cannot be locked."""
    try:
        while not take(handle, writes=True):
            if time.monotonic() >= until:
                raise HeldError(_holder(handle))
            time.sleep(PAUSE_S)
    except HeldError:
        raise
    except OSError as error:
        raise NoLockError(error.errno, error.strerror) from error


def _is_at(handle: int, path: Path) -> bool:
    """Whether what is open still is what its path names."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False


def _holder(handle: int) -> str:
    """Returns the holder of the lock, as far as the system tells: `process 12 (name)`, or empty."""
    status = os.fstat(handle)
    wanted = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    try:
        for line in LOCKS.read_text(encoding="ascii").splitlines():
            _, kind, _, _, process, place, *_ = line.split()
            if (kind, place) == ("FLOCK", wanted) and int(process) > 0:
                return f"process {process}{_name(process)}"
    except (OSError, ValueError):  # no such list, or one that reads otherwise
        pass
    return ""


def _name(process: str) -> str:
    try:
        name = (LOCKS.parent / process / "comm").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""
    return f" ({name})" if name.isprintable() and name else ""
