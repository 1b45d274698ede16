"""
A scripted editor: a language client that holds documents, and behaves as one editor does.

Its profile says how it behaves; `behaviours` makes it misbehave for the next edits.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from handrail.testing.buffers import Buffers
from handrail.testing.profiles import ClientProfile, Stale
from handrail.testing.texts import Json, position_of
from handrail.testing.variations import PLAIN, Variation
from handrail.testing.wire import RecordedClient, RefusedError

Behaviour = Callable[[Any, Json], Awaitable[Json | None]]

UNKNOWN = "Maybe"  # a title that no question offers
DEBOUNCE_S = 0.02  # real editors wait 0.15 s or 0.5 s; what matters is that it is after the answer


class ScriptedEditor(RecordedClient):
    """
    One editor with one server.

    Attributes:
        profile: How it behaves.
        root: Its workspace folder.
        buffers: Its open documents.
        behaviours: What it does with the next edits, in order; after those it does as its profile says.
        edits: Every `workspace/applyEdit` that it received, as JSON.
        published: Every `textDocument/publishDiagnostics`.
        questions: Every `window/showMessageRequest`.
        answers: What its user answers them with, in order: a title; None closes the question, and `UNKNOWN`
            is a title that was not offered. Without an answer the user closes the question.
        progressed: Every `$/progress`.
        refreshes: The methods of every request to ask for something again, such as code lenses.
        show_requests: Every `window/showDocument`; `documents_shown` has their URIs.
        server_capabilities: What the server answered to `initialize`.
    """

    def __init__(self, profile: ClientProfile, root: Path, variation: Variation = PLAIN) -> None:
        super().__init__()
        self.profile = profile
        self.root = root
        self.buffers = Buffers(profile, self.notify)
        self.buffers.variation = variation
        self.behaviours: list[Behaviour] = []
        self.edits: list[Json] = []
        self.published: list[Json] = []
        self.questions: list[Json] = []
        self.answers: list[str | None] = []
        self.refreshes: list[str] = []
        self.documents_shown: list[str] = []
        self.show_requests: list[lsp.ShowDocumentParams] = []
        self.progressed: list[Json] = []
        self.server_capabilities: Json = {}
        self._register()

    async def greet(self, options: Json | None = None, folders: list[Path] | None = None) -> None:
        """Initialize the server; *options* are the `initializationOptions`."""
        folders = [self.root] if folders is None else folders
        capabilities = self.profile.capabilities
        # pytest-lsp warns of messages that these do not allow.
        self.capabilities = self.protocol._converter.structure(capabilities, lsp.ClientCapabilities)
        params = {
            "processId": None,
            "rootUri": folders[0].as_uri() if folders else None,
            **self.profile.recorded,
            "workspaceFolders": [{"uri": each.as_uri(), "name": each.name} for each in folders],
            **({"initializationOptions": options} if options is not None else {}),
        }
        result = await self.call("initialize", params)
        self.server_capabilities = result["capabilities"]
        self.buffers.encoding = self.profile.counts or self.server_capabilities.get(
            "positionEncoding", "utf-16"
        )
        self.buffers.tells_saves = _takes_saves(self.server_capabilities)
        self.notify("initialized", {})

    async def command(self, name: str, *arguments: Any) -> Any:
        """Run a command of the server: `workspace/executeCommand`."""
        return await self.call("workspace/executeCommand", {"command": name, "arguments": list(arguments)})

    async def format(self, uri: str) -> str:
        """Format a document as its user would; returns the text that the editor holds then."""
        params = {"textDocument": {"uri": uri}, "options": {"tabSize": 4, "insertSpaces": True}}
        edits = await self.call("textDocument/formatting", params) or []
        if edits:
            self.buffers.edit_open(uri, edits)
            self.tell_soon()
        return self.buffers[uri]

    async def rename(self, uri: str, symbol: str, new: str) -> Json | None:
        """Rename the first *symbol* of a document as its user would; returns the edit that was applied."""
        params = {"textDocument": {"uri": uri}, "position": self.position(uri, symbol), "newName": new}
        edit: Json | None = await self.call("textDocument/rename", params)
        if edit is not None and self.refusal({"edit": edit}) is None:
            self.buffers.apply({"edit": edit})
            self.tell_soon()
        return edit

    def position(self, uri: str, text: str) -> Json:
        """Return the position of the first *text* of a document, in the encoding that was agreed on."""
        held = self.buffers[uri]
        return position_of(held, held.index(text), self.buffers.encoding)

    async def published_diagnostics(self, uri: str, count: int | None = None) -> list[Json]:
        """Wait until the server published *count* diagnostics for a document (any number by default)."""
        await self.until(
            lambda: (
                any(each["uri"] == uri for each in self.published)
                and count in (None, len(self.shown_diagnostics(uri)))
            )
        )
        return self.shown_diagnostics(uri)

    async def quick_fixes(self, uri: str, span: Json) -> list[Json]:
        """Ask for the code actions at a range."""
        params = {"textDocument": {"uri": uri}, "range": span, "context": {"diagnostics": []}}
        actions: list[Json] = await self.call("textDocument/codeAction", params)
        return actions

    async def choose(self, action: Json) -> Any:
        """Apply a code action: its edit, then its command."""
        if (edit := action.get("edit")) is not None:
            self.buffers.apply({"edit": edit})
            self.tell_soon()
        command = action.get("command")
        return None if command is None else await self.command(command["command"], *command["arguments"])

    def shown_diagnostics(self, uri: str) -> list[Json]:
        """Return the diagnostics that the editor shows for a document."""
        latest = [each for each in self.published if each["uri"] == uri]
        return list(latest[-1]["diagnostics"]) if latest else []

    # ---- Answering the server ---------------------------------------------------------------------

    def _register(self) -> None:
        own: dict[str, Callable[[Any], Any]] = {
            lsp.WORKSPACE_APPLY_EDIT: self._apply_edit,
            lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: self._publish,
            lsp.WINDOW_SHOW_MESSAGE_REQUEST: self._show_message_request,
            lsp.CLIENT_REGISTER_CAPABILITY: lambda params: None,
            lsp.PROGRESS: self._progress,
            lsp.WINDOW_SHOW_DOCUMENT: self._show_document,
        }
        for each in (lsp.WORKSPACE_CODE_LENS_REFRESH, lsp.WORKSPACE_INLAY_HINT_REFRESH):
            own[each] = partial(self._refresh, each)
        for method, handler in own.items():
            self.handle(method, handler)

    def _refresh(self, method: str, _params: object) -> None:
        self.refreshes.append(method)

    async def _apply_edit(self, params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult | None:
        given: Json = self.protocol._converter.unstructure(params)
        self.edits.append(given)
        self.news.set()
        behaviour = self.behaviours.pop(0) if self.behaviours else ScriptedEditor.obey
        answer = await behaviour(self, given)
        return lsp.ApplyWorkspaceEditResult(**answer) if answer is not None else None

    async def obey(self, given: Json) -> Json | None:
        """Do as the editor does."""
        if (refusal := self.refusal(given)) is not None:
            return refusal
        self.buffers.apply(given)
        self.tell_soon()
        if self.buffers.variation.answers_after_s:
            await asyncio.sleep(self.buffers.variation.answers_after_s)
        return None if self.buffers.variation.answers_null else {"applied": True}

    def refusal(self, given: Json) -> Json | None:
        """Return what the editor answers to an edit of a text that it no longer holds, or None."""
        if not self.buffers.is_stale(given) or self.profile.stale is Stale.SKIP:
            return None
        self.tell_soon()
        if self.profile.stale is Stale.ERROR:
            raise RefusedError(message="Edits require another version", code=-32603)
        return {"applied": False}

    def tell_soon(self) -> None:
        """Tell the server of pending changes when this editor would."""
        after_s = self.buffers.variation.tells_after_s or (0 if self.profile.tells_at_once else DEBOUNCE_S)
        if after_s:
            asyncio.get_running_loop().call_later(after_s, self.buffers.tell)
        else:
            self.buffers.tell()

    def _publish(self, params: lsp.PublishDiagnosticsParams) -> None:
        self.published.append(self.protocol._converter.unstructure(params))

    def _progress(self, params: lsp.ProgressParams) -> None:
        self.progressed.append({"token": params.token, **(params.value or {})})

    def next_answer(self) -> str | None:
        """Return the user's next answer; a user who has none closes the question."""
        return self.answers.pop(0) if self.answers else None

    def _show_message_request(self, params: lsp.ShowMessageRequestParams) -> lsp.MessageActionItem | None:
        self.questions.append(self.protocol._converter.unstructure(params))
        title = self.next_answer()
        return lsp.MessageActionItem(title=title) if title is not None else None

    def _show_document(self, params: lsp.ShowDocumentParams) -> lsp.ShowDocumentResult:
        self.documents_shown.append(params.uri)
        self.show_requests.append(params)
        return lsp.ShowDocumentResult(success=True)


def _takes_saves(capabilities: Json) -> bool:
    sync = capabilities.get("textDocumentSync")
    return isinstance(sync, dict) and "save" in sync


@contextlib.contextmanager
def expect_error(code: int, *words: str) -> Iterator[None]:
    """Expect that the request in the block is answered with this error, whose message has these words."""
    with pytest.raises(JsonRpcException) as caught:
        yield
    assert caught.value.code == code, f"{caught.value.code}: {caught.value.message}"
    for word in words:
        assert word in caught.value.message
