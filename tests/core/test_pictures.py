"""Pictures in conversations: who is shown them, and what becomes of them later."""

from __future__ import annotations

import pytest

from handrail.core.conversation import as_json, compact, prompt
from handrail.core.conversation.compact import PICTURE_TOKENS, Gauge
from handrail.core.conversation.journal import Answered, Said
from handrail.core.conversation.message import (
    AssistantMessage,
    Message,
    Picture,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from handrail.core.conversation.pictures import CANNOT_SEE, MAKES_ROOM, describe_pictures
from handrail.core.documents import binary

PICTURE = Picture(path="a.png", media="image/png", data="iVBORw0KGgo=")

SEEING = [
    "openai:gpt-4o",
    "openai-chat:gpt-4o-mini",
    "openai-responses:gpt-5.2",
    "openai:gpt-4.1-mini",
    "openai:o3",
    "openai:o4-mini",
    "anthropic:claude-3-5-haiku-latest",
    "anthropic:claude-opus-4-5",
    "openai-chat:anthropic/claude-sonnet-4.5",
    "ollama:llava:13b",
    "ollama:gemma3:12b",
    "ollama:llama3.2-vision",
    "ollama:qwen2.5vl:7b",
    "ollama:qwen3-vl",
    "openai-chat:Qwen/Qwen2.5-VL-72B-Instruct",
    "openai-chat:mistralai/pixtral-12b",
    "openai-chat:glm-4.6v",
    "google:gemini-3-pro",
]
BLIND = [
    "paste",
    "editor",
    "editor:gpt-4o",
    "scripted:a.json",
    "openai:gpt-3.5-turbo",
    "openai:gpt-4",
    "openai:o1-mini",
    "openai-chat:gpt-oss-120b",
    "ollama:qwen3:8b",
    "ollama:qwen2.5-coder:7b",
    "ollama:gemma3:270m",
    "ollama:gemma3:1b",
    "ollama:llama3.2",
    "ollama:mistral",
    "openai-chat:deepseek-chat",
    "openai-chat:glm-4.6",
    "openai-chat:vlad/tiny",
]


@pytest.mark.parametrize("model", SEEING)
def test_models_that_see(model: str) -> None:
    assert prompt.takes_pictures(model)


@pytest.mark.parametrize("model", BLIND)
def test_models_that_are_not_known_to_see(model: str) -> None:
    assert not prompt.takes_pictures(model)


@pytest.mark.parametrize(
    ("raw", "media"),
    [
        (b"\x89PNG\r\n\x1a\n....", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
        (b"RIFF\0\0\0\0WAVE", ""),
        (b"<svg/>", ""),
        (b"%PDF-1.7", ""),
        (b"", ""),
    ],
)
def test_pictures_that_models_take(raw: bytes, media: str) -> None:
    assert binary.media_of(raw) == media


@pytest.mark.parametrize(
    "entry",
    [
        Said(message=UserMessage(text="Look.", pictures=(PICTURE, PICTURE))),
        Answered(result=ToolResult(call="c1", text="a.png", pictures=(PICTURE,))),
    ],
)
def test_a_journal_keeps_them(entry: Said | Answered) -> None:
    assert as_json.read(as_json.line(entry)) == entry


def conversation(count: int) -> list[Message]:
    said: list[Message] = [UserMessage(text="Look at all of them.")]
    for number in range(count):
        call = ToolCall(id=f"c{number}", name="read_file", arguments='{"path": "a.png"}')
        said.append(AssistantMessage(text="", calls=(call,)))
        said.append(ToolMessage(results=(ToolResult(call=call.id, text="a.png", pictures=(PICTURE,)),)))
    return said


def shown(messages: tuple[Message, ...]) -> list[int]:
    tools = [message for message in messages if isinstance(message, ToolMessage)]
    return [len(result.pictures) for message in tools for result in message.results]


def test_they_count_and_the_oldest_go_first() -> None:
    gauge, said = Gauge(), conversation(12)
    size = gauge.tokens(said)
    assert size > 12 * PICTURE_TOKENS
    window = 12 * PICTURE_TOKENS
    thinned = compact.thin(said, gauge, window, enough=size // 2)
    left = shown(thinned)
    assert 0 < sum(left) < 12
    assert left == sorted(left), "the latest are still shown"
    assert gauge.tokens(thinned) < size
    first = thinned[2]
    assert isinstance(first, ToolMessage)
    assert MAKES_ROOM in first.results[0].text


def test_even_the_latest_go_when_there_is_no_other_way() -> None:
    gauge, said = Gauge(), conversation(1)
    squeezed = compact.shorten_results(said, gauge, enough=PICTURE_TOKENS // 2)
    assert shown(squeezed) == [0]
    assert gauge.tokens(squeezed) < PICTURE_TOKENS // 2


def test_a_message_that_is_withdrawn_shows_nothing() -> None:
    found = compact.withdrawn(UserMessage(text="Look.", pictures=(PICTURE,)))
    assert found.pictures == ()
    assert MAKES_ROOM in found.text


def test_a_model_that_does_not_see_is_told_so() -> None:
    said = [UserMessage(text="Look.", pictures=(PICTURE,)), *conversation(1)]
    found = describe_pictures(said)
    assert [CANNOT_SEE in str(message) for message in found] == [True, False, False, True]
    assert "data=" not in str(found)
    assert describe_pictures(found) == found
