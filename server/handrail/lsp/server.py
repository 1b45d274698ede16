"""
The language server: one table of what it answers to, which is the table of contents of `lsp`.

Every request of the protocol is registered twice, as a command and as a custom request. pygls supplies the
transport and the life cycle; its document mirror is bypassed.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import suppress
from enum import Enum, auto
from typing import Any

from cattrs import Converter
from lsprotocol import types as lsp
from pygls.exceptions import (
    FeatureRequestError,
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcServerNotInitialized,
)
from pygls.lsp.server import LanguageServer
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
    LanguageServerProtocol,
    default_converter,
    lsp_method,
)

from handrail import __version__
from handrail.core import surfaces
from handrail.lsp import protocol, wire
from handrail.lsp.features import (
    checkpoint,
    command,
    configuration,
    diagnostics,
    failure,
    model,
    questions,
    session,
    sync,
    turn,
    virtual,
)
from handrail.lsp.state import State, World, Wrong
from handrail.ports import HandrailError

logger = logging.getLogger(__name__)

Handler = Callable[[State, Any], Awaitable[object]]

HANDLERS: tuple[tuple[protocol.Request, Handler], ...] = (
    (protocol.TURN_START, turn.start),
    (protocol.TURN_QUEUE, turn.queue),
    (protocol.TURN_WAIT, turn.wait),
    (protocol.TURN_STEER, turn.steer),
    (protocol.TURN_CANCEL, turn.cancel),
    (protocol.MODEL_LIST, model.list_),
    (protocol.SESSION_LIST, session.list_),
    (protocol.SESSION_RESUME, session.resume),
    (protocol.SESSION_FORK, session.fork),
    (protocol.SESSION_RENAME, session.rename),
    (protocol.SESSION_DELETE, session.delete),
    (protocol.FAILURE_LIST, failure.list_),
    (protocol.FAILURE_DISMISS, failure.dismiss),
    (protocol.FAILURE_APPLY, failure.apply),
    (protocol.FAILURE_DIFF, failure.diff),
    (protocol.CHECKPOINT_LIST, checkpoint.list_),
    (protocol.CHECKPOINT_DIFF, checkpoint.diff),
    (protocol.CHECKPOINT_RESTORE, checkpoint.restore),
    (protocol.CHECKPOINT_PRUNE, checkpoint.prune),
    (protocol.CHECKPOINT_VERIFY, checkpoint.verify),
    (protocol.APPROVAL_LIST, questions.list_),
    (protocol.APPROVAL_ANSWER, questions.answer),
    (protocol.APPROVAL_SHOW, questions.show),
    (protocol.OUTPUT_SHOW, questions.show_output),
    (protocol.COMMAND_LIST, command.list_),
    (protocol.COMMAND_STOP, command.stop),
    (protocol.RULES_LIST, questions.list_rules),
    (protocol.RULES_REMOVE, questions.remove_rule),
)

# What is said to the user after a command, whose result editors drop.
TOLD: Mapping[protocol.Request, Callable[[State, Any], None]] = {
    protocol.FAILURE_APPLY: failure.tell,
    protocol.FAILURE_DIFF: virtual.show,
    protocol.CHECKPOINT_DIFF: virtual.show,
    protocol.CHECKPOINT_RESTORE: checkpoint.tell,
    protocol.APPROVAL_SHOW: questions.tell,
    protocol.OUTPUT_SHOW: questions.tell,
    protocol.COMMAND_STOP: command.tell,
}

SHOWN_CHARS = 2_000  # of the message of an error

EXPERIMENTAL = {
    "handrail": {
        "protocolVersion": protocol.VERSION,
        "requests": [request.method for request, _ in HANDLERS],
    }
}

SHOWN = lsp.TextDocumentContentOptions(schemes=[virtual.SCHEME])


class RequestFailed(JsonRpcException):
    """A request that was understood and cannot be done."""

    CODE = -32803
    MESSAGE = "Request failed"


class AnsweredError(JsonRpcException):
    """A request cannot be read, and its sender has been told so."""


class UnreadableError(JsonRpcException):
    """Something that is no message, or a notification that cannot be read; nobody waits for an answer."""


class Phase(Enum):
    """Where a connection stands; LSP says what may be asked when."""

    NEW = auto()
    GREETED = auto()
    LEAVING = auto()


class Protocol(LanguageServerProtocol):
    """pygls' protocol with our own mirror, our capabilities, and an answer to each request that is wrong."""

    _server: Server

    def handle_message(self, message: Any) -> None:
        """Do what a message asks, if it comes when LSP lets it come; else a request is answered with why."""
        if not hasattr(message, "jsonrpc"):
            raise UnreadableError(message="it is no JSON-RPC message")
        method = getattr(message, "method", None)
        if method == lsp.EXIT or (wrong := self._untimely(method, is_request=hasattr(message, "id"))) is None:
            if method == lsp.SHUTDOWN:
                self._server.phase = Phase.LEAVING
            if method == lsp.EXIT:
                self._server.client_left()
            super().handle_message(message)
        elif hasattr(message, "id"):
            self._send_response(message.id, error=wrong.to_response_error())

    def _untimely(self, method: str | None, *, is_request: bool) -> JsonRpcException | None:
        if self._server.phase is Phase.NEW and method != lsp.INITIALIZE:
            return JsonRpcServerNotInitialized(message="The server waits for initialize; ask again after it.")
        if self._server.phase is Phase.GREETED and method == lsp.INITIALIZE:
            return JsonRpcInvalidRequest(message="The server has answered initialize already.")
        if self._server.phase is Phase.LEAVING and method is not None and is_request:
            return JsonRpcInvalidRequest(
                message="The server has been asked to shutdown; only exit may follow."
            )
        return None

    @lsp_method(lsp.INITIALIZE)
    def lsp_initialize(self, params: lsp.InitializeParams) -> Generator[Any, Any, lsp.InitializeResult]:
        """Greet the client; advertise what pygls has no hook for."""
        result = yield from super().lsp_initialize(params)
        result.capabilities.experimental = EXPERIMENTAL
        if result.capabilities.workspace is None:
            result.capabilities.workspace = lsp.WorkspaceOptions()
        result.capabilities.workspace.text_document_content = SHOWN
        self._server.state.greet(params, _encoding(result.capabilities))
        self._server.phase = Phase.GREETED
        return result

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        """Fill our mirror, not pygls'."""
        sync.did_open(self._server.state, params)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """Fill our mirror, not pygls'."""
        sync.did_change(self._server.state, params)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        """Empty our mirror, not pygls'."""
        sync.did_close(self._server.state, params)

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Read a message; a request that cannot be read is answered, not dropped, and an answer is a no."""
        if _is_null(data) and self._result_types.get(data["id"]) is lsp.ApplyWorkspaceEditResponse:
            del self._result_types[data["id"]]  # as some clients answer, whatever became of the edit
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            name, why = data.get("method", "An answer"), wire.explain(error.__cause__ or error, "")
            if "id" not in data:
                raise UnreadableError(message=f"{name}: {why}") from error
            wrong = JsonRpcInvalidParams(message=f"{name} cannot be read: {why}")
            if "method" not in data:
                unreadable = {"code": wrong.code, "message": wrong.message}
                return super().structure_message({"jsonrpc": "2.0", "id": data["id"], "error": unreadable})
            self._send_response(data["id"], error=wrong.to_response_error())
            raise AnsweredError from error


class Server(LanguageServer):
    """
    A handrail server for one client; `state` is everything behind its handlers.

    `client_left` is called when the client says `exit`.
    """

    def __init__(self, world: World) -> None:
        super().__init__(
            "handrail",
            __version__,
            text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental,
            protocol_cls=Protocol,
            converter_factory=_converter,
        )
        self.state = State(self, world)
        self.phase = Phase.NEW
        self.client_left: Callable[[], None] = lambda: None

    @property
    def was_told_to_end(self) -> bool:
        """Whether the client said `shutdown`, as it should before it leaves."""
        return self.phase is Phase.LEAVING

    def shutdown(self) -> None:
        """End; hang up first, as what is read from the client ends only with its answer to that."""
        writer = self.protocol.writer
        if writer is not None:
            with suppress(OSError):
                writer.close()
        super().shutdown()  # type: ignore[no-untyped-call]  # pygls does not say

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Log what went wrong on our side; the user is told once, a request is answered with its error."""
        if source is FeatureRequestError or isinstance(error, AnsweredError):
            logger.warning("A request failed: %s", error)
            return
        if isinstance(error, UnreadableError | json.JSONDecodeError | UnicodeDecodeError):
            logger.warning("A message cannot be read: %s", error)
            self.state.say(f"the editor sent a message that cannot be read, and it was passed over: {error}")
            return
        logger.error("A handler failed: %s", error, exc_info=error)
        self.state.say(f"internal error ({error}). The server goes on; its log says more.")


