"""Ollama in its own format: the window that the user has set, and what its server says when that is full."""

from __future__ import annotations

import json

import pytest

from adapters.model_server import Raw, Refuse, Say, model_server
from handrail.adapters.models.address import Address, address
from handrail.adapters.models.keys import Keys
from handrail.adapters.models.remote import Remote
from handrail.core.conversation.message import (
    AssistantMessage,
    Message,
    Response,
    StopReason,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolOffer,
    ToolResult,
    UserMessage,
)
from handrail.ports import ModelChoice, ProviderDown, ProviderError, Reasoning

WINDOW = 16_384
TOOLS = [ToolOffer(name="read_file", description="Reads.", schema='{"type": "object"}')]
SAID: list[Message] = [
    SystemMessage(text="Rules."),
    UserMessage(text="Go."),
    AssistantMessage(
        text="Looking.", calls=(ToolCall(id="c1", name="read_file", arguments='{"path": "a"}'),)
    ),
    ToolMessage(results=(ToolResult(call="c1", text="one\n"),)),
]


async def ask(url: str, **more: object) -> Response:
    there = Address(kind="ollama", name="m", base_url=url, **{"window_tokens": WINDOW, **more})  # type: ignore[arg-type]
    async for piece in Remote(lambda: there, 5.0).complete(SAID, TOOLS):
        if isinstance(piece, Response):
            return piece
    raise AssertionError("no response")


async def test_it_is_told_the_window_and_the_conversation_in_its_own_words() -> None:
    async with model_server(Say(text="Done.")) as server:
        response = await ask(server.url("ollama"), output_tokens=500)
        (asked,) = server.asked
    assert (response.text, response.stop) == ("Done.", StopReason.FINISH)
    function = {"name": "read_file", "description": "Reads.", "parameters": {"type": "object"}}
    called = {"id": "c1", "function": {"name": "read_file", "arguments": {"path": "a"}}}
    assert asked == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Rules."},
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": "Looking.", "tool_calls": [called]},
            {"role": "tool", "content": "one\n", "tool_name": "read_file", "tool_call_id": "c1"},
        ],
        "stream": True,
        "options": {"num_ctx": WINDOW, "num_predict": 500},
        "truncate": False,
        "shift": False,
        "tools": [{"type": "function", "function": function}],
    }


async def test_without_a_window_it_is_asked_in_openai_s_format() -> None:
    async with model_server(Say(text="Done.")) as server:
        await ask(server.url("openai-chat"), window_tokens=0, reasoning=Reasoning.OFF)
        (asked,) = server.asked
    assert "options" not in asked
    assert asked["reasoning_effort"] == "none"


def test_the_window_is_that_of_the_choice() -> None:
    choice = ModelChoice(model="ollama:m", base_url="http://x:1/v1/", window_tokens=WINDOW)
    found = address(choice, Keys({}))
    assert (found.window_tokens, found.root) == (WINDOW, "http://x:1")


LLAMA = {
    "error": {"code": 400, "message": "request (2622 tokens) exceeds the available context size (512 tokens)"}
}


@pytest.mark.parametrize(
    "answer",
    [
        Raw(400, b'{"error": "the input length exceeds the context length"}'),
        Raw(500, json.dumps({"error": json.dumps(LLAMA)}).encode()),
        Raw(400, json.dumps(LLAMA).encode()),
        Raw(200, b'{"error": "the input length exceeds the context length"}\n'),
        Refuse(status=400, message="the input length exceeds the context length"),
    ],
    ids=["0.12.6", "0.40", "an object", "in the stream", "a proxy"],
)
async def test_a_conversation_that_is_too_long_is_told_as_that(answer: Raw | Refuse) -> None:
    async with model_server(answer) as server:
        response = await ask(server.url("ollama"))
    assert response.stop is StopReason.CONTEXT_FULL


HOSTILE = {
    "a list": b"[1, 2]\n",
    "a message that is none": b'{"message": 3, "done": false}\n',
    "calls that are none": b'{"message": {"tool_calls": [3]}, "done": false}\n',
    "a call without a function": b'{"message": {"tool_calls": [{}]}, "done": false}\n',
    "a call without a name": b'{"message": {"tool_calls": [{"function": {}}]}, "done": false}\n',
    "text that is none": b'{"message": {"content": {"a": 1}}, "done": false}\n',
    "no end": b'{"message": {"content": "Half"}, "done": false}\n',
    "nested without end": b'{"message": ' + b"[" * 100_000 + b"\n",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
async def test_what_cannot_be_read_is_an_error_that_says_so(body: bytes) -> None:
    async with model_server(Raw(200, body)) as server:
        with pytest.raises(
            ProviderError, match=r"cannot be read|ended before it was complete|instead of an answer"
        ):
            await ask(server.url("ollama"))


async def test_counts_and_reasons_that_are_none_are_left_out() -> None:
    row = {"message": {"content": "Yes."}, "done": True, "done_reason": 3, "prompt_eval_count": "many"}
    async with model_server(Raw(200, json.dumps(row).encode())) as server:
        response = await ask(server.url("ollama"))
    assert (response.text, response.usage.input_tokens) == ("Yes.", 0)


@pytest.mark.parametrize("odd", ["\x85", "\u2028", "\x0b"])
async def test_a_row_ends_with_a_line_feed_alone(odd: str) -> None:
    row = {"message": {"content": f"a{odd}b"}, "done": True}
    async with model_server(Raw(200, json.dumps(row, ensure_ascii=False).encode())) as server:
        assert (await ask(server.url("ollama"))).text == f"a{odd}b"


async def test_an_error_in_the_stream_is_worth_another_try() -> None:
    rows = b'{"message": {"content": "Hal"}, "done": false}\n{"error": "model runner has stopped"}\n'
    async with model_server(Raw(200, rows)) as server:
        with pytest.raises(ProviderDown, match="model runner has stopped"):
            await ask(server.url("ollama"))
