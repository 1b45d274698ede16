"""
Journals of sessions: one file each in the state folder, one JSON object per line, written in order by a
thread.

A line is one write to a file that is only appended to, so a killed program leaves complete lines and at most
one partial line; the next entry then begins on a new line. What a full disk does not take is kept, and
written before the next entry. Code whose effects must not be visible before its entry is written awaits
`wait_until_written` first, so a slow disk delays only that turn.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from handrail.adapters.files import system_lock
from handrail.adapters.files.files import in_thread, uri_of
from handrail.core.conversation import as_json
from handrail.core.conversation.journal import Entry, Renamed, Rewound, TurnBegun, drop_rewound
from handrail.core.conversation.label import label_of
from handrail.core.results.redact import redact
from handrail.ports.sessions import Release, SessionInfo

logger = logging.getLogger(__name__)

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
BEGUN = (
    as_json.line(TurnBegun(turn="", prompt="", mode="")).partition(",")[0].encode()
)  # how such lines begin
RENAMED = as_json.line(Renamed(title="")).partition(",")[0].encode()
REWOUND = as_json.line(Rewound(id="", before="")).partition(",")[0].encode()


class _Stamp(NamedTuple):
    """What a file looks like from outside."""

    file: tuple[int, int]
    size: int
    written_ns: int
    changed_ns: int  # also by new permissions


class _Read(NamedTuple):
    """The entries of a journal, read when it had a stamp."""

    file: Path
    stamp: _Stamp
    entries: tuple[Entry, ...]


class SessionLog:
    """Sessions port on the folder that *folder* says, which may change with the workspace."""

    def __init__(self, folder: Callable[[], Path], secrets: Callable[[], Sequence[str]] = tuple) -> None:
        """None of the *secrets* is written down."""
        self._folder, self._secrets = folder, secrets
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="journals")
        self._last: Future[None] | None = None
        self._sizes: dict[Path, int] = {}  # of the journals, as they were left or found here
        self._latest: _Read | None = None
        self._left: dict[Path, list[bytes]] = {}  # what could not be written yet; the next entry tries again

    @property
    def folder(self) -> str:
        """The path of the folder of the journals."""
        return os.fspath(self._folder())

    def append(self, session: str, entries: Sequence[Entry]) -> None:
        """Have entries written at the end."""
        file = self._file(session)
        if file is not None and entries:
            self._last = self._writer.submit(self._write, session, file, entries)

    async def wait_until_written(self) -> None:
        """Wait for the writer."""
        if self._last is not None:
            await asyncio.shield(asyncio.wrap_future(self._last))

    def _write(self, session: str, file: Path, entries: Sequence[Entry]) -> None:
        raw = "".join(redact(as_json.line(entry), self._secrets()) + "\n" for entry in entries).encode()
        left = [*self._left.pop(file, ()), raw]
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                size = os.lseek(handle, 0, os.SEEK_END)
                torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
                rest = _append(handle, b"".join([b"\n" * torn, *left]))
                left = [rest] if rest else []
                if size <= self._sizes.get(file, 0):  # else someone else has written to it
                    self._sizes[file] = os.lseek(handle, 0, os.SEEK_END)
            finally:
                os.close(handle)
            why = "the disk may be full" if left else ""
        except OSError as error:
            why = str(error)
        if left:
            self._left[file] = left
            logger.warning("Session %s could not be written to its journal: %s", session, why)

    async def load(self, session: str) -> tuple[Entry, ...] | None:
        """All entries."""
        await self.wait_until_written()
        file = self._file(session)
        if file is None:
            return None
        loaded = await in_thread(self._load, file)
        if loaded is None:
            return None
        entries, self._sizes[file] = loaded
        return entries

    async def read(self, session: str, since: int = -1) -> tuple[tuple[Entry, ...], int] | None:
        """All entries and the size of a journal, unless it is as it was, or as it was left here."""
        await self.wait_until_written()
        file = self._file(session)
        if file is None or (since >= 0 and await in_thread(_size, file) in (since, self._sizes.get(file))):
            return None
        return await in_thread(self._load, file)

    def _load(self, file: Path) -> tuple[tuple[Entry, ...], int] | None:
        """A journal that is as when it was read last is not read again: who resumes a session shows it."""
        stamp, latest = _stamp(file), self._latest
        if stamp is None:
            return None
        if latest is None or (latest.file, latest.stamp) != (file, stamp):
            self._latest = latest = _Read(file=file, stamp=stamp, entries=tuple(_entries(file)))
        return latest.entries, stamp.size

    def uri(self, session: str) -> str | None:
        """The URI of a journal."""
        file = self._file(session)
        return None if file is None else uri_of(file)

    async def list(self, limit: int | None = None) -> tuple[SessionInfo, ...]:
        """All sessions, newest first; only the newest *limit* are read, if given."""
        await self.wait_until_written()
        return await in_thread(_list, self._folder(), limit)

    async def remove(self, session: str) -> bool:
        """Remove a journal."""
        await self.wait_until_written()
        file = self._file(session)
        if file is None:
            return True
        self._sizes.pop(file, None)
        self._left.pop(file, None)
        self._latest = None
        return await in_thread(_remove, file)

    async def of_turn(self, turn: str) -> str | None:
        """The session that has begun a turn."""
        await self.wait_until_written()
        return await in_thread(_of_turn, self._folder(), turn)

    async def is_behind(self, session: str) -> bool:
        """Whether a journal has grown since it was left here; one that was removed has not."""
        await self.wait_until_written()
        file = self._file(session)
        return file in self._sizes and await in_thread(_size, file) > self._sizes[file]

    def lacks_entries(self, session: str) -> bool:
        """Whether a full disk, or missing permissions, kept an entry from being written."""
        return self._file(session) in self._left

    def claim(self, session: str) -> Release | None:
        """Lock the journal, as the system does: a process that dies lets go of it."""
        file = self._file(session)
        if file is None:
            return lambda: None
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:  # it cannot be written down either, which is told then
            return lambda: None
        try:
            is_ours = system_lock.take(handle, writes=True)
        except OSError:  # a file system without locks
            is_ours = True
        if is_ours:
            return lambda: os.close(handle)
        os.close(handle)
        return None

    def _file(self, session: str) -> Path | None:
        """The journal of a session; None for an id that is not one of ours, and might lead elsewhere."""
        return self._folder() / f"{session}.jsonl" if ID.fullmatch(session) else None


def _append(handle: int, raw: bytes) -> bytes:
    """
    Writes as much of *raw* as a full disk takes.

    Returns:
        The lines that are not there as a whole. Raises OSError if nothing can be written.
    """
    done = os.write(handle, raw)
    try:
        while done < len(raw):
            done += os.write(handle, raw[done:])
    except OSError:
        if raw[done : done + 1] == b"\n":  # a line without its end is there; the next write ends it
            return raw[done + 1 :]
        return raw[raw.rfind(b"\n", 0, done) + 1 :]
    return b""


def _stamp(file: Path) -> _Stamp | None:
    try:
        status = file.stat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return _Stamp(
        file=(status.st_dev, status.st_ino),
        size=status.st_size,
        written_ns=status.st_mtime_ns,
        changed_ns=status.st_ctime_ns,
    )


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _of_turn(folder: Path, turn: str) -> str | None:
    for file in folder.glob("*.jsonl"):
        for entry in _entries(file, (BEGUN,)):
            if isinstance(entry, TurnBegun) and entry.turn == turn and not entry.is_copied:
                return file.stem
    return None


def _list(folder: Path, limit: int | None) -> tuple[SessionInfo, ...]:
    sessions: list[SessionInfo] = []
    for modified, file in _journals(folder):
        if limit is not None and len(sessions) >= limit:
            break
        entries = list(_entries(file, (BEGUN, RENAMED, REWOUND)))
        if any(isinstance(entry, Rewound) and entry.call for entry in entries):
            entries = list(_entries(file))  # the message with the call tells where the turn was cut
        prompts = [entry.prompt for entry in entries if isinstance(entry, TurnBegun)]
        titles = [entry.title for entry in entries if isinstance(entry, Renamed)]
        if prompts:
            time = datetime.fromtimestamp(modified, UTC).isoformat()
            title = titles[-1] if titles else label_of(prompts[0])
            turns = sum(entry.count for entry in drop_rewound(entries) if isinstance(entry, TurnBegun))
            sessions.append(SessionInfo(id=file.stem, title=title, time=time, turns=turns))
    return tuple(sessions)


def _journals(folder: Path) -> list[tuple[float, Path]]:
    """All journals of a folder and when they were last written to, newest first; none is opened."""
    result = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".jsonl"):
                with suppress(OSError):  # another process has just removed it
                    result.append((entry.stat().st_mtime, Path(entry.path)))
    return sorted(result, reverse=True)


def _remove(file: Path) -> bool:
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        logger.warning("The journal %s cannot be removed: %s", file, error)
        return False
    return True


def _entries(file: Path, beginning: tuple[bytes, ...] = (b"",)) -> Iterator[Entry]:
    """The entries of a file whose lines begin so; one line at a time, since other threads run too."""
    try:
        raw = file.read_bytes()
    except OSError as error:
        logger.warning("The journal %s cannot be read: %s", file, error)
        return
    for line in raw.split(b"\n"):
        entry = as_json.read(line.decode("utf-8", "replace")) if line.startswith(beginning) else None
        if entry is not None:
            yield entry
