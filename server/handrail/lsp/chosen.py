"""The model that the user has chosen, as the settings say."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from handrail.core.conversation import prompt
from handrail.core.conversation.prompt import Mode
from handrail.lsp import settings
from handrail.lsp.settings import Settings
from handrail.ports import ModelChoice, Reasoning, provider_of

WITHOUT_ADDRESS = frozenset(("paste", "editor", "scripted"))  # models that no base URL leads to


def model(found: Settings) -> ModelChoice:
    """The model, and how it is asked."""
    reasoning = found.text(settings.REASONING)
    return ModelChoice(
        model=found.text(settings.MODEL),
        base_url=found.text(settings.BASE_URL),
        key_name=found.text(settings.KEY_NAME),
        output_tokens=found.number(settings.OUTPUT_TOKENS),
        reasoning=None if reasoning == "auto" else Reasoning(reasoning),
        window_tokens=found.number(settings.CONTEXT_WINDOW),
    )


class Settled(Protocol):
    """What has settings, of which it may not know yet."""

    settings: Settings
    has_settled: bool


def named(known: Settled) -> str:
    """The model's name for people; empty while the client has not told its settings."""
    return known.settings.text(settings.MODEL) if known.has_settled else ""


def with_model(found: Settings, model: str) -> Settings:
    """
    The settings with another model; the same ones if that is empty.

    A model of another provider is asked at that provider's own address, with its own key: the base URL and
    the key's name in the settings belong to the provider of the model there.
    """
    if not model:
        return found
    moved = replace(found, values={**found.values, settings.MODEL.name: model})
    same = provider_of(model) == provider_of(found.text(settings.MODEL))
    return moved if same else at_own_address(moved)


def at_own_address(found: Settings) -> Settings:
    """The settings without a base URL and a key's name: the provider's own count."""
    return replace(found, values={**found.values, settings.BASE_URL.name: "", settings.KEY_NAME.name: ""})


def at_base_url(found: Settings, model: str) -> Settings:
    """The settings with another model, which is asked at the same base URL, with its provider's own key."""
    base_url = found.text(settings.BASE_URL)
    moved = with_model(found, model)
    return replace(moved, values={**moved.values, settings.BASE_URL.name: base_url})


def stale_address(before: Settings, now: Settings) -> str:
    """A warning if the model's provider has changed, but the base URL has not; empty if all is well."""
    base_url = now.text(settings.BASE_URL)
    was, is_now = (provider_of(each.text(settings.MODEL)) for each in (before, now))
    if not base_url or base_url != before.text(settings.BASE_URL) or was == is_now:
        return ""
    if {was, is_now} & WITHOUT_ADDRESS:
        return ""
    return (
        f"The model's provider is now {is_now}, but handrail.baseUrl is still {base_url}, so the key of "
        f"{is_now} will be sent there. Clear handrail.baseUrl if that address belongs to {was}."
    )


def mode(found: Settings, stated: Mode | None, *, untrusted: bool) -> Mode:
    """The mode of a turn whose client *stated* one, or none; in an untrusted workspace turns can only ask."""
    return Mode.ASK if untrusted else stated or Mode(found.text(settings.MODE))


def sees(found: Settings) -> bool:
    """Whether the model is shown pictures."""
    chosen = found.text(settings.PICTURES)
    return chosen == "always" or (chosen == "auto" and prompt.sees(found.text(settings.MODEL)))
