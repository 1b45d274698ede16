"""
The table of providers: the wire formats by which models behind HTTP are reached.

To add a provider, add an entry to `FORMATS`: its key, its addresses, how it lists models and which SDK speaks
it follow from that. A kind that is not in the table is left to pydantic-ai, with `KIND_API_KEY` as its key.
This module imports no SDK; functions that need one import it when they are called.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from handrail.values import dataclass

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

    from handrail.adapters.models.address import Address
    from handrail.adapters.models.window import Window

ANTHROPIC_VERSION = "2023-06-01"


def bearer(key: str) -> Mapping[str, str]:
    """The header by which most servers are given a key."""
    return {"Authorization": f"Bearer {key}"} if key else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """
    The request for the list of a server's models, and where its answer has them.

    Attributes:
        path: Below the server's address.
        is_below_root: Whether that is the address without OpenAI's `/v1`.
        under: The name under which the answer has the list.
        headers: What is sent, given the key.
    """

    path: str = "/models"
    is_below_root: bool = False
    under: str = "data"
    headers: Callable[[str], Mapping[str, str]] = bearer


async def _listed_window(address: Address) -> Window | None:
    from handrail.adapters.models import window

    return await window.read_from_list(address)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """
    A wire format, and the servers that speak it.

    Attributes:
        name: The part of the setting `model` before the colon.
        key_name: The variable, or keyring entry, that holds the key.
        base_url_name: The variable that names another server.
        home: Where the format's own server lists models; empty if there is none.
        default_url: The server that is asked if the user names none; empty if the SDK knows it.
        error: The SDK's package, and the class of its errors.
        make: A model and what it is always told, given its address and what the SDK is to be given.
        listing: How its servers list their models.
        needs_key: Whether its own servers want a key that the SDK does not miss by itself.
        marks_cache: Whether the conversation marks the end of what a server should keep, and each tool that
            it names must be offered.
        takes_cache_key: Whether the server at an address takes OpenAI's cache key.
        takes_effort: Whether the server at an address is told how much to think as OpenAI is.
        tells_window: Whether the server at an address may tell how much a model reads.
        read_window: Asks it for that; None if it does not tell. Raises httpx2.TransportError.
    """

    name: str
    key_name: str
    base_url_name: str
    error: tuple[str, str]
    make: Callable[[Address, Mapping[str, Any]], tuple[Model, ModelSettings]]
    home: str = ""
    default_url: str = ""
    listing: Listing = Listing()
    needs_key: bool = False
    marks_cache: bool = False
    takes_cache_key: Callable[[Address], bool] = lambda address: False
    takes_effort: Callable[[Address], bool] = lambda address: False
    tells_window: Callable[[Address], bool] = lambda address: False
    read_window: Callable[[Address], Awaitable[Window | None]] = _listed_window


def is_near(base_url: str) -> bool:
    """Whether a server is on this machine or network, where no list says what a model costs."""
    host = urlsplit(base_url).hostname or ""
    try:
        return not ip_address(host).is_global
    except ValueError:
        return bool(host) and ("." not in host or host.endswith((".local", ".internal", ".lan")))


# ---- SDKs -------------------------------------------------------------------------------------------


def _openai_chat(address: Address, there: Mapping[str, Any]) -> tuple[Model, ModelSettings]:
    from handrail.adapters.models import http
    from handrail.adapters.models.sdks import openai_sdk

    return openai_sdk.chat_model(address, there, http.client(address.base_url))


def _openai_responses(address: Address, there: Mapping[str, Any]) -> tuple[Model, ModelSettings]:
    from handrail.adapters.models import http
    from handrail.adapters.models.sdks import openai_sdk

    return openai_sdk.responses_model(address, there, http.client(address.base_url))


def _anthropic(address: Address, there: Mapping[str, Any]) -> tuple[Model, ModelSettings]:
    from handrail.adapters.models import http
    from handrail.adapters.models.sdks import anthropic_sdk

    return anthropic_sdk.model(address, there, http.client(address.base_url))


def _ollama(address: Address, there: Mapping[str, Any]) -> tuple[Model, ModelSettings]:
    from handrail.adapters.models import http

    if not address.window_tokens:
        from handrail.adapters.models.sdks import openai_sdk

        return openai_sdk.ollama_model(address, there, http.client(address.base_url))
    from pydantic_ai.settings import ModelSettings

    from handrail.adapters.models.sdks.ollama import Ollama

    return Ollama(address, http.client(address.base_url)), ModelSettings()


async def _ollama_window(address: Address) -> Window | None:
    from handrail.adapters.models import window

    return await window.read_from_ollama(address)


# ---- The table --------------------------------------------------------------------------------------

OPENAI_HOME = "https://api.openai.com/v1"

FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        Format(
            name="openai-chat",
            key_name="OPENAI_API_KEY",
            base_url_name="OPENAI_BASE_URL",
            home=OPENAI_HOME,
            error=("openai", "OpenAIError"),
            make=_openai_chat,
            takes_cache_key=lambda address: not address.base_url,  # other servers may not know it
            takes_effort=lambda address: bool(address.base_url),
            tells_window=lambda address: is_near(address.base_url),
        ),
        Format(
            name="openai-responses",
            key_name="OPENAI_API_KEY",
            base_url_name="OPENAI_BASE_URL",
            home=OPENAI_HOME,
            error=("openai", "OpenAIError"),
            make=_openai_responses,
            takes_cache_key=lambda address: True,
        ),
        Format(
            name="anthropic",
            key_name="ANTHROPIC_API_KEY",
            base_url_name="ANTHROPIC_BASE_URL",
            home="https://api.anthropic.com",
            error=("anthropic", "AnthropicError"),
            make=_anthropic,
            listing=Listing(
                path="/v1/models?limit=1000",
                is_below_root=True,
                headers=lambda key: {"x-api-key": key, "anthropic-version": ANTHROPIC_VERSION},
            ),
            needs_key=True,
            marks_cache=True,
        ),
        Format(
            name="ollama",
            key_name="OLLAMA_API_KEY",
            base_url_name="OLLAMA_BASE_URL",
            default_url="http://localhost:11434/v1",
            error=("openai", "OpenAIError"),
            make=_ollama,
            listing=Listing(path="/api/tags", is_below_root=True, under="models", headers=lambda key: {}),
            takes_effort=lambda address: not address.window_tokens,
            tells_window=lambda address: True,
            read_window=_ollama_window,
        ),
    )
}
# One name for two formats: the first wherever the user names a server, since that is what other servers
# speak; else the second.
ALIASES = {"openai": ("openai-chat", "openai-responses")}


def format_of(kind: str, *, has_server: bool = False) -> Format | None:
    """The format called *kind*, with or without a server that the user names; None if it is not known."""
    if kind in ALIASES:
        kind = ALIASES[kind][0 if has_server else 1]
    return FORMATS.get(kind)
