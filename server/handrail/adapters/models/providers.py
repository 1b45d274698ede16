"""Choose the provider that the setting `handrail.model` names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from handrail.adapters.models.address import key_name, usable
from handrail.adapters.models.keys import Keys
from handrail.adapters.models.paste import Paste
from handrail.adapters.models.record import Record
from handrail.adapters.models.remote import Remote
from handrail.adapters.models.scripted import Scripted
from handrail.adapters.models.worker.parent import ModelWorker
from handrail.ports.errors import ProviderError
from handrail.ports.models import KnownModel, ModelChoice, Provider

SCRIPTED = "scripted:"
RECORD = re.compile(r"record:(?P<file>.+?\.json):(?P<model>.+)")
EDITOR = re.compile(r"editor(?::.*)?")
REMOTE = re.compile(r"[a-z][a-z0-9-]*:\S.*")


class Providers:
    """Makes providers, and keeps a remote one, so that its SDK and connections serve the next turn too."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._known: tuple[ModelChoice, Provider] | None = None
        self._worker = ModelWorker()

    def __call__(self, choice: ModelChoice) -> Provider:
        """The provider for *choice*. Raises ProviderError if there is none of that name."""
        if self._known is not None and self._known[0] == choice:
            return self._known[1]
        made = provider(choice, self._keys, self._worker)
        self._known = None if isinstance(made, Paste | Scripted) else (choice, made)
        return made

    def forget(self) -> None:
        """Make each provider again, and look for its keys again."""
        self._known = None

    def keys(self, choices: Iterable[ModelChoice]) -> tuple[str, ...]:
        """
        Returns the keys of these models and of all that were used; a keyring's only if it was read before.
        """
        return self._keys.of_models(map(_key_name, choices))

    async def models(self, choice: ModelChoice) -> tuple[KnownModel, ...]:
        """Returns the models of the chosen model's server. Raises ProviderError; see `listing`."""
        from handrail.adapters.models import listing  # noqa: PLC0415  # its HTTP client is slow to import

        return await listing.models(choice, self._keys)


def provider(choice: ModelChoice, keys: Keys, worker: ModelWorker | None = None) -> Provider:
    """
    A new provider, its key looked for in *keys*. Raises ProviderError if there is none of that name.

    The SDK runs *apart*, if given.
    """
    model = choice.model
    if model == "paste":
        return Paste()
    if model.startswith(SCRIPTED) and model != SCRIPTED:
        return Scripted(Path(model.removeprefix(SCRIPTED)).expanduser())
    if (recorded := RECORD.fullmatch(model)) is not None:
        inner = provider(replace(choice, model=recorded["model"]), keys, worker)
        return Record(inner, Path(recorded["file"]).expanduser())
    if not unknown_model(model):
        return Remote(
            lambda: usable(choice, keys), secrets=lambda: keys.secrets(choice.key_name), worker=worker
        )
    raise ProviderError(unknown_model(model))


def _key_name(choice: ModelChoice) -> str:
    """Returns the name of the variable, or of the keyring's entry, with the key of a model."""
    if (recorded := RECORD.fullmatch(choice.model)) is not None:
        return _key_name(replace(choice, model=recorded["model"]))
    return choice.key_name or key_name(choice.model)


def unknown_model(model: str) -> str:
    """Returns why no model can have this name; empty if one may."""
    recorded = RECORD.fullmatch(model)
    if recorded is not None:
        return unknown_model(recorded["model"])
    if EDITOR.fullmatch(model):
        return (
            f"{model!r} means an editor's own model: it works only in an editor that has models, and it "
            "cannot be recorded. Choose another model."
        )
    is_remote = REMOTE.fullmatch(model) and not model.startswith(("record:", "scripted:"))
    if model == "paste" or is_remote or (model.startswith(SCRIPTED) and model != SCRIPTED):
        return ""
    return (
        f"{model!r} does not name a provider and its model. In the setting handrail.model, after /model, or "
        "after --model in a terminal, write PROVIDER:NAME: 'openai:NAME', 'openai-chat:NAME', "
        "'openai-responses:NAME', 'anthropic:NAME' or 'ollama:NAME'. Or write 'paste', 'scripted:FILE' or "
        "'record:FILE.json:MODEL'; in an editor that has models of its own, also 'editor' or 'editor:NAME'."
    )
