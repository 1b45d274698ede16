"""
A server as a child process.

asyncio's ready-made streams notice the end of a process only once all its pipes are closed, and a process
that the server started may keep them open. So its end is noticed by itself here.
"""

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import Sequence

from handrail.headless.errors import ServerGoneError
from handrail.headless.server import activity

TAIL_LIMIT_BYTES = 4000  # of the server's stderr: a traceback's end, not its life story
DRAIN_TIMEOUT_S = 1.0  # between the end of the process and that of its output
KILL_TIMEOUT_S = 2.0  # to end after SIGTERM; then SIGKILL


class ServerProcess:
    """See `RunningServer`."""

    def __init__(self, argv: Sequence[str], transport: asyncio.SubprocessTransport, child: "_Child") -> None:
        self.by_hand = shlex.join(argv)
        self.output = child.output
        self._transport = transport
        self._child = child
        self._finishing = asyncio.create_task(child.finish())

    @classmethod
    async def start(cls, argv: Sequence[str]) -> "ServerProcess":
        """
        Start the process.

        Raises:
            ServerGoneError: The program does not exist, or may not be run.
        """
        try:
            transport, child = await asyncio.get_running_loop().subprocess_exec(
                _Child,
                *argv,
                start_new_session=os.name == "posix",  # Ctrl-C is ours: the server is told, not shot
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise ServerGoneError(
                f"The server cannot be started ({reason}): {shlex.join(argv)}\n"
                "Run `handrail doctor` to see what is missing."
            ) from error
        return cls(argv, transport, child)

    @property
    def said(self) -> str:
        """The end of what it wrote to its standard error."""
        return self._child.said.decode("utf-8", "replace").strip()

    @property
    def ending(self) -> str:
        """A phrase that says how it ended."""
        code = self._transport.get_returncode()
        if code is None:
            return "it closed its output"
        return f"exit code {code}" if code >= 0 else f"by signal {-code}"

    def write(self, data: bytes) -> None:
        """Write to its standard input, as long as that is open."""
        if not self._stdin.is_closing():
            self._stdin.write(data)

    def hang_up(self) -> None:
        """Close its standard input."""
        self._stdin.close()

    def used_s(self) -> float | None:
        """Return how long it has used a processor, in seconds; None if that is unknown."""
        return activity.used_s(self._transport.get_pid())

    def is_runnable(self) -> bool:
        """Whether it would go on at once, given a processor or what it reads from the disk."""
        return activity.is_runnable(self._transport.get_pid())

    async def end(self, patience_s: float) -> None:
        """Wait for its end; after *patience_s* it is told to end, then it is killed."""
        for stop in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM), None):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._child.exited.wait(), patience_s)
                return
            if stop is not None:
                self._signal(stop)
            patience_s = KILL_TIMEOUT_S

    async def wait_until_silent(self, patience_s: float) -> None:
        """Wait until its standard error has been read."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._child.silent.wait(), patience_s)

    async def close(self) -> None:
        """Close what is open of its pipes."""
        self._finishing.cancel()
        await asyncio.gather(self._finishing, return_exceptions=True)
        self._transport.close()

    @property
    def _stdin(self) -> asyncio.WriteTransport:
        pipe = self._transport.get_pipe_transport(0)
        assert isinstance(pipe, asyncio.WriteTransport), "started with a pipe"
        return pipe

    def _signal(self, stop: signal.Signals) -> None:
        """Send a signal to the server and what it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(self._transport.get_pid(), stop)
            else:
                self._transport.terminate()


class _Child(asyncio.SubprocessProtocol):
    """The process's output as a stream, the end of its stderr, and its end."""

    def __init__(self) -> None:
        self.output = asyncio.StreamReader()
        self.said = b""
        self.exited = asyncio.Event()
        self.silent = asyncio.Event()
        self._closed = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Take what the server wrote; after its end was declared, nothing."""
        if fd == 2:
            self.said = (self.said + data)[-TAIL_LIMIT_BYTES:]
        elif not self._closed.is_set():
            self.output.feed_data(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Note that a pipe is closed."""
        if fd == 2:
            self.silent.set()
        elif fd == 1:
            self._close()

    def process_exited(self) -> None:
        """Note that the process ended."""
        self.exited.set()

    async def finish(self) -> None:
        """Declare the output ended some time after the process, whoever still holds it."""
        await self.exited.wait()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._closed.wait(), DRAIN_TIMEOUT_S)
        self._close()

    def _close(self) -> None:
        self._closed.set()
        self.output.feed_eof()
