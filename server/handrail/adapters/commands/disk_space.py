"""
Watch the free space on the disks that a command may write to, and stop the command before a disk is full.

On a full disk, other programs lose what they are about to save.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from handrail.adapters.files.files import in_thread

RESERVE_BYTES = 1_000_000_000  # what is left to others
SHARE = 0.5  # of what is free, if that is less
POLL_S = 0.25  # in which a fast disk takes some hundred megabytes


async def wait_for_low_disk_space(folders: Iterable[Path]) -> None:
    """Wait until a disk that one of *folders* is on has nearly no room left."""
    reserves = await in_thread(_reserves, folders)
    while not await in_thread(_is_below, reserves):  # noqa: ASYNC110  # no system tells of it
        await asyncio.sleep(POLL_S)


def _reserves(folders: Iterable[Path]) -> dict[Path, int]:
    """Returns the bytes that must stay free, for one folder of each disk."""
    disks: dict[int, Path] = {}
    for folder in folders:
        with suppress(OSError):
            disks.setdefault(os.stat(folder).st_dev, folder)
    return {folder: min(RESERVE_BYTES, int(_free(folder) * SHARE)) for folder in disks.values()}


def _is_below(reserves: dict[Path, int]) -> bool:
    for folder, reserve in reserves.items():
        with suppress(OSError):
            if _free(folder) < reserve:
                return True
    return False


def _free(folder: Path) -> int:
    if not hasattr(os, "statvfs"):
        return 0
    volume = os.statvfs(folder)
    return volume.f_bavail * volume.f_frsize
