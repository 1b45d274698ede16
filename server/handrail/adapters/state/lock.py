"""
A lock for one writer at a time, across servers, or several readers.

The lock is the system's own, so it ends with the process that holds it, however that dies: there are no stale
locks. The file names the holder, for people and for the error after a wait that timed out.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from handrail.adapters.files import stopping
from handrail.adapters.files.system_lock import take
from handrail.ports import CheckpointError

WAIT_S = 10.0  # longer than any write takes; packing holds no lock
PAUSE_S = 0.005
SIGNED_CHARS = 60  # always as many


@contextmanager
def hold(path: Path, *, writes: bool, wait_s: float | None = None) -> Iterator[None]:
    """
    Hold a lock.

    Args:
        path: The file that is the lock, in a folder that exists.
        writes: Whether to keep out everyone else; otherwise only those who write.
        wait_s: How long to wait for whoever holds it, if not `WAIT_S`; 0 is one attempt.

    Raises:
        CheckpointError: Someone else held it all that time; the message names them.
        OSError: There can be no such file.
        StoppedError: The work was stopped while it waited.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if stat.S_IMODE(os.fstat(handle).st_mode) != 0o600:
            os.chmod(path, 0o600)
        until = time.monotonic() + (WAIT_S if wait_s is None else wait_s)
        while not take(handle, writes=writes):
            stopping.raise_if_stopped()
            if time.monotonic() >= until:
                readers = take(handle, writes=False)  # only readers hold it, which do not sign
                raise CheckpointError(
                    f"The folder {path.parent} {_in_use(path, is_signed=not readers)}. Try again."
                )
            time.sleep(PAUSE_S)
        if writes:
            _sign(handle)
        yield
    finally:
        os.close(handle)  # which lets go of the lock


def _sign(handle: int) -> None:
    """Say who holds the lock; where that cannot be written, it is held all the same."""
    said = f"process {os.getpid()} since {time.strftime('%Y-%m-%d %H:%M:%S')}"
    with suppress(OSError):  # over what was said before: to cut the file first may wait for the disk
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, f"{said:{SIGNED_CHARS}}\n".encode())


def _in_use(path: Path, *, is_signed: bool) -> str:
    """Says who holds a lock and since when, if its holder has signed it, as the end of a sentence."""
    with suppress(OSError):
        if is_signed and (said := path.read_text(encoding="utf-8", errors="replace").strip()):
            return f"has been in use by {said}"
    return "is in use by another process"
