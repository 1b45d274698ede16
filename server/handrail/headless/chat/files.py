r"""
The files that can be named as `@path`: listed when first needed, and again after each turn.

Of very many files those that may be meant are found at each keystroke. So the paths stand in one text, the
shortest first, each on a line: to look there for `\ntyped`, or for `typed` anywhere, takes a few scans of
that text, which end when enough is found.
"""

import asyncio
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

LIMIT = 50  # of what is offered at once


class FileIndex:
    """Paths that can be typed: those that have a line end are left out."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = sorted((path for path in paths if "\n" not in path), key=lambda path: (len(path), path))
        folded = [path.casefold() for path in self.paths]
        self._text = "\n" + "".join(f"{path}\n" for path in folded)
        self._starts = list(accumulate((len(path) + 1 for path in folded), initial=1))[:-1]

    def matches(self, typed: str) -> list[str]:
        """The paths that may be meant: first those that begin so, then those whose name does, then others."""
        wanted = typed.removeprefix("./").casefold()
        result = dict[int, None]()
        for offsets in (self._find(f"\n{wanted}"), self._names(wanted), self._find(wanted)):
            for offset in offsets:
                if len(result) == LIMIT:
                    break
                result[bisect_right(self._starts, offset) - 1] = None
        return [self.paths[number] for number in result]

    def _names(self, wanted: str) -> Iterator[int]:
        """Yield the positions of the names that begin with *wanted*."""
        if "/" not in wanted:
            yield from (each.start() for each in re.finditer(rf"/{re.escape(wanted)}[^/\n]*\n", self._text))

    def _find(self, wanted: str) -> Iterator[int]:
        """Yield a position in each line that contains *wanted*; a line end in it is that before the line."""
        at = self._text.find(wanted) if wanted else -1  # all begin with nothing
        while 0 <= at < len(self._text) - 1:
            first = at + wanted.startswith("\n")
            yield first
            at = self._text.find(wanted, self._text.index("\n", first))


class Files:
    """
    The workspace's files.

    Args:
        listing: Gives their paths, relative to the workspace with `/`; slow, and run in a thread.
        root: The workspace folder.
    """

    def __init__(self, listing: Callable[[], Sequence[str]], root: Path) -> None:
        self._listing = listing
        self._root = root
        self._known: FileIndex | None = None
        self._running: asyncio.Task[None] | None = None
        self._is_stale = True

    async def index(self) -> FileIndex:
        """
        Return all known files; wait for the list only the first time, and later update it in the background.
        """
        if self._is_stale and self._running is None:
            self._running = asyncio.create_task(self._list())
        if self._known is None and self._running is not None:
            await asyncio.shield(self._running)
        return self._known or FileIndex(())

    async def paths(self) -> Sequence[str]:
        """All paths, as far as they are known."""
        return (await self.index()).paths

    async def _list(self) -> None:
        self._is_stale = False
        try:
            self._known = await asyncio.to_thread(lambda: FileIndex(self._listing()))
        finally:
            self._running = None

    def has(self, path: str) -> bool:
        """Whether anything has this path, even if ignore rules leave it out of the list."""
        return os.path.lexists(self._root / path)

    def forget(self) -> None:
        """List them again when they are needed next."""
        self._is_stale = True
