"""The protocol of a running server: its two streams, its end, and whether it is at work."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import BinaryIO, Protocol

from handrail.values import dataclass


class RunningServer(Protocol):
    """
    A server that has been started.

    Attributes:
        output: What it writes; ends when it does.
        by_hand: The command that starts such a server, for people; empty if there is none.
    """

    output: asyncio.StreamReader
    by_hand: str

    @property
    def said(self) -> str:
        """The end of what it logged."""

    @property
    def ending(self) -> str:
        """A phrase that says how it ended."""

    def write(self, data: bytes) -> None:
        """Write to it; does nothing once it no longer reads."""

    def hang_up(self) -> None:
        """Stop writing, which tells it to end."""

    def used_s(self) -> float | None:
        """Return how long it has used a processor, in seconds; None if that is unknown."""

    def is_runnable(self) -> bool:
        """Whether it would go on at once, given a processor or what it reads from the disk."""

    async def end(self, patience_s: float) -> None:
        """Wait for its end; after *patience_s*, kill it, where that is possible."""

    async def wait_until_silent(self, patience_s: float) -> None:
        """Wait until all that it logged has been read."""

    async def close(self) -> None:
        """Let go of its streams, after its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosted:
    """
    A server that runs in this process, in its own threads.

    Attributes:
        to_server, from_server: Our ends of two pipes; closed by whoever is given this.
        ended: Its exit code, when it has ended.
        said: The end of what it has logged.
    """

    to_server: BinaryIO
    from_server: BinaryIO
    ended: Future[int]
    said: Callable[[], str]


Host = Callable[[], Hosted]  # starts a server
Start = tuple[str, ...] | Host  # how to start one: a command line, or a function
