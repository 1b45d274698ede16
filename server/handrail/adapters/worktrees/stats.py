"""
The metadata of files before a command, to detect afterwards what git does not.

Git stores only whether a file is executable, and does not read a file again that was changed within a second
if its size and time are the same.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

# By name: the mode, when anything about the file last changed in ns, how many names it has, and its number.
Stats = Mapping[str, Sequence[int]]

LIMIT_FILES = 50_000  # a tenth of a second
SECOND_NS = 10**9


def read_stats(top: Path, names: Sequence[bytes]) -> Stats | None:
    """Returns the status of the files *names* of a work tree; None if there are too many."""
    if len(names) > LIMIT_FILES:
        return None
    each_stat = ((os.fsdecode(name), _stat(top, os.fsdecode(name))) for name in names)
    return {name: found for name, found in each_stat if found}


def doubtful(top: Path, known: Stats) -> Iterator[bytes]:
    """The names of files that git may take for unchanged although they have been changed."""
    for name, (_, changed_ns, *_) in known.items():
        now_ns = _stat(top, name)[1:2]
        if now_ns and now_ns[0] != changed_ns and now_ns[0] // SECOND_NS == changed_ns // SECOND_NS:
            yield os.fsencode(name)


def with_other_rights(top: Path, known: Stats) -> Iterator[str]:
    """The names of plain files whose permission bits have changed."""
    for name, (mode, *_) in known.items():
        now = _stat(top, name)[:1]
        if now and now[0] != mode and stat.S_ISREG(mode) and stat.S_ISREG(now[0]):
            yield name


def has_other_names(path: Path, was: Sequence[int] | None) -> bool:
    """Whether *path* is a file that has other names now, and did not have them before."""
    try:
        now = os.lstat(path)
    except OSError:
        return False
    if not stat.S_ISREG(now.st_mode) or now.st_nlink < 2:
        return False
    return not was or was[2] < 2 or was[3] != now.st_ino


def _stat(top: Path, name: str) -> Sequence[int]:
    """Nothing of a file that is not there, or in a folder that is closed."""
    try:
        status = os.lstat(f"{top}/{name}")
    except OSError:
        return ()
    return status.st_mode, status.st_ctime_ns, status.st_nlink, status.st_ino
