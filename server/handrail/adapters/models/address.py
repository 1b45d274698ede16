"""
The address of a model behind HTTP: its wire format, its server, its key.

Names are those of pydantic-ai; `formats` describes each kind.
"""

from __future__ import annotations

from handrail.adapters.models.formats import format_of
from handrail.adapters.models.keys import SERVICE, Keys
from handrail.ports.errors import ProviderError
from handrail.ports.models import ModelChoice, Reasoning, provider_of
from handrail.values import dataclass

SETTING = "the setting handrail.baseUrl"
IF_ELSEWHERE = "If the model's server is at another address, set handrail.baseUrl."


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """
    A model, and how it is reached.

    Attributes:
        kind: The wire format, as pydantic-ai names it.
        name: As the server knows the model.
        base_url: Empty for the format's own.
        source: The setting or variable that names the base URL; empty if the user has named none.
        key: Empty where none is needed.
        output_tokens: How long an answer may be; 0 for what the server takes for enough.
        reasoning: How much the model thinks; None for what it does by itself.
        window_tokens: How much the user wants the model to read; 0 for what the server takes for enough.
    """

    kind: str
    name: str
    base_url: str = ""
    source: str = ""
    key: str = ""
    output_tokens: int = 0
    reasoning: Reasoning | None = None
    window_tokens: int = 0

    @property
    def root(self) -> str:
        """The address of the server's own API, if OpenAI's is below `/v1`."""
        return self.base_url.rstrip("/").removesuffix("/v1")

    @property
    def advice(self) -> str:
        """What the user can do if another server than the model's answers there."""
        if self.source:
            return f"Check the address in {self.source}."
        if self.base_url:
            return IF_ELSEWHERE
        return "handrail uses the provider's own address, so check the network, such as a proxy."


def key_name(model: str) -> str:
    """The variable, or keyring entry, that holds the key for *model* unless the user names another."""
    kind = model.partition(":")[0]
    known = format_of(kind)
    return known.key_name if known is not None else f"{kind.upper().replace('-', '_')}_API_KEY"


def address(choice: ModelChoice, keys: Keys) -> Address:
    """
    Returns the address of a model, whose name is `kind:name`.

    Without a base URL in the settings, the environment's variable for that kind holds. Asks the keyring.
    """
    kind, _, name = choice.model.partition(":")
    known = format_of(kind)
    variable = known.base_url_name if known is not None else ""
    base_url, source = choice.base_url, SETTING if choice.base_url else ""
    if not base_url and (base_url := keys.variable(variable)):
        source = f"the environment variable {variable}"
    if (known := format_of(kind, has_server=bool(base_url))) is not None:
        kind, base_url = known.name, base_url or known.default_url
    key = keys.find(choice.key_name or key_name(choice.model))
    return Address(
        kind=kind,
        name=name,
        base_url=base_url,
        source=source,
        key=key,
        output_tokens=choice.output_tokens,
        reasoning=choice.reasoning,
        window_tokens=choice.window_tokens,
    )


def usable(choice: ModelChoice, keys: Keys) -> Address:
    """Returns the address of a model; raises ProviderError if its provider wants a key, and there is none."""
    found = address(choice, keys)
    if not found.key and not found.base_url and format_of(found.kind) is not None:
        name = choice.key_name or key_name(choice.model)
        raise ProviderError(
            f"No key for {provider_of(choice.model)} was found. Put the key into the environment variable "
            f"{name} or into the system's keyring (service {SERVICE}, user name {name}), or run “Handrail: "
            "Set API Key…” in VS Code."
        )
    return found
