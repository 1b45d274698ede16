"""One attempt at the system's own lock of an open file; it ends with the process, however that dies."""

from __future__ import annotations

import os
import sys

if sys.platform == "win32":
    import msvcrt

    def take(handle: int, *, writes: bool) -> bool:
        """Lock an open file, if no one else has; there are no shared locks here, so readers wait too."""
        os.lseek(handle, 1 << 30, os.SEEK_SET)  # beyond the owner's name, which stays readable
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def take(handle: int, *, writes: bool) -> bool:
        """Lock an open file, until it is closed; whether no one else had."""
        try:
            fcntl.flock(handle, (fcntl.LOCK_EX if writes else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
