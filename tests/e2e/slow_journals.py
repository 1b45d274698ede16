"""Servers on a disk that is slow: it writes to no journal while a test holds it."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from e2e.servers import Server

SLOW = """
import pathlib, sys, time
from handrail.adapters.state.session_log import SessionLog
from handrail.cli import main

held, waiting = map(pathlib.Path, sys.argv[1:3])
write = SessionLog._write

def write_slowly(*given):
    while held.exists():
        waiting.touch()
        time.sleep(0.01)
    write(*given)

SessionLog._write = write_slowly
sys.exit(main(sys.argv[3:]))
"""


class Journals:
    """Starts such servers."""

    def __init__(self, folder: Path) -> None:
        self._held, self._waiting = folder / "held", folder / "waiting"

    def start(self, argv: Sequence[str], environment: Mapping[str, str], log: Path) -> Server:
        """A server with `handrail *argv*`, its standard error in *log*."""
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-c", SLOW, str(self._held), str(self._waiting), *argv]
        with log.open("ab") as errors, theirs:
            process = subprocess.Popen(
                command, stdin=theirs, stdout=theirs, stderr=errors, env=dict(environment)
            )
        return Server(process.pid, ours)

    def hold(self) -> None:
        """From now on nothing is written."""
        self._held.touch()

    def are_waiting(self) -> bool:
        """Whether something is to be written, and is held."""
        return self._waiting.exists()

    def release(self) -> None:
        """What is held is written."""
        self._held.unlink()
