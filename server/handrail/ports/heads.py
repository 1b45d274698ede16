"""Reads the beginnings of files that have the same name, of which there may be very many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from handrail.core.policy.place import Place
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """
    The beginning of a file.

    Attributes:
        place: The file.
        text: None if it is not UTF-8.
    """

    place: Place
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads:
    """The beginnings of files, and the number of folders that were skipped because there are too many."""

    heads: Sequence[Head] = ()
    more: int = 0


class HasHeads(Protocol):
    """Reads the beginnings of files."""

    async def heads(self, within: Place, name: str, limit: int) -> Heads:
        """
        Reads the beginnings of the files *name* in the direct subfolders of a folder, sorted by path.

        Links are not followed, and what ignore rules leave out is left out. A file is only read again when it
        has changed.

        Args:
            limit: The maximum number of folders to look into.
        """
        ...
