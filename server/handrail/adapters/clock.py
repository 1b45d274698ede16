"""The time of day; and a clock that a file advances, for tests that wait an hour in no time."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

POLL_S = 0.02  # how often the file is looked at while someone waits


class SystemClock:
    """Clock port: real time."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class FileClock:
    """Clock port: stands still but for the seconds that a file says have passed; without the file, none."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._began = time.time()

    def now(self) -> float:
        """Seconds since 1970, as the file has it."""
        try:
            passed = float(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            passed = 0.0
        return self._began + passed

    async def sleep(self, seconds: float) -> None:
        """Wait until the file says so."""
        until = self.now() + seconds
        while self.now() < until:  # noqa: ASYNC110  # nothing tells of a file's change as soon
            await asyncio.sleep(POLL_S)
