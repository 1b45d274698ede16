"""Convert tools and our messages to pydantic-ai's."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import groupby

from pydantic_ai import messages as wire
from pydantic_ai.tools import ToolDefinition

from handrail.adapters.models.arguments import as_object
from handrail.core.conversation import prompt
from handrail.core.conversation.message import (
    AssistantMessage,
    Message,
    Picture,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolOffer,
    ToolResult,
    UserMessage,
)
from handrail.core.failure import Code

UNNAMED = "unnamed"


def tool(offer: ToolOffer) -> ToolDefinition:
    """A tool."""
    return ToolDefinition(
        name=offer.name, description=offer.description, parameters_json_schema=json.loads(offer.schema)
    )


def named_tools(messages: Sequence[Message]) -> list[ToolDefinition]:
    """The tools that a conversation has called; Anthropic refuses it without them."""
    made = (message for message in messages if isinstance(message, AssistantMessage))
    names = dict.fromkeys(call.name or UNNAMED for message in made for call in message.calls)
    return [ToolDefinition(name=name, parameters_json_schema={"type": "object"}) for name in names]


def cache_key(messages: Sequence[Message]) -> str:
    """The same for all requests of a conversation, so that a server finds what it has read of it before."""
    first = next((each.text for each in messages if isinstance(each, UserMessage)), "")
    rules = "".join(each.text for each in messages if isinstance(each, SystemMessage))
    return sha256(f"{rules}\n{first}".encode("utf-8", "replace")).hexdigest()[:32]


def _join(messages: Sequence[Message]) -> Iterator[Message | tuple[UserMessage, ...]]:
    """The messages, those of the user in a row as one: strict chat templates refuse two."""
    for is_user, run in groupby(messages, key=lambda message: isinstance(message, UserMessage)):
        if is_user:
            yield tuple(message for message in run if isinstance(message, UserMessage))
        else:
            yield from run


def messages(
    said: Sequence[Message], origin: str, *, marks: bool, only_signed: bool = False
) -> list[wire.ModelMessage]:
    """
    Our messages as the SDK has them.

    Args:
        origin: The model that is asked.
        marks: Whether it is told what failed, and where the request before this one ended. Up to there, and
            up to the end of this one by `CACHED`, its server keeps what it reads. It looks back by 20 parts
            from each mark, fewer than the calls and results of one step may have.
        only_signed: Whether it gets back only reasoning that its server has marked as the model's own: the
            SDK would send any other as a message of the user.
    """
    return list(_convert(_join(said), origin, marks=marks, only_signed=only_signed))


def _convert(
    messages: Iterable[Message | tuple[UserMessage, ...]], origin: str, *, marks: bool, only_signed: bool
) -> Iterator[wire.ModelMessage]:
    converted = list(messages)
    before = _end_before(converted) if marks else -1
    names: dict[str, str] = {}
    for at, message in enumerate(converted):
        match message:
            case SystemMessage(text=text):
                yield wire.ModelRequest(parts=[wire.SystemPromptPart(content=text)])
            case tuple():
                text = "\n\n".join(map(prompt.user_text, message))
                point = [wire.CachePoint()] if at == before else []
                shown = [_picture(each) for said_ in message for each in said_.pictures]
                yield wire.ModelRequest(parts=[wire.UserPromptPart(content=[text, *shown, *point])])
            case AssistantMessage(text=text, calls=calls):
                names |= {call.id: call.name for call in calls}
                said: list[wire.ModelResponsePart] = [wire.TextPart(content=text)] if text.strip() else []
                sent = _give_back(message, origin, only_signed=only_signed)
                yield sent or wire.ModelResponse(parts=[*said, *map(_tool_call, calls)])
            case ToolMessage(results=results):
                returned = [_tool_return(result, names, marks=marks) for result in results]
                marked = [wire.UserPromptPart(content=[wire.CachePoint()])] if at == before else []
                yield wire.ModelRequest(parts=[*returned, *marked])


def _end_before(messages: Sequence[Message | tuple[UserMessage, ...]]) -> int:
    """
    Returns the index at which the request ended that the model's last message answers; -1 if there was none.
    """
    answers = [at for at, message in enumerate(messages) if isinstance(message, AssistantMessage)]
    asked = range(answers[-1] - 1, -1, -1) if answers else ()
    return next((at for at in asked if isinstance(messages[at], tuple | ToolMessage)), -1)


def _tool_return(result: ToolResult, names: Mapping[str, str], *, marks: bool) -> wire.ToolReturnPart:
    failed = marks and result.failure is not None and result.failure.code is not Code.DENIED
    return wire.ToolReturnPart(
        tool_name=names.get(result.call) or UNNAMED,
        content=[result.text, *map(_picture, result.pictures)] if result.pictures else result.text,
        tool_call_id=result.call,
        outcome="failed" if failed else "success",
    )


def _picture(picture: Picture) -> wire.BinaryContent:
    return wire.BinaryContent(data=b64decode(picture.data), media_type=picture.media)


def _give_back(message: AssistantMessage, origin: str, *, only_signed: bool) -> wire.ModelResponse | None:
    """
    Returns a message as the model had sent it, with our names for its calls; None if it must be written
    again.
    """
    made, _, raw = message.private.partition("\n")
    if not raw or made != origin:
        return None
    try:
        (kept,) = wire.ModelMessagesTypeAdapter.validate_json(raw)
    except ValueError:  # an older handrail kept what no server may get
        return None
    calls = iter(message.calls)
    if not isinstance(kept, wire.ModelResponse) or len(kept.tool_calls) != len(message.calls):
        return None
    parts = [
        _rename(part, next(calls)) if isinstance(part, wire.ToolCallPart) else part
        for part in kept.parts
        if not (only_signed and isinstance(part, wire.ThinkingPart) and _is_unsigned(part))
    ]
    return replace(kept, parts=parts)


def _is_unsigned(part: wire.ThinkingPart) -> bool:
    """Whether a server has no means to know the reasoning again; the SDK calls tags in a text `content`."""
    return not (part.signature or part.provider_details) and part.id in (None, "", "content")


def _rename(part: wire.ToolCallPart, call: ToolCall) -> wire.ToolCallPart:
    ours = _tool_call(call)
    return replace(part, tool_name=ours.tool_name, args=ours.args, tool_call_id=ours.tool_call_id)


def _tool_call(call: ToolCall) -> wire.ToolCallPart:
    return wire.ToolCallPart(
        tool_name=call.name or UNNAMED, args=as_object(call.arguments or "{}"), tool_call_id=call.id
    )
