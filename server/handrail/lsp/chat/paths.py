"""The paths of the workspace's files, for completion."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from handrail.agent.chat.path_index import PathIndex
from handrail.core.failure import Failure
from handrail.values import dataclass, field

FRESH_S = 5.0  # a list counts as fresh for so long,
FRESH_TIMES = 20  # or for so many times as long as it took to make
Listing = Callable[[], Awaitable[tuple[str, ...] | Failure]]


@dataclass(kw_only=True)
class Paths:
    """
    The paths, which are listed on first use. Later calls return at once, while the list is renewed.

    Attributes:
        listing: Lists the paths, which may be slow.
        begin: Starts a background task.
    """

    listing: Listing
    _known: PathIndex = field(default_factory=PathIndex)
    _stale_at: float = float("-inf")
    _running: asyncio.Task[None] | None = None

    async def index(self) -> PathIndex:
        """Returns the paths, as far as they are known."""
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
