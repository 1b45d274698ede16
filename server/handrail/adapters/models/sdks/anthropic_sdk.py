"""
Anthropic's format, with its SDK.

Importing this module takes more than a second, so it is imported for a model that needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import httpx2
from anthropic import AsyncAnthropic
from anthropic.resources.beta import AsyncBeta
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.settings import ModelSettings

from handrail.adapters.models.address import Address
from handrail.adapters.models.sdks.as_is import send_unchanged

# What Anthropic is to keep between requests: rules, tools, and the conversation up to its end.
CACHED = AnthropicModelSettings(
    anthropic_cache_instructions=True, anthropic_cache_tool_definitions=True, anthropic_cache_messages=True
)


class Anthropic(AsyncAnthropic):
    """Anthropic's client."""

    @cached_property
    def beta(self) -> AsyncBeta:
        """Messages, as pydantic-ai asks for them."""
        beta = AsyncBeta(self)
        send_unchanged(beta.messages, messages=())
        return beta


def model(
    address: Address, there: Mapping[str, Any], http: httpx2.AsyncClient
) -> tuple[Model, ModelSettings]:
    """A model, and what it is always told. Raises what the SDK does."""
    provider = AnthropicProvider(anthropic_client=Anthropic(**there, http_client=http))
    return AnthropicModel(address.name, provider=provider), CACHED
