"""The paths of the workspace's files, for completion."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from handrail.core.failure import Failure

FRESH_S = 5.0  # for so long a list counts as new
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
    _known: tuple[str, ...] = ()
    _listed_at: float = float("-inf")
    _running: asyncio.Task[None] | None = None

    async def all(self) -> tuple[str, ...]:
        """All of them, as far as is known."""
        now = asyncio.get_running_loop().time()
        if self._running is None and now - self._listed_at > FRESH_S:
            self._running = asyncio.create_task(self._list())
        if self._running is not None and self._listed_at == float("-inf"):
            await asyncio.shield(self._running)
        return self._known

    async def _list(self) -> None:
        try:
            found = await self.listing()
            self._known = () if isinstance(found, Failure) else found
            self._listed_at = asyncio.get_running_loop().time()
        finally:
            self._running = None
