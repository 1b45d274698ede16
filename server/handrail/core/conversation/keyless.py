"""Remove keys from messages before they are sent to a model. Results have none by then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from handrail.core.conversation.message import Message, SystemMessage, UserMessage
from handrail.core.results.redact import redact


def without_keys(messages: Sequence[Message], secrets: Sequence[str]) -> tuple[Message, ...]:
    """*messages* without the *secrets* in what we and the user say, excerpts of documents included."""
    return tuple(_strip_keys(message, tuple(secrets)) for message in messages)


def _strip_keys(message: Message, secrets: tuple[str, ...]) -> Message:
    match message:
        case SystemMessage() | UserMessage():
            return _redact(message, secrets)
        case _:
            return message


@lru_cache(maxsize=256)  # each step sends the whole conversation again
def _redact(message: SystemMessage | UserMessage, secrets: tuple[str, ...]) -> Message:
    text = redact(message.text, secrets)
    if isinstance(message, SystemMessage):
        return replace(message, text=text)
    context = tuple(replace(each, text=redact(each.text, secrets)) for each in message.context)
    return replace(message, text=text, context=context)
