"""
Whether a server is at work, as far as the system tells: what it has used, and what it waits for.

A server that is one of many on a busy machine may get no processor for a long time. It is not idle then: its
threads could run, or wait for the disk.
"""

import os
from pathlib import Path

PROCESSES = Path("/proc")  # Linux has it
AT_WORK = frozenset(b"RD")  # could run, or waits for the disk


def used_s(pid: int) -> float | None:
    """Return how long a process has used a processor, in seconds; None if that is unknown."""
    fields = _fields(PROCESSES / str(pid) / "stat")
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") if fields else None


def is_runnable(pid: int, but: int = 0) -> bool:
    """Whether any thread of a process would go on at once if it could, *but* one."""
    try:
        threads = [each for each in (PROCESSES / str(pid) / "task").iterdir() if each.name != str(but)]
    except OSError:
        return False
    return any(fields[0][0] in AT_WORK for each in threads if (fields := _fields(each / "stat")))


def _fields(file: Path) -> list[bytes]:
    """Return the fields after the name, which may contain anything; none if the process does not exist."""
    try:
        return file.read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []
