"""
Read configuration files that anyone may have put into a workspace: only if they are plain, small and not
links.

A pipe would block, a device has no end, and a link may lead to someone else's file.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from handrail.adapters.files import entry, files

LIMIT_BYTES = 1_000_000  # of ignore files and their like; real ones have a few thousand


def read_all(path: Path, limit: int = LIMIT_BYTES) -> bytes:
    """
    All bytes of a file.

    Raises OSError for what is not a regular file or has more than *limit* bytes, and for a link.
    """
    if stat.S_ISLNK(os.lstat(path).st_mode):
        raise OSError(errno.ELOOP, "It is a link")
    return files.read(path, limit).raw


def read_head(path: Path, size: int) -> bytes:
    """The first *size* bytes of a plain file that is not a link. Raises OSError."""
    files.check_plain(os.lstat(path).st_mode)
    handle = os.open(path, os.O_RDONLY | entry.NO_BLOCK | entry.NO_FOLLOW)
    try:
        files.check_plain(os.fstat(handle).st_mode)
        return os.read(handle, size)
    finally:
        os.close(handle)
