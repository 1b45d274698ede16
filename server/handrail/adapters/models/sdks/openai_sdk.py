"""
OpenAI's two formats, and Ollama's, by OpenAI's SDK.

Importing this module takes most of a second, so it is imported for a model that needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

import httpx2
from openai import AsyncOpenAI
from openai.resources.chat import AsyncChat
from openai.resources.responses import AsyncResponses
from pydantic_ai.models import Model
from pydantic_ai.models.ollama import OllamaModel
from pydantic_ai.models.openai import (
    OpenAIChatModel,
    OpenAIChatModelSettings,
    OpenAIResponsesModel,
    OpenAIResponsesModelSettings,
)
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.ollama import OllamaProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings

from handrail.adapters.models.address import Address
from handrail.adapters.models.sdks.as_is import send_unchanged

# The conversation is ours to keep; what was reasoned comes back with it, encrypted.
KEPT_HERE = OpenAIResponsesModelSettings(openai_store=False)


class OpenAI(AsyncOpenAI):
    """OpenAI's client."""

    @cached_property
    def chat(self) -> AsyncChat:
        """Chat Completions."""
        chat = AsyncChat(self)
        send_unchanged(chat.completions, messages=())
        return chat

    @cached_property
    def responses(self) -> AsyncResponses:
        """Responses."""
        responses = AsyncResponses(self)
        send_unchanged(responses)
        return responses


def chat_model(
    address: Address, there: Mapping[str, Any], http: httpx2.AsyncClient
) -> tuple[Model, ModelSettings]:
    """A model by Chat Completions, and what it is always told. Raises what the SDK does."""
    provider = OpenAIProvider(openai_client=OpenAI(**there, http_client=http))
    profile = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    return OpenAIChatModel(address.name, provider=provider, profile=profile), ModelSettings()


def responses_model(
    address: Address, there: Mapping[str, Any], http: httpx2.AsyncClient
) -> tuple[Model, ModelSettings]:
    """The same by Responses."""
    provider = OpenAIProvider(openai_client=OpenAI(**there, http_client=http))
    return OpenAIResponsesModel(address.name, provider=provider), KEPT_HERE


def ollama_model(
    address: Address, there: Mapping[str, Any], http: httpx2.AsyncClient
) -> tuple[Model, ModelSettings]:
    """The same for Ollama, which speaks Chat Completions."""
    provider = OllamaProvider(openai_client=OpenAI(**there, http_client=http))
    return OllamaModel(address.name, provider=provider), ModelSettings()


def with_cache_key(key: str) -> ModelSettings:
    """Returns settings with which a server finds the part of a conversation that it has read before."""
    return OpenAIChatModelSettings(openai_prompt_cache_key=key)


def with_effort(effort: Literal["none", "low", "medium", "high"]) -> ModelSettings:
    """Returns the setting for how much the model thinks."""
    return OpenAIChatModelSettings(openai_reasoning_effort=effort)
