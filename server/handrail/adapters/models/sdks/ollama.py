"""
Ollama by its own format, which takes the size of the window with each request.

With OpenAI's format, a model is loaded with the server's default window, often 4,096 tokens, and the
beginning of a longer conversation is silently dropped. With this format, the window is the one that the user
has set, and a longer conversation is refused (since Ollama 0.12.6).

Importing this module takes as long as pydantic-ai does; no SDK is needed.
Source: https://docs.ollama.com/api/chat
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import httpx2
from pydantic_ai import exceptions
from pydantic_ai import messages as wire
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.usage import RequestUsage

from handrail.adapters.models.address import Address
from handrail.adapters.models.http import LIMIT_SHOWN_BYTES, ROWS, no_answer
from handrail.values import dataclass, field

PROVIDER = "ollama"
LEVELS = "gpt-oss"  # models of this name know how much to think, others only whether
AROUND = "\ufeff \t\r\n"  # what may stand around a row
PARTS = {"message", "done", "error"}  # one of them every row has
FINISHES: Mapping[str, wire.FinishReason] = {"stop": "stop", "length": "length"}

Json = dict[str, Any]


class Ollama(Model):
    """A model of Ollama's, loaded with the window of its address."""

    def __init__(self, address: Address, http: httpx2.AsyncClient) -> None:
        """Nothing is asked before there is a request."""
        super().__init__()
        self._address, self._http = address, http
        self._url = f"{address.root}/api/chat"

    @property
    def model_name(self) -> str:
        """As the server knows it."""
        return self._address.name

    @property
    def system(self) -> str:
        """Whose format it is."""
        return PROVIDER

    async def request(
        self,
        messages: list[wire.ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> wire.ModelResponse:
        """The whole answer."""
        async with self.request_stream(messages, model_settings, model_request_parameters) as streamed:
            async for _ in streamed:
                pass
        return streamed.get()

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[wire.ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """The answer as it comes."""
        body = self._body(messages, model_settings or {}, model_request_parameters.function_tools)
        try:
            async with self._http.stream("POST", self._url, json=body, headers=self._headers()) as response:
                if response.is_error:
                    raise await self._refusal(response)
                async with aclosing(_rows(response)) as rows:
                    yield Streamed(
                        model_request_parameters, model=self.model_name, url=str(response.url), rows=rows
                    )
        except httpx2.RequestError as error:
            message = str(error) or type(error).__name__
            raise exceptions.ModelConnectionError(self.model_name, message) from error

    def _headers(self) -> dict[str, str]:
        key = self._address.key
        return {"Accept": ROWS} | ({"Authorization": f"Bearer {key}"} if key else {})

    def _body(
        self,
        messages: Sequence[wire.ModelMessage],
        settings: ModelSettings,
        tools: Sequence[ToolDefinition],
    ) -> Json:
        options = {"num_ctx": self._address.window_tokens}
        if (most := settings.get("max_tokens")) is not None:
            options["num_predict"] = most
        body: Json = {
            "model": self.model_name,
            "messages": list(_messages(messages)),
            "stream": True,
            "options": options,
            "truncate": False,  # what is too long is refused
            "shift": False,  # nothing is forgotten while it answers
        }
        if tools:
            body["tools"] = [_tool(each) for each in tools]
        if (thinking := settings.get("thinking")) is not None:
            has_levels = LEVELS in self.model_name and isinstance(thinking, str)
            body["think"] = thinking if has_levels else bool(thinking)
        return body

    async def _refusal(self, response: httpx2.Response) -> exceptions.ModelHTTPError:
        said = (await response.aread()).decode("utf-8", "replace")
        try:
            read = json.loads(said)
        except (ValueError, RecursionError):
            read = None
        body = {"message": _error(read) or said or response.reason_phrase}
        return exceptions.ModelHTTPError(
            response.status_code, self.model_name, body, headers=response.headers
        )


@dataclass
class Streamed(StreamedResponse):
    """An answer: one JSON object a row, of which the last is marked."""

    model: str
    url: str
    rows: AsyncGenerator[str]
    _began: datetime = field(default_factory=lambda: datetime.now(UTC), init=False)

    @property
    def model_name(self) -> str:
        """As the server knows it."""
        return self.model

    @property
    def provider_name(self) -> str:
        """Whose format it is."""
        return PROVIDER

    @property
    def provider_url(self) -> str:
        """The address that it came from."""
        return self.url

    @property
    def timestamp(self) -> datetime:
        """The time at which it began."""
        return self._began

    async def _get_event_iterator(self) -> AsyncIterator[wire.ModelResponseStreamEvent]:
        async for row in self.rows:
            data = row.strip(AROUND)
            if not data:
                continue
            if not data.startswith("{"):
                raise no_answer(await _read_beginning(data, self.rows))
            said = json.loads(data)
            if not PARTS & said.keys():
                raise no_answer(data)
            if error := _error(said):
                raise exceptions.ModelHTTPError(500, self.model, {"message": error}, in_stream=True)
            for event in self._events(said.get("message") or {}):
                yield event
            if said.get("done") is True:
                self._end(said)
                await self.rows.aclose()  # whatever the server does with the connection
                return

    def _events(self, message: Json) -> Iterator[wire.ModelResponseStreamEvent]:
        parts = self._parts_manager
        if thinking := message.get("thinking"):
            yield from parts.handle_thinking_delta(
                vendor_part_id=None, content=thinking, provider_name=PROVIDER
            )
        if content := message.get("content"):
            yield from parts.handle_text_delta(vendor_part_id=None, content=content)
        for call in message.get("tool_calls") or ():
            function = call["function"]
            yield parts.handle_tool_call_part(
                vendor_part_id=None,
                tool_name=function["name"],
                args=function.get("arguments"),
                tool_call_id=call.get("id") or None,
            )

    def _end(self, said: Json) -> None:
        reason = str(said.get("done_reason") or "stop")
        self.provider_details = {"finish_reason": reason}
        self.finish_reason = FINISHES.get(reason)
        if self.finish_reason == "stop" and any(
            isinstance(part, wire.ToolCallPart) for part in self._parts_manager.get_parts()
        ):
            self.finish_reason = "tool_call"
        self._usage = RequestUsage(
            input_tokens=_count(said, "prompt_eval_count"), output_tokens=_count(said, "eval_count")
        )


async def _rows(response: httpx2.Response) -> AsyncGenerator[str]:
    """The rows of a body; of all that Unicode calls a line's end, only a line feed ends one here."""
    begun = b""
    async with aclosing(response.aiter_raw()) as pieces:  # which is unpacked already, see `http`
        async for piece in pieces:
            *whole, begun = (begun + piece).split(b"\n")
            for row in whole:
                yield row.decode("utf-8", "replace")
    yield begun.decode("utf-8", "replace")


async def _read_beginning(row: str, rows: AsyncIterator[str]) -> str:
    """Returns the beginning of a body that is not an answer."""
    async for each in rows:
        row += f"\n{each}"
        if len(row) > LIMIT_SHOWN_BYTES:
            break
    return row


def _count(said: Json, name: str) -> int:
    count = said.get(name)
    return count if isinstance(count, int) else 0


def _error(said: object) -> str:
    """Returns the error that an object reports; empty if it does not."""
    error = said.get("error") if isinstance(said, dict) else None
    if isinstance(error, dict):
        error = error.get("message")
    return error if isinstance(error, str) else ""


# ---- What is sent -----------------------------------------------------------------------------------


def _tool(tool: ToolDefinition) -> Json:
    function = {
        "name": tool.name,
        "description": tool.description or "",
        "parameters": tool.parameters_json_schema,
    }
    return {"type": "function", "function": function}


def _messages(messages: Sequence[wire.ModelMessage]) -> Iterator[Json]:
    for message in messages:
        if isinstance(message, wire.ModelResponse):
            yield _answer_json(message)
        else:
            yield from _request_json(message)


def _answer_json(message: wire.ModelResponse) -> Json:
    """Returns a message of the model, with its calls, as JSON."""
    parts = message.parts
    fields: Json = {
        "role": "assistant",
        "content": "".join(part.content for part in parts if isinstance(part, wire.TextPart)),
    }
    if thought := "".join(part.content for part in parts if isinstance(part, wire.ThinkingPart)):
        fields["thinking"] = thought
    calls = [part for part in parts if isinstance(part, wire.ToolCallPart)]
    if calls:
        fields["tool_calls"] = [
            {
                "id": call.tool_call_id,
                "function": {"name": call.tool_name, "arguments": call.args_as_dict()},
            }
            for call in calls
        ]
    return fields


def _request_json(message: wire.ModelRequest) -> Iterator[Json]:
    """
    Yields the messages of a request to the model, as JSON.

    Templates show pictures of a user's message alone, so those of results follow as one.
    """
    pictures: list[str] = []
    for part in message.parts:
        match part:
            case wire.SystemPromptPart(content=text):
                yield {"role": "system", "content": text}
            case wire.UserPromptPart(content=content):
                text, shown = _content(content)
                yield {"role": "user", "content": text} | ({"images": shown} if shown else {})
            case wire.ToolReturnPart(content=content):
                text, shown = _content(content)
                pictures += shown
                named = {"tool_name": part.tool_name, "tool_call_id": part.tool_call_id}
                yield {"role": "tool", "content": text, **named}
    if pictures:
        yield {"role": "user", "content": "The images of the results above:", "images": pictures}


def _content(content: object) -> tuple[str, list[str]]:
    """The words and the pictures (base64) of a part."""
    each = content if isinstance(content, list) else [content]
    words = [one for one in each if isinstance(one, str)]
    shown = [b64encode(one.data).decode() for one in each if isinstance(one, wire.BinaryContent)]
    return "\n\n".join(words), shown
