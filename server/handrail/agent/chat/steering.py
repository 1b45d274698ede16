"""Messages to a turn that ended before its model read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from handrail.agent.chat.transcript import TranscriptTurn


class UnreadMessage(NamedTuple):
    """A message, and the turn to which it was sent."""

    turn: str
    text: str


def take_unread(turns: Iterable[TranscriptTurn], *, is_loaded: bool) -> list[UnreadMessage]:
    """
    Takes the unread messages from turns that have ended.

    Args:
        turns: The turns of a conversation.
        is_loaded: Whether they were just loaded, perhaps after a server was killed. Otherwise those that
            another process has run are left to it.
    """
    over = [one for one in turns if not (one.is_running or one.is_elsewhere) and (is_loaded or one.ran_here)]
    found = [UnreadMessage(one.turn, text) for one in over for text in one.steered]
    for one in over:
        one.changes += bool(one.steered)
        one.steered = []
    return found
