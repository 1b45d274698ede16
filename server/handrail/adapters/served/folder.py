"""
Served documents on the disk: in `.handrail` of the workspace if that is ours, otherwise in the state folder.

Only one server at a time writes in a workspace, guarded by a lock in the state folder; others have folders of
their own. Leftovers of an earlier server are removed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from handrail.adapters.files import system_lock
from handrail.adapters.files.failure import in_words
from handrail.adapters.files.files import path_of, uri_of
from handrail.adapters.served.ownership import NAME, Foreign, own_folder, read, write
from handrail.adapters.state.home import workspace_folder
from handrail.ports.errors import ServedError
from handrail.ports.served import Written
from handrail.values import dataclass, field

LOCK, FOLDER, NOTE = "served.lock", "served", "served-{}.json"
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}")
LIMIT_BYTES = 50_000_000

logger = logging.getLogger(__name__)


@dataclass(kw_only=True)
class ServedFolder:
    """
    ServedDocuments port.

    Attributes:
        state: Where programs keep their state.
        roots: The workspace folders; the first is the one.
    """

    state: Path
    roots: Callable[[], Sequence[Path]]
    _in_workspace: bool = True
    _locks: dict[Path, int] = field(default_factory=dict)
    _noted: set[str] = field(default_factory=set)
    _written: set[Path] = field(default_factory=set)
    _is_closed: bool = False
    _tidied: set[Path] = field(default_factory=set)
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    def use_workspace(self, wanted: bool) -> None:
        """From now on they are in the workspace folder, or not."""
        self._in_workspace = wanted

    async def write(self, name: str, text: str) -> Written:
        """Write a document."""
        if not PLAIN.fullmatch(name):
            raise ServedError(f"{name!r} cannot be the name of a document.")
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._write, name, text)

    async def holds(self, uri: str, text: str) -> bool:
        """Whether the document at *uri* is there and says *text*."""
        path = path_of(uri)
        if path is None or path not in self._written:
            return False
        return await asyncio.to_thread(read, path.parent, path.name, LIMIT_BYTES) == text

    async def read(self, name: str) -> tuple[str, str] | None:
        """The URI and the text of a document."""
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._read, name)

    def _read(self, name: str) -> tuple[str, str] | None:
        folders = [root / NAME for root in self.roots()[:1]]
        folders += workspace_folder(self.state, self.roots()).glob(f"{FOLDER}*")
        if self._is_closed or not any(folder.is_dir() for folder in folders):
            return None  # a folder is made only to be written in
        try:
            folder, _ = self._folder(says=False)
        except OSError:
            return None
        text = read(folder, name, LIMIT_BYTES)
        return None if text is None else (uri_of(folder / name), text)

    async def keep(self, name: str, note: str) -> None:
        """Keep a note about a document in the state folder."""
        async with self._one_at_a_time:
            await asyncio.to_thread(self._keep, name, note)

    def _keep(self, name: str, note: str) -> None:
        state = workspace_folder(self.state, self.roots())
        try:
            state.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self._is_ours(state):
                write(state, NOTE.format(name), note)
        except OSError as error:
            logger.warning("The record of %s could not be stored: %s", name, error)

    async def kept_note(self, name: str) -> str | None:
        """The note about a document."""
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._kept_note, name)

    def _kept_note(self, name: str) -> str | None:
        state = workspace_folder(self.state, self.roots())
        try:
            state.mkdir(parents=True, exist_ok=True, mode=0o700)
            return read(state, NOTE.format(name), LIMIT_BYTES) if self._is_ours(state) else None
        except OSError:
            return None

    async def names_with_notes(self) -> tuple[str, ...]:
        """The names of the documents with a note."""
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._names_with_notes)

    def _names_with_notes(self) -> tuple[str, ...]:
        state, (before, after) = workspace_folder(self.state, self.roots()), NOTE.split("{}")
        try:
            found = sorted(state.glob(NOTE.format("*"))) if state.is_dir() and self._is_ours(state) else []
        except OSError:
            return ()
        return tuple(path.name.removeprefix(before).removesuffix(after) for path in found)

    async def forget(self, name: str) -> None:
        """Remove the note about a document, and its file."""
        if PLAIN.fullmatch(name):
            async with self._one_at_a_time:
                await asyncio.to_thread(self._forget, name)

    def _forget(self, name: str) -> None:
        try:
            state = workspace_folder(self.state, self.roots())
            if not state.is_dir() or not self._is_ours(state):
                return
            (state / NOTE.format(name)).unlink(missing_ok=True)
            there = self._read(name)
            path = None if there is None else path_of(there[0])
            if path is not None:
                path.unlink(missing_ok=True)
                self._written.discard(path)
        except OSError as error:
            logger.warning("The record of %s could not be removed: %s", name, in_words(error))

    async def rename(self, name: str, to: str) -> str | None:
        """Give a document another name."""
        if not PLAIN.fullmatch(to):
            return None
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._rename, name, to)

    def _rename(self, name: str, to: str) -> str | None:
        if self._is_closed:
            return None
        try:
            folder, _ = self._folder(says=False)
            os.replace(folder / name, folder / to)
        except OSError as error:
            logger.warning("%s could not be renamed to %s: %s", name, to, error)
            return None
        if folder / name in self._written:
            self._written.discard(folder / name)
            self._written.add(folder / to)
        return uri_of(folder / to)

    async def remove(self, uri: str) -> None:
        """Remove a document that was written here."""
        path = path_of(uri)
        if path in self._written:
            self._written.discard(path)
            with suppress(OSError):
                await asyncio.to_thread(path.unlink, missing_ok=True)

    def close(self) -> None:
        """Let go of the locks; nothing is read or written from then on."""
        self._is_closed = True
        while self._locks:
            os.close(self._locks.popitem()[1])

    def _write(self, name: str, text: str) -> Written:
        if self._is_closed:
            raise ServedError(f"The document {name} was not written: handrail is shutting down.")
        try:
            folder, note = self._folder()
            if read(folder, name, LIMIT_BYTES) != text:
                write(folder, name, text)
        except OSError as error:
            raise ServedError(f"The document {name} cannot be written: {in_words(error)}.") from error
        self._written.add(folder / name)
        return Written(uri=uri_of(folder / name), note=note)

    def _folder(self, *, says: bool = True) -> tuple[Path, str]:
        """Returns the folder to write to now, and a message to the user about it, if any."""
        roots = self.roots()
        state = workspace_folder(self.state, roots)
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self._is_ours(state):
            return _private(state / f"{FOLDER}-{os.getpid()}"), ""
        if not self._in_workspace:
            return _private(state / FOLDER), ""
        found = own_folder(roots[0] if roots else None, state)
        folder = _private(state / FOLDER) if isinstance(found, Foreign) else found
        if folder not in self._tidied:
            self._tidied.add(folder)
            _tidy(folder)
        return folder, self._note(found, folder) if says and isinstance(found, Foreign) else ""

    def _is_ours(self, state: Path) -> bool:
        if self._is_closed:
            return False
        if state in self._locks:
            return True
        handle = os.open(state / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if system_lock.take(handle, writes=True):
                self._locks[state] = handle
                return True
        except OSError:  # a file system without locks
            self._locks[state] = handle
            return True
        os.close(handle)
        return False

    def _note(self, foreign: Foreign, folder: Path) -> str:
        if foreign.why in self._noted:
            return ""
        self._noted.add(foreign.why)
        return f"handrail writes its documents to {folder} because {foreign.why}."


def _private(folder: Path) -> Path:
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _tidy(folder: Path) -> None:
    """Remove the questions and outputs of a server that has ended."""
    for pattern in ("question-*.md", "output-*.md"):
        for path in folder.glob(pattern):
            with suppress(OSError):
                path.unlink()
