"""What is told apart in what a server sends, and what it costs to ask it."""

from __future__ import annotations

import json
import sys
from base64 import b64encode
from types import FrameType
from typing import Any

import pytest

from adapters.model_server import FORMATS, WINDOWS, Drop, Raw, Refuse, Say, model_server
from handrail.adapters.models.address import Address
from handrail.adapters.models.http import LIMIT_ROW_BYTES
from handrail.adapters.models.remote import Remote
from handrail.core.conversation.message import (
    AssistantMessage,
    Message,
    Picture,
    Response,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from handrail.ports import ProviderDown, ProviderError, Reasoning

each_format = pytest.mark.parametrize("kind", FORMATS)


async def ask(url: str, kind: str, *said: Message, silence_s: float = 30.0, source: str = "") -> Response:
    there = Address(
        kind=kind, name="m", base_url=url, source=source, key="k" * 20, window_tokens=WINDOWS.get(kind, 0)
    )
    provider = Remote(lambda: there, silence_s)
    async for piece in provider.complete(said or (UserMessage(text="Go."),), []):
        if isinstance(piece, Response):
            return piece
    raise AssertionError("no response")


@each_format
async def test_pictures_are_sent(kind: str) -> None:
    """Where results can be words alone, the picture follows as a message of the user's."""
    mine, found = (
        Picture(path=name, media="image/png", data=b64encode(b"\x89PNG" + name.encode()).decode())
        for name in ("mine.png", "found.png")
    )
    call = ToolCall(id="c1", name="read_file", arguments='{"path": "found.png"}')
    result = ToolResult(call="c1", text="found.png: an image (PNG).", pictures=(found,))
    async with model_server(Say(text="I see.")) as server:
        await ask(
            server.url(kind),
            kind,
            UserMessage(text="Look.", pictures=(mine,)),
            AssistantMessage(text="", calls=(call,)),
            ToolMessage(results=(result,)),
        )
    (asked,) = server.asked
    sent = json.dumps(asked)
    for picture in (mine, found):
        assert sent.count(picture.data) == 1
    assert (
        sent.index("Look.")
        < sent.index(mine.data)
        < sent.index("found.png: an image")
        < sent.index(found.data)
    )


@each_format
async def test_comments_alone_are_no_answer(kind: str) -> None:
    async with model_server(Say(text="Never.", comments=True)) as server:
        with pytest.raises(ProviderDown, match="sent nothing for"):
            await ask(server.url(kind), kind, silence_s=0.5)


@each_format
@pytest.mark.parametrize(
    "refusal",
    [
        Refuse(status=429, code="insufficient_quota", message="You exceeded your current quota."),
        Refuse(status=429, message="Your credit balance is too low to access the API."),
        Refuse(status=429, code="billing_hard_limit_reached", message="Billing hard limit has been reached"),
        Refuse(status=503, message="Insufficient balance"),
    ],
)
async def test_where_the_user_has_to_pay_first_nobody_waits(kind: str, refusal: Refuse) -> None:
    async with model_server(refusal) as server:
        with pytest.raises(ProviderError) as raised:
            await ask(server.url(kind), kind)
    assert not isinstance(raised.value, ProviderDown)
    assert refusal.message in str(raised.value)


@pytest.mark.parametrize(
    "message",
    ["Rate limit reached for requests per minute", "Quota exceeded for tokens per minute. Retry."],
)
async def test_a_limit_that_time_lifts_is_waited_for(message: str) -> None:
    async with model_server(Refuse(status=429, message=message)) as server:
        with pytest.raises(ProviderDown):
            await ask(server.url("openai-chat"), "openai-chat")


PAGE = b"\xef\xbb\xbf\n<!DOCTYPE html><html><head><title>Sign in</title><style>b{}</style></head>Portal"
OTHERS = {
    "a page": Raw(200, PAGE, {"Content-Type": "text/html"}),
    "a page that is called events": Raw(200, PAGE, {"Content-Type": "text/event-stream"}),
    "words": Raw(200, b"Portal: sign in", {"Content-Type": "text/plain"}),
    "an object": Raw(200, b'{"detail": "Portal"}', {"Content-Type": "application/json"}),
}


@each_format
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS.keys())
async def test_what_is_no_stream_is_not_asked_for_again(kind: str, other: Raw) -> None:
    async with model_server(other) as server:
        with pytest.raises(ProviderError, match="Portal") as raised:
            await ask(server.url(kind), kind, source="the setting handrail.baseUrl")
    assert not isinstance(raised.value, ProviderDown)
    assert "Check the address in the setting handrail.baseUrl." in str(raised.value)
    assert "<html" not in str(raised.value)


