"""Remove pictures from messages, to make room or for a model that cannot see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from handrail.core.conversation.message import Message, ToolMessage, ToolResult, UserMessage

MAKES_ROOM = "(The picture was removed to make room; request it again if you need it.)"
CANNOT_SEE = (
    "(A picture was here. handrail does not show you pictures: the setting handrail.pictures or the "
    "provider does not allow it.)"
)


def describe_pictures(messages: Sequence[Message]) -> Sequence[Message]:
    """Returns a conversation for a model that cannot see pictures."""
    return [unshown(message) for message in messages]


def unshown(message: Message, why: str = CANNOT_SEE) -> Message:
    """A message without its pictures, but for why they are not there."""
    match message:
        case UserMessage(text=text, pictures=pictures) if pictures:
            return replace(message, text=f"{text}\n{why}", pictures=())
        case ToolMessage(results=results) if any(each.pictures for each in results):
            return replace(message, results=tuple(result_unshown(each, why) for each in results))
        case _:
            return message


def result_unshown(result: ToolResult, why: str) -> ToolResult:
    """A result without its pictures."""
    if not result.pictures:
        return result
    return replace(result, text=f"{result.text}\n{why}", pictures=())
