"""
Stop processes, and everything that they have started.

A keeper stops what runs below it. In addition, each process of a command has a mark in its environment.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from handrail.adapters.commands.kept_process import KeptProcess
from handrail.adapters.files.files import in_thread

Process = asyncio.subprocess.Process | KeptProcess
MARK = "HANDRAIL_COMMAND"  # in the environment of all that a command starts; how it is found again
GRACE_S = 2.0  # between asking processes to end and ending them
POLL_S = 0.02  # how often it is looked whether they have
FINDS_ALL = sys.platform.startswith("linux")  # elsewhere only what stays in the command's groups is ended


async def end_all(processes: Sequence[Process], mark: str) -> int:
    """End *processes* and all that they have started; returns how many of them all still ran."""
    kept = [process for process in processes if isinstance(process, KeptProcess)]
    others = [process for process in processes if not isinstance(process, KeptProcess)]
    keepers = frozenset(each.pid for each in kept)
    left = [pid for pid in await in_thread(find_marked, mark) if pid not in keepers]
    below = sum(await asyncio.gather(*(each.end() for each in kept)))
    await _end_marked(others, left, mark)
    return max(len(left), below)


async def _end_marked(
    processes: Sequence[asyncio.subprocess.Process], left: Sequence[int], mark: str
) -> None:
    """End *processes*, and what carries *mark*, of which *left* did before."""
    if _have_ended(processes) and not left and FINDS_ALL:
        return
    known = frozenset(left)
    _signal(processes, known, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while True:
        known |= frozenset(await in_thread(find_marked, mark))
        known = frozenset(filter(_is_alive, known))
        if _have_ended(processes) and not known:
            break
        if time.monotonic() > deadline:
            _signal(processes, known, signal.SIGKILL)
        if time.monotonic() > deadline + GRACE_S:  # not even the system can end it now
            break
        await asyncio.sleep(POLL_S)
    if not FINDS_ALL:
        _signal(processes, known, signal.SIGKILL)


def _have_ended(processes: Sequence[asyncio.subprocess.Process]) -> bool:
    return all(process.returncode is not None for process in processes)


def _signal(
    processes: Sequence[asyncio.subprocess.Process], pids: frozenset[int], number: signal.Signals
) -> None:
    for process in processes:  # each leads a group
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def find_marked(mark: str) -> list[int]:
    """The running processes that carry *mark*, including those in a session of their own; Linux only."""
    if not FINDS_ALL:
        return []
    wanted, result = f"{MARK}={mark}".encode(), list[int]()
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        with suppress(OSError), open(f"/proc/{entry.name}/environ", "rb") as environ:
            if wanted in environ.read():
                result.append(int(entry.name))
    return result


def _is_alive(pid: int) -> bool:
    """Whether a process still runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False
