"""
The time in which a client may do nothing but wait for its user.

Some editors show a message that has choices, and handle nothing else until the user has chosen. This time
says nothing about their edits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Blocking:
    """
    Measures this time for one client.

    Attributes:
        wake: Called when such a time begins and when it ends.
    """

    wake: Callable[[], None]
    _messages: set[object] = field(default_factory=set)
    _began: float = 0.0
    _past_s: float = 0.0
    _never_blocks: bool = False

    @property
    def is_now(self) -> bool:
        """Whether the client may be blocked now."""
        return bool(self._messages) and not self._never_blocks

    @property
    def seconds(self) -> float:
        """How long the client may have been blocked until now, in seconds."""
        return self._past_s + (_clock_s() - self._began if self.is_now else 0.0)

    @contextmanager
    def message(self) -> Iterator[None]:
        """The client shows a message that has choices, in this block."""
        if not self._messages:
            self._began = _clock_s()
        message = object()
        self._messages.add(message)
        self.wake()
        try:
            yield
        finally:
            past_s = self.seconds
            self._messages.remove(message)
            if not self._messages:
                self._past_s = past_s
            self.wake()

    @property
    def shown(self) -> frozenset[object]:
        """The messages that the client shows now."""
        return frozenset(self._messages)

    def on_answer(self, shown: frozenset[object]) -> None:
        """
        The client has answered a request that it was sent while it showed these messages: if it still shows
        one of them, messages do not block it.
        """
        if not shown.isdisjoint(self._messages):
            self._past_s, self._never_blocks = self.seconds, True
            self.wake()


def _clock_s() -> float:
    return asyncio.get_running_loop().time()
