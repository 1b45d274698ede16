"""
Served documents on the disk: in `.handrail` of the workspace if that is ours, else in the state folder.

One server writes in a workspace at a time, which a lock in the state folder decides; another one has a folder
of its own. What an earlier server left there is removed.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from handrail.adapters.files import system_lock
from handrail.adapters.files.files import path_of, uri_of
from handrail.adapters.served.ownership import Foreign, own_folder, read, write
from handrail.adapters.state.home import workspace_folder
from handrail.ports.errors import ServedError
from handrail.ports.served import Written

LOCK, FOLDER = "served.lock", "served"
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}")
LIMIT_BYTES = 50_000_000


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

    async def remove(self, uri: str) -> None:
        """Remove a document that was written here."""
        path = path_of(uri)
        if path in self._written:
            self._written.discard(path)
            with suppress(OSError):
                await asyncio.to_thread(path.unlink, missing_ok=True)

    def close(self) -> None:
        """Let go of the locks."""
        while self._locks:
            os.close(self._locks.popitem()[1])

    def _write(self, name: str, text: str) -> Written:
        try:
            folder, note = self._folder()
            if read(folder, name, LIMIT_BYTES) != text:
                write(folder, name, text)
        except OSError as error:
            raise ServedError(f"The document {name} cannot be written: {error}.") from error
        self._written.add(folder / name)
        return Written(uri=uri_of(folder / name), note=note)

    def _folder(self) -> tuple[Path, str]:
        """Where to write now, and what to say of it."""
        roots = self.roots()
        state = workspace_folder(self.state, roots)
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        is_first = state not in self._locks
        if not self._is_ours(state):
            return _private(state / f"{FOLDER}-{os.getpid()}"), ""
        if not self._in_workspace:
            return _private(state / FOLDER), ""
        found = own_folder(roots[0] if roots else None, state)
        folder = _private(state / FOLDER) if isinstance(found, Foreign) else found
        if is_first:
            _tidy(folder)
        return folder, self._note(found, folder) if isinstance(found, Foreign) else ""

    def _is_ours(self, state: Path) -> bool:
        if state in self._locks:
            return True
        handle = os.open(state / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if system_lock.taken(handle, writes=True):
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
        return f"Documents of handrail are written to {folder}, since {foreign.why}."


def _private(folder: Path) -> Path:
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _tidy(folder: Path) -> None:
    """Remove the questions and outputs of a server that has ended."""
    for pattern in ("question-*.md", "output-*.md"):
        for path in folder.glob(pattern):
            with suppress(OSError):
                path.unlink()
