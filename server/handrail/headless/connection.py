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
KILL_TIMEOUT_S = 2.0  # to end after SIGTERM, or after its output closed; then SIGKILL


class Connection:
    """
    A running server.

    Notifications are handled in the order in which they come; each request of the server has its own task.
    """

    def __init__(self, argv: Sequence[str], process: asyncio.subprocess.Process) -> None:
        self._argv = argv
        self._process = process
        self._peer = jsonrpc_base.Server()
        self._ids = itertools.count(1)
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._answering: dict[int | str, asyncio.Task[None]] = {}
        self._said = b""
        self._gone: ServerGoneError | None = None
        self._listener = asyncio.create_task(self._listen())
        self._receiver = asyncio.create_task(self._receive())
        self._watcher = asyncio.create_task(self._watch())
        self.on("$/cancelRequest", self._cancel)

    @classmethod
    async def start(cls, argv: Sequence[str]) -> "Connection":
        """
        Start the server process.

        Raises:
            ServerGoneError: There is no such program, or it may not be run.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=os.name == "posix",  # Ctrl-C is ours: the server is told, not shot
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise ServerGoneError(
                f"The server cannot be started ({reason}): {shlex.join(argv)}\n"
                "Run `handrail doctor` to see what is missing."
            ) from error
        return cls(argv, process)

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
            timeout_s: None waits until the server answers or ends.

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
            async with asyncio.timeout(timeout_s):
                return call.parse_response(await reply)
        except TimeoutError as error:
            self.notify("$/cancelRequest", {"id": call.msg_id})
            raise ServerSilentError(
                f"The server did not answer `{method}` within {timeout_s:g} seconds.\n{self._next_step()}"
            ) from error
        except jsonrpc_base.ProtocolError as error:
            raise _refusal(method, error) from error
        except asyncio.CancelledError:
            self.notify("$/cancelRequest", {"id": call.msg_id})
            raise
        finally:
            del self._pending[call.msg_id]

    def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Tell the server; when it is gone, nobody."""
        self._send(_Call(method, params))

    async def close(self) -> None:
        """End the process, gently if it lets us, and every task of ours; takes bounded time."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._end(EXIT_TIMEOUT_S)
        tasks = (self._watcher, self._receiver, self._listener, *self._answering.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _send(self, message: jsonrpc_base.Message) -> None:
        """Write a message; to a server that is gone, nothing: its end is noticed on reading."""
        body = message.serialize().encode("utf-8")
        stdin = self._process.stdin
        if self._gone is None and stdin is not None and not stdin.is_closing():
            stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def _receive(self) -> None:
        """Read messages until the server's output ends or makes no sense; then fail what is still open."""
        fault = ""
        try:
            while (message := await self._read()) is not None:
                await self._dispatch(message)
        except (_GarbageError, jsonrpc_base.ProtocolError) as error:
            fault = f"The server wrote something that is no message ({error})"
        except ConnectionError as error:
            fault = f"The connection to the server broke ({error})"
        await self._end(KILL_TIMEOUT_S)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._listener), KILL_TIMEOUT_S)
        self._fail(fault or f"The server ended ({_ending(self._process.returncode)})")

    async def _watch(self) -> None:
        """Notice the end of a server whose output some child of its own keeps open."""
        await self._process.wait()
        await asyncio.wait([self._receiver], timeout=2 * KILL_TIMEOUT_S)
        if self._gone is None:
            self._fail(f"The server ended ({_ending(self._process.returncode)})")

    async def _read(self) -> dict[str, Any] | None:
        """Read one message; None at the end of the server's output."""
        stdout = self._process.stdout
        assert stdout is not None, "started with a pipe"
        length = None
        for _ in range(HEADER_LIMIT_LINES):
            try:
                line = await stdout.readline()
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
            body = await stdout.readexactly(length)
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
        task = self._answering.get(params.get("id", ""))
        if task is not None:
            task.cancel()

    async def _listen(self) -> None:
        """Keep the last words of the server's stderr."""
        stderr = self._process.stderr
        assert stderr is not None, "started with a pipe"
        while chunk := await stderr.read(TAIL_LIMIT_BYTES):
            self._said = (self._said + chunk)[-TAIL_LIMIT_BYTES:]

    async def _end(self, patience_s: float) -> None:
        """Wait for the process to end; after *patience_s* it is told to, then it is killed."""
        for stop in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), patience_s)
                return
            self._signal(stop)
            patience_s = KILL_TIMEOUT_S
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), patience_s)

    def _signal(self, stop: signal.Signals) -> None:
        """Send a signal to the server and what it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(self._process.pid, stop)
            else:
                self._process.terminate()

    def _fail(self, what: str) -> None:
        """End every open request, and all that will come, with the same error."""
        said = self._said.decode("utf-8", "replace").strip()
        words = f"Its last words:\n{said}\n" if said else ""
        self._gone = ServerGoneError(f"{what}.\n{words}{self._next_step()}")
        for reply in self._pending.values():
            if not reply.done():
                reply.set_exception(self._gone)
        for task in tuple(self._answering.values()):
            task.cancel()

    def _next_step(self) -> str:
        return f"Run `handrail doctor`, or start the server by hand: {shlex.join(self._argv)}"


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
    if not isinstance(message.get("id"), int | str | None):
        raise _GarbageError(_quote(body))
    return message


def _quote(garbage: bytes) -> str:
    return repr(garbage[:80].decode("utf-8", "replace"))


def _ending(returncode: int | None) -> str:
    if returncode is None:
        return "it does not react"
    return f"exit code {returncode}" if returncode >= 0 else f"by signal {-returncode}"
