"""The model that the user has chosen, as the settings say."""

from __future__ import annotations

from handrail.core.conversation import prompt
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


def sees(found: Settings) -> bool:
    """Whether the model is shown pictures."""
    chosen = found.text(settings.PICTURES)
    return chosen == "always" or (chosen == "auto" and prompt.sees(found.text(settings.MODEL)))
