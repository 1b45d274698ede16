"""The port to models, and the choice of a model."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable, Sequence
from enum import StrEnum
from typing import Protocol, runtime_checkable

from handrail.core.conversation.message import Message, Piece, ToolOffer
from handrail.values import dataclass


class Reasoning(StrEnum):
    """The levels of thinking before an answer."""

    OFF = "off"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """
    The user's choice of a model.

    Attributes:
        model: Its name in the setting.
        base_url: Its address, if not the usual one of its provider.
        key_name: The variable, or keyring entry, that holds its key, if not the usual one.
        output_tokens: The maximum length of an answer; 0: the server's default.
        reasoning: How much the model thinks before it answers; None: the model's default.
        window_tokens: The context size to request from a server that supports this; 0: the server's default.
    """

    model: str
    base_url: str = ""
    key_name: str = ""
    output_tokens: int = 0
    reasoning: Reasoning | None = None
    window_tokens: int = 0


def provider_of(model: str) -> str:
    """
    Returns the provider that a model name in the setting refers to, such as `openai` or `paste`.

    A base URL and the name of a key belong to one provider: they must never be used for another's models.
    """
    inner = RECORDED.sub("", model)
    kind = inner.partition(":")[0]
    return "openai" if kind in ("openai-chat", "openai-responses") else kind


class Owners(Protocol):
    """Remembers for which provider the user set an address or the name of a key."""

    def providers_of(self, setting: str, value: str) -> frozenset[str]:
        """The providers for which a setting had this value; empty if that is unknown."""
        ...

    def add(self, setting: str, value: str, provider: str) -> None:
        """Notes that the user has set this value for a provider."""
        ...


class InMemoryOwners:
    """The Owners port, without a memory beyond this process."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], frozenset[str]] = {}

    def providers_of(self, setting: str, value: str) -> frozenset[str]:
        """The providers for which a setting had this value."""
        return self._known.get((setting, value), frozenset())

    def add(self, setting: str, value: str, provider: str) -> None:
        """Notes that the user has set this value for a provider."""
        self._known[(setting, value)] = self.providers_of(setting, value) | {provider}


RECORDED = re.compile(r"record:.*?\.json:", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """
    A model that a server has.

    Attributes:
        model: As the setting names it.
        title: Its display name; empty if that is the same.
        window: How many tokens it reads, if its server tells.
    """

    model: str
    title: str = ""
    window: int | None = None


class Provider(Protocol):
    """A model, or something that answers in place of one."""

    @property
    def context_tokens(self) -> int:
        """The size of the model's context in tokens, as far as it is known."""
        ...

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolOffer]) -> AsyncGenerator[Piece]:
        """
        Answers the conversation.

        Yields:
            Deltas and thoughts, then exactly one Response. Closing the generator cancels the call.
            Raises ProviderError; ProviderDown if asking again may help.
        """
        ...


@runtime_checkable
class Prepared(Protocol):
    """A provider that can find out the size of its model's context."""

    async def prepare(self) -> None:
        """Finds out the size if it is not known yet. Raises ProviderError."""
        ...


class Providers(Protocol):
    """Every model that can be chosen."""

    def __call__(self, choice: ModelChoice) -> Provider:
        """Returns the provider of the chosen model. Raises ProviderError if no model has that name."""
        ...

    def forget(self) -> None:
        """Forgets the keys, so that they are looked up again."""
        ...

    def keys(self, choices: Iterable[ModelChoice]) -> tuple[str, ...]:
        """
        Returns the keys of these models and of all that were used; a keyring's only if it was read before.
        """
        ...

    async def models(self, choice: ModelChoice) -> Sequence[KnownModel]:
        """
        Lists the models of its server; empty if it has no server. Raises ProviderError if the server does not
        list them.
        """
        ...
