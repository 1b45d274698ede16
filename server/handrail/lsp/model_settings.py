"""The model that the user has chosen in the settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from handrail.core import surfaces
from handrail.core.conversation import prompt
from handrail.core.conversation.prompt import Mode
from handrail.lsp import settings
from handrail.lsp.settings import Settings
from handrail.ports import ModelChoice, Reasoning, provider_of

WITHOUT_ADDRESS = frozenset(("paste", "editor", "scripted"))  # models without a base URL
# Why these models are never shown a picture, whatever the setting says; `ModelMessage` is only text.
SENT_NO_PICTURES = {
    "editor": "handrail sends only text to the editor's own models. Choose another model to show pictures.",
    "paste": "`paste` sends nothing to a model. Choose a model to show pictures.",
}


def model(values: Settings) -> ModelChoice:
    """Returns the model and the options for its requests."""
    reasoning = values.text(settings.REASONING)
    return ModelChoice(
        model=values.text(settings.MODEL),
        base_url=values.text(settings.BASE_URL),
        key_name=values.text(settings.KEY_NAME),
        output_tokens=values.number(settings.OUTPUT_TOKENS),
        reasoning=None if reasoning == "auto" else Reasoning(reasoning),
        window_tokens=values.number(settings.CONTEXT_WINDOW),
    )


class HasSettings(Protocol):
    """Something with settings that may not have arrived yet."""

    settings: Settings
    has_settled: bool


def model_name(known: HasSettings) -> str:
    """Returns the model's display name; empty until the client has sent its settings."""
    return known.settings.text(settings.MODEL) if known.has_settled else ""


def with_model(values: Settings, model: str) -> Settings:
    """
    Returns the settings with another model; unchanged if that is empty.

    A model of another provider uses that provider's own address and key: the base URL and the key name in the
    settings belong to the provider of the model in the settings.
    """
    if not model:
        return values
    moved = replace(values, values={**values.values, settings.MODEL.name: model})
    same = provider_of(model) == provider_of(values.text(settings.MODEL))
    return moved if same else at_own_address(moved)


def at_own_address(values: Settings) -> Settings:
    """Returns the settings without a base URL and a key name: the provider's own apply."""
    return replace(values, values={**values.values, settings.BASE_URL.name: "", settings.KEY_NAME.name: ""})


def at_base_url(values: Settings, model: str, base_url: str) -> Settings:
    """Returns the settings with another model at this base URL, with its provider's own key."""
    moved = with_model(values, model)
    return replace(moved, values={**moved.values, settings.BASE_URL.name: base_url})


PASSWORD = re.compile(r"//[^/?#]*@")  # and user, in an address
# The settings that belong to one provider: an address, and the name of the key that is sent there.
OF_A_PROVIDER = (settings.BASE_URL, settings.KEY_NAME)


class ProviderSettings:
    """
    The state of the settings that belong to one provider.

    Attributes:
        told: The latest values, by the setting's name.
        pointed_out: Provider, setting and value of ignored settings that the user has been told about.
        settled: The latest settings, including ignored ones.
    """

    def __init__(self) -> None:
        self.settled = Settings()
        self.told: dict[str, str] = {}
        self.pointed_out: set[tuple[str, str, str]] = set()


def provider(values: Settings) -> str:
    """Returns the provider of the chosen model; empty for models that need neither an address nor a key."""
    kind = provider_of(values.text(settings.MODEL))
    return "" if kind in WITHOUT_ADDRESS else kind


def drop_settings(settings: Settings, names: Iterable[str]) -> Settings:
    """Returns the settings without these values."""
    return replace(settings, values={**settings.values, **dict.fromkeys(names, "")})


def _name_values(settings: Settings, names: Sequence[str]) -> str:
    values = {name: PASSWORD.sub("//", str(settings.values[name])) for name in names}
    return " and ".join(f"handrail.{name} ({value})" for name, value in values.items())


def report_taken_over(settings: Settings, names: Sequence[str], owner: str) -> str:
    """Tells the user which settings another provider's model uses from now on."""
    was, them = ("was", "it") if len(names) == 1 else ("were", "them")
    return (
        f"{_name_values(settings, names)} {was} set for {owner} before. handrail now uses {them} for "
        f"{provider(settings)}. Clear {them} if you do not want that."
    )


def report_ignored(settings: Settings, names: Sequence[str], owner: str, *, has_button: bool) -> str:
    """Tells the user which settings another provider's model does not use, and what can be done about it."""
    was, them = ("was", "it") if len(names) == 1 else ("were", "them")
    told = (
        f"{_name_values(settings, names)} {was} set for {owner}, so handrail does not use {them} for "
        f"{provider(settings)}. In this way, no key is sent to another provider."
    )
    if has_button:
        return told
    return (
        f"{told} Clear {them} if you do not need {them}. To use {them} for {provider(settings)} too, clear "
        f"{them}, then set {them} again."
    )


def name_use(settings: Settings, names: Sequence[str]) -> str:
    """The button with which the user has these settings count for the provider that is chosen."""
    return f"Use {'it' if len(names) == 1 else 'them'} for {provider(settings)}"


def mode(values: Settings, stated: Mode | None, *, untrusted: bool) -> Mode:
    """Returns the mode of a turn, which its client may have *stated*; in an untrusted workspace, only ask."""
    return Mode.ASK if untrusted else stated or Mode(values.text(settings.MODE))


def why_no_pictures(values: Settings) -> str:
    """Returns why the model is not shown pictures, and what to do, as words that can follow a colon."""
    chosen = values.text(settings.MODEL)
    if (why := SENT_NO_PICTURES.get(provider_of(chosen))) is not None:
        return why
    model = surfaces.line(chosen)
    if values.text(settings.PICTURES) == "never":
        return f"the setting handrail.pictures is `never`. Set it to `always` to show pictures to {model}."
    return (
        f"handrail does not know whether {model} can see pictures. If it can, set handrail.pictures to "
        "`always`."
    )


def takes_pictures(values: Settings) -> bool:
    """Whether the model is shown pictures."""
    chosen, model = values.text(settings.PICTURES), values.text(settings.MODEL)
    if provider_of(model) in SENT_NO_PICTURES:
        return False
    return chosen == "always" or (chosen == "auto" and prompt.takes_pictures(model))
