"""
Files and their bytes: named, read, replaced atomically, created and removed.

A file is what its path leads to, so symbolic links stay links. A replaced file keeps its mode, owner,
extended attributes and hard links, and no temporary file is left behind, whatever goes wrong. Anything that
fails raises OSError. What a file should contain, and what a failure means for a change, is decided in `disk`.
"""

from __future__ import annotations

import asyncio
import contextvars
import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import ParamSpec, TypeVar
from urllib.parse import quote, unquote_to_bytes

from handrail.adapters.files import entry, folders
from handrail.adapters.files.entry import Entry
from handrail.core.documents.text import LIMIT_BYTES
from handrail.values import dataclass

P = ParamSpec("P")
T = TypeVar("T")

FILE_URI = re.compile(r"file:(?://(?P<host>[^/?#]*))?(?P<path>/[^?#]*)", re.IGNORECASE)
TEMPORARY = ".handrail-"  # how names begin of files that are not finished
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)  # FAT, some shares
FEW_BYTES, CHUNK_BYTES = 1 << 12, 1 << 20  # of a file that is read at once
LIMIT_KEPT_BYTES = 2 * LIMIT_BYTES  # what is kept and restored may be larger than what can be edited

Stamp = tuple[int, int, int, int, int]


class NotPlainError(OSError):
    """It is a pipe, a socket or a device."""


class OwnerError(OSError):
    """A new file cannot be given the owner, or the access list, of the one that it is to replace."""


class TooLargeError(OSError):
    """The file has `size` bytes, which is over the limit that was given."""

    def __init__(self, size: int) -> None:
        super().__init__(errno.EFBIG, f"{size:,} bytes are more than the limit")
        self.size = size


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """
    A file at one moment.

    Attributes:
        raw: All of its bytes.
        mode: The permission bits.
        links: How many names it has.
        stamp: Tells this state from any other without reading the file.
    """

    raw: bytes
    mode: int
    links: int
    stamp: Stamp


# ---- Names ------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def path_of(uri: str) -> Path | None:
    """The absolute path that a `file` URI names, nothing resolved; None for any other URI."""
    found = FILE_URI.fullmatch(uri)
    if found is None:
        return None
    try:
        raw = unquote_to_bytes(found["path"].encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return None
    name, host = os.fsdecode(raw), found["host"] or ""
    if "\0" in name:
        return None
    if sys.platform == "win32":
        share = "" if host in ("", "localhost") else f"//{host}"
        return Path(share + re.sub(r"^/([A-Za-z]:)", r"\1", name))
    return Path(name) if host.lower() in ("", "localhost") else None


def uri_of(path: Path | str) -> str:
    """The URI of an absolute path, spelled as VS Code spells it; it can hold any name, UTF-8 or not."""
    name = os.fspath(path)
    if sys.platform == "win32":
        name = name.replace("\\", "/")
        if name.startswith("//"):
            return "file:" + quote(os.fsencode(name), safe="/")
        name = "/" + name[:1].lower() + name[1:]
    return "file://" + quote(os.fsencode(name), safe="/")


def show_name(path: Path) -> str:
    """The file's name for a message, whatever bytes it is made of."""
    return os.fsencode(path.name or path).decode("utf-8", "replace")


# ---- Reading ----------------------------------------------------------------------------------------


def read(path: Path | Entry, limit: int) -> FileState:
    """All bytes of a plain file; raises OSError, NotPlainError, or TooLargeError beyond *limit* bytes."""
    file = _entry(path)
    # Before opening: opening a device may already do something.
    check_plain((os.stat(file.path) if file.folder is None else file.status()).st_mode)
    handle = file.open(os.O_RDONLY)
    try:
        status = os.fstat(handle)
        check_plain(status.st_mode)
        if status.st_size > limit:
            raise TooLargeError(status.st_size)
        parts, size = [], 0
        wanted = min(max(status.st_size + 1, FEW_BYTES), CHUNK_BYTES)  # memory for more takes time to get
        while chunk := os.read(handle, wanted):
            parts.append(chunk)
            size += len(chunk)
            if size > limit:
                raise TooLargeError(max(size, status.st_size))
        after = os.fstat(handle)
    finally:
        os.close(handle)
    return FileState(
        raw=b"".join(parts), mode=stat.S_IMODE(after.st_mode), links=after.st_nlink, stamp=_stamp(status)
    )


def check_plain(mode: int) -> None:
    """Raises IsADirectoryError or NotPlainError unless *mode* is that of a plain file."""
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "It is a folder")
    if not stat.S_ISREG(mode):
        raise NotPlainError(errno.EINVAL, "It is not a regular file")


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _entry(path: Path | Entry) -> Entry:
    return path if isinstance(path, Entry) else Entry(path)


