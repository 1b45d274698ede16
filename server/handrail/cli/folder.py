"""The folder that a command works on if it names none, and the files in one that can be named."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

LIMIT_FILES = 100_000  # of a larger workspace, those that a walk finds first


def workspace_here(here: Path, home: Path | None) -> Path:
    """
    Returns the top of the repository that contains *here*; without one, *here*.

    A repository counts as git has it: it is the user's own. One whose top is the home folder or `/` counts
    only there, since people keep their settings in such, and not the folders below.
    """
    for folder in (here, *here.parents):
        if _is_top(folder):
            is_everything = folder in (home, Path(folder.anchor)) and folder != here
            return here if is_everything or not _is_own(folder) else folder
    return here


def readable_files(root: Path) -> list[str]:
    """
    The files below *root* that are read without asking, relative to it with `/`.

    What ignore rules leave out is not among them, nor is what could not be typed. At most `LIMIT_FILES`.
    """
    from handrail.adapters.files.paths import INTERNAL
    from handrail.adapters.workspace.listing import walk
    from handrail.adapters.workspace.protected import holds_secrets

    real = root.resolve()
    names = (
        path.relative_to(real).as_posix() for path in walk(real, lambda name: name.casefold() in INTERNAL)
    )
    return [name for name in islice(names, LIMIT_FILES) if name.isprintable() and not holds_secrets(name)]


def _is_top(folder: Path) -> bool:
    git = folder / ".git"
    return git.is_file() or (git / "HEAD").is_file()


def _is_own(folder: Path) -> bool:
    """Whether this user, or root for them, made it: others could lay one above the folders of everybody."""
    try:
        return os.name != "posix" or folder.stat().st_uid in (os.geteuid(), 0)
    except OSError:
        return False
