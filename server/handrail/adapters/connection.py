"""
Read the client's messages from standard input, and make sure that the process ends with the connection.

Each message is preceded by its length. Without a valid length the start of the next message is unknown, and a
guess could wait forever or read part of a message as another one. So the error is logged, and the connection
ends. When it has ended, for whatever reason, the process ends within `END_S`, even if work is still running,
since no client is left to stop it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import select
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NoReturn

logger = logging.getLogger(__name__)

END_S = 4.0  # an orderly end stops commands and keeps checkpoints, which takes tenths of a second
LAST_S = 1  # after that, for a process in which Python no longer runs
PLAIN = re.compile(rb"Content-Length: ([1-9][0-9]{0,7})\r\n\r\n")  # as nearly all clients write it
LIMIT_HEADER_BYTES = 16_384
CHUNK_BYTES = 65_536  # what a pipe holds
HANGUP_POLL_MS = 100  # between two looks at whether what a client that has left wrote is read
LIMIT_BODY_BYTES = 500_000_000  # the largest documents are opened with a tenth of it
LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(?P<size>[^\r\n]*?)[ \t]*\r?\n", re.IGNORECASE)


if sys.platform != "win32":
    import fcntl
    import termios

    def unread_bytes(descriptor: int) -> int:
        """Returns the number of bytes that have been written to a pipe or a socket and not read."""
        return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)


class UnsoundError(Exception):
    """The received bytes are not the beginning of a message."""


class Parser:
    """
    Cuts a stream of bytes into the bodies of messages.

    `feed` what comes, `take` bodies until there is none, and call `end` when nothing more will come.
    `take` and `end` raise UnsoundError.
    """

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._header, self._left = b"", LIMIT_HEADER_BYTES
        self._size: int | None = None  # of the body that comes next, once its header is read

    @property
    def has_more(self) -> bool:
        """Whether bytes are left that belong to later messages."""
        return bool(self._bytes)

    def feed(self, data: bytes | memoryview) -> None:
        """Adds bytes that have come."""
        self._bytes += data

    def take(self) -> bytes | None:
        """Returns the next body; None if more bytes must come first."""
        while self._size is None:
            if not self._header and (plain := PLAIN.match(self._bytes)) is not None:
                self._size = int(plain[1])
                self._left = LIMIT_HEADER_BYTES
                del self._bytes[: plain.end()]
            elif not self._read_row():
                return None
            if self._size == 0:
                logger.warning("The client sent an empty message, which was ignored.")
                self._size = None
        if len(self._bytes) < self._size:
            return None
        with memoryview(self._bytes) as view:
            body = bytes(view[: self._size])
        del self._bytes[: self._size]
        self._size = None
        return body

    def _read_row(self) -> bool:
        """Reads one row before a body; returns False if it has not come yet."""
        size = self._bytes.find(b"\n", 0, self._left) + 1
        if not size:
            if len(self._bytes) >= self._left:
                raise UnsoundError(f"the header of a message has more than {LIMIT_HEADER_BYTES:,} bytes")
            return False
        row = bytes(self._bytes[:size])
        del self._bytes[:size]
        self._left -= size
        if row.strip():
            self._header += row
        elif self._header:
            self._size = _length(self._header)
            self._header, self._left = b"", LIMIT_HEADER_BYTES
        return True

    def end(self) -> None:
        """Checks that the stream ends between two messages."""
        if self._size is not None:
            raise UnsoundError(
                f"the client disconnected after {len(self._bytes):,} of {self._size:,} bytes of a message"
            )
        if self._header or self._bytes.strip():
            raise UnsoundError("the client disconnected inside the header of a message")


class Messages:
    """
    The messages of a client, handed over one at a time while an event loop runs.

    A keystroke is a message, and handing it from thread to thread costs more than everything that is done
    with it. So the event loop reads the stream itself, where the system tells it that there is something to
    read. Elsewhere (regular files, Windows) a thread reads. Between two messages, whatever the first one
    began gets its turn on the event loop.

    Args:
        source: Where the client writes.
        ended: Called once, in any thread, when nothing more will come.
    """

    def __init__(self, source: BinaryIO, ended: Callable[[], None]) -> None:
        self._source, self._ended = source, ended
        self._parser = Parser()
        self._chunk = memoryview(bytearray(CHUNK_BYTES))
        self._over: asyncio.Future[None]
        self._is_idle = True
        self._end_told = threading.Lock()

    async def deliver(self, receive: Callable[[bytes], None], stopped: Callable[[], bool]) -> None:
        """Calls *receive* with the body of each message, until the client leaves or *stopped*."""
        loop = asyncio.get_running_loop()
        self._over = loop.create_future()
        self._receive, self._stopped = receive, stopped
        try:
            descriptor = self._source.fileno()
            loop.add_reader(descriptor, self._read, descriptor)
        except (OSError, ValueError, NotImplementedError):  # it cannot be polled
            await self._read_in_thread()
            return
        watch = Hangup(descriptor, lambda: self._is_idle, self._tell_end)
        try:
            await self._over
        finally:
            loop.remove_reader(descriptor)
            watch.close()

    def _read(self, descriptor: int) -> None:
        """The client has written something, or has left."""
        try:
            data = self._chunk[: os.readv(descriptor, (self._chunk,))]
        except BlockingIOError:
            return
        except OSError as error:
            self._fail(error)
            return
        self._is_idle = False
        if self._take_over(data) and self._parser.has_more:
            loop = asyncio.get_running_loop()
            loop.remove_reader(descriptor)  # until these are done, so that they do not pile up
            loop.call_soon(self._go_on, descriptor)
            return
        self._is_idle = True

    def _go_on(self, descriptor: int) -> None:
        """Hands over the next message that has been read already."""
        loop = asyncio.get_running_loop()
        if self._over.done():
            return
        if self._take_over(None):
            loop.call_soon(self._go_on, descriptor)
        elif not self._over.done():
            self._is_idle = True
            loop.add_reader(descriptor, self._read, descriptor)

    async def _read_in_thread(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._over.done():
            try:
                data = await loop.run_in_executor(None, self._source.read1, CHUNK_BYTES)  # type: ignore[attr-defined]  # of every buffered stream
            except (OSError, ValueError) as error:  # the stream was closed while it was read
                self._fail(error)
                break
            handed_over = self._take_over(data)
            while handed_over and not self._over.done():
                await asyncio.sleep(0)
                handed_over = self._take_over(None)
        self._over.result()

    def _take_over(self, data: bytes | memoryview | None) -> bool:
        """Hands over one message after *data* was read, which is empty at the end; False if there is none."""
        try:
            if data:
                self._parser.feed(data)
            body = self._parser.take()
            if body is None and data == b"":
                self._parser.end()
                self._finish()
        except UnsoundError as error:
            logger.error("The server cannot read the client's messages and is shutting down: %s", error)
            self._finish()
            return False
        if body is None:
            return False
        try:
            self._receive(body)
        except BrokenPipeError as error:  # no one reads the answers, which `deliver` raises
            if not self._over.done():
                self._over.set_exception(error)
        except Exception:  # our fault in one handler; the next messages are still handled
            logger.exception("A message from the client could not be handled.")
        if self._stopped() and not self._over.done():
            self._over.set_result(None)
        return True

    def _fail(self, error: Exception) -> None:
        logger.warning("Reading from the client failed: %s", error)
        self._finish()

    def _finish(self) -> None:
        """Nothing more will come."""
        self._tell_end()
        if not self._over.done():
            self._over.set_result(None)

    def _tell_end(self) -> None:
        if self._end_told.acquire(blocking=False):
            self._ended()


def _length(header: bytes) -> int:
    said = {match["size"] for match in LENGTH.finditer(header)}
    if not said:
        raise UnsoundError(f"a header has no Content-Length: {_show(header)}")
    if len(said) > 1:
        raise UnsoundError(f"a header has more than one Content-Length: {_show(header)}")
    (size,) = said
    if not re.fullmatch(rb"[0-9]{1,18}", size):
        raise UnsoundError(f"a Content-Length is not a number: {_show(size)}")
    if int(size) > LIMIT_BODY_BYTES:
        raise UnsoundError(
            f"a message of {int(size):,} bytes was announced; the limit is {LIMIT_BODY_BYTES:,}"
        )
    return int(size)


def _show(raw: bytes) -> str:
    return ascii(raw[:80].decode("utf-8", "replace"))


class Hangup:
    """
    Notices that a client has left, even while the event loop is stuck in something.

    Args:
        descriptor: Where the client writes.
        is_idle: Whether all that was read has been handed over.
        left: Called in a thread of its own, once the client has left and nothing of it is unread.
    """

    def __init__(self, descriptor: int, is_idle: Callable[[], bool], left: Callable[[], None]) -> None:
        self._to_close: int | None = None
        if sys.platform != "win32":
            copy = os.dup(descriptor)  # which stays what it is when the other is closed
            closed, self._to_close = os.pipe()
            arguments = copy, closed, is_idle, left
            threading.Thread(target=self._watch, args=arguments, name="hangup", daemon=True).start()

    def close(self) -> None:
        """Ends the watch."""
        if self._to_close is not None:
            os.close(self._to_close)
            self._to_close = None

    @staticmethod
    def _watch(descriptor: int, closed: int, is_idle: Callable[[], bool], left: Callable[[], None]) -> None:
        try:
            poll = select.poll()
            poll.register(closed, 0)  # a hangup is always told
            poll.register(descriptor, getattr(select, "POLLRDHUP", 0))
            poll.poll()
            poll.unregister(descriptor)
            while not poll.poll(HANGUP_POLL_MS):
                if is_idle() and not unread_bytes(descriptor):
                    left()
                    return
        except OSError as error:
            logger.warning("The server cannot detect whether the client disconnects: %s", error)
        finally:
            os.close(descriptor)
            os.close(closed)


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
    logger.error("The client has disconnected while work is still running; stopping it.")
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
    result: list[int] = []
    for task in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError, ValueError):
            result += map(int, task.read_text(encoding="ascii").split())
    return result
