"""
Create and write files and folders that only their owner may use, whatever the umask.

They are on the disk once they have been synced, for which `sync_together` waits once. To create a file can
take as long as to sync it: file systems search for a place. So `prepare` has empty ones created beforehand,
while no one waits.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from queue import SimpleQueue

from handrail.adapters.files.entry import BINARY, NO_FOLLOW

NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY
THREADS = 3  # so many files are brought to the disk at once, beside the first

Tasks = SimpleQueue[Callable[[], None]]


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
def new_files() -> Iterator[list[int]]:
    """A list for open files, which are closed at the end."""
    handles: list[int] = []
    try:
        yield handles
    finally:
        for handle in handles:
            os.close(handle)


@contextmanager
def create(path: Path | str, raw: bytes) -> Iterator[int]:
    """A new file, open and not yet on the disk."""
    with new_files() as handles:
        handles.append(open_new(path, raw))
        yield handles[0]


def open_new(path: Path | str, raw: bytes, *, is_there: bool = False) -> int:
    """
    Opens a new file and writes to it; its content is on its way to the disk.

    Args:
        path: Where it is.
        raw: All of its content.
        is_there: Whether it has been created beforehand, empty.
    """
    handle = os.open(path, os.O_WRONLY | BINARY | NO_FOLLOW if is_there else NEW, 0o600)
    try:
        if stat.S_IMODE(os.fstat(handle).st_mode) != 0o600:
            os.chmod(path, 0o600)
        view = memoryview(raw)
        while view:
            view = view[os.write(handle, view) :]
        _start_writing(handle)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _start_writing(handle: int) -> None:
    """Has the system begin to write a file to the disk: each of several files, before one is waited for."""
    if sys.platform == "linux":
        with suppress(OSError):  # it is only advice: that the content will not be read soon
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)


def is_spare(path: str) -> bool:
    """Whether an empty file can be filled; removes what a writer left that died while it filled it."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        return False
    if status.st_size:
        os.unlink(path)
    return not status.st_size


def prepare(spares: Sequence[str]) -> None:
    """Has empty files created, for which no one waits; those that cannot be are created when needed."""
    done = threading.Event()
    _preparations().append(done)
    _tasks().put(partial(_create_empty, spares, done))


def settle() -> None:
    """Waits for what `prepare` has begun, so that a folder with these files can be removed."""
    for each in tuple(_preparations()):
        each.wait()


@cache
def _preparations() -> deque[threading.Event]:
    return deque()


def _create_empty(spares: Sequence[str], done: threading.Event) -> None:
    try:
        for spare in spares:
            with suppress(OSError), create(spare, b""):
                pass
    finally:
        _preparations().remove(done)
        done.set()


def sync_together(handles: Sequence[int]) -> None:
    """Bring open files to the disk at once: it makes one of syncs that come together."""
    ended = SimpleQueue[OSError | None]()
    for handle in handles[1:]:
        _tasks().put(partial(_sync_and_tell, handle, ended))
    errors = [_sync(handle) for handle in handles[:1]]
    errors += [ended.get() for _ in handles[1:]]
    for error in errors:
        if error is not None:
            raise error


@cache
def _tasks() -> Tasks:
    """
    Returns the queue of what threads do that stay: to start one takes as long as a sync.

    A pool does more for each of its tasks than a sync takes on a fast disk.
    """
    tasks = Tasks()
    for _ in range(THREADS):
        threading.Thread(target=_do_all, args=(tasks,), name="sync", daemon=True).start()
    return tasks


def _do_all(tasks: Tasks) -> None:
    while True:
        tasks.get()()


def _sync_and_tell(handle: int, ended: SimpleQueue[OSError | None]) -> None:
    ended.put(_sync(handle))


def _sync(handle: int) -> OSError | None:
    try:
        os.fsync(handle)
    except OSError as error:
        return error
    return None