def is_at(path: Path | Entry, state: FileState) -> bool:
    """Whether the file is still in this *state*, untouched since."""
    try:
        return _stamp(_entry(path).status()) == state.stamp
    except FileNotFoundError:
        return False


# ---- Writing ----------------------------------------------------------------------------------------


def replace(path: Path | Entry, raw: bytes, state: FileState, mode: int | None = None) -> bool:
    """
    Give a file new content at once.

    Args:
        path: With every link resolved.
        raw: All of the new content.
        state: The file as it was read.
        mode: New permission bits; None keeps them.

    Returns:
        False, with nothing written, if the file has changed since it was read.
    """
    file, mode = _entry(path), state.mode if mode is None else mode
    if state.links > 1:
        return _overwrite(file, raw, state, mode)
    try:
        with _temporary(file, raw, 0o600, partial(_take_after, file, mode)) as temporary:
            if sys.platform == "win32":
                temporary.set_mode(mode)
            if not is_at(file, state):
                temporary.unlink(missing_ok=True)
                return False
            file.replace(temporary)
    except OwnerError:
        return _overwrite(file, raw, state, mode)
    sync_folder(file)
    return True


def _overwrite(file: Entry, raw: bytes, state: FileState, mode: int) -> bool:
    """Write in place, for a file whose other names or owner would be lost; what fails halfway is undone."""
    handle = file.open(os.O_WRONLY | entry.NO_FOLLOW)
    try:
        if _stamp(os.fstat(handle)) != state.stamp:
            return False
        try:
            fill(handle, raw)
        except OSError:
            os.lseek(handle, 0, os.SEEK_SET)
            fill(handle, state.raw)
            raise
        if mode != state.mode:
            file.set_mode(mode)
    finally:
        os.close(handle)
    return True


def fill(handle: int, raw: bytes) -> None:
    """Make an open file hold *raw* and nothing else, on the disk."""
    _write(handle, raw)
    os.ftruncate(handle, len(raw))
    os.fsync(handle)


def _write(handle: int, raw: bytes) -> None:
    view = memoryview(raw)
    while view:
        view = view[os.write(handle, view) :]


def _take_after(file: Entry, mode: int, ours: int) -> None:
    """Give the open file *ours* the owner, attributes and *mode* of *file*; OwnerError if it cannot be."""
    if sys.platform == "win32":  # what there is of it takes a path
        return
    theirs = file.open(os.O_RDONLY)
    try:
        now, wanted = os.fstat(ours), os.fstat(theirs)
        if (now.st_uid, now.st_gid) != (wanted.st_uid, wanted.st_gid):
            try:
                os.fchown(ours, wanted.st_uid, wanted.st_gid)
            except PermissionError as error:
                raise OwnerError from error
        _copy_attributes(theirs, ours)
        os.fchmod(ours, mode)
    finally:
        os.close(theirs)


