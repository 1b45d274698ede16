"""Calls of Chat Completions from servers that number them, or repeat parts of them, in other ways."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapters.model_server import Raw, model_server
from handrail.adapters.models.address import Address
from handrail.adapters.models.remote import Remote
from handrail.core.conversation.message import Response, UserMessage

ONE, TWO = '{"path": "a.txt"}', '{"path": "b.txt"}'
BOTH = [("a", "patch", ONE), ("b", "patch", TWO)]


def chunk(index: int, id_: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    function = {"arguments": arguments} | ({"name": name} if name is not None else {})
    call = {"index": index, "type": "function", "function": function}
    return {"delta": {"tool_calls": [call | ({"id": id_} if id_ is not None else {})]}}


def body(*chunks: dict[str, Any]) -> Raw:
    choices = [*chunks, {"delta": {}, "finish_reason": "tool_calls"}]
    rows = [
        {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "finish_reason": None, **each}],
        }
        for each in choices
    ]
    text = "".join(f"data: {json.dumps(row)}\n\n" for row in rows) + "data: [DONE]\n\n"
    return Raw(200, text.encode(), {"Content-Type": "text/event-stream"})


@pytest.mark.parametrize(
    ("chunks", "calls"),
    [
        ([chunk(0, "a", "patch", ONE), chunk(0, "b", "patch", TWO)], BOTH),
        (
            [
                chunk(0, "a", "patch", ONE[:9]),
                chunk(0, None, None, ONE[9:]),
                chunk(0, "b", "patch", TWO[:9]),
                chunk(0, None, None, TWO[9:]),
            ],
            BOTH,
        ),
        (
            [
                chunk(0, "a", "patch", ONE[:9]),
                chunk(0, "b", "patch", TWO[:9]),
                chunk(0, "a", None, ONE[9:]),
                chunk(0, "b", "", TWO[9:]),
            ],
            BOTH,
        ),
        ([chunk(0, "a", "patch", ONE[:9]), chunk(0, "a", "patch", ONE[9:])], BOTH[:1]),
        ([chunk(0, "a", "patch", ONE[:9]), chunk(0, None, "patch", ONE[9:])], BOTH[:1]),
        ([chunk(0, "a", "pat", ""), chunk(0, "a", "ch", ONE)], BOTH[:1]),
        ([chunk(0, "a", "patch", ONE[:9]), chunk(0, "x", None, ONE[9:])], BOTH[:1]),
        (
            [
                chunk(0, "a", "patch", ONE[:9]),
                chunk(1, "b", "patch", TWO[:9]),
                chunk(0, "a", "patch", ONE[9:]),
                chunk(1, "b", "patch", TWO[9:]),
            ],
            BOTH,
        ),
    ],
)
async def test_each_call_is_told_apart(chunks: list[dict[str, Any]], calls: list[tuple[str, ...]]) -> None:
    async with model_server(body(*chunks)) as server:
        url = server.url("openai-chat")
        provider = Remote(lambda: Address(kind="openai-chat", name="m", base_url=url, key="k" * 20), 30.0)
        said = [piece async for piece in provider.complete([UserMessage(text="Go.")], [])]
    (response,) = [piece for piece in said if isinstance(piece, Response)]
    told = [(call.name, call.arguments) for call in response.calls]
    assert told == [(name, arguments) for _, name, arguments in calls]
    assert len({call.id for call in response.calls}) == len(calls)
