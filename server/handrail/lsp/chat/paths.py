"""The paths of the workspace's files, for completion."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from handrail.agent.chat.path_index import PathIndex
from handrail.core.failure import Failure

FRESH_S = 5.0  # for so long a list counts as new,
FRESH_TIMES = 20  # or for so many times as long as it took
Listing = Callable[[], Awaitable[tuple[str, ...] | Failure]]


@dataclass(kw_only=True)
class Paths:
    """
    They are listed when they are first asked for. Whoever asks later is answered at once, while they are
    listed anew.

    Attributes:
        listing: Lists them, which may be slow.
        begin: Does something beside all else.
    """

    listing: Listing
    _known: PathIndex = field(default_factory=PathIndex)
    _stale_at: float = float("-inf")
    _running: asyncio.Task[None] | None = None

    async def index(self) -> PathIndex:
        """All of them, as far as is known."""
        now = asyncio.get_running_loop().time()
        if self._running is None and now > self._stale_at:
            self._running = asyncio.create_task(self._list())
        if self._running is not None and self._stale_at == float("-inf"):
            await asyncio.shield(self._running)
        return self._known

    async def _list(self) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            files = await self.listing()
            self._known = await asyncio.to_thread(PathIndex, () if isinstance(files, Failure) else files)
            now = loop.time()
            self._stale_at = now + max(FRESH_S, FRESH_TIMES * (now - began))
        finally:
            self._running = None
