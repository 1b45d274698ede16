"""The model that the user has chosen, as the settings say."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from handrail.core.conversation import prompt
from handrail.core.conversation.prompt import Mode
from handrail.lsp import settings
from handrail.lsp.settings import Settings
from handrail.ports import ModelChoice, Reasoning


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
    """The settings with another model; the same ones if that is empty."""
    return replace(found, values={**found.values, settings.MODEL.name: model}) if model else found


def mode(found: Settings, stated: Mode | None, *, untrusted: bool) -> Mode:
    """The mode of a turn whose client *stated* one, or none; in an untrusted workspace turns can only ask."""
    return Mode.ASK if untrusted else stated or Mode(found.text(settings.MODE))


def sees(found: Settings) -> bool:
    """Whether the model is shown pictures."""
    chosen = found.text(settings.PICTURES)
    return chosen == "always" or (chosen == "auto" and prompt.sees(found.text(settings.MODEL)))
