"""
JSON-RPC with a language server, wherever that runs.

Messages are jsonrpc-base's; framing by Content-Length and waiting are ours. Whatever happens to the server,
every open request ends: with its answer, with an error that says what to do next, or because its caller was
cancelled. The messages themselves are defined elsewhere.
"""

import asyncio
import inspect
import itertools
import json
from collections.abc import Callable
from typing import Any

import jsonrpc_base

from handrail.headless.errors import RequestRefusedError, ServerGoneError, ServerSilentError
from handrail.headless.server.hosted import HostedServer
from handrail.headless.server.process import ServerProcess
from handrail.headless.server.running import RunningServer, Start

Handler = Callable[[dict[str, Any]], Any]  # may return an awaitable; what it raises is answered as an error

REQUEST_CANCELLED = -32800
MESSAGE_LIMIT_BYTES = 256 * 1024 * 1024  # a length beyond this is a broken header, not a document
HEADER_LIMIT_LINES = 16
EXIT_TIMEOUT_S = 5.0  # to end after `exit`; then by force
DRAIN_TIMEOUT_S = 1.0  # between the end of the output and that of the server, whichever comes first
LOG_TIMEOUT_S = 2.0  # for its last words
COMMAND_LIMIT_CHARS = 200
POLLS = 10  # at what a server does, in the time after which one that does nothing is given up
LEAST_SHARE = 0.005  # of the time between two of them, in which a server that is at work has a processor
PATIENCE = 10  # times as long a server may work at one answer, in processor time, until it seems to be stuck


