"""How much a model reads: asked of its server, told by the user, or shown by what it counts."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from adapters.model_server import Call, ModelServer, Raw, Say, model_server
from bench import Bench
from handrail.adapters.models.address import Address
from handrail.adapters.models.remote import DEFAULT_CONTEXT, Remote
from handrail.core.conversation.message import (
    Delta,
    Message,
    Response,
    StopReason,
    ToolCall,
    ToolOffer,
    Usage,
)
from handrail.core.ledger.report import Compacted, Notice, State
from handrail.testing import lay_out

Json = Mapping[str, Any]
LOADED = {"models": [{"name": "m:latest", "model": "m:latest", "context_length": 8_192}]}
OTHER = {"models": [{"name": "x:1b", "model": "x:1b", "context_length": 2_048}]}
SHOWN = {"model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40_960}}
CHOSEN = {"parameters": "stop  <x>\nnum_ctx                        16384\n", **SHOWN}


def told(found: object) -> Raw:
    return Raw(200, json.dumps(found).encode())


def remote(server: ModelServer, kind: str) -> Remote:
    return Remote(lambda: Address(kind=kind, name="m", base_url=f"{server.url('openai-chat')}/"), 5.0)


CASES: dict[str, tuple[str, dict[str, Raw], int]] = {
    "Ollama, loaded": ("ollama", {"/api/ps": told(LOADED), "/api/show": told(SHOWN)}, 8_192),
    "Ollama, not loaded": ("ollama", {"/api/ps": told(OTHER), "/api/show": told(SHOWN)}, 40_960),
    "Ollama, as its file says": ("ollama", {"/api/ps": told({}), "/api/show": told(CHOSEN)}, 16_384),
    "Ollama, an older one": (
        "ollama",
        {"/api/ps": told({"models": [{"name": "m:latest"}]})},
        DEFAULT_CONTEXT,
    ),
    "vLLM": ("openai-chat", {"/v1/models": told({"data": [{"id": "m", "max_model_len": 32_768}]})}, 32_768),
    "LM Studio": (
        "openai-chat",
        {
            "/v1/models": told(
                {"data": [{"id": "m", "loaded_context_length": 4_096, "max_context_length": 99_999}]}
            )
        },
        4_096,
    ),
    "llama.cpp": (
        "openai-chat",
        {"/v1/models": told({"data": [{"id": "file.gguf", "meta": {"n_ctx": 12_288, "n_ctx_train": 1}}]})},
        12_288,
    ),
    "another model": (
        "openai-chat",
        {"/v1/models": told({"data": [{"id": "x", "max_model_len": 1}, {"id": "y"}]})},
        DEFAULT_CONTEXT,
    ),
    "nothing": ("openai-chat", {}, DEFAULT_CONTEXT),
    "no JSON": ("openai-chat", {"/v1/models": Raw(200, b"<html>")}, DEFAULT_CONTEXT),
    "other JSON": ("ollama", {"/api/ps": told([1]), "/api/show": told({"model_info": 3})}, DEFAULT_CONTEXT),
    "nonsense": (
        "ollama",
        {"/api/ps": told({"models": [1, {"name": "m:latest", "context_length": "much"}]})},
        DEFAULT_CONTEXT,
    ),
}


@pytest.mark.parametrize(("kind", "pages", "tokens"), CASES.values(), ids=CASES.keys())
async def test_a_server_that_tells_how_much_its_model_reads_is_believed(
    kind: str, pages: dict[str, Raw], tokens: int
) -> None:
    async with model_server() as server:
        server.pages = pages
        provider = remote(server, kind)
        await provider.prepare()
        assert provider.context_tokens == tokens


async def test_the_window_with_which_ollama_has_loaded_a_model_counts_once_it_has(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    read = Say(calls=(Call(arguments='{"path": "a.txt"}'),), finish="tools")
    async with model_server(read, Say(text="Done.")) as server:
        server.pages = {"/api/ps": told({"models": []}), "/api/show": told(SHOWN)}
        bench.provider = provider = remote(server, "ollama")
        await provider.prepare()
        assert provider.context_tokens == 40_960
        server.pages = {"/api/ps": told(LOADED)}
        assert (await bench.turn()).answer == "Done."
        assert provider.context_tokens == 8_192
        seen = len(server.looked)
        await provider.prepare()
        assert len(server.looked) == seen


async def test_a_server_that_is_not_there_is_asked_some_times_and_no_more() -> None:
    async with model_server() as server:
        url = server.url("ollama")
    provider = Remote(lambda: Address(kind="ollama", name="m", base_url=url), 5.0)
    for _ in range(5):
        await provider.prepare()
    assert provider.context_tokens == DEFAULT_CONTEXT


async def test_an_answer_is_no_longer_than_the_user_allows() -> None:
    async with model_server(Say(text="Done."), Say(text="Done.")) as server:
        for tokens in (0, 777):
            address = Address(
                kind="openai-chat", name="m", base_url=server.url("openai-chat"), output_tokens=tokens
            )
            async for _ in Remote(lambda address=address: address).complete([], []):
                pass
        assert [asked.get("max_tokens", asked.get("max_completion_tokens")) for asked in server.asked] == [
            None,
            777,
        ]


@dataclass
class Cutting:
    """A model whose server reads the end of each request, up to a limit, and counts that."""

    limit: int
    files: list[str]
    context_tokens: int = 128_000
    sizes: list[int] = field(default_factory=list)

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Delta | Response]:
        size = len(repr(messages)) // 4 + sum(len(tool.schema + tool.description) // 4 for tool in tools)
        usage = Usage(steps=1, input_tokens=min(size, self.limit), output_tokens=1)
        if not tools:
            yield Response(text="It was about files.", usage=usage)
            return
        self.sizes.append(size)
        if not self.files:
            yield Response(text="Done.", usage=usage)
            return
        name = self.files.pop(0)
        made = ToolCall(id=f"c-{name}", name="read_file", arguments=json.dumps({"path": name}))
        yield Response(text="", calls=(made,), stop=StopReason.TOOL_CALLS, usage=usage)


def lay_out_files(bench: Bench, count: int, chars: int) -> list[str]:
    names = [f"{number}.txt" for number in range(count)]
    lay_out(bench.root, {name: (f"{name} is a line of text\n" * (chars // 24)).encode() for name in names})
    return names


async def test_a_server_that_cuts_a_conversation_is_told_of_and_the_conversation_made_smaller(
    bench: Bench,
) -> None:
    bench.provider = model = Cutting(8_192, lay_out_files(bench, 6, 16_000))
    report = await bench.turn()
    assert report.state is State.FINISHED
    (notice,) = [event.text for event in bench.events if isinstance(event, Notice)]
    assert "read only about 8,192 of about" in notice
    assert [event for event in bench.events if isinstance(event, Compacted)]
    assert model.sizes[-1] < 8_192


@pytest.mark.parametrize("limit", [11, 1_000_000])
async def test_a_server_that_counts_nothing_or_all_is_not(bench: Bench, limit: int) -> None:
    bench.provider = Cutting(limit, lay_out_files(bench, 3, 16_000))
    await bench.turn()
    assert not [event for event in bench.events if isinstance(event, Notice | Compacted)]


async def test_what_the_user_says_of_the_window_counts(bench: Bench) -> None:
    bench.terms = replace(bench.terms, window_tokens=16_000)
    bench.provider = model = Cutting(1_000_000, lay_out_files(bench, 6, 16_000))
    await bench.turn()
    assert [event for event in bench.events if isinstance(event, Compacted)]
    assert max(model.sizes) < 16_000
