"""
Stop blocking work in a thread: wherever it waits, it checks whether it should continue.

The flag is part of the context that the thread inherits, so that functions in between need not pass it on.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

from handrail.adapters.files import files

P = ParamSpec("P")
T = TypeVar("T")

PAUSE_S = 0.05  # how long it takes at most until work that waits is seen to be stopped

_stop: ContextVar[threading.Event | None] = ContextVar("stop", default=None)


class StoppedError(Exception):
    """It was stopped before it was done."""

    def __init__(self) -> None:
        super().__init__("It was stopped before it was done")


def can_be_stopped() -> bool:
    """Whether the work of this context may be stopped."""
    return _stop.get() is not None


def raise_if_stopped() -> None:
    """Raises StoppedError if the work of this context is to be stopped."""
    stop = _stop.get()
    if stop is not None and stop.is_set():
        raise StoppedError


async def in_thread(
    stop: asyncio.Event | None, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """
    Run blocking work in a thread, as `files.in_thread` does, until *stop* is set.

    Raises:
        StoppedError: It was set, and the work has come to a place where it looks.
    """
    if stop is None:
        return await files.in_thread(function, *args, **kwargs)
    wanted = threading.Event()

    async def follow() -> None:
        await stop.wait()
        wanted.set()

    following = asyncio.ensure_future(follow())
    before = _stop.set(wanted)
    try:
        return await files.in_thread(function, *args, **kwargs)
    finally:
        _stop.reset(before)
        following.cancel()
