"""
Limit the processes of a command that runs as root, for which the system has no limit.

The number of all processes and threads of the machine is cheap to read, so it is checked often. Only if it
has grown by more than the limit, the command's own processes are counted.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from handrail.adapters.commands.ending import FINDS_ALL, find_marked
from handrail.adapters.containment.holding import LIMIT_PROCESSES
from handrail.adapters.files.files import in_thread

LOADS = Path("/proc/loadavg")
POLL_S = 0.05
BEYOND = 4  # times as many: then it is ended, even if they do not carry its mark


async def wait_for_too_many_processes(mark: str) -> None:
    """Wait until the command that carries *mark* has too many processes; forever, unless it runs as root."""
    if not FINDS_ALL or os.geteuid() != 0:
        await asyncio.Event().wait()
    began: int | None = None
    while True:
        running = _count_running()
        began = running if began is None else began
        more = 0 if running is None or began is None else running - began
        if more > BEYOND * LIMIT_PROCESSES or (more > LIMIT_PROCESSES and await _has_too_many(mark)):
            return
        await asyncio.sleep(POLL_S)


async def _has_too_many(mark: str) -> bool:
    try:
        return len(await in_thread(find_marked, mark)) > LIMIT_PROCESSES
    except OSError:  # it cannot be counted now
        return False


def _count_running() -> int | None:
    """Returns the number of processes and threads on the machine; None if it cannot be read."""
    try:
        return int(LOADS.read_text("ascii").split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        return None
