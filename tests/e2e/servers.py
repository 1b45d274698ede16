"""
Server processes and commands for the tests: real ones, over real pipes, and cheap enough to have many.

Most of a start is Python importing modules, and cattrs writing a function for each kind of message. On Linux
one process does that once, without running anything, and all others are forked from it (see `nursery`), and
so is what they start of our own; elsewhere each is started afresh. That they start by themselves is tested in
e2e/test_start, headless/test_run, headless/test_one_process and adapters/models.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Protocol

FORKS = sys.platform == "linux"
NURSERY = Path(__file__).with_name("nursery.py")
HANDRAIL = (sys.executable, "-P", "-m", "handrail")
MAIN = "import sys, handrail.cli; sys.exit(handrail.cli.main(sys.argv[1:]))"
HANGS_S = 300.0  # then a command is killed, and its test fails


class Starter(Protocol):
    """Starts servers."""

    def start(self, argv: Sequence[str], environment: Mapping[str, str], log: Path) -> Server:
        """A server with `handrail *argv*`, its standard error in *log*."""


class Servers:
    """Starts servers; used by all tests of a run."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._orders = ours
        self._nursery = None
        if FORKS:
            argv = [sys.executable, "-P", os.fspath(NURSERY), str(theirs.fileno())]
            self._nursery = subprocess.Popen(argv, pass_fds=[theirs.fileno()])
        theirs.close()

    def start(
        self, argv: Sequence[str], environment: Mapping[str, str], log: Path, before: str = ""
    ) -> Server:
        """A server with `handrail *argv*`, its standard error in *log*; *before* is code to run first."""
        ours, theirs = socket.socketpair()
        with log.open("ab") as errors, theirs:
            if self._nursery is None:
                command = [sys.executable, "-P", "-c", f"{before}\n{MAIN}", *argv]
                pid = subprocess.Popen(
                    command, stdin=theirs, stdout=theirs, stderr=errors, env=dict(environment)
                ).pid
            else:
                files = [theirs.fileno(), theirs.fileno(), errors.fileno()]
                pid = self.fork(argv, environment, None, files, before)
        return Server(pid, ours)

    def fork(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        folder: Path | None,
        files: Sequence[int],
        before: str = "",
    ) -> int:
        """Have a process forked with these files; returns its id."""
        order = {
            "argv": list(argv),
            "environment": dict(environment),
            "folder": folder and os.fspath(folder),
            "before": before,
        }
        socket.send_fds(self._orders, [json.dumps(order).encode()], list(files))
        answer = self._orders.recv(4)
        if not answer:
            raise RuntimeError("The process that servers are forked from has ended; its error is above.")
        return int.from_bytes(answer, "big")


@cache
def shared_servers() -> Servers:
    """Those of this run; they end with it."""
    return Servers()


def run_handrail(
    argv: Sequence[str], *, environment: Mapping[str, str], folder: Path | None = None, given: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Runs `handrail *argv*` in *folder* to its end, with *given* as standard input."""
    if not FORKS:
        return subprocess.run(
            [*HANDRAIL, *argv], input=given, capture_output=True, check=False, env=environment, cwd=folder
        )
    pipes = [os.pipe() for _ in range(4)]
    (stdin, to_it), *outputs = pipes
    files = [stdin, *(writes for _, writes in outputs)]
    pid = shared_servers().fork(argv, environment, folder, files)
    for each in files:
        os.close(each)
    with ThreadPoolExecutor(4) as pool:
        pool.submit(_write, to_it, given)
        reading = [pool.submit(_read, reads) for reads, _ in outputs]
        try:
            out, err, code = (each.result(HANGS_S) for each in reading)
        except TimeoutError:
            os.killpg(pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(argv, int.from_bytes(code, "big", signed=True), out, err)


def _write(fd: int, given: bytes) -> None:
    with suppress(BrokenPipeError), open(fd, "wb") as pipe:
        pipe.write(given)


def _read(fd: int) -> bytes:
    with open(fd, "rb") as pipe:
        return pipe.read()


class Server:
    """A running server: what is written to it and read from it."""

    def __init__(self, pid: int, connection: socket.socket) -> None:
        self.pid = pid
        self._connection = connection

    async def streams(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """What the server writes, and where to write to it."""
        return await asyncio.open_connection(sock=self._connection, limit=1 << 24)

    def kill(self) -> None:
        """End it by force, if it has not ended."""
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
