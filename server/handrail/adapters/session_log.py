"""
Journals of sessions: one file each in the state folder, one JSON object a line, written at once.

A line is one write to a file that is only ever appended to, so a program that is killed leaves whole lines
and at most one that is torn; the next line then begins on a line of its own.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from handrail.core import journal
from handrail.core.journal import Begun, Entry
from handrail.ports.sessions import SessionInfo

logger = logging.getLogger(__name__)

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
TITLE_CHARS = 72


class SessionLog:
    """Sessions port on the folder that *folder* says, which may change with the workspace."""

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder = folder

    def append(self, session: str, entries: Sequence[Entry]) -> None:
        """Write entries at the end."""
        file = self._file(session)
        if file is None or not entries:
            return
        raw = "".join(journal.line(entry) + "\n" for entry in entries).encode()
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                size = os.lseek(handle, 0, os.SEEK_END)
                torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
                os.write(handle, b"\n" + raw if torn else raw)
            finally:
                os.close(handle)
        except OSError as error:
            logger.warning("Session %s cannot be written down: %s", session, error)

    def load(self, session: str) -> tuple[Entry, ...] | None:
        """All entries."""
        file = self._file(session)
        if file is None or not file.is_file():
            return None
        return tuple(_entries(file))

    def list(self) -> tuple[SessionInfo, ...]:
        """All sessions, newest first."""
        found = []
        for file in self._folder().glob("*.jsonl"):
            prompts = [entry.prompt for entry in _entries(file) if isinstance(entry, Begun)]
            if prompts:
                time = datetime.fromtimestamp(file.stat().st_mtime, UTC).isoformat()
                title = prompts[0].strip().partition("\n")[0][:TITLE_CHARS]
                found.append(SessionInfo(id=file.stem, title=title, time=time, turns=len(prompts)))
        return tuple(sorted(found, key=lambda each: each.time, reverse=True))

    def _file(self, session: str) -> Path | None:
        """The journal of a session; None for an id that is none of ours, and might lead elsewhere."""
        return self._folder() / f"{session}.jsonl" if ID.fullmatch(session) else None


def _entries(file: Path) -> list[Entry]:
    try:
        raw = file.read_bytes()
    except OSError as error:
        logger.warning("The journal %s cannot be read: %s", file, error)
        return []
    found = (journal.read(line.decode("utf-8", "replace")) for line in raw.split(b"\n"))
    return [entry for entry in found if entry is not None]