def _is_null(data: dict[str, Any]) -> bool:
    """Whether a message is an answer of null."""
    return "method" not in data and "id" in data and data.get("result", "") is None


def create_server(world: World) -> Server:
    """A server on *world*, everything registered, nothing started."""
    server = Server(world)
    state = server.state
    state.publish = diagnostics.publish
    state.host.ready = lambda: configuration.settled(state)
    state.look = lambda uri: state.begin(sync.look(state, uri))
    for request, handler in HANDLERS:
        _register(server, request, handler)
    _register_documents(server)
    _register_standard(server)
    return server


def _register(server: Server, request: protocol.Request, handler: Handler) -> None:
    async def run(params: object, *, tell: bool) -> object:
        try:
            result = await handler(server.state, wire.read(request.params, params))
            if tell and request in TOLD:
                TOLD[request](server.state, result)
            return result
        except (wire.InvalidParams, Wrong) as error:
            raise JsonRpcInvalidParams(message=_shown(f"{request.name}: {error}")) from error
        except HandrailError as error:
            raise RequestFailed(message=_shown(str(error))) from error

    async def answer(params: Any) -> object:  # pygls would hand an `object` the server
        return wire.write(await run(params, tell=False))

    async def execute(*arguments: Any) -> object:
        if len(arguments) > 1:
            raise JsonRpcInvalidParams(message=f"{request.command} takes one object, not {len(arguments)}.")
        work = asyncio.ensure_future(run(arguments[0] if arguments else None, tell=True))
        if request in TOLD:
            await asyncio.wait([work], timeout=server.state.patience.command_s)
            if not work.done():
                server.state.follow(work)
                return None
        return wire.write(await work)

    server.feature(request.method)(answer)
    server.command(request.command)(execute)


