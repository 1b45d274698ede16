"""
Sends a client the changes of a conversation that it has read.

A change contains what is new or different and, for growing text, only the new end. It is sent at once after a
quiet time, and at most ten times a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from handrail.lsp.protocol import ChatChanged, ChatGrowth, ChatItem, ChatStatus, ChatTranscript, ChatWords
from handrail.values import dataclass, field

PAUSE_S = 0.1  # between two changes


@dataclass(kw_only=True)
class Feed:
    """
    The conversation of one session, as one client knows it.

    Attributes:
        items, status: Return its current state.
        tell: Sends a change.
        revision: The number of the last change that was sent.
    """

    session: str
    items: Callable[[], Sequence[ChatItem]]
    status: Callable[[], ChatStatus]
    tell: Callable[[ChatChanged], None]
    revision: int = 0
    _told: dict[str, ChatItem] = field(default_factory=dict)
    _status: ChatStatus | None = None
    _told_at: float = float("-inf")
    _timer: asyncio.TimerHandle | None = None

    def read(self) -> ChatTranscript:
        """Returns the whole conversation; later changes are relative to it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        items, self._status = list(self.items()), self.status()
        self._told = {each.id: each for each in items}
        return ChatTranscript(session=self.session, revision=self.revision, status=self._status, items=items)

    def note(self) -> None:
        """Called when something has changed: sends it soon."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            wait_s = max(self._told_at + PAUSE_S - loop.time(), 0.0)
            self._timer = loop.call_later(wait_s, self._tell)

    def _tell(self) -> None:
        self._timer = None
        items, status = self.items(), self.status()
        difference_ = difference(self._told, items)
        is_new = status != self._status
        if difference_ is None and not is_new:
            return
        self.revision += 1
        self._told, self._status = {each.id: each for each in items}, status
        self._told_at = asyncio.get_running_loop().time()
        difference_ = difference_ or Difference()
        self.tell(
            ChatChanged(
                session=self.session,
                revision=self.revision,
                status=status if is_new else None,
                items=difference_.items or None,
                grown=difference_.grown or None,
                removed=difference_.removed or None,
                order=difference_.order,
            )
        )


@dataclass(kw_only=True)
class Difference:
    """The difference between the items that a client knows and the current ones; see `ChatChanged`."""

    items: list[ChatItem] = field(default_factory=list)
    grown: list[ChatGrowth] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    order: list[str] | None = None


def difference(known: Mapping[str, ChatItem], now: Sequence[ChatItem]) -> Difference | None:
    """Returns what has changed since a client was sent the items *known*; None if nothing has."""
    result, ids = Difference(), [each.id for each in now]
    for each in now:
        before = known.get(each.id)
        if before is each or before == each:
            continue
        if isinstance(each, ChatWords) and isinstance(before, ChatWords) and _grows(before, each):
            result.grown.append(ChatGrowth(id=each.id, text=each.text[len(before.text) :]))
        else:
            result.items.append(each)
    there = set(ids)
    result.removed = [name for name in known if name not in there]
    expected = [name for name in known if name in there] + [name for name in ids if name not in known]
    result.order = ids if expected != ids else None
    is_same = not (result.items or result.grown or result.removed or result.order)
    return None if is_same else result


def _grows(before: ChatWords, after: ChatWords) -> bool:
    return before.turn == after.turn and after.text.startswith(before.text)
