"""The port to models, and the choice of one."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from handrail.core.conversation.message import Message, Piece, ToolOffer


class Reasoning(StrEnum):
    """How much a model thinks before it answers."""

    OFF = "off"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """
    Which model the user has chosen.

    Attributes:
        model: As the setting names it.
        base_url: Where it is, if not where its kind usually is.
        key_name: The variable, or keyring entry, that holds its key, if not the usual one.
        output_tokens: How long an answer may be; 0 for what the server takes for enough.
        reasoning: How much the model thinks before it answers; None for what it does by itself.
        window_tokens: How much it is to read at once, where a server is told that; 0 for what it does.
    """

    model: str
    base_url: str = ""
    key_name: str = ""
    output_tokens: int = 0
    reasoning: Reasoning | None = None
    window_tokens: int = 0


def provider_of(model: str) -> str:
    """
    Returns whose model a name of the setting stands for, such as `openai` or `paste`.

    A base URL and the name of a key belong to one provider: they must never be used for another's models.
    """
    inner = RECORDED.sub("", model)
    kind = inner.partition(":")[0]
    return "openai" if kind in ("openai-chat", "openai-responses") else kind


class Owners(Protocol):
    """For which providers the user has set an address or the name of a key."""

    def providers_of(self, setting: str, value: str) -> frozenset[str]:
        """The providers for which a setting had this value; empty if that is unknown."""
        ...

    def add(self, setting: str, value: str, provider: str) -> None:
        """Notes that the user has set this value for a provider."""
        ...


class UnkeptOwners:
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
        title: As people know it; empty if that is the same.
        window: How many tokens it reads, if its server tells.
    """

    model: str
    title: str = ""
    window: int | None = None


class Provider(Protocol):
    """A model, or what stands for one."""

    @property
    def context_tokens(self) -> int:
        """How much the model can read at once, as far as that is known."""
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
    """A provider that can find out how much its model reads."""

    async def prepare(self) -> None:
        """Finds out what is not known yet. Raises ProviderError."""
        ...


class Providers(Protocol):
    """Every model that can be chosen."""

    def __call__(self, choice: ModelChoice) -> Provider:
        """What stands for the chosen model. Raises ProviderError if there is none of that name."""
        ...

    def forget(self) -> None:
        """Looks for keys again."""
        ...

    async def models(self, choice: ModelChoice) -> Sequence[KnownModel]:
        """Those of its server; none if it has no server. Raises ProviderError if that does not tell."""
        ...