EVENTS = {"Content-Type": "text/event-stream"}
REACHED = {
    "an unknown encoding": Raw(200, b"data: {}\n\n", EVENTS | {"Content-Encoding": "br"}),
    "an encoding that it does not have": Raw(200, b"data: {}\n\n", EVENTS | {"Content-Encoding": "gzip"}),
    "less than it said": Raw(200, b"data: {}\n\n", EVENTS | {"Content-Length": "1000"}),
    "a line without end": Raw(200, b"data: " + b"x" * (LIMIT_ROW_BYTES + 1), EVENTS),
    "nothing": Drop(),
}


IN_EVENTS = {
    "a byte that is not UTF-8": Raw(200, b'data: {"text": "caf\xe9"}\n\n', EVENTS),
    "an error in the stream": Raw(200, b'event: error\ndata: {"error": {"message": "No."}}\n\n', EVENTS),
}


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        *(pytest.param(kind, raw, id=f"{name}-{kind}") for kind in FORMATS for name, raw in REACHED.items()),
        *(
            pytest.param(kind, raw, id=f"{name}-{kind}")
            for kind in FORMATS
            if kind != "ollama"
            for name, raw in IN_EVENTS.items()
        ),
    ],
)
async def test_a_server_that_was_reached_is_not_said_to_be_out_of_reach(
    kind: str, answer: Raw | Drop
) -> None:
    async with model_server(answer) as server:
        with pytest.raises(ProviderDown) as raised:
            await ask(server.url(kind), kind)
    assert "cannot be reached" not in str(raised.value)
    assert "handrail.baseUrl" not in str(raised.value)
    assert "Connection error" not in str(raised.value)


@each_format
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_names_the_other_address_and_is_not_asked_for_again(kind: str, status: int) -> None:
    there = {"Location": "https://me:secret@elsewhere.example/v1/login?token=secret"}
    async with model_server(Raw(status, b"", there)) as server:
        with pytest.raises(ProviderError) as raised:
            await ask(server.url(kind), kind, source="the setting handrail.baseUrl")
    assert not isinstance(raised.value, ProviderDown)
    assert f"HTTP {status}" in str(raised.value)
    assert "https://elsewhere.example/v1/login" in str(raised.value)
    assert "secret" not in str(raised.value)
    assert "Check the address in the setting handrail.baseUrl." in str(raised.value)


UNREADABLE = {
    '{"path": "a.txt", "old_string": "on': {"path": "a.txt", "old_string": "on"},
    '{"path": ': {},
    "": {},
    "nonsense": {},
    '{"path": NaN}': {"path": "NaN"},
    '{"path": -Infinity}': {"path": "-Infinity"},
    '{"path": "a.txt", "replace_all": NaN, "old_string": "NaN"}': {
        "path": "a.txt",
        "replace_all": "NaN",
        "old_string": "NaN",
    },
    '{"path": "a.txt", "start_line": -1e999}': {"path": "a.txt", "start_line": "-1e999"},
    f'{{"start_line": {"9" * 5000}}}': {"start_line": "9" * 5000},
    '{"path": "a.txt", "new_string": "x\\ud800y"}': {"path": "a.txt", "new_string": "x\ufffdy"},
    '{"new_string": "\\uDFFF\\ud83d\\ude00\\\\ud800"}': {"new_string": "\ufffd😀\\ud800"},
    '{"new_string": "x\ud800y"}': {"new_string": "x\ufffdy"},
    '{"path": "a.txt", "new_string": "one\n\ttwo\n"}': {"path": "a.txt", "new_string": "one\n\ttwo\n"},
    '{"path": "a.txt", "new_string": "one\n\ttw': {"path": "a.txt", "new_string": "one\n\ttw"},
    '{"pattern": "\\d+\\.\\n", "path": NaN': {"pattern": "\\d+\\.\n", "path": "NaN"},
    '{"path": "a.txt", "new_string": "x\\u12': {"path": "a.txt", "new_string": "x"},
    '{"path": "a.txt", "old_string": "on",}': {"path": "a.txt", "old_string": "on"},
    "{\"path\": \"a.txt\", 'old_string': 'on'}": {"path": "a.txt"},
    '{"path": "a.txt", "lines": ' + "[" * 300 + "]" * 300 + "}": {},
    "[1, 2]": {},
    '"a.txt"': {},
    '{"path": "a.txt"} and more': {"path": "a.txt"},
}


@each_format
@pytest.mark.parametrize(("arguments", "sent"), UNREADABLE.items())
async def test_calls_that_could_not_be_read_are_sent_without_words_of_ours(
    kind: str, arguments: str, sent: dict[str, object]
) -> None:
    made = ToolCall(id="c1", name="patch", arguments=arguments)
    history = (
        UserMessage(text="Go."),
        AssistantMessage(text="", calls=(made,)),
        ToolMessage(results=(ToolResult(call="c1", text="[TOOL_ERROR] bad-arguments: no JSON"),)),
    )
    async with model_server(Say(text="Yes.")) as server:
        await ask(server.url(kind), kind, *history)
    assert "unreadable" not in json.dumps(server.asked)
    assert arguments_of(server.asked[0]) == [sent]


