"""
Whether the folder for served documents in a workspace is ours: made here, and not part of a clone or a copy.

A clone can ship such a folder with forged documents in it. So one is ours only if it holds a secret that the
state folder knows; it must be a folder and not a link, and nothing in it may be tracked by git. If it is not
ours, the reason is reported, and nothing in it is read or written.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from handrail.adapters.served.tracked import is_tracked
from handrail.values import dataclass

NAME = ".handrail"
SECRET = ".owner"
RECORD = "served-owner"
CONTENTS = {".gitignore": "*\n", ".ignore": "*\n"}
LIMIT_BYTES = 1_000
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """The reason why a workspace has no folder for us, as the end of a sentence."""

    why: str


def own_folder(root: Path | None, state: Path) -> Path | Foreign:
    """
    Find or make the folder in the workspace folder *root*.

    Args:
        root: None if no folder is open.
        state: The folder that keeps the state of this workspace.

    Returns:
        A folder that is ours, holds its ignore files and is closed to others.
    """
    if root is None:
        return Foreign(why="no folder is open")
    if os.path.realpath(root) in (os.path.realpath(Path.home()), os.path.realpath("/")):
        return Foreign(why=f"the workspace folder {root} is your home folder or the root folder")
    folder = root / NAME
    try:
        if not os.path.lexists(folder):
            _make(folder, state)
        elif (foreign := _foreign(folder, state)) is not None:
            return foreign
        if is_tracked(root, NAME):
            return Foreign(why=f"{folder} is tracked by git")
        _furnish(folder)
    except OSError as error:
        return Foreign(why=f"{folder} cannot be used ({error.strerror})")
    return folder


def _make(folder: Path, state: Path) -> None:
    secret = secrets.token_hex(16)
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    write(state, RECORD, secret)  # first: a folder without a record is no one's
    folder.mkdir(mode=0o700)
    write(folder, SECRET, secret)


def _foreign(folder: Path, state: Path) -> Foreign | None:
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode):
        return Foreign(why=f"{folder} is a link or a file")
    secret = read(state, RECORD)
    if not secret or read(folder, SECRET) != secret:
        return Foreign(why=f"{folder} was not made by handrail for you on this machine")
    return None


def _furnish(folder: Path) -> None:
    if stat.S_IMODE(os.lstat(folder).st_mode) != 0o700:
        os.chmod(folder, 0o700)
    for name, content in CONTENTS.items():
        if read(folder, name) != content:
            write(folder, name, content)


def read(folder: Path, name: str, limit_bytes: int = LIMIT_BYTES) -> str | None:
    """The text of a file in *folder*; None if it does not exist, is not a plain file, or is too large."""
    try:
        handle = os.open(folder / name, os.O_RDONLY | NOFOLLOW | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or status.st_size > limit_bytes:
        os.close(handle)
        return None
    with os.fdopen(handle, "rb") as file:
        return file.read().decode("utf-8", "replace")


def write(folder: Path, name: str, text: str) -> None:
    """Have a file of *folder* hold *text* at once; a link of that name is replaced, not followed."""
    beside = folder / f".{secrets.token_hex(8)}"
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", "surrogatepass"))
        os.replace(beside, folder / name)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
