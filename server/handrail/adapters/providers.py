"""Choose the provider that the setting `handrail.model` names."""

from __future__ import annotations

from pathlib import Path

from handrail.adapters.paste import Paste
from handrail.adapters.scripted import Scripted
from handrail.ports import Provider, ProviderError

SCRIPTED = "scripted:"


def provider(model: str) -> Provider:
    """The provider for *model*. Raises ProviderError if there is none of that name."""
    if model == "paste":
        return Paste()
    if model.startswith(SCRIPTED) and model != SCRIPTED:
        return Scripted(Path(model.removeprefix(SCRIPTED)).expanduser())
    raise ProviderError(
        f"The setting handrail.model is {model!r}, which is not known here; "
        "it can be 'paste' or 'scripted:FILE'."
    )
