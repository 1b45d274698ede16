"""Servers on a disk that is slow: it writes to no journal while a test holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from e2e.servers import Server, shared_servers

SLOW = """
import pathlib, time
from handrail.adapters.state.session_log import SessionLog

held, waiting = pathlib.Path({held!r}), pathlib.Path({waiting!r})
write = SessionLog._write

def write_slowly(*given):
    while held.exists():
        waiting.touch()
        time.sleep(0.01)
    write(*given)

SessionLog._write = write_slowly
"""


class Journals:
    """Starts such servers."""

    def __init__(self, folder: Path) -> None:
        self._held, self._waiting = folder / "held", folder / "waiting"

    def start(self, argv: Sequence[str], environment: Mapping[str, str], log: Path) -> Server:
        """A server with `handrail *argv*`, its standard error in *log*."""
        slow = SLOW.format(held=str(self._held), waiting=str(self._waiting))
        return shared_servers().start(argv, environment, log, slow)

    def hold(self) -> None:
        """From now on nothing is written."""
        self._held.touch()

    def are_waiting(self) -> bool:
        """Whether something is to be written, and is held."""
        return self._waiting.exists()

    def release(self) -> None:
        """What is held is written."""
        self._held.unlink()
