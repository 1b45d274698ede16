"""
Collect the documents whose pending changes are to be stored after a moment.

A turn may edit a document many times in a row, and typing moves its hunks all the time: neither should write
to the disk each time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from handrail.values import dataclass, field

EDITED_S = 0.3  # how much of the last edits a killed server may lose
TYPED_S = 10.0  # and of how typing has moved and changed them; it compares texts then


@dataclass(kw_only=True)
class DelayedWrites:
    """The identities of documents that must be stored soon."""

    _edited: set[str] = field(default_factory=set)
    _typed: set[str] = field(default_factory=set)
    _waiting: dict[bool, asyncio.Task[None]] = field(default_factory=dict)

    def add(
        self, identities: Iterable[str], write: Callable[[], Awaitable[None]], *, is_typing: bool = False
    ) -> None:
        """
        Has documents stored after a moment.

        Args:
            write: Stores all documents that `take` returns; called once for all that were added until then.
            is_typing: Whether only typing has moved their hunks, which can wait longer.
        """
        (self._typed if is_typing else self._edited).update(identities)
        task = self._waiting.get(is_typing)
        if task is None or task.done():
            delay_s = TYPED_S if is_typing else EDITED_S
            self._waiting[is_typing] = asyncio.ensure_future(_write_later(write, delay_s))

    def take(self, identities: Iterable[str | None]) -> list[str]:
        """Returns *identities* and all documents that wait, each once; no document waits afterwards."""
        both = (*identities, *sorted(self._edited | self._typed))
        self._edited.clear()
        self._typed.clear()
        return [identity for identity in dict.fromkeys(both) if identity is not None]

    def is_edited(self, identity: str) -> bool:
        """Whether a document waits that the agent edited."""
        return identity in self._edited


async def _write_later(write: Callable[[], Awaitable[None]], delay_s: float) -> None:
    await asyncio.sleep(delay_s)
    await write()
