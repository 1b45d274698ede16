"""Messages that no model has read: to a turn that ended before, or to one that waited and never began."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from handrail.agent.chat.transcript import TranscriptTurn
from handrail.core.conversation.journal import Entry, Returned, Steered, TurnBegun, drop_rewound


class UnreadMessage(NamedTuple):
    """A message, and the turn to which it was sent."""

    turn: str
    text: str


def never_begun(entries: Sequence[Entry]) -> list[UnreadMessage]:
    """Returns the messages to turns that waited for others and never began, according to a journal."""
    known = {each.turn for each in entries if isinstance(each, TurnBegun | Returned)}
    sent = (each for each in drop_rewound(entries) if isinstance(each, Steered))
    return [UnreadMessage(each.turn, each.text) for each in sent if each.turn not in known]


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
