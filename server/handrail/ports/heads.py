"""The beginnings of files of one name, of which there may be very many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from handrail.core.policy.place import Place


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
    """The beginnings of files, and how many folders were not looked into because there are too many."""

    heads: Sequence[Head] = ()
    more: int = 0


class HasHeads(Protocol):
    """Reads the beginnings of files."""

    async def heads(self, within: Place, name: str, limit: int) -> Heads:
        """
        The beginnings of the files *name* in the folders right below a folder, sorted by path.

        Links are not followed, and what ignore rules leave out is left out. A file is only read again when it
        has changed.

        Args:
            limit: Into how many folders to look.
        """
        ...
