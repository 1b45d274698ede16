"""
The metadata of files before a command, to detect afterwards what git does not.

Git stores only whether a file is executable, and does not read a file again that was changed within a second
if its size and time are the same.
"""

from __future__ import annotations

import os
import stat
from array import array
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path

# By name: the mode, when anything about the file last changed in ns, how many names it has, and its number.
Stats = Mapping[str, Sequence[int]]
Json = dict[str, str]
FIELDS = 4
NUMBER = 2**63 - 1  # what is kept of a file's number

LIMIT_FILES = 50_000  # a tenth of a second
AT_ONCE = 2_000  # files; other threads wait while a function of C goes through them
SECOND_NS = 10**9
TICK_NS = SECOND_NS // 50  # by how much the time of a file may lag behind the clock


def to_json(seen: Stats | None) -> Json | None:
    """
    Returns metadata in a form that is quickly written as JSON, even that of many files; `from_json` reads it.
    """
    if seen is None:
        return None
    numbers, rows = array("q"), iter(seen.values())
    while some := list(islice(rows, AT_ONCE)):
        numbers.extend(chain.from_iterable(some))
    return {"names": "\0".join(seen), "numbers": b64encode(numbers.tobytes()).decode("ascii")}


def from_json(given: Json | None) -> Stats | None:
    """Returns what `to_json` was given. Raises ValueError."""
    if given is None:
        return None
    numbers = array("q", b64decode(given["numbers"]))
    names = given["names"].split("\0") if numbers else []
    if len(numbers) != FIELDS * len(names):
        raise ValueError(f"{len(names)} files have {len(numbers)} numbers")
    result: dict[str, Sequence[int]] = {}
    rows = zip(*[iter(numbers)] * FIELDS, strict=True)
    for start in range(0, len(names), AT_ONCE):
        result.update(zip(names[start : start + AT_ONCE], rows))  # noqa: B905  # the rows go on
    return result


def read_stats(top: Path, names: Iterable[str]) -> Stats:
    """Returns what the files *names* of a work tree look like from outside; those that exist."""
    each_stat = ((name, _stat(f"{top}/{name}")) for name in names)
    return {name: found for name, found in each_stat if found}


def doubtful(known: Stats, seen: Stats, began_ns: int) -> set[bytes]:
    """
    Returns the names of files that git may take for unchanged although they have been changed.

    Args:
        known: Of the snapshot before.
        seen: While git looked at the files too.
        began_ns: When both began to look; what has changed since may have been seen by only one of them.
    """
    result = {name for name, now in seen.items() if now[1] >= began_ns - TICK_NS}
    for name, was in known.items():
        now = seen.get(name)
        if now is not None and now[1] != was[1] and now[1] // SECOND_NS == was[1] // SECOND_NS:
            result.add(name)
    return set(map(os.fsencode, result))


def other_rights(known: Stats, seen: Stats) -> dict[str, int]:
    """Returns the plain files whose permission bits have changed, with those that were *seen*."""
    return {
        name: stat.S_IMODE(now[0])
        for name, (mode, *_) in known.items()
        if (now := seen.get(name)) and now[0] != mode and stat.S_ISREG(mode) and stat.S_ISREG(now[0])
    }


def has_other_names(path: Path, was: Sequence[int] | None) -> bool:
    """Whether *path* is a file that has other names now, and did not have them before."""
    try:
        now = os.lstat(path)
    except OSError:
        return False
    if not stat.S_ISREG(now.st_mode) or now.st_nlink < 2:
        return False
    return not was or was[2] < 2 or was[3] != now.st_ino & NUMBER


def _stat(path: str) -> Sequence[int]:
    """Nothing of a file that is not there, or in a folder that is closed."""
    try:
        status = os.lstat(path)
    except OSError:
        return ()
    return status.st_mode, status.st_ctime_ns, status.st_nlink, status.st_ino & NUMBER
