"""
An editor for tests: pytest-lsp's client, with documents that it really holds and edits.

It answers as its habits say; `behaviours` makes it misbehave for the next edits. Whatever it receives wakes
`until`, so that tests await states and never sleep.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest
from cattrs import Converter
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.io_ import run_async
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
    default_converter,
)
from pytest_lsp import LanguageClient
from pytest_lsp.client import register_lsp_features
from pytest_lsp.protocol import LanguageClientProtocol

from handrail.testing.buffers import Desk
from handrail.testing.profiles import Habits, Stale, opting_in
from handrail.testing.texts import Json
from handrail.testing.variations import PLAIN, Manner

T = TypeVar("T")
Behaviour = Callable[["Editor", Json], Awaitable[Json | None]]

UNKNOWN = "Maybe"  # a title that no question has
NOWHERE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
TIMEOUT_S = 15.0  # long enough that only a hang gets there
DEBOUNCE_S = 0.02  # the editors wait 0.15 s and 0.5 s; what matters is that it is after the answer


class Process(Protocol):
    """A running server."""

    async def streams(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """What the server writes, and where to write to it."""
        ...


class RefusedError(JsonRpcException):
    """An error that the editor means to answer with."""


@cache
def plain_converter() -> Converter:
    """pygls' converter, with messages of our own left as JSON; one for all editors, as it learns slowly."""
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]
    for kind in (JsonRPCRequestMessage, JsonRPCResponseMessage, JsonRPCNotification):
        converter.register_structure_hook(kind, lambda data, kind: kind(**data))
    return converter


