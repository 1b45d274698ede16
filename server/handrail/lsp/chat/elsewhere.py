"""
Keep conversations up to date that another window or process continues.

A journal is watched as long as the client shows its conversation. A process that is killed writes nothing, so
while another process runs a turn, its lock is also checked every two seconds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from handrail.lsp.chat.page import SHARE, ChatPage
from handrail.ports import Watch
from handrail.values import dataclass, field

logger = logging.getLogger(__name__)

PAUSE_S = 0.2  # between two looks
CHECK_S = 2.0  # between two checks whether the other process still runs


@dataclass(kw_only=True)
class Follower:
    """Brings one page up to date whenever there is news."""

    page: ChatPage
    news: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Runs until it is cancelled."""
        clock = asyncio.get_running_loop()
        while True:
            await self._wait_for_news()
            self.news.clear()
            began = clock.time()
            try:
                await self.page.catch_up()
            except Exception:  # our fault, which must not end this task: the page would never follow again
                logger.exception("The conversation %s could not be brought up to date", self.page.session)
            await asyncio.sleep(max(PAUSE_S, (clock.time() - began) * SHARE))

    async def _wait_for_news(self) -> None:
        try:
            async with asyncio.timeout(CHECK_S if self.page.is_elsewhere else None):
                await self.news.wait()
        except TimeoutError:
            pass


@dataclass(kw_only=True)
class OtherWindows:
    """
    Follows the journals of the conversations that are shown.

    Attributes:
        watch: Watches files.
        uri: Returns the URI of a session's journal.
    """

    watch: Watch
    uri: Callable[[str], str | None]
    _followers: dict[str, Follower] = field(default_factory=dict)

    def follow(self, pages: Iterable[ChatPage]) -> None:
        """Follows the journals of these pages from now on, and of no others."""
        wanted = {uri: page for page in pages if (uri := self.uri(page.session)) is not None}
        for uri in [uri for uri in self._followers if uri not in wanted]:
            self._stop(uri)
        for uri, page in wanted.items():
            if uri not in self._followers:
                follower = self._followers[uri] = Follower(page=page)
                follower.task = asyncio.ensure_future(follower.run())
        self.watch.follow(sorted(wanted), self._tell)

    def _tell(self, uri: str) -> None:
        if uri in self._followers:
            self._followers[uri].news.set()

    def _stop(self, uri: str) -> None:
        task = self._followers.pop(uri).task
        if task is not None:
            task.cancel()

    def close(self) -> None:
        """Stops following."""
        for uri in list(self._followers):
            self._stop(uri)
        self.watch.close()
