"""Which models a server has, asked over real HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from adapters.model_server import Raw, model_server
from handrail.adapters.models import http, listing
from handrail.adapters.models.keys import Keys
from handrail.adapters.models.providers import Providers
from handrail.ports import KnownModel, ModelChoice, ProviderError

KEY = "sk-very-secret-key-0123456789"


def told(found: object, status: int = 200) -> Raw:
    return Raw(status, json.dumps(found).encode())


def providers() -> Providers:
    return Providers(Keys({"MY_KEY": KEY}))


CASES: dict[str, tuple[str, str, Mapping[str, Any], list[KnownModel]]] = {
    "OpenAI": (
        "openai:gpt",
        "/v1/models",
        {"data": [{"id": "o"}, {"id": "gpt"}, {"id": "gpt"}]},
        [KnownModel(model="openai:gpt"), KnownModel(model="openai:o")],
    ),
    "a server that tells more": (
        "openai-chat:a",
        "/v1/models",
        {"data": [{"id": "a", "name": "A", "max_model_len": 4096}, {"id": "b", "context_length": True}]},
        [KnownModel(model="openai-chat:a", title="A", window=4096), KnownModel(model="openai-chat:b")],
    ),
    "Anthropic": (
        "anthropic:claude",
        "/v1/models",
        {"data": [{"id": "claude", "display_name": "Claude", "type": "model"}], "has_more": False},
        [KnownModel(model="anthropic:claude", title="Claude")],
    ),
    "Ollama": (
        "ollama:m",
        "/api/tags",
        {"models": [{"name": "m:1b", "model": "m:1b"}]},
        [KnownModel(model="ollama:m:1b")],
    ),
    "what has no names": ("openai-chat:a", "/v1/models", {"data": [1, {}, {"id": 5}, {"id": " "}]}, []),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
async def test_models_are_listed(case: tuple[str, str, Mapping[str, Any], list[KnownModel]]) -> None:
    model, path, page, wanted = case
    async with model_server() as server:
        server.pages = {path: told(page)}
        base_url = server.url(model.partition(":")[0])
        choice = ModelChoice(model=model, base_url=base_url, key_name="MY_KEY")
        assert await providers().models(choice) == tuple(wanted)
        assert server.looked == [path]


@pytest.mark.parametrize(
    "model", ["paste", "scripted:a.json", "record:a.json:openai:gpt", "editor", "editor:x"]
)
async def test_what_has_no_server_has_no_list(model: str) -> None:
    assert await providers().models(ModelChoice(model=model)) == ()


NOT_JSON = "127.0.0.1 does not list its models: its answer is not valid JSON"


@pytest.mark.parametrize(
    ("page", "says"),
    [
        (told({}, 401), "127.0.0.1 does not list its models: it answers HTTP 401. It rejects the key."),
        (told({}, 500), "127.0.0.1 does not list its models: it answers HTTP 500."),
        (told({"models": []}), "127.0.0.1 does not list its models: its answer has no list under 'data'."),
        (Raw(200, b"<html>"), f"{NOT_JSON}: line 1, column 1: a value was expected."),
        (Raw(200, b"[" * 100_000), f"{NOT_JSON}: it is nested too deeply."),
    ],
)
async def test_a_server_that_does_not_tell_is_an_error(page: Raw, says: str) -> None:
    async with model_server() as server:
        server.pages = {"/v1/models": page}
        choice = ModelChoice(model="openai:gpt", base_url=server.url("openai"), key_name="MY_KEY")
        with pytest.raises(ProviderError) as raised:
            await providers().models(choice)
    assert str(raised.value) == says
    assert KEY not in str(raised.value)


async def test_a_server_that_is_not_there_is_an_error() -> None:
    async with model_server() as server:
        url = server.url("openai")
    with pytest.raises(ProviderError) as raised:
        await providers().models(ModelChoice(model="openai:gpt", base_url=url))
    assert str(raised.value) == (
        "127.0.0.1 cannot be reached, so its models cannot be listed. All connection attempts failed. Check "
        "the network or, if it is your own server, that it is running."
    )


async def test_why_no_connection_was_made_is_told() -> None:
    async def speak_no_tls(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(speak_no_tls, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        with pytest.raises(ProviderError, match=r"^127\.0\.0\.1 cannot be reached, .* \[SSL") as raised:
            await providers().models(ModelChoice(model="openai:gpt", base_url=url, key_name="MY_KEY"))
    assert "Check the network" in str(raised.value)


async def test_an_answer_that_is_too_long_is_not_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LIMIT_ANSWER_BYTES", 10)
    async with model_server() as server:
        server.pages = {"/v1/models": told({"data": [{"id": "gpt"}]})}
        choice = ModelChoice(model="openai:gpt", base_url=server.url("openai"), key_name="MY_KEY")
        with pytest.raises(ProviderError) as raised:
            await providers().models(choice)
    assert str(raised.value) == (
        "127.0.0.1 was reached, but did not send a whole list of its models. The answer has more "
        "than 10 bytes."
    )


async def test_a_server_that_is_silent_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(*_: object) -> list[object]:
        raise TimeoutError

    monkeypatch.setattr(listing, "_entries", silent)
    choice = ModelChoice(model="openai:gpt", base_url="http://127.0.0.1:1/v1", key_name="MY_KEY")
    with pytest.raises(ProviderError) as raised:
        await providers().models(choice)
    assert str(raised.value) == (
        "127.0.0.1 has not listed its models within 15 seconds. Check the network or, if it is your own "
        "server, that it is running."
    )


async def test_a_missing_key_is_an_error() -> None:
    with pytest.raises(ProviderError, match="OPENAI_API_KEY"):
        await providers().models(ModelChoice(model="openai:gpt"))
