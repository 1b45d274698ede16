"""
A file that a command has changed: what it held before and after, read from snapshots where they have it.

The disk may have changed since the later snapshot, by another command or by the user.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from handrail.adapters.files import links
from handrail.adapters.worktrees import index, stats
from handrail.adapters.worktrees.git import Git
from handrail.adapters.worktrees.state import Difference, TreeState
from handrail.core.checkpoint import LINK, Image


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
    git: Git, before: TreeState, paths: Sequence[Path], mode_after: Callable[[Path], int | None]
) -> Iterator[Touched]:
    """
    Yields the files of a work tree of which only the permission bits have changed. Raises CheckpointError.

    Args:
        git: The store of the work tree.
        before: The snapshot before the command; its text is the one after it too.
        paths: The files.
        mode_after: Finds the permission bits after the command.
    """
    if not paths:
        return
    blobs = index.list_tree(git, before.trees[os.fspath(git.work_tree)])
    names = {path: blobs.get(os.fsencode(path.relative_to(git.work_tree))) for path in paths}
    contents = git.blobs(name for name in names.values() if name)
    for path, name in names.items():
        raw, modes = contents.get(name or ""), (before.mode(path), mode_after(path))
        if raw is None and (image := links.read_image(path)) is not None:
            raw = image.raw
        if raw is None or None in modes:
            continue
        images = [Image(raw=raw, mode=mode) for mode in modes]
        shared = stats.has_other_names(path, before.stat_of(path))
        yield Touched(path=path, before=images[0], after=images[1], new_folders=frozenset(), is_shared=shared)


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
