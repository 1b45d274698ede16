"""
The metadata of files before a command, to detect afterwards what git does not.

Git stores only whether a file is executable, and does not read a file again that was changed within a second
if its size and time are the same.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

# By name: the mode, when anything about the file last changed in ns, how many names it has, and its number.
Stats = Mapping[str, Sequence[int]]

LIMIT_FILES = 50_000  # a tenth of a second
SECOND_NS = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """
    What the metadata of files tells after a command.

    Attributes:
        doubtful: The names of files that git may take for unchanged although they have been changed.
        other_rights: The names of plain files whose permission bits have changed.
    """

    doubtful: Set[bytes]
    other_rights: Sequence[str]


def read_stats(top: Path, names: Sequence[bytes]) -> Stats | None:
    """Returns the status of the files *names* of a work tree; None if there are too many."""
    if len(names) > LIMIT_FILES:
        return None
    folder = os.fsencode(top)
    each_stat = ((os.fsdecode(name), _stat(b"%b/%b" % (folder, name))) for name in names)
    return {name: found for name, found in each_stat if found}


def compare(top: Path, known: Stats) -> Compared:
    """Compares what files look like now with what was *known* of them, looking at each once."""
    doubtful, other_rights = set[bytes](), list[str]()
    for name, (mode, changed_ns, *_) in known.items():
        now = _stat(f"{top}/{name}")
        if not now:
            continue
        if now[1] != changed_ns and now[1] // SECOND_NS == changed_ns // SECOND_NS:
            doubtful.add(os.fsencode(name))
        if now[0] != mode and stat.S_ISREG(mode) and stat.S_ISREG(now[0]):
            other_rights.append(name)
    return Compared(doubtful=doubtful, other_rights=other_rights)


def has_other_names(path: Path, was: Sequence[int] | None) -> bool:
    """Whether *path* is a file that has other names now, and did not have them before."""
    try:
        now = os.lstat(path)
    except OSError:
        return False
    if not stat.S_ISREG(now.st_mode) or now.st_nlink < 2:
        return False
    return not was or was[2] < 2 or was[3] != now.st_ino


def _stat(path: str | bytes) -> Sequence[int]:
    """Nothing of a file that is not there, or in a folder that is closed."""
    try:
        status = os.lstat(path)
    except OSError:
        return ()
    return status.st_mode, status.st_ctime_ns, status.st_nlink, status.st_ino
