"""
The client's end of standard input: sound messages only, and an end that is an end.

Each message is preceded by its length. Without a sound length the start of the next message is unknown, and a
guess could wait for ever or read part of a message as another one. So the error is logged, and the connection
ends. When it has ended, for whatever reason, the process ends within `END_S`, whatever is still at
work, since no client is left to stop it.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NoReturn

logger = logging.getLogger(__name__)

END_S = 4.0  # an orderly end stops commands and keeps checkpoints, which takes tenths of a second
LAST_S = 1  # after that, for a process in which no Python runs any more
LIMIT_HEADER_BYTES = 16_384
LIMIT_BODY_BYTES = 500_000_000  # the largest documents are opened with a tenth of it
LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(?P<size>[^\r\n]*?)[ \t]*\r?\n", re.IGNORECASE)


class UnsoundError(Exception):
    """What came is not the beginning of a message."""


class Messages:
    """
    A stream that gives only sound messages, as pygls reads them: their length, an empty line, the body.

    Args:
        source: Where the client writes.
        ended: Called once, in any thread, when nothing more will come.
    """

    def __init__(self, source: BinaryIO, ended: Callable[[], None]) -> None:
        self._source, self._ended = source, ended
        self._rows: list[bytes] = []
        self._body = b""

    def readline(self) -> bytes:
        """The next line before a body; nothing at the end."""
        if not self._rows:
            try:
                self._rows = self._next()
            except UnsoundError as error:
                logger.error("The server cannot read what the client sends and ends: %s", error)
            except (OSError, ValueError) as error:  # the stream was closed while it was read
                logger.warning("The client cannot be read: %s", error)
        if not self._rows:
            self._ended()
            return b""
        return self._rows.pop(0)

    def read(self, size: int) -> bytes:
        """The body whose length was just read."""
        body, self._body = self._body[:size], b""
        return body

    def _next(self) -> list[bytes]:
        """What precedes the next message, whose body is kept; nothing at the end. Raises UnsoundError."""
        while (size := self._size()) == 0:
            logger.warning("The client sent an empty message, which was passed over.")
        if size is None:
            return []
        self._body = self._source.read(size)
        if len(self._body) < size:
            raise UnsoundError(f"it left after {len(self._body):,} of {size:,} bytes of a message")
        return [b"Content-Length: %d\r\n" % size, b"\r\n"]

    def _size(self) -> int | None:
        """The length that the next header says; None at the end."""
        header, left = b"", LIMIT_HEADER_BYTES
        while left > 0:
            row = self._source.readline(left)
            left -= len(row)
            if not row:
                if header:
                    raise UnsoundError("it left within the header of a message")
                return None
            if row.strip():
                header += row
            elif header:
                return _length(header)
        raise UnsoundError(f"the header of a message has more than {LIMIT_HEADER_BYTES:,} bytes")


def _length(header: bytes) -> int:
    said = {found["size"] for found in LENGTH.finditer(header)}
    if not said:
        raise UnsoundError(f"a header has no Content-Length: {_shown(header)}")
    if len(said) > 1:
        raise UnsoundError(f"a header has several lengths: {_shown(header)}")
    (size,) = said
    if not re.fullmatch(rb"[0-9]{1,18}", size):
        raise UnsoundError(f"a Content-Length is not a number: {_shown(size)}")
    if int(size) > LIMIT_BODY_BYTES:
        raise UnsoundError(f"a message of {int(size):,} bytes is announced, {LIMIT_BODY_BYTES:,} are read")
    return int(size)


def _shown(raw: bytes) -> str:
    return ascii(raw[:80].decode("utf-8", "replace"))


class Watchdog:
    """Ends the process once its client has left, if it does not end by itself."""

    def __init__(self, end_s: float = END_S) -> None:
        self._end_s = end_s
        self._begun = threading.Lock()

    def begin(self) -> None:
        """The client has left."""
        if not self._begun.acquire(blocking=False):
            return
        if hasattr(signal, "alarm"):
            signal.alarm(int(self._end_s) + LAST_S)
        timer = threading.Timer(self._end_s, _end)
        timer.daemon = True
        timer.start()


def _end() -> None:
    logger.error("The client has left and something is still at work; it is ended.")
    end_at_once(1)


def end_at_once(code: int) -> NoReturn:
    """End this process and what it has started, whatever its threads do."""
    for child in _children():
        with suppress(OSError):
            group = os.getpgid(child)
            os.kill(child, signal.SIGKILL) if group == os.getpgid(0) else os.killpg(group, signal.SIGKILL)
    os._exit(code)


def _children() -> list[int]:
    """The processes that this one has started, where the system has a list of them."""
    found: list[int] = []
    for task in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError, ValueError):
            found += map(int, task.read_text(encoding="ascii").split())
    return found
