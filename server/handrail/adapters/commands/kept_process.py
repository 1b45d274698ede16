"""Commands below a keeper, which stops everything that they have started; see `keeper`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence

from handrail.adapters.commands import keeper
from handrail.values import dataclass, field


@dataclass(kw_only=True)
class KeptProcess:
    """A command that runs below a keeper; it has the methods of a process that Playing uses."""

    process: asyncio.subprocess.Process
    rows: asyncio.StreamReader
    transport: asyncio.BaseTransport
    lifeline: int
    _code: asyncio.Future[int] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    _left: int = 0
    _reading: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """The keeper's."""
        return self.process.pid

    @property
    def returncode(self) -> int | None:
        """The keeper's: None while anything of the command may run."""
        return self.process.returncode

    async def wait_for_start(self) -> None:
        """Wait until the command runs. Raises OSError if it cannot be started."""
        name, _, value = (await self.rows.readline()).decode("ascii").strip().partition(" ")
        if name != "started":
            code = int(value) if value else 0
            raise OSError(code, os.strerror(code) if code else "it could not be started")
        self._reading = asyncio.ensure_future(self._read())

    async def wait(self) -> int:
        """The command's exit code, below 0 for a signal."""
        return await asyncio.shield(self._code)

    def release(self) -> None:
        """Have everything of the command end."""
        lifeline, self.lifeline = self.lifeline, -1
        if lifeline >= 0:
            os.close(lifeline)

    async def end(self) -> int:
        """End everything of the command; returns how many processes of it still ran, without its first."""
        self.release()
        await self.process.wait()
        if self._reading is not None:
            await self._reading
        self.transport.close()
        return self._left

    async def _read(self) -> None:
        async for row in self.rows:
            name, _, value = row.decode("ascii").strip().partition(" ")
            if name == "exited":
                self._code.set_result(int(value))
            elif name == "left":
                self._left = int(value)
        if not self._code.done():  # the keeper was killed
            self._code.set_result(-signal.SIGKILL)


async def start(  # noqa: PLR0913, PLR0917  # what a process is started with
    program: str,
    words: Sequence[str],
    streams: tuple[int, int, int],
    folder: str,
    environment: Mapping[str, str],
    grace_s: float,
    passed: Sequence[int] = (),
) -> KeptProcess:
    """
    Start *program* below a keeper.

    Args:
        words: Its name and arguments.
        grace_s: The time between asking what is left of it to end and ending it.
        passed: Descriptors that it gets.

    Raises OSError, ValueError.
    """
    watched, lifeline = os.pipe()
    ours, theirs = os.pipe()
    adds_locale = "LC_CTYPE" not in environment  # Python itself may add it
    given = (str(watched), str(theirs), str(grace_s), str(int(adds_locale)), program, *words)
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", keeper.__file__, *given),
            cwd=folder,
            env=environment,
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            start_new_session=True,
            pass_fds=(watched, theirs, *passed),
        )
        rows = asyncio.StreamReader()
        pipe = os.fdopen(ours, "rb", buffering=0)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(rows), pipe
        )
    except BaseException:
        os.close(lifeline)
        os.close(ours)
        raise
    finally:
        os.close(watched)
        os.close(theirs)
    kept = KeptProcess(process=process, rows=rows, transport=transport, lifeline=lifeline)
    try:
        await kept.wait_for_start()
    except BaseException:
        kept.release()
        transport.close()
        raise
    return kept
