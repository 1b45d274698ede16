"""
Read a model's answer from pydantic-ai's values, and check their types: an SDK passes on what a server sends.

What leaves this module has the types that it states, so nothing behind it checks them again. An answer whose
text is not text cannot be read, and the model is asked again. A call whose name or arguments are of a wrong
type is passed on as a call that cannot run, so that the model is told. What cannot be a count is unknown.
"""

from __future__ import annotations

import json

from pydantic import ValidationError
from pydantic_ai import messages as wire

from handrail.core.conversation import message
from handrail.core.conversation.message import Delta, Piece, Thought, ToolCall, Usage
from handrail.values import replace

NOT_TEXT = "it has something other than text where text belongs."


def piece_of(event: object) -> Piece | None:
    """Returns the piece that an event adds to what the user sees. Raises TypeError if it is not text."""
    said: object = None
    match event:
        case wire.PartStartEvent(part=wire.TextPart(content=content)):
            said = content
        case wire.PartDeltaEvent(delta=wire.TextPartDelta(content_delta=content)):
            said = content
        case wire.PartStartEvent(part=wire.ThinkingPart(content=content)):
            return Thought(text=content) if _text(content) else None
        case wire.PartDeltaEvent(delta=wire.ThinkingPartDelta(content_delta=thought)):
            return Thought(text=thought) if thought and _text(thought) else None
    if said is None or isinstance(said, str):
        return Delta(text=said) if said else None
    raise TypeError(NOT_TEXT)


def text_of(response: wire.ModelResponse) -> str:
    """Returns all text of an answer. Raises TypeError if it is not text."""
    texts: list[object] = [part.content for part in response.parts if isinstance(part, wire.TextPart)]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(NOT_TEXT)
    return "".join(map(_text, texts))


def calls_of(response: wire.ModelResponse) -> tuple[ToolCall, ...]:
    """Returns the calls of an answer; what is not text in an id or a name is left out."""
    return tuple(_call(part) for part in response.parts if isinstance(part, wire.ToolCallPart))


def _call(part: wire.ToolCallPart) -> ToolCall:
    return ToolCall(
        id=_text(part.tool_call_id),
        name=_text(part.tool_name),
        arguments=part.args if isinstance(part.args, str) else json.dumps(part.args or {}),
        item=_text(part.id),
    )


def private_of(response: wire.ModelResponse, origin: str) -> str:
    """
    Returns the parts that the model's server needs back unchanged: reasoning, signatures, its own names.
    Empty if there are none, or if they are not what they must be, and so could never be sent back.
    """
    if not any(isinstance(part, wire.ThinkingPart) or part.provider_details for part in response.parts):
        return ""
    parts = [_sound(part) if isinstance(part, wire.ToolCallPart) else part for part in response.parts]
    kept = wire.ModelResponse(parts=parts, provider_name=response.provider_name)
    written = wire.ModelMessagesTypeAdapter.dump_json([kept], warnings=False)
    try:
        wire.ModelMessagesTypeAdapter.validate_json(written)
    except ValidationError:
        return ""
    return f"{origin}\n{written.decode()}"


def _sound(part: wire.ToolCallPart) -> wire.ToolCallPart:
    """Returns a call with the types that it must have; it gets our names and arguments before it is sent."""
    call = _call(part)
    return replace(part, tool_call_id=call.id, tool_name=call.name, args=call.arguments)


def usage_of(response: wire.ModelResponse, *, has_price: bool) -> Usage:
    """Returns the usage of an answer, with its price if a list has it."""
    usage = response.usage
    try:
        cost = message.read_price(response.cost().total_price) if has_price else None
    except (LookupError, ValueError, TypeError, ArithmeticError, AssertionError):
        cost = None  # a model that no price list knows, or counts that are not numbers
    return Usage(
        steps=1,
        input_tokens=message.read_tokens(usage.input_tokens),
        output_tokens=message.read_tokens(usage.output_tokens),
        cached_tokens=message.read_tokens(usage.cache_read_tokens),
        cost_usd=cost,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
