"""
Repair a history: give every tool call exactly one result, right after it, and lose none.

A result is found by either id of its call, ignoring blanks around it. A call without a result gets the
failure that the caller gives; a result without a call becomes a message to the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from handrail.core.conversation.message import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from handrail.core.failure import Failure
from handrail.core.results.sanitize import result_text

Slot = tuple[int, int]  # the index of a message, and of a call in it


def pair_results(messages: Sequence[Message], missing: Failure) -> tuple[Message, ...]:
    """
    *messages*, well-formed: each message with calls is followed by all their results in call order.

    Args:
        messages: In any state; a well-formed history comes back as it is.
        missing: What becomes the result of a call that has none.

    Cost: linear. Origin: compression-boundary.
    """
    answers, strays = _match(messages)
    collected: list[Message] = []
    for at, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            collected += [_stray(result) for result in strays.get(at, [])]
            continue
        collected.append(message)
        if isinstance(message, AssistantMessage) and message.calls:
            results = (_result(call, answers.get((at, n)), missing) for n, call in enumerate(message.calls))
            collected.append(ToolMessage(results=tuple(results)))
    return tuple(collected)


def _match(messages: Sequence[Message]) -> tuple[dict[Slot, ToolResult], dict[int, list[ToolResult]]]:
    """The result of each call that has one, and the results without a call by their message."""
    by_id: dict[str, list[Slot]] = {}
    by_item: dict[str, list[Slot]] = {}
    answers: dict[Slot, ToolResult] = {}
    strays: dict[int, list[ToolResult]] = {}
    for at, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            for number, call in enumerate(message.calls):
                by_id.setdefault(call.id.strip(), []).append((at, number))
                if call.item.strip():
                    by_item.setdefault(call.item.strip(), []).append((at, number))
        elif isinstance(message, ToolMessage):
            for result in message.results:
                name = result.call.strip()
                slot = _slot(by_id.get(name, []), answers) or _slot(by_item.get(name, []), answers)
                if slot is None:
                    strays.setdefault(at, []).append(result)
                else:
                    answers[slot] = result
    return answers, strays


def _slot(slots: list[Slot], answers: dict[Slot, ToolResult]) -> Slot | None:
    """The first call without a result in the latest message that has one of that name."""
    while slots and slots[-1] in answers:
        slots.pop()
    latest = list(takewhile(lambda slot: slot[0] == slots[-1][0], reversed(slots)))
    return next((slot for slot in reversed(latest) if slot not in answers), None)


def _result(call: ToolCall, result: ToolResult | None, missing: Failure) -> ToolResult:
    if result is None:
        return ToolResult(call=call.id, text=result_text(missing), failure=missing)
    return result if result.call == call.id else replace(result, call=call.id)


def _stray(result: ToolResult) -> UserMessage:
    return UserMessage(
        text=f"This conversation no longer has the tool call that this result belongs to:\n{result.text}",
        is_nudge=True,
    )
