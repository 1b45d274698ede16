"""
Files and folders that are created before a command starts, for it to use without restrictions.

Landlock allows what exists when a command starts, wherever it is moved. So files that the command creates
next to protected ones are taken from here, as long as there are any left: then they can be run, and files in
such folders need no further checks. The pool must be on the same disk as the workspace; otherwise nothing is
taken.
"""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from handrail.adapters.containment import enter

FILES, FOLDERS = 128, 64
NO_REPLACE = 1
NOT_HERE = (18, 22, 38, 95)  # EXDEV, and what a file system says that cannot do it


class Pool:
    """The spare files that are left in *folder*."""

    def __init__(self, folder: str) -> None:
        self._files = sorted(_paths_of(folder, "file"))
        self._folders = sorted(_paths_of(folder, "folder"))

    def folder(self, at: int, name: str, mode: int) -> bool:
        """Has a new folder be there; returns whether it is. Raises OSError."""
        if not self._folders:
            return False
        taken = self._folders[-1]
        os.chmod(taken, mode)
        os.utime(taken)
        if not _move_to_free_name(taken, at, name):
            self._folders.clear()
            return False
        del self._folders[-1]
        return True

    def file(self, at: int, name: str, flags: int, mode: int) -> int:
        """Has a new file be there; returns it, opened, or -1. Raises OSError."""
        if not self._files:
            return -1
        taken = self._files[-1]
        opened = os.open(taken, flags & ~(os.O_CREAT | os.O_EXCL) | os.O_CLOEXEC)
        try:
            os.chmod(taken, mode)
            os.utime(taken)
            if _move_to_free_name(taken, at, name):
                del self._files[-1]
                return opened
            self._files.clear()
        except OSError:
            os.chmod(taken, 0o600)
            os.close(opened)
            raise
        os.close(opened)
        return -1


def make_spares(folder: Path) -> list[str]:
    """The paths of new files and folders in *folder*. Raises OSError."""
    folder.mkdir(mode=0o700)
    for number in range(FILES):
        (folder / f"file{number}").touch(mode=0o600)
    for number in range(FOLDERS):
        (folder / f"folder{number}").mkdir(mode=0o700)
    return [os.fspath(path) for path in folder.iterdir()]


def _paths_of(folder: str, kind: str) -> Iterator[str]:
    yield from (
        os.path.join(folder, name) for name in os.listdir(folder) if name.rstrip("0123456789") == kind
    )


def _move_to_free_name(path: str, at: int, name: str) -> bool:
    """Moves *path* to a name that is not taken; returns whether that can be done here. Raises OSError."""
    number = enter.numbers_of(enter.GATED, platform.machine())["renameat2"]
    to = os.fsencode(name)
    if enter.libc.syscall(number, -100, os.fsencode(path), at, to, NO_REPLACE) == 0:
        return True
    error = ctypes.get_errno()
    if error in NOT_HERE:
        return False
    raise OSError(error, os.strerror(error))
