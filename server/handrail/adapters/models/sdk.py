"""
The SDKs' clients, which here send the long parts of a request as they are.

The SDKs look through each request for keys that Python spells otherwise. What pydantic-ai gives them has no
such keys, and the search takes a hundred times as long as sending a long conversation. Extra parts of the
body are not searched.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from anthropic import AsyncAnthropic
from anthropic.resources.beta import AsyncBeta
from openai import AsyncOpenAI
from openai.resources.chat import AsyncChat
from openai.resources.responses import AsyncResponses

LONG = ("messages", "input", "tools")  # the parts of a request that may be


class OpenAI(AsyncOpenAI):
    """OpenAI's client."""

    @cached_property
    def chat(self) -> AsyncChat:
        """Chat Completions."""
        found = AsyncChat(self)
        _let_pass(found.completions, messages=())
        return found

    @cached_property
    def responses(self) -> AsyncResponses:
        """Responses."""
        found = AsyncResponses(self)
        _let_pass(found)
        return found


class Anthropic(AsyncAnthropic):
    """Anthropic's client."""

    @cached_property
    def beta(self) -> AsyncBeta:
        """Messages, as pydantic-ai asks for them."""
        found = AsyncBeta(self)
        _let_pass(found.messages, messages=())
        return found


def _let_pass(resource: Any, **empty: object) -> None:
    """Have *resource* send the long parts of its requests as they are, and see what is *empty* instead."""
    create: Callable[..., Any] = resource.create

    async def sent(*, extra_body: object = None, **options: object) -> object:
        long = {name: options.pop(name) for name in LONG if isinstance(options.get(name), list)}
        around = {**(extra_body if isinstance(extra_body, dict) else {}), **long}
        return await create(**{**empty, **options}, extra_body=around)

    resource.create = sent
