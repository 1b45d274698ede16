"""
Create and write files and folders that only their owner may use, whatever the umask.

They are on the disk once they have been synced, for which `sync_together` waits once.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from queue import SimpleQueue

from handrail.adapters.files.entry import BINARY, NO_FOLLOW

SYNCS = 3  # files that are brought to the disk at once, beside the first

Handles = SimpleQueue["tuple[int, SimpleQueue[OSError | None]]"]


def make_folders(base: Path, folder: Path) -> None:
    """Makes *folder* and what is missing between it and *base*; all of them are ours alone."""
    folders = [folder]
    while folders[-1].parent != base:
        folders.append(folders[-1].parent)
    for each in reversed(folders):
        try:
            status = os.stat(each)
        except FileNotFoundError:
            with suppress(FileExistsError):  # another server was quicker
                os.mkdir(each, 0o700)
            status = os.stat(each)
        if not stat.S_ISDIR(status.st_mode):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(each))
        if stat.S_IMODE(status.st_mode) != 0o700:
            os.chmod(each, 0o700)


def replace(written: str, path: str, base: Path) -> None:
    """Gives a file its name, in a folder that need not be there: git removes those that are empty."""
    try:
        os.replace(written, path)
    except FileNotFoundError:
        make_folders(base, Path(path).parent)
        os.replace(written, path)


def overwrite(path: str, raw: bytes) -> bool:
    """
    Has a file hold *raw* by one write, without a new file; False if it is not as long, or has other names.
    """
    try:
        handle = os.open(path, os.O_WRONLY | BINARY | NO_FOLLOW)
    except OSError:
        return False
    try:
        status = os.fstat(handle)
        if status.st_size != len(raw) or status.st_nlink != 1 or not stat.S_ISREG(status.st_mode):
            return False
        return os.write(handle, raw) == len(raw)
    finally:
        os.close(handle)


def write(path: Path, raw: bytes) -> None:
    """A new file, on the disk."""
    with create(path, raw) as handle:
        os.fsync(handle)


@contextmanager
def create(path: Path | str, raw: bytes) -> Iterator[int]:
    """A new file, open and not yet on the disk."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o600)
    try:
        if stat.S_IMODE(os.fstat(handle).st_mode) != 0o600:
            os.chmod(path, 0o600)
        view = memoryview(raw)
        while view:
            view = view[os.write(handle, view) :]
        yield handle
    finally:
        os.close(handle)


def sync_together(handles: Sequence[int]) -> None:
    """Bring open files to the disk at once: it makes one of syncs that come together."""
    ended = SimpleQueue[OSError | None]()
    for handle in handles[1:]:
        _handles_to_sync().put((handle, ended))
    errors = [_sync(handle) for handle in handles[:1]]
    errors += [ended.get() for _ in handles[1:]]
    for error in errors:
        if error is not None:
            raise error


@cache
def _handles_to_sync() -> Handles:
    """
    Returns the queue of files to sync, read by threads that stay: to start one takes as long as a sync.

    A pool does more for each of its tasks than a sync takes on a fast disk.
    """
    handles = Handles()
    for _ in range(SYNCS):
        threading.Thread(target=_sync_all, args=(handles,), name="sync", daemon=True).start()
    return handles


def _sync_all(handles: Handles) -> None:
    while True:
        handle, ended = handles.get()
        ended.put(_sync(handle))


def _sync(handle: int) -> OSError | None:
    try:
        os.fsync(handle)
    except OSError as error:
        return error
    return None