def arguments_of(value: Any) -> list[Any]:
    """The arguments of all calls in a request of any format."""
    if isinstance(value, list):
        return [found for each in value for found in arguments_of(each)]
    if not isinstance(value, dict):
        return []
    if value.get("type") == "tool_use":
        return [value["input"]]
    if "arguments" in value:
        found = value["arguments"]
        return [json.loads(found) if isinstance(found, str) else found]
    return [found for each in value.values() for found in arguments_of(each)]


@each_format
async def test_what_asking_costs_hardly_grows_with_the_conversation(kind: str) -> None:
    """Calls of functions are counted, as clocks judge nothing on a machine that has other things to do."""

    def history(count: int) -> list[Message]:
        found: list[Message] = []
        for n in range(count):
            made = ToolCall(id=f"c{n}", name="read_file", arguments='{"path": "a.txt"}')
            result = ToolResult(call=f"c{n}", text="one\n")
            found += [UserMessage(text=f"Turn {n}."), AssistantMessage(text="", calls=(made,))]
            found += [ToolMessage(results=(result,)), AssistantMessage(text="Done.")]
        return [*found, UserMessage(text="Go.")]

    async with model_server(*[Say(text="Yes.")] * 3) as server:
        address = Address(
            kind=kind, name="m", base_url=server.url(kind), key="k" * 20, window_tokens=WINDOWS.get(kind, 0)
        )
        provider = Remote(lambda: address, 30.0, secrets=lambda: ("sk-" + "x" * 20,))
        counts = [await calls_of(provider, history(count)) for count in (1, 10, 110)]
    per_message = (counts[2] - counts[1]) / 400
    assert per_message < 60, "the SDKs alone would take some hundred"


async def calls_of(provider: Remote, said: list[Message]) -> int:
    """How many functions are called to ask."""
    count = 0

    def called(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        async for _ in provider.complete(said, []):
            pass
    finally:
        sys.setprofile(before)
    return count


async def test_openai_keeps_nothing_of_a_conversation() -> None:
    async with model_server(Say(text="Yes.")) as server:
        await ask(server.url("openai-responses"), "openai-responses")
    assert server.asked[0]["store"] is False


async def test_openai_finds_what_it_has_read_of_a_conversation_by_its_key() -> None:
    first = (UserMessage(text="Go."), AssistantMessage(text="Yes."), UserMessage(text="On."))
    async with model_server(*[Say(text="Yes.")] * 3) as server:
        for said in (first[:1], first, (UserMessage(text="Another."),)):
            await ask(server.url("openai-responses"), "openai-responses", *said)
        keys = [asked["prompt_cache_key"] for asked in server.asked]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize(("kind", "window"), [("openai-chat", 0), ("ollama", 0), ("ollama", 4_096)])
async def test_another_server_gets_no_such_key(kind: str, window: int) -> None:
    async with model_server(Say(text="Yes.")) as server:
        address = Address(kind=kind, name="m", base_url=server.url(kind), key="k", window_tokens=window)
        async for _ in Remote(lambda: address).complete([UserMessage(text="Go.")], []):
            pass
    assert "prompt_cache_key" not in server.asked[0]


@pytest.mark.parametrize(
    ("kind", "name", "reasoning", "told"),
    [
        ("openai-responses", "gpt-5", None, {}),
        ("openai-responses", "gpt-5", Reasoning.LOW, {"reasoning": {"effort": "low"}}),
        ("openai-responses", "gpt-4o", Reasoning.HIGH, {}),
        ("openai-chat", "gpt-5", Reasoning.HIGH, {"reasoning_effort": "high"}),
        ("openai-chat", "some-model", Reasoning.OFF, {"reasoning_effort": "none"}),
        ("ollama", "qwen3:8b", None, {}),
        ("ollama", "qwen3:8b", Reasoning.OFF, {"think": False}),
        ("ollama", "qwen3:8b", Reasoning.LOW, {"think": True}),
        ("ollama", "gpt-oss:20b", Reasoning.LOW, {"think": "low"}),
        ("anthropic", "claude-haiku-4-5", Reasoning.OFF, {}),
        ("anthropic", "claude-haiku-4-5", Reasoning.HIGH, {"thinking": "enabled"}),
    ],
)
async def test_how_much_a_model_thinks_is_told_in_the_way_of_its_server(
    kind: str, name: str, reasoning: Reasoning | None, told: dict[str, Any]
) -> None:
    async with model_server(Say(text="Yes.")) as server:
        address = Address(
            kind=kind,
            name=name,
            base_url=server.url(kind),
            key="k" * 20,
            window_tokens=WINDOWS.get(kind, 0),
            reasoning=reasoning,
        )
        async for _ in Remote(lambda: address).complete([UserMessage(text="Go.")], []):
            pass
        (asked,) = server.asked
    if "thinking" in asked:
        asked["thinking"] = asked["thinking"]["type"]
    names = ("reasoning", "reasoning_effort", "thinking", "think")
    assert {each: asked[each] for each in names if each in asked} == told
