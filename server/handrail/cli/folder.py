"""The folder that a command works on if it names none: the repository that one is in, else the folder."""

from __future__ import annotations

import os
from pathlib import Path


def workspace_here(here: Path, home: Path | None) -> Path:
    """
    The top of the repository that *here* is in, else *here*.

    A repository counts as git has it: it is the user's own. One whose top is the home folder or `/` counts
    only there, since people keep their settings in such, and not the folders below.
    """
    for folder in (here, *here.parents):
        if _is_top(folder):
            is_everything = folder in (home, Path(folder.anchor)) and folder != here
            return here if is_everything or not _is_own(folder) else folder
    return here


def _is_top(folder: Path) -> bool:
    git = folder / ".git"
    return git.is_file() or (git / "HEAD").is_file()


def _is_own(folder: Path) -> bool:
    """Whether this user, or root for them, made it: others could lay one above the folders of everybody."""
    try:
        return os.name != "posix" or folder.stat().st_uid in (os.geteuid(), 0)
    except OSError:
        return False
