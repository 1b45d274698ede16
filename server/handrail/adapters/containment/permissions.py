"""
The rights under Landlock of a command that writes, by paths without links.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence

from handrail.values import dataclass

Identity = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """
    The rights of a command under Landlock, by paths without links.

    Attributes:
        areas: The folders and files in which it works.
        allowed: What Landlock allows it, with all below, wherever that has been moved.
        hidden: What it neither sees nor changes.
        closed: What it does not change; the hidden paths are among them.
        above: The folders above what it does not change.
        files: The closed files, whatever their names.
    """

    areas: frozenset[str]
    allowed: frozenset[Identity]
    hidden: frozenset[str]
    closed: frozenset[str]
    above: frozenset[str]
    files: frozenset[Identity]

    @classmethod
    def of(cls, given: Mapping[str, Sequence[str]]) -> Permissions:
        """The rules as they were written down."""
        closed = frozenset(given["closed"])
        return cls(
            areas=frozenset(given["areas"]),
            allowed=frozenset(
                identity for path in given["allowed"] if (identity := _identity(path)) is not None
            ),
            hidden=frozenset(given["hidden"]),
            closed=closed,
            above=frozenset(above for path in closed for above in _upwards(os.path.dirname(path))),
            files=frozenset(
                identity for path in closed if (identity := _identity(path, files=True)) is not None
            ),
        )

    def is_allowed(self, path: str) -> bool:
        """Whether Landlock lets it do anything there."""
        for each in _upwards(path):
            if _identity(each) in self.allowed:
                return True
            if each in self.areas:
                return False
        return False

    def may_read(self, path: str) -> bool:
        """Whether it may see what is there."""
        return self._is_within(path, self.hidden)

    def may_write(self, path: str) -> bool:
        """Whether it may change what is in a file there."""
        return self._is_within(path, self.closed)

    def may_change_entry(self, path: str) -> bool:
        """Whether it may make something there, or take away what is there."""
        is_whole = path not in self.above and path not in self.areas
        return is_whole and self.may_write(path) and self.may_write(os.path.dirname(path))

    def _is_within(self, path: str, but: frozenset[str]) -> bool:
        for each in _upwards(path):
            if each in but:
                return False
            if each in self.areas:
                return True
        return False


def _upwards(path: str) -> Iterator[str]:
    """*path*, and the folders above it."""
    while len(path) > 1:
        yield path
        path = os.path.dirname(path)


def _identity(path: str, *, files: bool = False) -> Identity | None:
    """
    Returns the identity of *path*; None if it does not exist, or is not a plain file where only *files*
    count.
    """
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if not files or stat.S_ISREG(status.st_mode) else None
