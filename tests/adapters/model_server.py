"""
A model's server that speaks four wire formats over real HTTP, and misbehaves as it is told.

What it says is given once, in no format; the path of the request chooses the format.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
PATHS = {
    "/v1/chat/completions": "openai-chat",
    "/v1/responses": "openai-responses",
    "/v1/messages": "anthropic",
    "/api/chat": "ollama",
}
FORMATS = tuple(PATHS.values())
WINDOWS = {"ollama": 32_768}  # which model is asked in its own format, if its window is set
SIGNED = "signed-by-the-provider"


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool call as the model makes it; an id of None is missing."""

    name: str = "read_file"
    arguments: str = '{"path": "a.txt"}'
    id: str | None = "call_1"


@dataclass(frozen=True, kw_only=True)
class Say:
    """
    An answer.

    Attributes:
        thinking: Reasoning that comes first, with the mark `SIGNED` where the format has one.
        finish: "stop", "length", "tools", "filter", or whatever a server may invent; None is none at all.
        ends_after: The stream ends in order, but after so many events.
        breaks_after: The connection is broken after so many events, in the middle of the next one.
        garbles: The number of the event that is no JSON.
        hangs_after: Nothing comes after so many events, and the connection stays open.
        comments: Nothing but comments comes, until the client hangs up.
        cached: How many tokens of the prompt came from a cache, where a format tells that.
    """

    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    finish: str | None = "stop"
    ends_after: int | None = None
    breaks_after: int | None = None
    garbles: int | None = None
    hangs_after: int | None = None
    cached: int = 0
    comments: bool = False