class Recorder(LanguageClientProtocol):
    """The protocol with everything written down that goes over the wire."""

    _server: Editor

    def _send_data(self, data: Any) -> None:
        text = json.dumps(data, default=self._serialize_message)
        self._server.traffic.append(f"→ {text}")
        super()._send_data(data)

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Write a received message down, then decode it."""
        if "jsonrpc" in data:
            self._server.traffic.append(f"← {json.dumps(data)}")
        return super().structure_message(data)

    def handle_message(self, message: Any) -> None:
        """Handle a message, then wake whoever waits for a state."""
        super().handle_message(message)
        self._server.news.set()


class Editor(LanguageClient):
    """
    One editor with one server.

    Attributes:
        desk: Its documents.
        behaviours: What it does with the next edits, in order; after those it does as its habits say.
        edits: Every `workspace/applyEdit` that it received, as JSON.
        saves: What it was asked to save.
        saving: How it answers that.
        updates: Every `handrail/turn/update`.
        published: Every `textDocument/publishDiagnostics`.
        answers: What its user answers questions with, in order: a choice, which is taken in the document of
            the question where the message does not offer it; None closes the question, `UNKNOWN` is a
            title that was not offered.
        questions: What it was asked.
        ended_questions: Every `handrail/approval/ended`.
        reviewed: Every `handrail/review/changed`.
        chat_changes: Every `handrail/chat/changed`.
        refreshes: What it was told to ask for again.
        documents_shown: The URIs that it was asked to show; `places_shown` are the requests.
        errors: What went wrong on its own side, protocol violations of the server among it.
    """

    def __init__(self, habits: Habits, root: Path, manner: Manner = PLAIN) -> None:
        self.traffic: list[str] = []
        self.news = asyncio.Event()
        super().__init__(protocol_cls=Recorder, converter_factory=plain_converter)
        self.has_left = False
        self.habits = habits
        self.root = root
        self.desk = Desk(habits, self.notify)
        self.desk.manner = manner
        self.behaviours: list[Behaviour] = []
        self.edits: list[Json] = []
        self.saves: list[list[str]] = []
        self.updates: list[Json] = []
        self.published: list[Json] = []
        self.questions: list[Json] = []
        self.answers: list[str | None] = []
        self.ended_questions: list[Json] = []
        self.reviewed: list[Json] = []
        self.chat_changes: list[Json] = []
        self.refreshes: list[str] = []
        self.documents_shown: list[str] = []
        self.places_shown: list[lsp.ShowDocumentParams] = []
        self.saving: Callable[[list[str]], Json] = self._save_each
        self.errors: list[Exception] = []
        self.progressed: list[Json] = []
        self.server_capabilities: Json = {}
        self._numbers = itertools.count(1)
        self._waiting: list[asyncio.Task[None]] = []
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._register()

    # ---- Life -------------------------------------------------------------------------------------

    async def connect(self, server: Process) -> None:
        """Talk to a server from now on."""
        reader, writer = self._streams = await server.streams()
        self.protocol.set_writer(writer)
        talk = run_async(self._stop_event, reader, self.protocol, error_handler=self.report_server_error)
        self._async_tasks.append(asyncio.create_task(talk))

    async def greet(self, options: Json | None = None, folders: list[Path] | None = None) -> None:
        """Initialize; *options* are the `initializationOptions`, those of our extension if it has one."""
        if options is None and self.habits.has_extension:
            options = opting_in("save")
        folders = [self.root] if folders is None else folders
        capabilities = self.habits.capabilities
        # pytest-lsp warns of messages that these do not allow.
        self.capabilities = self.protocol._converter.structure(capabilities, lsp.ClientCapabilities)
        params = {
            "processId": None,
            "rootUri": folders[0].as_uri() if folders else None,
            **self.habits.recorded,
            "workspaceFolders": [{"uri": each.as_uri(), "name": each.name} for each in folders],
            **({"initializationOptions": options} if options is not None else {}),
        }
        result = await self.call("initialize", params)
        self.server_capabilities = result["capabilities"]
        self.desk.encoding = self.habits.counts or self.server_capabilities.get("positionEncoding", "utf-16")
        self.desk.tells_saves = "save" in self.server_capabilities["textDocumentSync"]
        self.notify("initialized", {})

    async def leave(self) -> None:
        """Say good-bye, if it has not been said."""
        if self.has_left:
            return
        self.has_left = True
        await self.call("shutdown", None)
        self.notify("exit", None)

    def vanish(self) -> None:
        """Close the connection without a word."""
        self.has_left = True
        assert self._streams is not None
        self._streams[1].write_eof()

    async def ended(self) -> None:
        """Wait until the server has closed the connection."""
        async with asyncio.timeout(TIMEOUT_S):
            await asyncio.gather(*self._async_tasks)

    async def ended_quietly(self) -> None:
        """Wait until the connection is closed, however that came."""
        async with asyncio.timeout(TIMEOUT_S):
            await asyncio.gather(*self._async_tasks, return_exceptions=True)

    def hang_up(self) -> None:
        """Close the connection, and whatever still waits on this side."""
        self._stop_event.set()
        for task in (*self._async_tasks, *self._waiting):
            task.cancel()
        for waiting in list(self.protocol._request_futures.values()):
            waiting.cancel()
        if self._streams is not None:
            self._streams[1].close()

    async def until(self, holds: Callable[[], T], timeout_s: float = TIMEOUT_S) -> T:
        """Wait until *holds* gives something true, and return that."""
        async with asyncio.timeout(timeout_s):
            while not (found := holds()):
                self.news.clear()
                await self.news.wait()
            return found

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Keep what went wrong here; pytest-lsp would end the server."""
        if not isinstance(error, RefusedError):
            self.errors.append(error)

    # ---- Talking to the server, in JSON as it is ----------------------------------------------------

    def notify(self, method: str, params: Json | None) -> None:
        """Send a notification."""
        self.send(method=method, params=params)

    def send(self, **message: Any) -> None:
        """Send a message, whatever it is."""
        self.protocol._send_data({"jsonrpc": "2.0", **message})

    async def call(self, method: str, params: Any) -> Any:
        """Send a request and await its answer."""
        return await self.answer_to(method=method, params=params)

    async def answer_to(self, **message: Any) -> Any:
        """Send a request, well-formed or not, and await its answer."""
        number = f"e-{next(self._numbers)}"
        answer: Future[Any] = Future()
        self.protocol._request_futures[number] = answer
        self.send(id=number, **message)
        async with asyncio.timeout(TIMEOUT_S):
            return await asyncio.wrap_future(answer)

    # ---- Asking the server ------------------------------------------------------------------------

    async def request(self, name: str, **params: Any) -> Any:
        """A request of our protocol: custom where an extension sends it, else as a command."""
        if self.habits.has_extension:
            return await self.call("handrail/" + name.replace(".", "/"), params)
        return await self.command(f"handrail.{name}", params)

    async def command(self, name: str, *arguments: Any) -> Any:
        """`workspace/executeCommand`."""
        return await self.call("workspace/executeCommand", {"command": name, "arguments": list(arguments)})

    async def start_turn(self, prompt: str, **params: Any) -> Json:
        """Begin a turn; what `turn.start` answers."""
        started: Json = await self.request("turn.start", prompt=prompt, **params)
        return started

    async def turn(self, prompt: str, **params: Any) -> Json:
        """A whole turn; its report."""
        started = await self.start_turn(prompt, **params)
        report: Json = await self.request("turn.wait", turn=started["turn"])
        assert (report["turn"], report["session"]) == (started["turn"], started["session"])
        return report

    async def quick_fixes(self, uri: str, span: Json) -> list[Json]:
        """The code actions at a range, as the editor's menu would show them."""
        params = {"textDocument": {"uri": uri}, "range": span, "context": {"diagnostics": []}}
        found: list[Json] = await self.call("textDocument/codeAction", params)
        return found

    async def choose(self, action: Json) -> Any:
        """Run a code action's command."""
        return await self.command(action["command"]["command"], *action["command"]["arguments"])

    def last_request(self, method: str) -> str:
        """The id of the server's latest request of that name."""
        wanted = f'"method": "{method}"'
        received = next(line for line in reversed(self.traffic) if line.startswith("←") and wanted in line)
        number: str = json.loads(received[2:])["id"]
        return number

    def shown(self, uri: str) -> list[Json]:
        """The diagnostics that the editor shows for a document."""
        latest = [each for each in self.published if each["uri"] == uri]
        return list(latest[-1]["diagnostics"]) if latest else []

    # ---- Answering the server ---------------------------------------------------------------------

    def _register(self) -> None:
        register_lsp_features(self)
        own: dict[str, Callable[[Any], Any]] = {
            lsp.WORKSPACE_APPLY_EDIT: self._apply_edit,
            lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: self._publish,
            lsp.WINDOW_SHOW_MESSAGE_REQUEST: self._show_message_request,
            lsp.CLIENT_REGISTER_CAPABILITY: lambda params: None,
            lsp.PROGRESS: self._progress,
            lsp.WINDOW_SHOW_DOCUMENT: self._show_document,
        }
        if self.habits.has_extension:
            own["handrail/client/save"] = self._save
        own["handrail/turn/update"] = self.updates.append
        own["handrail/approval/request"] = self._approve
        own["handrail/approval/ended"] = self.ended_questions.append
        own["handrail/review/changed"] = self.reviewed.append
        own["handrail/chat/changed"] = self.chat_changes.append
        for each in (lsp.WORKSPACE_CODE_LENS_REFRESH, lsp.WORKSPACE_INLAY_HINT_REFRESH):
            own[each] = partial(self._refresh, each)
        for method, handler in own.items():
            self.handle(method, handler)

    def _refresh(self, method: str, _params: object) -> None:
        self.refreshes.append(method)

    def handle(self, method: str, handler: Callable[[Any], Any]) -> None:
        """Answer *method* with *handler* from now on."""
        self.protocol.fm.features.pop(method, None)
        self.feature(method)(partial(handler))  # pygls sets attributes on it

    async def _apply_edit(self, params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult | None:
        given: Json = self.protocol._converter.unstructure(params)
        self.edits.append(given)
        self.news.set()
        behaviour = self.behaviours.pop(0) if self.behaviours else Editor.obey
        answer = await behaviour(self, given)
        return lsp.ApplyWorkspaceEditResult(**answer) if answer is not None else None

    async def obey(self, given: Json) -> Json | None:
        """Do as the editor does."""
        if (refusal := self.refusal(given)) is not None:
            return refusal
        self.desk.apply(given)
        self.tell_soon()
        if self.desk.manner.answers_after_s:
            await asyncio.sleep(self.desk.manner.answers_after_s)
        return None if self.desk.manner.answers_null else {"applied": True}

    def refusal(self, given: Json) -> Json | None:
        """What the editor answers to an edit of a text that it does not hold any more; None to others."""
        if not self.desk.is_stale(given) or self.habits.stale is Stale.SKIP:
            return None
        self.tell_soon()
        if self.habits.stale is Stale.ERROR:
            raise RefusedError(message="Edits require another version", code=-32603)
        return {"applied": False}

    def tell_soon(self) -> None:
        """Tell the server of pending changes when this editor would."""
        after_s = self.desk.manner.tells_after_s or (0 if self.habits.tells_at_once else DEBOUNCE_S)
        if after_s:
            asyncio.get_running_loop().call_later(after_s, self.desk.tell)
        else:
            self.desk.tell()

    def go_on(self, work: Coroutine[Any, Any, None]) -> None:
        """Do *work* beside what else is done; it is given up when the editor hangs up."""
        self._waiting.append(asyncio.create_task(work))

    def _publish(self, params: lsp.PublishDiagnosticsParams) -> None:
        self.published.append(self.protocol._converter.unstructure(params))

    def _progress(self, params: lsp.ProgressParams) -> None:
        self.progressed.append({"token": params.token, **(params.value or {})})

    def _save_each(self, uris: list[str]) -> Json:
        return {"saved": [uri for uri in uris if self.desk.save(uri)]}

    def _save(self, params: Json) -> Json:
        self.saves.append(params["uris"])
        return self.saving(params["uris"])

    def _approve(self, params: Json) -> Json:
        self.questions.append(params)
        return {"choice": self._answer()}

    def _answer(self) -> str | None:
        """The next answer; a user who has none closes the question."""
        return self.answers.pop(0) if self.answers else None

    def _show_message_request(self, params: lsp.ShowMessageRequestParams) -> lsp.MessageActionItem | None:
        self.questions.append(self.protocol._converter.unstructure(params))
        offered = [action.title for action in params.actions or ()]
        says = self._answer()
        if says is None or says == UNKNOWN:
            return lsp.MessageActionItem(title=says) if says is not None else None
        if says == "deny":
            return lsp.MessageActionItem(title=offered[0])
        if says in offered:
            return lsp.MessageActionItem(title=says)
        self.go_on(self._choose_in_document(says))
        return lsp.MessageActionItem(title=offered[1])

    async def _choose_in_document(self, choice: str) -> None:
        """What a user does who has asked to see a question: read it, and take a code action there."""
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
        if uri not in self.desk.documents:
            self.desk.open(uri)
        return next(
            action
            for action in await self.quick_fixes(uri, NOWHERE)
            if action["command"]["arguments"][0].get("choice") == choice
        )

    def _show_document(self, params: lsp.ShowDocumentParams) -> lsp.ShowDocumentResult:
        self.documents_shown.append(params.uri)
        self.places_shown.append(params)
        return lsp.ShowDocumentResult(success=True)


@contextlib.contextmanager
def refused(code: int, *words: str) -> Any:
    """The request in the block is answered with this error; its message has these words."""
    with pytest.raises(JsonRpcException) as caught:
        yield
    assert caught.value.code == code, f"{caught.value.code}: {caught.value.message}"
    for word in words:
        assert word in caught.value.message
