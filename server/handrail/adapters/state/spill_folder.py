"""
Store whole outputs, each in a file of its own, within limits.

The folder is private to the user and shared by all servers; when something is added, files beyond the limits
are removed. An id can only name a file that was created here.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from handrail.adapters.files import failure, scan
from handrail.core.failure import Code, Failure
from handrail.core.results.search import Hit, Page

ID = re.compile(r"o-[0-9a-f]{16}")
LIMIT_FILES = 200
LIMIT_BYTES = 200_000_000  # of all files together
LIMIT_AGE_S = 7 * 24 * 3600.0
LIMIT_HITS = 200


class SpillFolder:
    """The Spills port."""

    def __init__(self, folder: Path, limit_files: int = LIMIT_FILES, limit_bytes: int = LIMIT_BYTES) -> None:
        self._folder = folder
        self._limit_files = limit_files
        self._limit_bytes = limit_bytes

    async def keep(self, output: str) -> str | None:
        """Keep *output*; returns its id, or None if that cannot be done."""
        return await asyncio.to_thread(self._keep, output)

    async def page(self, spill: str, offset: int, length: int) -> Page | Failure:
        """Read up to *length* characters from *offset*."""
        return await asyncio.to_thread(self._page, spill, offset, length)

    async def search(
        self, spill: str, pattern: str, *, ignore_case: bool
    ) -> tuple[tuple[Hit, ...], bool] | Failure:
        """The lines that match a regular expression, and whether there are more."""
        path = self._path(spill)
        if path is None or not path.is_file():
            return _unknown(spill)
        wanted = scan.Scan(pattern=pattern, ignore_case=ignore_case, limit=LIMIT_HITS)
        try:
            found, more = await scan.find(wanted, [scan.Source(name="", path=os.fspath(path))])
        except (scan.PatternError, scan.SlowError, OSError) as error:
            return failure.of_search(error)
        hits = (Hit(line_number=each.line_number, offset=each.offset, row=each.row) for each in found)
        return tuple(hits), more

    def _keep(self, output: str) -> str | None:
        raw = output.encode("utf-8", "replace")
        name = f"o-{secrets.token_hex(8)}"
        if len(raw) > self._limit_bytes:
            return None
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._make_room(len(raw))
            with open(
                os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb"
            ) as file:
                file.write(raw)
        except OSError:
            with suppress(OSError):
                (self._folder / name).unlink()
            return None
        return name

    def _make_room(self, size: int) -> None:
        """Remove the oldest files until another one of *size* bytes fits, and all that are too old."""
        kept: Sequence[tuple[float, int, Path]] = sorted(
            (status.st_mtime, status.st_size, Path(entry.path))
            for entry in os.scandir(self._folder)
            if ID.fullmatch(entry.name) and (status := entry.stat(follow_symlinks=False))
        )
        total, number = sum(each[1] for each in kept), len(kept)
        for modified, bytes_, path in kept:
            has_room = total + size <= self._limit_bytes and number < self._limit_files
            if has_room and time.time() - modified <= LIMIT_AGE_S:
                break
            path.unlink(missing_ok=True)
            total, number = total - bytes_, number - 1

    def _page(self, spill: str, offset: int, length: int) -> Page | Failure:
        path = self._path(spill)
        try:
            output = path.read_bytes().decode("utf-8", "replace") if path is not None else None
        except OSError:
            output = None
        if output is None:
            return _unknown(spill)
        return Page(text=output[offset : offset + length], offset=offset, total=len(output))

    def _path(self, spill: str) -> Path | None:
        return self._folder / spill if ID.fullmatch(spill) else None


def _unknown(spill: str) -> Failure:
    return Failure(
        code=Code.NO_SUCH_FILE,
        message=f"The output {spill!r} does not exist, or is no longer stored.",
        steps=("Use an id that a result gives.", "Or repeat the call that printed it."),
    )
