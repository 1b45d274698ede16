"""
A client and its server in one process: the server in a thread, with an event loop of its own.

Two pipes join them, and nothing else: they speak as they do between processes. Standard input and output are
the client's; what the server logs is kept, and told if it ends before its time. No one can end a thread. So
if the server goes on after its client has left, the process ends all the same, with the client's exit code.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import BinaryIO, TextIO

from handrail.adapters.standard_streams import flush_all
from handrail.cli.parser import ANSWER_TIMEOUT_S, COMMAND_TIMEOUT_S
from handrail.headless.server.running import Hosted, Start

logger = logging.getLogger(__name__)

TAIL_CHARS = 4000  # of what the server logs
LEAVE_S = 1.0  # for a server that has been told to end, beyond the time that its client gave it
LAST_S = 5  # after that, for a process in which Python no longer runs


def with_server(command: Callable[[Start], Coroutine[object, object, int]]) -> int:
    """Run a command, which is given how to start its server; returns its exit code, if the server ends."""
    before = frozenset(threading.enumerate())
    server, code = _Server(), 1  # as Python ends after an error
    gc.disable()  # what is imported stays; the server enables it again
    try:
        code = asyncio.run(command(server.start))
    except BaseException:
        if not server.has_ended():
            traceback.print_exc()
        raise
    finally:
        gc.enable()
        left = frozenset(threading.enumerate()) - before
        if not server.has_ended() or not all(thread.daemon for thread in left):
            _end_at_once(code)
        server.close_log()
    return code


def _end_at_once(code: int) -> None:
    from handrail.adapters.connection import end_at_once

    if hasattr(signal, "alarm"):
        signal.alarm(LAST_S)
    flush_all()
    end_at_once(code)


class _Server:
    """At most one server, its thread, and its log."""

    def __init__(self) -> None:
        self._log = _Log()
        self._thread: threading.Thread | None = None
        self._pipes: tuple[BinaryIO, ...] = ()

    def start(self) -> Hosted:
        """Start it."""
        source, to_server = _pipe()
        from_server, sink = _pipe()
        ended: Future[int] = Future()
        self._pipes = to_server, from_server
        self._thread = threading.Thread(
            target=self._serve, args=(source, sink, ended), name="server", daemon=True
        )
        self._thread.start()
        return Hosted(to_server=to_server, from_server=from_server, ended=ended, said=self._log.tail)

    def has_ended(self) -> bool:
        """Hangs up and waits a moment; returns whether the server has ended."""
        for pipe in self._pipes:
            with suppress(OSError):
                pipe.close()
        if self._thread is not None:
            self._thread.join(LEAVE_S)
        return self._thread is None or not self._thread.is_alive()

    def close_log(self) -> None:
        """Stop logging."""
        logging.getLogger().removeHandler(self._log)
        threading.excepthook = threading.__excepthook__

    def _serve(self, source: BinaryIO, sink: BinaryIO, ended: Future[int]) -> None:
        code = 1
        try:
            code = _serve(source, sink, self._log)
        except BaseException:  # this thread's last: the client learns of it by the exit code 1
            logger.exception("The server failed.")
        finally:
            for pipe in (source, sink):
                with suppress(OSError):  # the client has left, and what it did not read is lost
                    pipe.close()
            ended.set_result(code)


def _serve(source: BinaryIO, sink: BinaryIO, log: logging.Handler) -> int:
    from handrail.adapters.models.keys import Keys
    from handrail.cli.serve import join, log_without, serve_client

    keys = Keys(os.environ)
    log_without(keys.secrets, log)
    with join(keys, None, ANSWER_TIMEOUT_S, COMMAND_TIMEOUT_S) as server:
        return serve_client(server, source, sink, lambda: None)


class _Log(logging.StreamHandler[TextIO]):
    """Keeps the end of what the server logs; what the client logs is shown, as Python does by itself."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)
        self._text = ""

    def tail(self) -> str:
        """Returns the end of the log."""
        return self._text.strip()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep or show a record."""
        if record.thread == threading.main_thread().ident:
            super().emit(record)
        else:
            self._text = f"{self._text}{self.format(record)}\n"[-TAIL_CHARS:]


def _pipe() -> tuple[BinaryIO, BinaryIO]:
    reading, writing = os.pipe()
    return os.fdopen(reading, "rb"), os.fdopen(writing, "wb")
