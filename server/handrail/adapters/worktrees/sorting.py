"""Sort out what may have changed in a work tree: what a snapshot takes, and what it leaves out, and why."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from handrail.adapters.worktrees.git import Git
from handrail.adapters.worktrees.state import TreeState
from handrail.values import dataclass, field

Name = tuple[bytes, bool | None]  # whether it is new; None for one that git ignores

LIMIT_FILE_BYTES = 20_000_000  # what is larger is rarely written by hand, and is copied at every change
LIMIT_IGNORED_BYTES = 1_000_000  # `.env` and its like; logs and builds are not what a person misses
UNREADABLE = "it cannot be read"


class Modes:
    """The permission bits that git does not store, by name; stored next to the index."""

    def __init__(self, git: Git) -> None:
        self._path = git.folder / "modes.json"
        try:
            known = json.loads(self._path.read_bytes())
        except (FileNotFoundError, ValueError, RecursionError):
            known = {}
        self.known: dict[str, int] = known if isinstance(known, dict) else {}

    def write(self) -> None:
        """Stores them, if they are not stored already."""
        raw = json.dumps(self.known).encode("ascii")
        if not self._path.exists() or self._path.read_bytes() != raw:
            self._path.write_bytes(raw)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenNames:
    """The names that belong in the tree, those that no longer do, and nested repositories."""

    there: list[bytes] = field(default_factory=list)
    gone: list[bytes] = field(default_factory=list)
    nested: list[Path] = field(default_factory=list)

    def leave_out(self, name: bytes, is_new: bool | None) -> None:
        """Remove from the tree what the path was before and is not now."""
        if is_new is False:
            self.gone.append(name)


def sort_out(top: Path, names: Sequence[Name], taken: TreeState, modes: dict[str, int]) -> ChosenNames:
    """
    Sort out what may have changed.

    Args:
        top: The work tree.
        names: What has changed since the tree before, is new, or is ignored.
        taken: Takes what is left out.
        modes: Takes the permission bits that git would not keep.
    """
    chosen = ChosenNames()
    links: dict[str, bool] = {}
    for name, is_new in names:
        path = top / os.fsdecode(name)
        if name.endswith(b"/"):
            if is_new is None:
                taken.left_out[os.fspath(path)] = "git ignores this folder"
            else:
                chosen.nested.append(path)
            continue
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            chosen.gone.append(name)
            continue
        except OSError:
            taken.left_out[os.fspath(path)] = UNREADABLE
            chosen.leave_out(name, is_new)
            continue
        if stat.S_ISDIR(status.st_mode) or _is_beyond_link(path, top, links):
            chosen.gone.append(name)  # what is in the folder now is new, or is where a link leads
            continue
        limit = LIMIT_FILE_BYTES if is_new is not None else LIMIT_IGNORED_BYTES
        if reason := _obstacle(path, status, limit):
            taken.left_out[os.fspath(path)] = reason
            taken.stamps[os.fspath(path)] = [status.st_size, status.st_mtime_ns]
            chosen.leave_out(name, is_new)
            continue
        chosen.there.append(name)
        if stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) not in (0o644, 0o755):
            modes[os.fsdecode(name)] = stat.S_IMODE(status.st_mode)
        else:
            modes.pop(os.fsdecode(name), None)
    return chosen


def _is_beyond_link(path: Path, top: Path, links: dict[str, bool]) -> bool:
    """Whether a folder above *path* has become a link; *links* remembers what has been looked at."""
    folder = os.path.dirname(path)
    if folder not in links:
        above = Path(folder)
        links[folder] = above != top and (above.is_symlink() or _is_beyond_link(above, top, links))
    return links[folder]


def _obstacle(path: Path, status: os.stat_result, limit: int) -> str:
    """Returns why a path cannot be kept; empty if it can."""
    if stat.S_ISREG(status.st_mode):
        if status.st_size > limit:
            return f"it has {status.st_size:,} bytes, more than the limit of {limit:,}"
        return "" if os.access(path, os.R_OK) else UNREADABLE
    if stat.S_ISLNK(status.st_mode):
        return ""
    return "it is a pipe, a socket or a device"
