"""
A language server as a child process, and JSON-RPC with it.

Messages are jsonrpc-base's; framing by Content-Length, waiting and the process are ours. Whatever happens to
the server, every open request ends: with its answer, with an error that says what to do next, or because its
caller was cancelled. Which messages there are is no concern of this module.
"""

import asyncio
import contextlib
import inspect
import itertools
import json
import os
import shlex
import signal
from collections.abc import Callable, Sequence
from typing import Any

import jsonrpc_base

from handrail.headless.errors import RequestRefusedError, ServerGoneError, ServerSilentError

Handler = Callable[[dict[str, Any]], Any]  # may return an awaitable; what it raises is answered as an error

REQUEST_CANCELLED = -32800
MESSAGE_LIMIT_BYTES = 256 * 1024 * 1024  # a length beyond this is a broken header, not a document
HEADER_LIMIT_LINES = 16
TAIL_LIMIT_BYTES = 4000  # of the server's stderr: a traceback's end, not its life story
EXIT_TIMEOUT_S = 5.0  # to end after `exit`; then SIGTERM
DRAIN_TIMEOUT_S = 1.0  # between the end of the output and that of the process, whichever comes first
COMMAND_LIMIT_CHARS = 200
KILL_TIMEOUT_S = 2.0  # to end after SIGTERM; then SIGKILL
PATIENCE = 10  # with a server that is at work: it may be one of many that start at once
LEAST_SHARE = 0.005  # of the time, in which a server that is at work is given a processor even then


