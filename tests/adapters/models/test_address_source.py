"""Messages about a server that is not the right one say where its address comes from."""

from __future__ import annotations

import pytest

from adapters.model_server import Raw, model_server
from handrail.adapters.models.address import address
from handrail.adapters.models.http import without_login
from handrail.adapters.models.keys import Keys
from handrail.adapters.models.remote import Remote
from handrail.core.conversation.message import UserMessage
from handrail.ports import ModelChoice, ProviderError

NOWHERE = "http://me:hush-hush@127.0.0.1:9/v1"
KEY = "key-of-" + "x" * 20
VARIABLES = {
    "openai": "OPENAI_BASE_URL",
    "openai-chat": "OPENAI_BASE_URL",
    "openai-responses": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "ollama": "OLLAMA_BASE_URL",
}
KEYS = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "OLLAMA_API_KEY": KEY}
SETTING = "the setting handrail.baseUrl"
each_kind = pytest.mark.parametrize("kind", VARIABLES)


async def complaint(choice: ModelChoice, environment: dict[str, str]) -> str:
    """What is said if the model cannot be asked."""
    provider = Remote(lambda: address(choice, Keys({**KEYS, **environment})))
    with pytest.raises(ProviderError) as raised:
        async for _ in provider.complete((UserMessage(text="Go."),), []):
            pass
    assert "hush" not in str(raised.value)
    assert KEY not in str(raised.value)
    return str(raised.value)


@each_kind
async def test_a_server_that_is_not_reached(kind: str) -> None:
    model = f"{kind}:m"
    said = await complaint(ModelChoice(model=model, base_url=NOWHERE), {})
    assert said.endswith(f" Check that it runs, and the address in {SETTING}.")
    said = await complaint(ModelChoice(model=model), {VARIABLES[kind]: NOWHERE})
    variable = f"the environment variable {VARIABLES[kind]}"
    assert said.endswith(f" Check that it runs, and the address in {variable}.")
    assert "handrail.baseUrl" not in said
    both = {VARIABLES[kind]: "http://127.0.0.1:8/v1"}
    assert SETTING in await complaint(ModelChoice(model=model, base_url=NOWHERE), both)


@each_kind
@pytest.mark.parametrize(
    "other", [Raw(200, b"<html>Portal", {}), Raw(302, b"", {"Location": "/"})], ids=["page", "redirect"]
)
async def test_a_server_that_is_another_one(kind: str, other: Raw) -> None:
    model, form = f"{kind}:m", "openai-chat" if kind == "openai" else kind
    async with model_server(other, other) as server:
        url = server.url(form)
        said = await complaint(ModelChoice(model=model, base_url=url), {})
        assert said.endswith(f" Check the address in {SETTING}.")
        said = await complaint(ModelChoice(model=model), {VARIABLES[kind]: url})
        assert said.endswith(f" Check the address in the environment variable {VARIABLES[kind]}.")
        assert "handrail.baseUrl" not in said


def test_where_an_address_comes_from() -> None:
    usual = address(ModelChoice(model="ollama:m"), Keys({}))
    assert (usual.base_url, usual.source) == ("http://localhost:11434/v1", "")
    assert usual.advice == "If the model's server is at another address, set handrail.baseUrl."
    own = address(ModelChoice(model="anthropic:m"), Keys({"OPENAI_BASE_URL": NOWHERE}))
    assert (own.base_url, own.source) == ("", "")
    assert "handrail.baseUrl" not in own.advice


async def test_an_address_that_is_not_used_is_not_named() -> None:
    choice = ModelChoice(model="deepseek:m", base_url=NOWHERE)
    nowhere = {"HTTPS_PROXY": "http://127.0.0.1:9"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**nowhere, "DEEPSEEK_API_KEY": KEY}.items():
            patch.setenv(name, value)
        said = await complaint(choice, {"DEEPSEEK_API_KEY": KEY})
    assert "cannot be reached" in said
    assert "127.0.0.1:9/v1" not in said
    assert "handrail.baseUrl" not in said


@pytest.mark.parametrize(
    "url", ["http://me:hush@host/v1", "me:hush@host/v1", "http:/me:hush@host/v1", "http://host/v1?key=hush"]
)
def test_a_login_is_not_shown_however_the_address_is_written(url: str) -> None:
    assert "hush" not in without_login(url)
    assert "host/v1" in without_login(url)
