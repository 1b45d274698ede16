"""
A file that a command has changed: what it held before and after, read from snapshots where they have it.

The disk may have changed since the later snapshot, by another command or by the user.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from handrail.adapters.worktrees import index, stats
from handrail.adapters.worktrees.git import Git
from handrail.adapters.worktrees.state import Difference, TreeState
from handrail.core.checkpoint import LINK, Image
from handrail.values import dataclass

AT_ONCE = 500  # texts that are read by one program


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """
    A file that differs.

    Attributes:
        after: None if it cannot be had.
        new_folders: All that a command made.
        is_shared: Whether the command made it one file with another.
    """

    path: Path
    before: Image
    after: Image | None
    new_folders: frozenset[Path]
    is_shared: bool = False


def touched_rights(
    store_of: Callable[[Path], Git],
    before: TreeState,
    modes: Mapping[Path, int],
    left_out: dict[str, str],
) -> Iterator[Touched]:
    """
    Yields the files of which only the permission bits have changed. Raises CheckpointError.

    Args:
        store_of: Finds the store of a work tree.
        before: The snapshot before the command; its text is the one after it too.
        modes: The files, and the permission bits after the command.
        left_out: Takes those whose text cannot be read.
    """
    by_top: dict[Path, list[Path]] = {}
    for path in modes:
        if (top := before.top_of(path)) is not None:
            by_top.setdefault(top, []).append(path)
    for top, paths in by_top.items():
        git = store_of(top)
        blobs = index.list_tree(git, before.trees[os.fspath(top)])
        for first in range(0, len(paths), AT_ONCE):
            names = {
                path: blobs.get(os.fsencode(path.relative_to(top)), "")
                for path in paths[first : first + AT_ONCE]
            }
            contents = git.blobs(filter(None, names.values()))
            for path, name in names.items():
                raw, mode = contents.get(name), before.mode(path)
                if raw is None or mode is None:
                    left_out[os.fspath(path)] = "changed by the command; its text cannot be read"
                    continue
                images = Image(raw=raw, mode=mode), Image(raw=raw, mode=modes[path])
                shared = stats.has_other_names(path, before.stat_of(path))
                yield Touched(
                    path=path, before=images[0], after=images[1], new_folders=frozenset(), is_shared=shared
                )


def images_of(
    each: Difference, contents: Mapping[str, bytes], known: int | None, now: int | None
) -> tuple[Image, Image | None] | None:
    """
    Returns the contents of the path before the command, with the mode *known*, and after it, with the mode
    *now*; None if they cannot be read. A mode is None where it is not known.
    """
    if any(mode and blob not in contents for mode, blob in zip(each.modes, each.blobs, strict=True)):
        return None
    now = mode_now(each.path) if now is None else now
    known = _mode(each.modes[0], now) if known is None else known
    images = []
    for mode, blob, bits in zip(each.modes, each.blobs, (known, now), strict=True):
        held = Image(raw=contents[blob], mode=LINK if mode == LINK else bits) if mode else Image(raw=None)
        images.append(held)
    return images[0], images[1]


def mode_now(path: Path) -> int | None:
    """The permission bits of a file; a link has none of its own."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return None
    return None if stat.S_ISLNK(mode) else stat.S_IMODE(mode)


def _mode(of_git: int, now: int | None) -> int:
    """The permission bits of a file of which git knows whether it is a program, and *now* the rest."""
    if now is None:
        return stat.S_IMODE(of_git)
    runs = 0o111 & (now >> 2) if of_git & 0o100 else 0  # who may read it may run it
    opened = 0o022 if now & 0o002 else 0  # few files are everybody's to write, so the command made it so
    return now & ~0o111 & ~opened | runs
