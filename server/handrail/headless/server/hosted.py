"""
A server in this process, reached through two pipes.

No one can end its threads. So after its time is over it is left alone, and its host makes sure that the
process ends all the same.
"""

import asyncio
import contextlib
import os
import threading
import time

from handrail.headless.server import activity
from handrail.headless.server.running import Host, Hosted


class HostedServer:
    """See `RunningServer`."""

    by_hand = ""

    def __init__(self, hosted: Hosted, output: asyncio.StreamReader) -> None:
        self.output = output
        self._hosted = hosted
        self._reading: asyncio.ReadTransport | None = None
        self._writing: asyncio.WriteTransport | None = None
        self._ended, self._lost = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def note_end(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: no one waits
                loop.call_soon_threadsafe(self._ended.set)

        hosted.ended.add_done_callback(note_end)

    @classmethod
    async def start(cls, host: Host) -> "HostedServer":
        """Start the server, and take hold of the pipes."""
        loop, output = asyncio.get_running_loop(), asyncio.StreamReader()
        server = cls(host(), output)
        reader = asyncio.StreamReaderProtocol(output)
        server._reading, _ = await loop.connect_read_pipe(lambda: reader, server._hosted.from_server)
        pipe = server._hosted.to_server
        server._writing, _ = await loop.connect_write_pipe(lambda: _Writing(server._lost), pipe)
        return server

    @property
    def said(self) -> str:
        """The end of what it has logged."""
        return self._hosted.said()

    @property
    def ending(self) -> str:
        """A phrase that says how it ended."""
        ended = self._hosted.ended
        return f"exit code {ended.result()}" if ended.done() else "it closed its output"

    def write(self, data: bytes) -> None:
        """Write to its pipe, as long as that is open."""
        if self._writing is not None and not self._writing.is_closing():
            self._writing.write(data)

    def hang_up(self) -> None:
        """Close the pipe that it reads."""
        if self._writing is not None:
            self._writing.close()

    def used_s(self) -> float | None:
        """Return how long all threads but this one have used a processor, in seconds."""
        return time.process_time() - time.thread_time()

    def is_runnable(self) -> bool:
        """Whether any thread but this one would go on at once."""
        return activity.is_runnable(os.getpid(), but=threading.get_native_id())

    async def end(self, patience_s: float) -> None:
        """Wait for its end, for *patience_s* at most."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), patience_s)

    async def wait_until_silent(self, patience_s: float) -> None:
        """Return: what it logs is known at once."""

    async def close(self) -> None:
        """Close our ends of the pipes."""
        if self._reading is not None:
            self._reading.close()
        if self._writing is not None and not self._lost.is_set():
            self._writing.abort()  # what the server has not read by now, it never will


class _Writing(asyncio.BaseProtocol):
    """Notes when a pipe is closed."""

    def __init__(self, lost: asyncio.Event) -> None:
        self._lost = lost

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed."""
        self._lost.set()
