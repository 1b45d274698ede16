"""
One client's connection: pygls' protocol with our own mirror of documents, and answers to invalid messages.

`initialize` is answered before most of the server is imported: the capabilities are in `capabilities.json`.
The rest is loaded right after the answer, before the next message is read. So this module must import little.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from cattrs import Converter
from lsprotocol import types as lsp
from lsprotocol.types import ResponseError
from pygls.exceptions import (
    FeatureNotificationError,
    FeatureRequestError,
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcServerNotInitialized,
)
from pygls.io_ import StdoutWriter
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
from handrail.core.failure import why_not_json
from handrail.core.results.redact import redact
from handrail.lsp import notifications, wire
from handrail.lsp.client import Client, assumed_encodings
from handrail.ports.errors import SEE_LOG

if TYPE_CHECKING:
    from handrail.lsp.state import State

logger = logging.getLogger(__name__)

LIMIT_ERROR_CHARS = 2_000  # of the message of an error, which may quote what was sent
ENDING_S = 3.0  # for what `shutdown` ends; soon after that, the process is ended (`adapters/connection`)
SAID_CHARS = 2_000  # of one message to the user
CAPABILITIES = Path(__file__).with_name("capabilities.json")  # made by scripts/generate.py


class Incoming(Protocol):
    """The source of a client's messages."""

    async def deliver(self, receive: Callable[[bytes], None], stopped: Callable[[], bool]) -> None:
        """Calls *receive* with the body of each message, until the client leaves or *stopped*."""
        ...


class AnsweredError(JsonRpcException):
    """A request cannot be read, and its sender has been told so."""


class UnreadableError(JsonRpcException):
    """Something that is not a message, or an unreadable notification; no one is waiting for an answer."""


class Phase(Enum):
    """The phase of a connection; LSP says which messages are allowed when."""

    NEW = auto()
    GREETED = auto()  # `initialize` is answered; the code behind the handlers is being loaded
    READY = auto()
    LEAVING = auto()