class Connection:
    """
    A running server.

    Notifications are handled in the order in which they come; each request of the server has its own task.
    """

    def __init__(self, server: RunningServer) -> None:
        self._server = server
        self._peer = jsonrpc_base.Server()
        self._ids = itertools.count(1)
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._answering: dict[int | str, asyncio.Task[None]] = {}
        self._gone: ServerGoneError | None = None
        self._ended = asyncio.Event()
        self._receiving = asyncio.create_task(self._receive())
        self._receiving.add_done_callback(lambda _: self._fail("The connection to the server was closed"))
        self.on("$/cancelRequest", self._cancel)

    @property
    def said(self) -> str:
        """The end of what the server has logged."""
        return self._server.said

    @classmethod
    async def start(cls, server: Start) -> "Connection":
        """
        Start a server: a process with a command line, or one in this process.

        Raises:
            ServerGoneError: The program does not exist, or may not be run.
        """
        if isinstance(server, tuple):
            return cls(await ServerProcess.start(server))
        return cls(await HostedServer.start(server))

    @property
    def is_gone(self) -> bool:
        """Whether the server has ended, or wrote something that is not a message."""
        return self._gone is not None

    async def end(self) -> ServerGoneError:
        """Wait until the server is gone; the error that every request gets from then on."""
        await self._ended.wait()
        assert self._gone is not None, "set before"
        return self._gone

    def on(self, method: str, handler: Handler) -> None:
        """Answer a request of the server, or react to a notification; no params are an empty object."""

        async def call(*_positional: Any, **params: Any) -> Any:
            result = handler(params)
            return await result if inspect.isawaitable(result) else result

        setattr(self._peer, method, call)  # jsonrpc-base's way to register

    async def request(self, method: str, params: dict[str, Any] | None, *, timeout_s: float | None) -> Any:
        """
        Ask the server.

        Args:
            method: Its full name, `handrail/turn/start`.
            params: None sends none; an empty object is sent as such.
            timeout_s: How long the server may do nothing. One that is at work is waited for, however busy the
                machine is, until it has used `PATIENCE` times as much of a processor. None waits until it
                answers or ends.

        Raises:
            RequestRefusedError: The server answered with an error.
            ServerSilentError: It did not answer in time; it has been told to forget the request.
            ServerGoneError: The server has ended.
        """
        if self._gone is not None:
            raise self._gone
        call = _Call(method, params, next(self._ids))
        self._pending[call.msg_id] = reply = asyncio.get_running_loop().create_future()
        self._send(call)
        try:
            if timeout_s is None:
                await asyncio.wait([reply])
            elif waited := await self._give_up(reply, timeout_s):
                self.notify("$/cancelRequest", {"id": call.msg_id})
                raise ServerSilentError(
                    f"The server did not answer `{method}`: it {waited}.\n{self._next_step()}"
                )
            return call.parse_response(reply.result())
        except jsonrpc_base.ProtocolError as error:
            raise _refusal(method, error) from error
        except asyncio.CancelledError:
            self.notify("$/cancelRequest", {"id": call.msg_id})
            raise
        finally:
            del self._pending[call.msg_id]

    async def _give_up(self, reply: asyncio.Future[dict[str, Any]], timeout_s: float) -> str:
        """Wait for a reply, or until the server is idle or stuck; gives for how long, nothing for a reply."""
        pause_s = timeout_s / POLLS
        polls, idle, worked_s, before_s = 0, 0, 0.0, self._server.used_s()
        while worked_s < PATIENCE * timeout_s:
            await asyncio.wait([reply], timeout=pause_s)
            if reply.done():
                return ""
            polls += 1
            used_s = self._server.used_s()
            if used_s is None or before_s is None:
                worked_s = polls * pause_s  # no one knows, so it is believed to work
                continue
            step_s, before_s = used_s - before_s, used_s
            worked_s += step_s
            is_idle = step_s <= LEAST_SHARE * pause_s and not self._server.is_runnable()
            idle = idle + 1 if is_idle else 0
            if idle == POLLS:
                return f"did nothing for {timeout_s:g} seconds"
        return f"worked for {worked_s:.0f} seconds and seems to be stuck"

    def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Tell the server, unless it is gone."""
        self._send(_Call(method, params))

    async def close(self) -> None:
        """End the server, gently if it lets us, and every task of ours; takes bounded time."""
        self._server.hang_up()
        await self._server.end(EXIT_TIMEOUT_S)
        tasks = (self._receiving, *self._answering.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.close()

    def _send(self, message: jsonrpc_base.Message) -> None:
        """Write a message; to a server that is gone, nothing: its end is noticed on reading."""
        body = message.serialize().encode("utf-8")
        if self._gone is None:
            self._server.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def _receive(self) -> None:
        """Read messages until the server's output ends or makes no sense; then fail what is still open."""
        fault = ""
        try:
            while (message := await self._read()) is not None:
                await self._dispatch(message)
        except (_GarbageError, jsonrpc_base.ProtocolError) as error:
            fault = f"The server sent invalid data ({error})"
        await self._server.end(DRAIN_TIMEOUT_S)  # it may be about to say why
        await self._server.wait_until_silent(LOG_TIMEOUT_S)
        self._fail(fault or f"The server ended ({self._server.ending})")

    async def _read(self) -> dict[str, Any] | None:
        """Read one message; None at the end of the server's output."""
        length = None
        for _ in range(HEADER_LIMIT_LINES):
            try:
                line = await self._server.output.readline()
            except ValueError as error:
                raise _GarbageError("a header that does not end") from error
            if not line:
                return None
            name, _, value = line.partition(b":")
            if not line.strip() and length is not None:
                break
            if not value:
                raise _GarbageError(_quote(line))
            if name.strip().lower() == b"content-length":
                length = _length(value)
        else:
            raise _GarbageError("a header that does not end")
        try:
            body = await self._server.output.readexactly(length)
        except asyncio.IncompleteReadError:
            return None
        return _object(body)

    async def _dispatch(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            reply = self._pending.get(message.get("id") or 0)
            if reply is not None and not reply.done():  # a late answer is no one's
                reply.set_result(message)
            return
        request = jsonrpc_base.Request.parse(message)
        if request.msg_id is None:
            await self._peer.async_receive_request(request)
            return
        task = asyncio.create_task(self._answer(request))
        self._answering[request.msg_id] = task
        task.add_done_callback(lambda done: self._end_answer(request, done))

    async def _answer(self, request: jsonrpc_base.Request) -> None:
        self._send(await self._peer.async_receive_request(request))

    def _end_answer(self, request: jsonrpc_base.Request, task: asyncio.Task[None]) -> None:
        self._answering.pop(request.msg_id, None)
        if task.cancelled():
            self._send(
                jsonrpc_base.Response(request, None, {"code": REQUEST_CANCELLED, "message": "cancelled"})
            )

    def _cancel(self, params: dict[str, Any]) -> None:
        wanted = params.get("id")
        task = self._answering.get(wanted) if isinstance(wanted, int | str) else None
        if task is not None:
            task.cancel()

    def _fail(self, what: str) -> None:
        """End every open request, and all that will come, with the same error; the first reason counts."""
        if self._gone is not None:
            return
        said = self._server.said
        words = f"Its last output:\n{said}\n" if said else ""
        self._gone = ServerGoneError(f"{what}.\n{words}{self._next_step()}")
        self._ended.set()
        for reply in self._pending.values():
            if not reply.done():
                reply.set_exception(self._gone)
        for task in tuple(self._answering.values()):
            task.cancel()

    def _next_step(self) -> str:
        command = self._server.by_hand
        if not command:
            return "Run `handrail doctor`."
        shown = command if len(command) <= COMMAND_LIMIT_CHARS else command[:COMMAND_LIMIT_CHARS] + "…"
        return f"Run `handrail doctor`, or start the server by hand: {shown}"


class _GarbageError(Exception):
    """The server's output is not a message."""


class _Call(jsonrpc_base.Request):  # type: ignore[misc]  # jsonrpc-base ships no types
    """A request that sends `{}` as params when told to: LSP requires it, jsonrpc-base drops it."""

    def serialize(self) -> str:
        """Give the JSON text."""
        message = {"jsonrpc": "2.0", "method": self.method}
        if self.msg_id is not None:
            message["id"] = self.msg_id
        if self.params is not None:
            message["params"] = self.params
        return json.dumps(message)


def _refusal(method: str, error: jsonrpc_base.ProtocolError) -> RequestRefusedError:
    """Read what jsonrpc-base made of an error: code, message and data, or one sentence of its own."""
    match error.args:
        case (int(code), reason, _):
            return RequestRefusedError(method, code, str(reason))
        case _:
            return RequestRefusedError(method, 0, str(error))


def _length(value: bytes) -> int:
    digits = value.strip()
    if not digits.isdigit() or len(digits) > 12 or int(digits) > MESSAGE_LIMIT_BYTES:
        raise _GarbageError(f"a length of {_quote(digits)}")
    return int(digits)


def _object(body: bytes) -> dict[str, Any]:
    """Parse a body, and see that it is a request, a notification or a response."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _GarbageError(_quote(body)) from error
    if not isinstance(message, dict) or not isinstance(message.get("error", {}), dict | None):
        raise _GarbageError(_quote(body))
    if not isinstance(message.get("id"), int | str | None) or not isinstance(message.get("method", ""), str):
        raise _GarbageError(_quote(body))
    return message


def _quote(garbage: bytes) -> str:
    return repr(garbage[:80].decode("utf-8", "replace"))
