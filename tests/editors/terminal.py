"""A terminal of its own for an editor, which without one has no screen and no idle time."""

import os
import pty
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

LIMIT_S = 90

# An editor speaks to its controlling terminal, which a process must choose for itself.
TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def on_terminal(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    """Run a program on a new terminal until it ends; what it drew."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, 120))
    process = subprocess.Popen(
        [sys.executable, "-c", TAKE_TERMINAL, *command],
        cwd=folder,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    drawn, deadline = bytearray(), time.monotonic() + LIMIT_S
    try:
        while time.monotonic() < deadline:
            if select.select([ours], [], [], 0.1)[0]:
                drawn += os.read(ours, 65536)
            elif process.poll() is not None:
                break
    except OSError:
        pass  # how Linux says that the other end of a terminal is closed
    finally:
        os.close(ours)
        if process.poll() is None:
            process.terminate()
        process.wait(timeout=5)
    return drawn.decode(errors="replace")