class Connection:
    """
    A running server.

    Notifications are handled in the order in which they come; each request of the server has its own task.
    """

    def __init__(self, argv: Sequence[str], transport: asyncio.SubprocessTransport, child: "_Child") -> None:
        self._argv = argv
        self._transport = transport
        self._child = child
        self._peer = jsonrpc_base.Server()
        self._ids = itertools.count(1)
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._answering: dict[int | str, asyncio.Task[None]] = {}
        self._gone: ServerGoneError | None = None
        self._ended = asyncio.Event()
        self._tasks = (asyncio.create_task(self._receive()), asyncio.create_task(child.finish()))
        self._tasks[0].add_done_callback(lambda _: self._fail("The connection to the server is closed"))
        self.on("$/cancelRequest", self._cancel)

    @classmethod
    async def start(cls, argv: Sequence[str]) -> "Connection":
        """
        Start the server process.

        Raises:
            ServerGoneError: There is no such program, or it may not be run.
        """
        try:
            transport, child = await asyncio.get_running_loop().subprocess_exec(
                _Child,
                *argv,
                start_new_session=os.name == "posix",  # Ctrl-C is ours: the server is told, not shot
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise ServerGoneError(
                f"The server cannot be started ({reason}): {shlex.join(argv)}\n"
                "Run `handrail doctor` to see what is missing."
            ) from error
        return cls(argv, transport, child)

    @property
    def is_gone(self) -> bool:
        """Whether the server has ended, or wrote what is no message."""
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
            timeout_s: How long the server may do nothing; one that is at work, on a machine that is busy, has
                `PATIENCE` times as long. None waits until it answers or ends.

        Raises:
            RequestRefusedError: The server answered with an error.
            ServerSilentError: It did not answer in time; it has been told to forget the request.
            ServerGoneError: It is not there any more.
        """
        if self._gone is not None:
            raise self._gone
        call = _Call(method, params, next(self._ids))
        self._pending[call.msg_id] = reply = asyncio.get_running_loop().create_future()
        self._send(call)
        try:
            waited_s = await self._await_reply(reply, timeout_s)
            if not reply.done():
                self.notify("$/cancelRequest", {"id": call.msg_id})
                raise ServerSilentError(
                    f"The server did not answer `{method}` within {waited_s:g} seconds.\n{self._next_step()}"
                )
            return call.parse_response(reply.result())
        except jsonrpc_base.ProtocolError as error:
            raise _refusal(method, error) from error
        except asyncio.CancelledError:
            self.notify("$/cancelRequest", {"id": call.msg_id})
            raise
        finally:
            del self._pending[call.msg_id]

    async def _await_reply(self, reply: asyncio.Future[dict[str, Any]], timeout_s: float | None) -> float:
        """Wait for a reply, or until the server has done nothing for *timeout_s*; returns for how long."""
        waited_s, pid = 0.0, self._transport.get_pid()
        used_s = _processor_s(pid)
        while not reply.done():
            await asyncio.wait([reply], timeout=timeout_s)
            waited_s += timeout_s or 0.0
            before_s, used_s = used_s, _processor_s(pid)
            is_at_work = used_s - before_s > LEAST_SHARE * (timeout_s or 0.0)
            if not is_at_work or waited_s >= PATIENCE * (timeout_s or 0.0):
                break
        return waited_s

    def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Tell the server; when it is gone, nobody."""
        self._send(_Call(method, params))

    async def close(self) -> None:
        """End the process, gently if it lets us, and every task of ours; takes bounded time."""
        self._stdin.close()
        await self._end(EXIT_TIMEOUT_S)
        tasks = (*self._tasks, *self._answering.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._transport.close()

    @property
    def _stdin(self) -> asyncio.WriteTransport:
        pipe = self._transport.get_pipe_transport(0)
        assert isinstance(pipe, asyncio.WriteTransport), "started with a pipe"
        return pipe

    def _send(self, message: jsonrpc_base.Message) -> None:
        """Write a message; to a server that is gone, nothing: its end is noticed on reading."""
        body = message.serialize().encode("utf-8")
        if self._gone is None and not self._stdin.is_closing():
            self._stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def _receive(self) -> None:
        """Read messages until the server's output ends or makes no sense; then fail what is still open."""
        fault = ""
        try:
            while (message := await self._read()) is not None:
                await self._dispatch(message)
        except (_GarbageError, jsonrpc_base.ProtocolError) as error:
            fault = f"The server wrote something that is no message ({error})"
        await self._end(DRAIN_TIMEOUT_S)  # it may be about to say why
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._child.silent.wait(), KILL_TIMEOUT_S)
        self._fail(fault or f"The server ended ({_ending(self._transport.get_returncode())})")

    async def _read(self) -> dict[str, Any] | None:
        """Read one message; None at the end of the server's output."""
        length = None
        for _ in range(HEADER_LIMIT_LINES):
            try:
                line = await self._child.output.readline()
            except ValueError as error:
                raise _GarbageError("an endless header") from error
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
            raise _GarbageError("an endless header")
        try:
            body = await self._child.output.readexactly(length)
        except asyncio.IncompleteReadError:
            return None
        return _object(body)

    async def _dispatch(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            reply = self._pending.get(message.get("id") or 0)
            if reply is not None and not reply.done():  # a late answer is nobody's
                reply.set_result(message)
            return
        request = jsonrpc_base.Request.parse(message)
        if request.msg_id is None:
            await self._peer.async_receive_request(request)
            return
        task = asyncio.create_task(self._answer(request))
        self._answering[request.msg_id] = task
        task.add_done_callback(lambda done: self._answered(request, done))

    async def _answer(self, request: jsonrpc_base.Request) -> None:
        self._send(await self._peer.async_receive_request(request))

    def _answered(self, request: jsonrpc_base.Request, task: asyncio.Task[None]) -> None:
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

    async def _end(self, patience_s: float) -> None:
        """Wait for the process to end; after *patience_s* it is told to, then it is killed."""
        for stop in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM), None):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._child.exited.wait(), patience_s)
                return
            if stop is not None:
                self._signal(stop)
            patience_s = KILL_TIMEOUT_S

    def _signal(self, stop: signal.Signals) -> None:
        """Send a signal to the server and what it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(self._transport.get_pid(), stop)
            else:
                self._transport.terminate()

    def _fail(self, what: str) -> None:
        """End every open request, and all that will come, with the same error; the first reason counts."""
        if self._gone is not None:
            return
        said = self._child.said.decode("utf-8", "replace").strip()
        words = f"Its last words:\n{said}\n" if said else ""
        self._gone = ServerGoneError(f"{what}.\n{words}{self._next_step()}")
        self._ended.set()
        for reply in self._pending.values():
            if not reply.done():
                reply.set_exception(self._gone)
        for task in tuple(self._answering.values()):
            task.cancel()

    def _next_step(self) -> str:
        command = shlex.join(self._argv)
        shown = command if len(command) <= COMMAND_LIMIT_CHARS else command[:COMMAND_LIMIT_CHARS] + "…"
        return f"Run `handrail doctor`, or start the server by hand: {shown}"


class _Child(asyncio.SubprocessProtocol):
    """
    The server process: its output as a stream, the end of its stderr, and its end.

    asyncio's ready-made streams notice the end of a process only once all its pipes are closed, and a process
    that the server started may keep them open.
    """

    def __init__(self) -> None:
        self.output = asyncio.StreamReader()
        self.said = b""
        self.exited = asyncio.Event()
        self.silent = asyncio.Event()
        self._closed = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Take what the server wrote; after its end was declared, nothing."""
        if fd == 2:
            self.said = (self.said + data)[-TAIL_LIMIT_BYTES:]
        elif not self._closed.is_set():
            self.output.feed_data(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Note that a pipe is closed."""
        if fd == 2:
            self.silent.set()
        elif fd == 1:
            self._close()

    def process_exited(self) -> None:
        """Note that the process ended."""
        self.exited.set()

    async def finish(self) -> None:
        """Declare the output ended some time after the process, whoever still holds it."""
        await self.exited.wait()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._closed.wait(), DRAIN_TIMEOUT_S)
        self._close()

    def _close(self) -> None:
        self._closed.set()
        self.output.feed_eof()


class _GarbageError(Exception):
    """The server's output is no message."""


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


def _processor_s(pid: int) -> float:
    """How long a process has had a processor so far; 0 where that is not to be known (not on Linux)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return 0.0


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


def _ending(returncode: int | None) -> str:
    if returncode is None:
        return "it does not react"
    return f"exit code {returncode}" if returncode >= 0 else f"by signal {-returncode}"
