"""
OpenAI's two formats, and Ollama's, by OpenAI's SDK.

Importing this module takes most of a second, so it is imported for a model that needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Literal

import httpx2
from openai import AsyncOpenAI
from openai.resources.chat import AsyncChat
from openai.resources.responses import AsyncResponses
from openai.types.chat import chat_completion_chunk as chunks
from pydantic_ai.messages import ModelResponseStreamEvent
from pydantic_ai.models import Model
from pydantic_ai.models.ollama import OllamaModel
from pydantic_ai.models.openai import (
    OpenAIChatModel,
    OpenAIChatModelSettings,
    OpenAIResponsesModel,
    OpenAIResponsesModelSettings,
    OpenAIStreamedResponse,
)
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.ollama import OllamaProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings

from handrail.adapters.models.address import Address
from handrail.adapters.models.sdks.as_is import send_unchanged
from handrail.values import dataclass, field

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


@dataclass
class StreamedCall:
    """A call of which parts have come: its number in the answer, and its id and name so far."""

    number: int
    id: str
    name: str


@dataclass
class ChatStream(OpenAIStreamedResponse):
    """
    An answer of Chat Completions.

    Some servers give all calls of an answer the same index, and tell them apart by their ids. Some repeat a
    call's whole name in each part of it.
    """

    _calls: dict[int, list[StreamedCall]] = field(default_factory=dict, init=False)
    _count: int = field(default=0, init=False)

    def _map_tool_call_delta(self, choice: chunks.Choice) -> Iterable[ModelResponseStreamEvent]:
        for part in choice.delta.tool_calls or ():
            if isinstance(part.index, int):
                self._settle(part)
        return super()._map_tool_call_delta(choice)

    def _settle(self, part: chunks.ChoiceDeltaToolCall) -> None:
        """Gives *part* the number of its call as its index, and a name only once."""
        function = part.function
        id_, name = _text(part.id), _text(function.name if function is not None else None)
        calls = self._calls.setdefault(part.index, [])
        call = next((each for each in calls if id_ and each.id == id_), None)
        if call is None and calls and not (id_ and name and calls[-1].id):
            call = calls[-1]
        if call is None:
            call = StreamedCall(self._count, id_, "")
            calls.append(call)
            self._count += 1
        part.index = call.number
        part.id = part.id if call.id in ("", id_) else None
        call.id = call.id or id_
        if function is not None and name and name == call.name:
            function.name = None
        else:
            call.name += name


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


class ChatModel(OpenAIChatModel):
    """A model by Chat Completions."""

    @property
    def _streamed_response_cls(self) -> type[OpenAIStreamedResponse]:
        return ChatStream


class OllamaChatModel(OllamaModel):
    """The same for Ollama."""

    @property
    def _streamed_response_cls(self) -> type[OpenAIStreamedResponse]:
        return ChatStream


def chat_model(
    address: Address, there: Mapping[str, Any], http: httpx2.AsyncClient
) -> tuple[Model, ModelSettings]:
    """A model by Chat Completions, and what it is always told. Raises what the SDK does."""
    provider = OpenAIProvider(openai_client=OpenAI(**there, http_client=http))
    profile = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    return ChatModel(address.name, provider=provider, profile=profile), ModelSettings()


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
    return OllamaChatModel(address.name, provider=provider), ModelSettings()


def with_cache_key(key: str) -> ModelSettings:
    """Returns settings with which a server finds the part of a conversation that it has read before."""
    return OpenAIChatModelSettings(openai_prompt_cache_key=key)


def with_effort(effort: Literal["none", "low", "medium", "high"]) -> ModelSettings:
    """Returns the setting for how much the model thinks."""
    return OpenAIChatModelSettings(openai_reasoning_effort=effort)
