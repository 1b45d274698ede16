"""A connection to a server that keeps every message, and on which tests await states instead of sleeping."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import cache, partial
from typing import Any, Protocol, TypeVar

from cattrs import Converter
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

from handrail.testing.texts import Json

T = TypeVar("T")

TIMEOUT_S = 15.0  # long enough that only a hang gets there
LOG_LIMIT = 400  # characters of one message in a session log


class ServerStreams(Protocol):
    """A running server, whatever started it."""

    async def streams(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return what the server writes, and where to write to it."""
        ...


class RefusedError(JsonRpcException):
    """An error with which the client answers on purpose."""


@cache
def plain_converter() -> Converter:
    """Return pygls' one converter, which leaves the params of unknown methods as JSON."""
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]
    for kind in (JsonRPCRequestMessage, JsonRPCResponseMessage, JsonRPCNotification):
        converter.register_structure_hook(kind, lambda data, kind: kind(**data))
    return converter


class Recorder(LanguageClientProtocol):
    """The protocol of pytest-lsp, which keeps every message in the client's `traffic`."""

    _server: RecordedClient

    def _send_data(self, data: Any) -> None:
        text = json.dumps(data, default=self._serialize_message)
        self._server.traffic.append(f"→ {text}")
        super()._send_data(data)

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Keep a received message, then decode it."""
        if "jsonrpc" in data:
            self._server.traffic.append(f"← {json.dumps(data)}")
        return super().structure_message(data)

    def handle_message(self, message: Any) -> None:
        """Handle a message, then wake the tests that wait for a state."""
        super().handle_message(message)
        self._server.news.set()


class RecordedClient(LanguageClient):
    """
    A client of one server.

    Attributes:
        traffic: Every message, in order: `→` sent, `←` received.
        news: Set whenever something arrived.
        errors: What went wrong in the client itself; messages that break the protocol are among it.
        has_left: Whether the client has ended the session.
    """

    def __init__(self) -> None:
        self.traffic: list[str] = []
        self.news = asyncio.Event()
        super().__init__(protocol_cls=Recorder, converter_factory=plain_converter)
        register_lsp_features(self)
        self.errors: list[Exception] = []
        self.has_left = False
        self._numbers = itertools.count(1)
        self._waiting: list[asyncio.Task[None]] = []
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def connect(self, server: ServerStreams) -> None:
        """Talk to a server from now on."""
        reader, writer = self._streams = await server.streams()
        self.protocol.set_writer(writer)
        self._async_tasks.append(asyncio.create_task(self._talk(reader)))

    async def _talk(self, reader: asyncio.StreamReader) -> None:
        """Handle messages until the server closes the connection; requests that wait then fail at once."""
        await run_async(self._stop_event, reader, self.protocol, error_handler=self.report_server_error)
        for request in list(self.protocol._request_futures.values()):
            if not request.done() and not isinstance(request, asyncio.Task):  # tasks answer the server's
                request.set_exception(ConnectionResetError("The server closed the connection."))

    async def leave(self) -> None:
        """End the session, unless it has ended."""
        if self.has_left:
            return
        self.has_left = True
        await self.call("shutdown", None)
        self.notify("exit", None)

    def vanish(self) -> None:
        """Close the connection without ending the session, as a client that crashes."""
        self.has_left = True
        assert self._streams is not None
        self._streams[1].write_eof()

    async def wait_closed(self) -> None:
        """Wait until the server has closed the connection."""
        async with asyncio.timeout(TIMEOUT_S):
            await asyncio.gather(*self._async_tasks)

    async def wait_closed_quietly(self) -> None:
        """Wait until the connection is closed, whatever the reason."""
        async with asyncio.timeout(TIMEOUT_S):
            await asyncio.gather(*self._async_tasks, return_exceptions=True)

    def hang_up(self) -> None:
        """Close the connection, and cancel everything that still waits on this side."""
        self._stop_event.set()
        for task in (*self._async_tasks, *self._waiting):
            task.cancel()
        for waiting in list(self.protocol._request_futures.values()):
            waiting.cancel()
        if self._streams is not None:
            self._streams[1].close()

    async def until(self, holds: Callable[[], T], timeout_s: float = TIMEOUT_S) -> T:
        """Wait until *holds* returns something true, and return that. Each message is a new try."""
        async with asyncio.timeout(timeout_s):
            while not (found := holds()):
                self.news.clear()
                await self.news.wait()
            return found

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Keep what went wrong in the client; the server goes on."""
        if not isinstance(error, RefusedError):
            self.errors.append(error)

    def notify(self, method: str, params: Json | None) -> None:
        """Send a notification."""
        self.send(method=method, params=params)

    def send(self, **message: Any) -> None:
        """Send any message, valid or not."""
        self.protocol._send_data({"jsonrpc": "2.0", **message})

    async def call(self, method: str, params: Any) -> Any:
        """Send a request and await its answer."""
        return await self.answer_to(method=method, params=params)

    async def answer_to(self, **message: Any) -> Any:
        """Send a request, valid or not, and await its answer."""
        number = f"e-{next(self._numbers)}"
        answer: Future[Any] = Future()
        self.protocol._request_futures[number] = answer
        self.send(id=number, **message)
        async with asyncio.timeout(TIMEOUT_S):
            return await asyncio.wrap_future(answer)

    def last_request(self, method: str) -> str:
        """Return the id of the server's latest request of that method."""
        wanted = f'"method": "{method}"'
        received = next(line for line in reversed(self.traffic) if line.startswith("←") and wanted in line)
        number: str = json.loads(received[2:])["id"]
        return number

    def handle(self, method: str, handler: Callable[[Any], Any]) -> None:
        """Answer the server's *method* with *handler*, which gets the params, from now on."""
        self.protocol.fm.features.pop(method, None)
        self.feature(method)(partial(handler))  # pygls sets attributes on it

    def run_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Do *work* in the background; `hang_up` cancels it."""
        self._waiting.append(asyncio.create_task(work))

    @property
    def session_log(self) -> str:
        """Every message of the session, one a line; long ones are cut."""
        return "\n".join(
            line if len(line) < LOG_LIMIT else f"{line[:LOG_LIMIT]}… ({len(line):,} characters)"
            for line in self.traffic
        )