class LspProtocol(LanguageServerProtocol):
    """pygls' protocol with our own mirror, our capabilities, and an answer to each invalid request."""

    _server: Server
    ending: asyncio.Future[None] | None = None  # done once `shutdown` is answered
    _ending_id: Any = None  # of that request
    _exit: Any = None  # the notification, if it came before that answer

    def receive(self, body: bytes) -> None:
        """Handles a message; errors are logged and reported, and never raised."""
        try:
            known = notifications.decode(body) if self._server.phase is Phase.READY else None
            if known is None:
                self.handle_message(json.loads(body, object_hook=self.structure_message))
                if self._server.phase is Phase.GREETED:
                    self._server.complete()
                return
        except Exception as error:  # noqa: BLE001  # a bad message, or our fault: both are told
            self._server.report_server_error(error, JsonRpcException)
            return
        try:
            self._server.mirror[known[0]](self._server.state, known[1])
        except Exception:  # noqa: BLE001  # our fault, which is told
            failed = JsonRpcInternalError.of(sys.exc_info())  # type: ignore[no-untyped-call]  # pygls does not say
            self._server._report_server_error(failed, FeatureNotificationError)  # which never raises

    def handle_message(self, message: Any) -> None:
        """Handles a message if LSP allows it in this phase; otherwise answers a request with an error."""
        if not hasattr(message, "jsonrpc"):
            raise UnreadableError(message="it is not a JSON-RPC message")
        method = getattr(message, "method", None)
        if method == lsp.EXIT or (wrong := self._untimely(method, is_request=hasattr(message, "id"))) is None:
            if method == lsp.SHUTDOWN:
                self._server.phase = Phase.LEAVING
                if getattr(message, "id", None) is not None:
                    self.ending, self._ending_id = asyncio.get_running_loop().create_future(), message.id
            if method == lsp.EXIT:
                self._server.client_left()
                if (
                    self.ending is not None and not self.ending.done()
                ):  # what it began is ended first, or cut off in a few seconds
                    self._exit = message
                    return
            super().handle_message(message)
        elif hasattr(message, "id"):
            self._send_response(message.id, error=wrong.to_response_error())

    def _untimely(self, method: str | None, *, is_request: bool) -> JsonRpcException | None:
        if self._server.phase is Phase.NEW and method != lsp.INITIALIZE:
            return JsonRpcServerNotInitialized(
                message="The server is not initialized. Send initialize first."
            )
        if self._server.phase is Phase.READY and method == lsp.INITIALIZE:
            return JsonRpcInvalidRequest(message="The server is already initialized.")
        if self._server.phase is Phase.LEAVING and method is not None and is_request:
            return JsonRpcInvalidRequest(message="The server is shutting down; it only accepts exit.")
        return None

    @lsp_method(lsp.INITIALIZE)
    def lsp_initialize(self, params: lsp.InitializeParams) -> Generator[Any, Any, Any]:
        """Answers with the capabilities that the server will have once it is loaded."""
        assumed_encodings(params)
        result = yield from super().lsp_initialize(params)
        client, encoding = Client.of(params), _position_encoding(result.capabilities)
        self._server.greet = lambda: self._server.state.greet(client, params, encoding)
        self._server.phase = Phase.GREETED
        return {"capabilities": offered_capabilities(client, encoding), "serverInfo": result.server_info}

    @lsp_method(lsp.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        """Ends everything; unlike in pygls, a request that ends at once does not keep the others running."""
        handler = self.fm.features.get(lsp.SHUTDOWN)
        if handler is not None:
            yield handler, args, None
        own = self.msg_id
        for number, answer in list(self._request_futures.items()):
            if number != own and not answer.done():
                answer.cancel()
        self._shutdown = True

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        """Fill our mirror, not pygls'."""
        self._server.mirror[lsp.TEXT_DOCUMENT_DID_OPEN](self._server.state, params)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """Fill our mirror, not pygls'."""
        self._server.mirror[lsp.TEXT_DOCUMENT_DID_CHANGE](self._server.state, params)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        """Empty our mirror, not pygls'."""
        self._server.mirror[lsp.TEXT_DOCUMENT_DID_CLOSE](self._server.state, params)

    def structure_message(self, data: dict[str, Any]) -> Any:
        """
        Parses a message; an unreadable request is answered, not dropped, and an unreadable answer is a no.
        """
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

    def _send_response(
        self, msg_id: str | int, result: Any | None = None, error: ResponseError | None = None
    ) -> None:
        """
        Answers a request; shortens what an error quotes of its params. After the answer to `shutdown`,
        handles an `exit` that came too soon.
        """
        if error is not None:
            error.message = surfaces.shorten(error.message, LIMIT_ERROR_CHARS)
        super()._send_response(msg_id, result, error)
        if self.ending is not None and not self.ending.done() and msg_id == self._ending_id:
            self.ending.set_result(None)
            if self._exit is not None:
                super().handle_message(self._exit)


class Server(LanguageServer):
    """
    A handrail server for one client.

    Args:
        load: Called once `initialize` is answered: imports and sets the code behind the handlers.
        secrets: The values of keys, which must not be shown to anyone.

    Attributes:
        state: Everything behind the handlers; set by *load*, as is `mirror`.
        mirror: Handles the notifications that fill our mirror of the editor's documents.
        greet: Passes the client's `initialize` to the state.
        client_left: Called when the client says `exit`.
    """

    state: State
    mirror: Mapping[str, Callable[[State, Any], None]]
    greet: Callable[[], None]

    def __init__(self, load: Callable[[Server], None], secrets: Callable[[], Sequence[str]]) -> None:
        super().__init__(
            "handrail",
            __version__,
            text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental,
            protocol_cls=LspProtocol,
            converter_factory=_converter,
        )
        self._load = load
        self.secrets = secrets
        self.phase = Phase.NEW
        self.client_left: Callable[[], None] = lambda: None

    @property
    def was_told_to_end(self) -> bool:
        """Whether the client said `shutdown`, as it should before it leaves."""
        return self.phase is Phase.LEAVING

    def converse(self, incoming: Incoming, sink: BinaryIO) -> None:
        """Handles messages and writes answers to *sink*, until the client leaves or sends `exit`."""
        self._stop_event = stopped = Event()
        protocol: LspProtocol = self.protocol  # type: ignore[assignment]  # as it was given
        protocol.set_writer(StdoutWriter(sink))
        try:
            asyncio.run(self._hear(incoming, protocol, stopped))
        except BrokenPipeError:
            logger.warning("The client does not read the server's messages; the server is shutting down.")
        except (KeyboardInterrupt, SystemExit):
            logger.debug("The server was asked to shut down.")
        finally:
            self.shutdown()

    async def _hear(self, incoming: Incoming, protocol: LspProtocol, stopped: Event) -> None:
        await incoming.deliver(protocol.receive, stopped.is_set)
        if protocol.ending is not None:  # a client may hang up before its `shutdown` is answered
            await asyncio.wait((protocol.ending,), timeout=ENDING_S)

    def complete(self) -> None:
        """Loads the code behind the handlers; if that fails, reports it and ends."""
        try:
            self._load(self)
            self.greet()
        except Exception as error:  # whatever it is, there is no server without it: the client is told
            logger.critical("The server cannot start.", exc_info=error)
            why = f"{type(error).__name__}: {error}"
            self.say(f"the server cannot start ({why}). {SEE_LOG}", lsp.MessageType.Error)
            assert self._stop_event is not None, "the client is heard in `converse` only"
            self._stop_event.set()
        else:
            self.phase = Phase.READY

    def say(self, message: str, kind: lsp.MessageType = lsp.MessageType.Warning) -> None:
        """Shows a message to the user."""
        said = surfaces.message(redact(message, self.secrets()), SAID_CHARS)
        self.window_show_message(lsp.ShowMessageParams(type=kind, message=f"handrail: {said}"))

    def shutdown(self) -> None:
        """Ends the server; hangs up first, because reading from the client ends only then."""
        writer = self.protocol.writer
        if writer is not None:
            with suppress(OSError):
                writer.close()
        super().shutdown()  # type: ignore[no-untyped-call]  # pygls does not say

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Logs an internal error; tells the user once, and answers a request with the error."""
        if source is FeatureRequestError or isinstance(error, AnsweredError):
            logger.warning("A request failed: %s", surfaces.shorten(str(error), LIMIT_ERROR_CHARS))
            return
        if isinstance(error, UnreadableError | json.JSONDecodeError | UnicodeDecodeError):
            why = str(error) if isinstance(error, UnreadableError) else why_not_json(error)
            why = surfaces.shorten(why, LIMIT_ERROR_CHARS)
            logger.warning("A message cannot be read: %s", why)
            self.say(f"the editor sent an invalid message, which was ignored: {why}")
            return
        logger.error("A handler failed: %s", error, exc_info=error)
        self.say(f"internal error ({error}). The server keeps running. {SEE_LOG}")


def offered_capabilities(client: Client, encoding: str) -> dict[str, Any]:
    """Returns the capabilities for a client, as JSON."""
    capabilities: dict[str, Any] = json.loads(CAPABILITIES.read_bytes())
    capabilities["positionEncoding"] = encoding
    if not client.lenses:  # each editor is offered the one that it shows, not both
        del capabilities["codeLensProvider"]
    if not client.hints:
        del capabilities["inlayHintProvider"]
    return capabilities


def _is_null(data: dict[str, Any]) -> bool:
    """Whether a message is an answer of null."""
    return "method" not in data and "id" in data and data.get("result", "") is None


def _position_encoding(capabilities: lsp.ServerCapabilities) -> str:
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
