"""An editor with handrail: turns, questions and reviews, as a plugin for handrail has them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp

from handrail.testing.editor import UNKNOWN, ScriptedEditor
from handrail.testing.profiles import ClientProfile
from handrail.testing.texts import Json
from handrail.testing.variations import PLAIN, Variation

NOWHERE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}


class HandrailEditor(ScriptedEditor):
    """
    An editor whose server is handrail.

    Attributes:
        saves: What it was asked to save.
        saving: How it answers that.
        reloads: The documents that it was told to load again.
        reloading: What it does with them; by default it loads them.
        updates: Every `handrail/turn/update`.
        ended_questions: Every `handrail/approval/ended`.
        reviewed: Every `handrail/review/changed`.
        chat_changes: Every `handrail/chat/changed`.
        answers: As of every scripted editor; a choice that the message does not offer is taken in the
            document of the question.
    """

    def __init__(self, profile: ClientProfile, root: Path, variation: Variation = PLAIN) -> None:
        self.saves: list[list[str]] = []
        self.updates: list[Json] = []
        self.ended_questions: list[Json] = []
        self.reviewed: list[Json] = []
        self.chat_changes: list[Json] = []
        self.reloads: list[list[str]] = []
        self.reloading: Callable[[list[str]], None] = self._reload_each
        self.saving: Callable[[list[str]], Json] = self._save_each
        super().__init__(profile, root, variation)

    async def greet(self, options: Json | None = None, folders: list[Path] | None = None) -> None:
        """Initialize; *options* are the `initializationOptions`, by default those of handrail's extension."""
        if options is None and self.profile.has_extension:
            options = opt_in("save")
        await super().greet(options, folders)

    async def request(self, name: str, **params: Any) -> Any:
        """
        Send a request of the handrail protocol: a custom request from an extension; otherwise a command.
        """
        if self.profile.has_extension:
            return await self.call("handrail/" + name.replace(".", "/"), params)
        return await self.command(f"handrail.{name}", params)

    async def start_turn(self, prompt: str, **params: Any) -> Json:
        """Start a turn; returns the answer of `turn.start`."""
        started: Json = await self.request("turn.start", prompt=prompt, **params)
        return started

    async def turn(self, prompt: str, **params: Any) -> Json:
        """Run a whole turn; returns its report."""
        started = await self.start_turn(prompt, **params)
        report: Json = await self.request("turn.wait", turn=started["turn"])
        assert (report["turn"], report["session"]) == (started["turn"], started["session"])
        return report

    def _register(self) -> None:
        super()._register()
        if self.profile.has_extension:
            self.handle("handrail/client/save", self._save)
            self.handle("handrail/client/reload", self._reload)
        self.handle("handrail/approval/request", self._approve)
        for method, received in (
            ("handrail/turn/update", self.updates),
            ("handrail/approval/ended", self.ended_questions),
            ("handrail/review/changed", self.reviewed),
            ("handrail/chat/changed", self.chat_changes),
        ):
            self.handle(method, received.append)

    def _save_each(self, uris: list[str]) -> Json:
        return {"saved": [uri for uri in uris if self.buffers.save(uri)]}

    def _save(self, params: Json) -> Json:
        self.saves.append(params["uris"])
        return self.saving(params["uris"])

    def _reload_each(self, uris: list[str]) -> None:
        for uri in uris:
            self.buffers.reload(uri)

    def _reload(self, params: Json) -> None:
        self.reloads.append(params["uris"])
        self.reloading(params["uris"])

    def _approve(self, params: Json) -> Json:
        self.questions.append(params)
        return {"choice": self.next_answer()}

    def _show_message_request(self, params: lsp.ShowMessageRequestParams) -> lsp.MessageActionItem | None:
        self.questions.append(self.protocol._converter.unstructure(params))
        offered = [action.title for action in params.actions or ()]
        says = self.next_answer()
        if says is None or says == UNKNOWN:
            return lsp.MessageActionItem(title=says) if says is not None else None
        if says == "deny":
            return lsp.MessageActionItem(title=offered[0])
        if says in offered:
            return lsp.MessageActionItem(title=says)
        self.run_in_background(self._choose_in_document(says))
        return lsp.MessageActionItem(title=offered[1])

    async def _choose_in_document(self, choice: str) -> None:
        """Act as a user who has asked to see a question: read it, and take a code action there."""
        seen = len(self.documents_opened)
        await self.until(lambda: len(self.documents_opened) > seen)
        await self.choose(await self.choice_in(self.documents_opened[-1], choice))

    @property
    def documents_opened(self) -> list[str]:
        """The documents that were shown; a user opens those that a message names."""
        named = [re.search(r"Open (file:\S+)", each.message) for each in self.messages]
        return [*self.documents_shown, *(found[1] for found in named if found)]

    async def choice_in(self, uri: str, choice: str) -> Json:
        """The code action for a choice in the document of a question, which is opened for that."""
        if uri not in self.buffers.documents:
            self.buffers.open(uri)
        return next(
            action
            for action in await self.quick_fixes(uri, NOWHERE)
            if action["command"]["arguments"][0].get("choice") == choice
        )


def opt_in(*services: str, **more: Any) -> Json:
    """Return the `initializationOptions` of a client that opts in to these services."""
    return {"handrail": {"turnUpdates": True, "services": list(services), **more}}
