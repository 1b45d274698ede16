"""Server processes: any command that speaks LSP on its standard streams."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

END_S = 10.0  # for a server to end after `exit`
LIMIT = 1 << 24  # of one line of the server's output


class ServerProcess:
    """A running server. Its standard error goes to a file."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self.process = process
        self.log = log

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        folder: Path,
        log: Path,
        environment: Mapping[str, str] | None = None,
    ) -> ServerProcess:
        """
        Start a server.

        Args:
            folder: Where it runs.
            log: The file for its standard error.
            environment: Variables in addition to those of this process.
        """
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd=folder,
                env={**os.environ, **(environment or {})},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                limit=LIMIT,
                start_new_session=True,  # Ctrl-C ends the tests, which end the server
            )
        return cls(process, log)

    async def streams(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return what the server writes, and where to write to it."""
        assert self.process.stdout is not None
        assert self.process.stdin is not None
        return self.process.stdout, self.process.stdin

    async def wait(self) -> int:
        """Wait until the server ends, and end it by force when it does not; returns its exit status."""
        try:
            async with asyncio.timeout(END_S):
                return await self.process.wait()
        except TimeoutError:
            self.kill()
            return await self.process.wait()

    def kill(self) -> None:
        """End the server by force, unless it has ended."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
