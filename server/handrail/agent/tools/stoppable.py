"""
Run a call that only reads, and leave it alone when the turn is stopped: a search may take its whole time.

What still runs then changes nothing, so it is not waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

LEFT: set[asyncio.Future[Any]] = set()  # a task without a reference would be collected


async def unless_stopped(work: Coroutine[Any, Any, T], stop: asyncio.Event) -> T | None:
    """Returns the result of *work*; None if it was stopped before it ended."""
    running = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((running, stopping), return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        if not running.done():
            running.cancel()
            LEFT.add(running)
            running.add_done_callback(_forget)
    return running.result() if running.done() else None


def _forget(task: asyncio.Future[Any]) -> None:
    LEFT.discard(task)
    if not task.cancelled():
        task.exception()  # looked at, so asyncio does not report it as forgotten


async def agrees(asked: Coroutine[Any, Any, bool], stop: asyncio.Event) -> bool:
    """Whether the user says yes before the turn is stopped, which does not wait for an answer."""
    return bool(await unless_stopped(asked, stop))
