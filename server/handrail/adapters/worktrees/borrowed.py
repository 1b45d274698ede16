"""
Make a scratch store self-contained: copy the objects that it borrows from the user's repository while nothing
is running.

Until then, a command that removes or moves the user's repository also removes the earlier contents of files.
Objects that are too large to copy, or missing, stay borrowed. The caller makes sure that no command is
running.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from handrail.adapters.worktrees.git import Git
from handrail.ports import CheckpointError


def copy_borrowed(scratch: Path, limit_bytes: int) -> None:
    """Copy what each store below *scratch* borrows, unless it takes over *limit_bytes*. Raises OSError."""
    for folder in scratch.iterdir() if scratch.exists() else ():
        with suppress(CheckpointError):  # objects are missing, or the disk is full
            _own(Git(folder, folder), limit_bytes)


def _own(git: Git, limit_bytes: int) -> None:
    tree = git.folder / "tree"
    if not git.borrows or not tree.exists():
        return
    name = tree.read_text(encoding="ascii").strip()
    commit = git.run("commit-tree", name, "-m", "Compared with").decode().strip()
    if int(git.run("rev-list", "--objects", "--disk-usage", commit)) > limit_bytes:
        return
    for stray in git.folder.glob("objects/pack/tmp_*"):  # of one that was killed
        stray.unlink(missing_ok=True)
    names = git.run("rev-list", "--objects", "--no-object-names", commit)
    # Without a search for differences: it takes long, and none of this is kept for long.
    git.run("pack-objects", "-q", "--window=0", os.fspath(git.folder / "objects/pack/pack"), given=names)
    git.compare_with(commit)
    git.stop_borrowing()
