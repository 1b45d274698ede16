"""The folders of a file: made when it needs them, removed when nothing is left in them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from handrail.adapters.files import entry


@contextmanager
def make_missing(path: Path, *, through_links: bool = True) -> Iterator[None]:
    """Make the folders that a file needs; those that the block leaves empty are removed again."""
    made = list_missing(path)
    try:
        _make(path.parent, through_links=through_links)
        yield
    finally:
        for folder in made:
            remove_empty(folder)


def list_missing(path: Path) -> tuple[Path, ...]:
    """The folders above *path* that do not exist, innermost first; a file may have the place of one."""
    missing = []
    for folder in path.parents:
        if os.path.lexists(folder) and not os.path.isfile(folder):
            break
        missing.append(folder)
    return tuple(missing)


def _make(folder: Path, *, through_links: bool) -> None:
    try:
        if through_links:
            os.makedirs(folder, exist_ok=True)
        else:
            entry.make_folders(folder)
    except FileExistsError as error:  # would read as if the file itself were there
        raise NotADirectoryError(errno.ENOTDIR, "A part of the path is not a folder") from error


def remove_empty(folder: Path) -> bool:
    """Remove a folder if it is there and holds nothing, or only folders that hold nothing; whether it was."""
    folders = list[str]()
    try:
        for at, below, others in os.walk(folder):
            if others or any(map(os.path.islink, (at, *(os.path.join(at, name) for name in below)))):
                return False
            folders.append(at)
        for each in reversed(folders):
            os.rmdir(each)
    except OSError:  # someone has just put something there: it stays
        return False
    return bool(folders)
