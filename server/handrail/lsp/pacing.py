"""Bound the share of the time that something may take which is done again and again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from handrail.values import dataclass

SHARE = 10  # pauses are this many times as long as what was done: so it takes less than a tenth of a core


@dataclass(kw_only=True)
class Paced:
    """
    Something that brings clients up to date, and may be done late, but not too often.

    Attributes:
        act: Does it; the last time is always after the last `soon`.
        may_wait: Whether it may be late at this moment, as a truth value.
        now_s: The time, in seconds, of a clock that only goes forward.
    """

    act: Callable[[], None]
    may_wait: Callable[[], object] = lambda: True
    now_s: Callable[[], float] = time.monotonic
    _free_s: float = 0.0
    _timer: asyncio.TimerHandle | None = None

    def now(self) -> None:
        """Does it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        began_s = self.now_s()
        try:
            self.act()
        finally:
            ended_s = self.now_s()
            self._free_s = ended_s + (ended_s - began_s) * SHARE

    def soon(self) -> None:
        """Does it once the pause is over: the longer the last time took, the longer the pause after it."""
        wait_s = self._free_s - self.now_s()
        if wait_s <= 0 or not self.may_wait():
            self.now()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(wait_s, self.now)

    def finish(self) -> None:
        """Does it now, if it is yet to be done."""
        if self._timer is not None:
            self.now()