def _copy_attributes(theirs: int, ours: int) -> None:
    """
    Give *ours* the attributes of *theirs*, and only these: its folder may give it an access list.

    Raises OwnerError if it would have another access list.
    """
    if sys.platform != "linux":
        return
    try:
        wanted = os.listxattr(theirs)
        names = [*wanted, *set(os.listxattr(ours)).difference(wanted)]
    except OSError:  # the file system has none
        return
    for number, name in enumerate(names):
        try:
            if number < len(wanted):
                os.setxattr(ours, name, os.getxattr(theirs, name))
            else:
                os.removexattr(ours, name)
        except OSError as error:  # a security label may be the system's alone to set
            if name.startswith("system."):
                raise OwnerError from error


def create(path: Path | Entry, raw: bytes, mode: int | None = None) -> None:
    """
    Make a file, unless anything is there: then FileExistsError. Missing folders are created too.

    Args:
        path: With every link resolved.
        raw: All of its content.
        mode: Its permission bits; None for what a new file gets.
    """
    file = _entry(path)
    needed = folders.make_missing(file.path) if file.folder is None else nullcontext()
    with needed, _temporary(file, raw, 0o666) as temporary:
        if mode is not None:
            temporary.set_mode(mode)
        _put(temporary, file, raw)
        temporary.unlink(missing_ok=True)
    sync_folder(file)


def mode_of(uri: str | None) -> int | None:
    """The permission bits of a file; None if there is none."""
    path = path_of(uri) if uri is not None else None
    try:
        return None if path is None else stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return None


def _put(temporary: Entry, file: Entry, raw: bytes) -> None:
    """Give a finished file its name, which must be free."""
    try:
        file.link(temporary)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        mode = stat.S_IMODE(temporary.status().st_mode)
        handle = file.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            fill(handle, raw)
        except BaseException:
            file.unlink()
            raise
        finally:
            os.close(handle)


@contextmanager
def _temporary(
    file: Entry, raw: bytes, mode: int, finish: Callable[[int], None] | None = None
) -> Iterator[Entry]:
    """
    Yields a temporary file next to *file*, complete and synced to the disk; removes it if the block fails.
    *finish* gets it open, with all its content: to write takes some permission bits away.
    """
    temporary = file.sibling(f"{TEMPORARY}{secrets.token_hex(8)}")
    handle = temporary.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        try:
            _write(handle, raw)
            if finish is not None:
                finish(handle)
            os.fsync(handle)
        finally:
            os.close(handle)
        yield temporary
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def remove(path: Path | Entry, state: FileState) -> bool:
    """Remove a file; False, with nothing removed, if it has changed since it was read."""
    file = _entry(path)
    if not is_at(file, state):
        return False
    file.unlink()
    sync_folder(file)
    return True


def sync_folder(folder: Path | str | Entry) -> None:
    """Bring the entries of a folder, or of the one that holds an entry, to the disk, where the system can."""
    if sys.platform == "win32":
        return
    with suppress(OSError):  # some network file systems refuse; the file itself is safe
        folder.sync_folder() if isinstance(folder, Entry) else entry.sync_folder(folder)


# ---- Off the event loop -----------------------------------------------------------------------------


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking work in a thread; who is cancelled waits for its end, so that nothing happens later."""
    loop = asyncio.get_running_loop()  # as `asyncio.to_thread` does it, with less work for the loop
    work = _threads().submit(partial(contextvars.copy_context().run, function, *args, **kwargs))
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        ended = loop.create_future()
        work.add_done_callback(partial(_tell, loop, ended))
        try:
            await ended
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    try:
        return work.result()
    except StopIteration as error:  # no coroutine can raise it
        raise RuntimeError(f"{type(error).__name__} was raised in a thread") from error


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_name_prefix="work")


def _tell(loop: asyncio.AbstractEventLoop, waiting: asyncio.Future[None], _: object) -> None:
    with suppress(RuntimeError):  # the loop has been closed, and no one waits any more
        loop.call_soon_threadsafe(_end, waiting)


def _end(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():  # else who waited has been cancelled, and waits with another one
        waiting.set_result(None)
