"""The files that can be named as `@path`: listed when first needed, and again after each turn."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

LIMIT = 50  # of what is offered at once


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
        self._known: asyncio.Task[Sequence[str]] | None = None

    async def paths(self) -> Sequence[str]:
        """All paths; those who ask at once are answered at once."""
        if self._known is None:
            self._known = asyncio.create_task(asyncio.to_thread(self._listing))
        return await asyncio.shield(self._known)

    def has(self, path: str) -> bool:
        """Whether there is such a file, even one that ignore rules leave out of the list."""
        return (self._root / path).is_file()

    def forget(self) -> None:
        """List them anew when they are needed next."""
        self._known = None


def matches(paths: Sequence[str], typed: str) -> list[str]:
    """The paths that may be meant: first those that begin so, then those whose name does, then others."""
    wanted = typed.removeprefix("./").casefold()
    ranked = sorted((rank, len(path), path) for path in paths if (rank := _rank(path.casefold(), wanted)) < 3)
    return [path for _, _, path in ranked[:LIMIT]]


def _rank(path: str, wanted: str) -> int:
    if path.startswith(wanted):
        return 0
    if path.rpartition("/")[2].startswith(wanted):
        return 1
    return 2 if wanted in path else 3