def _register_documents(server: Server) -> None:
    state = server.state

    @server.feature(lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT, SHOWN)
    async def document_content(params: lsp.TextDocumentContentParams) -> lsp.TextDocumentContentResult:
        try:
            return lsp.TextDocumentContentResult(text=await virtual.content(state, params.uri))
        except Wrong as error:
            raise JsonRpcInvalidParams(message=_shown(str(error))) from error
        except HandrailError as error:
            raise RequestFailed(message=_shown(str(error))) from error


def _register_standard(server: Server) -> None:
    state = server.state

    @server.feature(lsp.INITIALIZED)
    async def initialized(params: lsp.InitializedParams) -> None:
        state.begin(configuration.pull(state))
        await configuration.register(state, server.client_capabilities)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE, lsp.SaveOptions(include_text=False))
    def did_save(params: lsp.DidSaveTextDocumentParams) -> None:
        sync.did_save(state, params)

    @server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def did_change_configuration(params: lsp.DidChangeConfigurationParams) -> None:
        await configuration.did_change(state, params)

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def did_change_folders(params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        gone = {folder.uri for folder in params.event.removed}
        kept = [uri for uri in state.folders if uri not in gone]
        state.set_folders(kept + [folder.uri for folder in params.event.added if folder.uri not in kept])

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]),
    )
    def code_action(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        return [*diagnostics.code_actions(state, params), *questions.code_actions(state, params)]

    @server.feature(lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    async def cancel_progress(params: lsp.WorkDoneProgressCancelParams) -> None:
        await state.stop(str(params.token))

    @server.feature(lsp.PROGRESS)
    def progress(params: lsp.ProgressParams) -> None:
        state.editor_model.hear(params.token, params.value)

    @server.feature(lsp.SHUTDOWN)
    async def shutdown(params: Any = None) -> None:
        await state.host.close()
        await checkpoint.tidy(state)
        state.world.watch.close()
        state.world.served.close()


def _shown(error: str) -> str:
    """The message of an error, which editors show like any other."""
    return surfaces.message(error, SHOWN_CHARS)


def _encoding(capabilities: lsp.ServerCapabilities) -> str:
    """The position encoding that was agreed on."""
    agreed = capabilities.position_encoding or lsp.PositionEncodingKind.Utf16
    return agreed.value if isinstance(agreed, lsp.PositionEncodingKind) else agreed


def _converter() -> Converter:
    """pygls' converter, but the params and results of our own messages stay plain JSON, or None."""
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]  # pygls does not say

    def plain(data: Mapping[str, Any], kind: type) -> Any:
        return kind(**{name: data.get(name) for name in kind.__annotations__})

    for kind in (JsonRPCRequestMessage, JsonRPCResponseMessage, JsonRPCNotification):
        converter.register_structure_hook(kind, plain)
    return converter
