"""
Server processes for the tests: real ones, over real pipes, and cheap enough to have one for each test.

Most of a server's start is Python importing modules, and cattrs writing a function for each kind of message.
On Linux one process does that once, without running anything, and every server is forked from it; elsewhere
each server is started afresh. A server that starts the process that talks to models forks it too: importing
the SDKs takes longer than most tests. That it can be started by itself is tested in adapters/models.
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
from pathlib import Path
from typing import Protocol

FORKS = sys.platform == "linux"

NURSERY = """
import asyncio, contextlib, dataclasses, gc, importlib, json, logging, os, pkgutil, signal, socket, sys, typing
import attrs, cattrs, dulwich.repo, handrail, lsprotocol.types

for module in pkgutil.walk_packages(handrail.__path__, "handrail."):
    if not module.name.startswith("handrail.testing") and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
converter = handrail.lsp.connection._converter()
warmed = set()

def warm(converter, hint):  # what a server does at the first value of each kind
    if (converter, str(hint)) in warmed:
        return
    warmed.add((converter, str(hint)))
    parts = list(typing.get_args(hint))
    with contextlib.suppress(Exception):  # not every kind can be read
        converter.get_unstructure_hook(hint)
        converter.get_structure_hook(hint)
        parts += typing.get_type_hints(hint).values()
    for part in parts:
        warm(converter, part)

kinds = [kind for name, module in list(sys.modules.items()) if name.startswith("handrail.")
    for kind in vars(module).values() if isinstance(kind, type) and dataclasses.is_dataclass(kind)]
for kind in kinds:
    with contextlib.suppress(TypeError):
        kind.__init__(object.__new__(kind))  # `handrail.values` compiles it now
for again in range(2):  # what is prepared for some kinds is forgotten when others are
    warmed.clear()
    for kind in (str, int, float, bool, type(None), list, tuple, dict):
        warm(converter, kind)
        warm(handrail.lsp.wire.CONVERTER, kind)
    for kind in lsprotocol.types.ALL_TYPES_MAP.values():
        warm(converter, kind)
    for kind in kinds:
        if kind.__module__.startswith("handrail.lsp.protocol."):
            warm(handrail.lsp.wire.CONVERTER, kind)
handrail.lsp.connection._converter = lambda: converter
parent, child = handrail.adapters.models.worker.parent, handrail.adapters.models.worker.child
start_process = asyncio.create_subprocess_exec

def serve_models():
    gc.freeze()  # what the server has open is not closed once more when other files have its numbers
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd > 2:
            with contextlib.suppress(OSError):
                os.close(fd)
    logging.root.handlers.clear()
    child.main()  # does not return, so that no program is run

def fork_model_worker(*argv, **options):
    if parent.BEGIN in argv:
        options["preexec_fn"] = serve_models
    return start_process(*argv, **options)

asyncio.create_subprocess_exec = fork_model_worker
gc.freeze()
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
orders = socket.socket(fileno=int(sys.argv[1]))
while True:
    order, fds, _, _ = socket.recv_fds(orders, 1 << 16, 2)
    if not order:
        break
    if (pid := os.fork()) == 0:
        argv, environment = json.loads(order)
        orders.close()
        for fd, target in ((fds[0], 0), (fds[0], 1), (fds[1], 2)):
            os.dup2(fd, target)
        for fd in fds:
            os.close(fd)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.environ.clear()
        os.environ.update(environment)
        sys.exit(handrail.cli.main(argv))
    for fd in fds:
        os.close(fd)
    orders.send(pid.to_bytes(4, "big"))
"""


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
            argv = [sys.executable, "-c", NURSERY, str(theirs.fileno())]
            self._nursery = subprocess.Popen(argv, pass_fds=[theirs.fileno()])
        theirs.close()

    def start(self, argv: Sequence[str], environment: Mapping[str, str], log: Path) -> Server:
        """A server with `handrail *argv*`, its standard error in *log*."""
        ours, theirs = socket.socketpair()
        with log.open("ab") as errors, theirs:
            if self._nursery is None:
                command = [sys.executable, "-m", "handrail", *argv]
                pid = subprocess.Popen(
                    command, stdin=theirs, stdout=theirs, stderr=errors, env=dict(environment)
                ).pid
            else:
                order = json.dumps([list(argv), dict(environment)]).encode()
                socket.send_fds(self._orders, [order], [theirs.fileno(), errors.fileno()])
                said = self._orders.recv(4)
                if not said:
                    raise RuntimeError("The process that servers are forked from has ended; see above.")
                pid = int.from_bytes(said, "big")
        return Server(pid, ours)

    def close(self) -> None:
        """No more servers are wanted."""
        self._orders.close()
        if self._nursery is not None:
            self._nursery.wait(10)


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