@dataclass(frozen=True, kw_only=True)
class Refuse:
    """An error instead of an answer; `{key}` in the message is the key of the request."""

    status: int
    message: str = "No."
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """These bytes as the body of an answer."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Drop:
    """The connection is closed without an answer."""


@dataclass
class ModelServer:
    """
    Gives these answers, one a request, and keeps the requests.

    Attributes:
        kinds: The format of each request.
        pages: What it tells at other paths; nothing is at those that are not among them.
        looked: The other paths that were asked for.
        looked_with: The keys that came with these.
    """

    answers: list[Say | Refuse | Raw | Drop] = field(default_factory=list)
    asked: list[Json] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    looked_with: list[str] = field(default_factory=list)
    hung: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    pages: Mapping[str, Raw] = field(default_factory=dict)
    looked: list[str] = field(default_factory=list)
    port: int = 0

    def url(self, kind: str) -> str:
        """The base URL for a format."""
        return f"http://127.0.0.1:{self.port}" + ("" if kind == "anthropic" else "/v1")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: one request."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
            path = head[0].split()[1].partition("?")[0]
            key = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
            if path not in PATHS:
                self.looked.append(path)
                self.looked_with.append(key)
                self._send(writer, self.pages.get(path) or Raw(404, b"{}"))
                await writer.drain()
                return
            body = json.loads(await reader.readexactly(int(headers["content-length"])))
            self.asked.append(body)
            self.keys.append(key)
            self.kinds.append(PATHS[path])
            answer = self.answers.pop(0)
            match answer:
                case Drop():
                    writer.transport.abort()
                case Refuse():
                    self._refuse(writer, answer, key)
                case Raw():
                    self._send(writer, answer)
                case Say():
                    await self._say(reader, writer, answer, PATHS[path])
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    def _send(self, writer: asyncio.StreamWriter, answer: Raw) -> None:
        lines = {"Content-Length": str(len(answer.body)), **answer.headers, "Connection": "close"}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        writer.write(f"HTTP/1.1 {answer.status} X\r\n{head}\r\n".encode() + answer.body)

    def _refuse(self, writer: asyncio.StreamWriter, answer: Refuse, key: str) -> None:
        message = answer.message.format(key=key)
        error = {
            "type": "error",
            "error": {"type": answer.code or "error", "code": answer.code, "message": message},
        }
        body = json.dumps(error).encode()
        lines = {"Content-Type": "application/json", "Content-Length": str(len(body)), **answer.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in {**lines, "Connection": "close"}.items())
        writer.write(f"HTTP/1.1 {answer.status} X\r\n{head}\r\n".encode() + body)

    async def _say(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, say: Say, kind: str
    ) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n"
            b"Connection: close\r\n\r\n"
            % (b"application/x-ndjson" if kind == "ollama" else b"text/event-stream")
        )
        while say.comments and not writer.is_closing():
            writer.write(_chunk("\n" if kind == "ollama" else ": still here\n\n"))
            await writer.drain()
            await asyncio.wait([asyncio.ensure_future(reader.read(1))], timeout=0.05)
            if reader.at_eof():
                return
        for number, event in enumerate(events(say, kind)):
            if number == say.ends_after:
                break
            if number == say.breaks_after:
                writer.write(_chunk(event)[:-9])
                await writer.drain()
                writer.transport.abort()
                return
            if number == say.hangs_after:
                await writer.drain()
                self.hung.set()
                await reader.read()
                self.left.set()
                return
            garbled = event.replace("{", "{nonsense ", 1)
            writer.write(_chunk(garbled if number == say.garbles else event))
        writer.write(b"0\r\n\r\n")


@asynccontextmanager
async def model_server(*answers: Say | Refuse | Raw | Drop) -> AsyncIterator[ModelServer]:
    """A running server."""
    found = ModelServer(list(answers))
    server = await asyncio.start_server(found.serve, "127.0.0.1", 0)
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        server.close()


def event_count(say: Say, kind: str) -> int:
    """How many events an answer has in a format."""
    return len(list(events(say, kind)))


def _chunk(text: str) -> bytes:
    raw = text.encode()
    return f"{len(raw):x}\r\n".encode() + raw + b"\r\n"


def events(say: Say, kind: str) -> Iterator[str]:
    """What a server sends of an answer in a format, event by event."""
    if kind == "ollama":
        yield from (f"{json.dumps(row)}\n" for row in _ollama(say))
        return
    made = {"openai-chat": _chat, "openai-responses": _responses, "anthropic": _anthropic}[kind]
    for event in made(say):
        name = f"event: {event['type']}\n" if kind != "openai-chat" else ""
        yield f"{name}data: {json.dumps(event)}\n\n"
    if kind == "openai-chat":
        yield "data: [DONE]\n\n"


def _pieces(text: str) -> list[str]:
    size = max(7, len(text) // 50)
    return [text[at : at + size] for at in range(0, len(text), size)]


# ---- OpenAI, Chat Completions -----------------------------------------------------------------------

CHAT_FINISH = {"tools": "tool_calls", "filter": "content_filter"}


def _chat(say: Say) -> Iterator[Json]:
    def chunk(delta: Json, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {
            "id": "chat-1",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": "m",
            "choices": [choice],
        }

    yield chunk({"role": "assistant", "content": ""})
    yield from (chunk({"reasoning_content": piece}) for piece in _pieces(say.thinking))
    yield from (chunk({"content": piece}) for piece in _pieces(say.text))
    for index, call in enumerate(say.calls):
        function = {"name": call.name, "arguments": ""}
        named = {"id": call.id} if call.id is not None else {}
        yield chunk({"tool_calls": [{"index": index, **named, "type": "function", "function": function}]})
        for piece in _pieces(call.arguments):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    if say.finish is not None:
        yield chunk({}, CHAT_FINISH.get(say.finish, say.finish))
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    yield {**chunk({}), "choices": [], "usage": usage}


# ---- OpenAI, Responses ------------------------------------------------------------------------------


def _responses(say: Say) -> Iterator[Json]:
    yield {"type": "response.created", "response": _response("in_progress"), "sequence_number": 0}
    for number, event in enumerate(_items(say), 1):
        yield {**event, "sequence_number": number}
    if say.finish is None:
        return
    cut = {"length": "max_output_tokens", "filter": "content_filter"}.get(say.finish)
    if cut is not None:
        whole = {**_response("incomplete"), "incomplete_details": {"reason": cut}}
        yield {"type": "response.incomplete", "response": whole, "sequence_number": 999}
    else:
        yield {"type": "response.completed", "response": _response("completed"), "sequence_number": 999}


def _items(say: Say) -> Iterator[Json]:
    at = 0
    if say.thinking:
        yield from _reasoning(say)
        at += 1
    if say.text:
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
        yield {"type": "response.output_item.added", "output_index": at, "item": item}
        part = {"type": "output_text", "text": "", "annotations": []}
        place = {"item_id": "msg_1", "output_index": at, "content_index": 0}
        yield {"type": "response.content_part.added", **place, "part": part}
        for piece in _pieces(say.text):
            yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
        done = {**item, "status": "completed", "content": [{**part, "text": say.text}]}
        yield {"type": "response.output_item.done", "output_index": at, "item": done}
        at += 1
    for index, call in enumerate(say.calls, at):
        item = {
            "type": "function_call",
            "id": f"fc_{index}",
            "call_id": call.id or "",
            "name": call.name,
            "arguments": "",
            "status": "in_progress",
        }
        yield {"type": "response.output_item.added", "output_index": index, "item": item}
        for piece in _pieces(call.arguments):
            place = {"item_id": f"fc_{index}", "output_index": index}
            yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
        done = {**item, "arguments": call.arguments, "status": "completed"}
        yield {"type": "response.output_item.done", "output_index": index, "item": done}


def _reasoning(say: Say) -> Iterator[Json]:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": None}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    place = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
    part = {"type": "summary_text", "text": ""}
    yield {"type": "response.reasoning_summary_part.added", **place, "part": part}
    for piece in _pieces(say.thinking):
        yield {"type": "response.reasoning_summary_text.delta", **place, "delta": piece}
    done = {**item, "summary": [{**part, "text": say.thinking}], "encrypted_content": SIGNED}
    yield {"type": "response.output_item.done", "output_index": 0, "item": done}


def _response(status: str) -> Json:
    usage = {
        "input_tokens": 11,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 18,
    }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": status,
        "model": "m",
        "output": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "top_p": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "usage": None if status == "in_progress" else usage,
    }


# ---- Anthropic --------------------------------------------------------------------------------------

ANTHROPIC_FINISH = {"stop": "end_turn", "length": "max_tokens", "tools": "tool_use", "filter": "refusal"}


def _anthropic(say: Say) -> Iterator[Json]:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 1, "cache_read_input_tokens": say.cached},
    }
    yield {"type": "message_start", "message": message}
    index = 0
    if say.thinking:
        block = {"type": "thinking", "thinking": "", "signature": ""}
        yield {"type": "content_block_start", "index": 0, "content_block": block}
        for piece in _pieces(say.thinking):
            delta = {"type": "thinking_delta", "thinking": piece}
            yield {"type": "content_block_delta", "index": 0, "delta": delta}
        signed = {"type": "signature_delta", "signature": SIGNED}
        yield {"type": "content_block_delta", "index": 0, "delta": signed}
        yield {"type": "content_block_stop", "index": 0}
        index = 1
    if say.text:
        yield {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}
        for piece in _pieces(say.text):
            delta = {"type": "text_delta", "text": piece}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
        index += 1
    for call in say.calls:
        block = {"type": "tool_use", "id": call.id or "", "name": call.name, "input": {}}
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for piece in _pieces(call.arguments):
            delta = {"type": "input_json_delta", "partial_json": piece}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
        index += 1
    if say.finish is not None:
        ended = {"stop_reason": ANTHROPIC_FINISH.get(say.finish, say.finish), "stop_sequence": None}
        yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 7}}
        yield {"type": "message_stop"}


# ---- Ollama -----------------------------------------------------------------------------------------


def _ollama(say: Say) -> Iterator[Json]:
    def row(**message: object) -> Json:
        said = {"role": "assistant", "content": "", **message}
        return {"model": "m", "created_at": "2023-11-14T22:13:20Z", "message": said, "done": False}

    yield row()
    yield from (row(thinking=piece) for piece in _pieces(say.thinking))
    yield from (row(content=piece) for piece in _pieces(say.text))
    for call in say.calls:
        function = {"name": call.name, "arguments": _object(call.arguments)}
        yield row(tool_calls=[{**({"id": call.id} if call.id is not None else {}), "function": function}])
    if say.finish is not None:
        reason = "stop" if say.finish == "tools" else say.finish
        yield {**row(), "done": True, "done_reason": reason, "prompt_eval_count": 11, "eval_count": 7}


def _object(arguments: str) -> object:
    """Arguments as the format has them; what is no JSON as it is."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments
