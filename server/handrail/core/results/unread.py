"""
The unread output of a command: limited in size, with its end kept.

A command that floods its output must not fill the memory; lost characters are counted, and reported when the
output is read.
"""

from __future__ import annotations

from collections import deque

from handrail.counts import count_of
from handrail.values import dataclass, field

LIMIT_CHARS = 200_000


@dataclass(kw_only=True)
class Unread:
    """
    The output since it was last read.

    Attributes:
        limit_chars: How much of it is kept.
    """

    limit_chars: int = LIMIT_CHARS
    _parts: deque[str] = field(default_factory=deque)
    _chars: int = 0
    _lost: int = 0

    def __len__(self) -> int:
        """Returns the number of stored characters."""
        return self._chars

    def add(self, text: str) -> None:
        """Take what was printed."""
        kept = text[-self.limit_chars :]
        self._parts.append(kept)
        self._chars += len(kept)
        self._lost += len(text) - len(kept)
        while self._chars > self.limit_chars:
            first = self._parts.popleft()
            left = first[self._chars - self.limit_chars :]
            if left:
                self._parts.appendleft(left)
            self._chars -= len(first) - len(left)
            self._lost += len(first) - len(left)

    def take(self) -> str:
        """All that is kept, below a line that says what is not; it counts as read."""
        text, lost = "".join(self._parts), self._lost
        self._parts.clear()
        self._chars = self._lost = 0
        return (
            f"[{count_of(lost, 'earlier character')} {'was' if lost == 1 else 'were'} not stored]\n{text}"
            if lost
            else text
        )
