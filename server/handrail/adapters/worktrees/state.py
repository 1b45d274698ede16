"""The state of whole work trees at one moment, and a path that differs between two of them."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Self

from handrail.adapters.worktrees import stats
from handrail.values import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeState:
    """
    All work trees at one moment; paths are absolute.

    Attributes:
        trees: The tree object of each work tree.
        left_out: What is not in them, and why.
        stamps: What the files that are left out look like from outside.
        modes: The permission bits of files that git would not have given them.
        seen: What the files of each work tree look like from outside; None if they are too many.
        rights: The files with other permission bits than in the snapshot before, and those bits.
        borrows: Whether a tree leans on objects of the user's.
        repositories: The `.git` of the work trees that have one.
    """

    trees: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    stamps: dict[str, list[int]] = field(default_factory=dict)
    modes: dict[str, int] = field(default_factory=dict)
    seen: dict[str, stats.Stats | None] = field(default_factory=dict)
    rights: dict[str, int] = field(default_factory=dict)
    borrows: bool = False
    repositories: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns its JSON, which `from_json` reads."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**values, "seen": {top: stats.to_json(seen) for top, seen in self.seen.items()}}

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> Self:
        """Returns the state of which `to_json` made this. Raises ValueError, KeyError, TypeError."""
        return cls(**{**given, "seen": {top: stats.from_json(seen) for top, seen in given["seen"].items()}})

    def top_of(self, path: Path) -> Path | None:
        """Returns the innermost work tree that has *path* in it."""
        return next((folder for folder in path.parents if os.fspath(folder) in self.trees), None)

    def mode(self, path: Path) -> int | None:
        """The permission bits of a file, where they are known."""
        found = self.stat_of(path)
        return stat.S_IMODE(found[0]) if found else self.modes.get(os.fspath(path))

    def stat_of(self, path: Path) -> Sequence[int] | None:
        """Returns the status of a file at that time, see `stats`; None if it is unknown."""
        for folder in path.parents:
            seen = self.seen.get(os.fspath(folder))
            if seen and (found := seen.get(os.path.relpath(path, folder))):
                return found
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A path that differs between two snapshots: modes are git's, 0 for nothing; blobs are names."""

    path: Path
    modes: tuple[int, int]
    blobs: tuple[str, str]

    @property
    def differs(self) -> bool:
        """Whether the two are unlike each other after all."""
        return self.modes[0] != self.modes[1] or self.blobs[0] != self.blobs[1]
