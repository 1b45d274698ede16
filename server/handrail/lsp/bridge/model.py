"""
The editor's own model, asked by `handrail/client/model` where the client offers that.

The client streams text by `$/progress` on our token and answers with the whole. A request that is cancelled
here is cancelled there.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from handrail.core.conversation import prompt, recover
from handrail.core.conversation.keyless import without_keys
from handrail.core.conversation.message import (
    AssistantMessage,
    Delta,
    Message,
    Piece,
    Response,
    StopReason,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolOffer,
    Usage,
    UserMessage,
    read_tokens,
)
from handrail.core.results import sanitize
from handrail.lsp import protocol, wire
from handrail.lsp.client import Client
from handrail.ports import Provider, ProviderDown, ProviderError
from handrail.values import dataclass

SERVICE = "model"
CONTEXT = 64_000  # tokens; what is assumed of a model until the client says
REQUEST_FAILED = -32803  # the client's word for: asking again would not help
LIMIT_REASON_CHARS = 600
NONE_IN_TERMINAL = (
    "The chosen model is one that an editor offers, and a terminal offers none. Choose another model with "
    "`--model` or, in `handrail chat`, with `/model`."
)
NONE_IN_EDITOR = (
    "The chosen model is one that an editor offers, but this editor offers none. Choose another model "
    "with `/model` in a conversation or in the setting handrail.model."
)
STOPS: dict[str, StopReason] = {
    "stop": StopReason.FINISH,
    "toolCalls": StopReason.TOOL_CALLS,
    "length": StopReason.LENGTH,
    "refused": StopReason.REFUSED,
}


class EditorModel:
    """The models of one client; `client` is what the client said of itself."""

    def __init__(self, server: LanguageServer, secrets: Callable[[], Sequence[str]]) -> None:
        """The model is sent none of the *secrets*."""
        self._server, self._secrets = server, secrets
        self._listeners: dict[str, asyncio.Queue[str | None]] = {}
        self._contexts: dict[str, int] = {}
        self.client = Client()

    def by_name(self, name: str) -> Provider:
        """The model that the user calls *name*; the client's choice if that is empty."""
        return _Named(models=self, name=name)

    def context_tokens(self, name: str) -> int:
        """Returns the context size of that model, if the client has said it."""
        return self._contexts.get(name, CONTEXT)

    def on_progress(self, token: object, value: object) -> None:
        """Called with a piece of text that the client streams; ignores one for no request."""
        if isinstance(token, str) and token in self._listeners and isinstance(value, Mapping):
            self._listeners[token].put_nowait(str(value.get("delta", "")))

    async def ask(
        self, name: str, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Piece]:
        """Ask the client for that model's answer. Raises ProviderError."""
        if SERVICE not in self.client.services:
            raise ProviderError(NONE_IN_TERMINAL if self.client.is_headless else NONE_IN_EDITOR)
        token = f"model-{uuid.uuid4().hex[:12]}"
        messages = without_keys(messages, self._secrets())
        queue = self._listeners[token] = asyncio.Queue()
        sent = self._server.protocol.send_request_async(
            protocol.CLIENT_MODEL,
            wire.write(_params(name, messages, tools, token)),
            token,
        )
        answered = asyncio.ensure_future(sent)
        answered.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (delta := await queue.get()) is not None:
                yield Delta(text=delta)
            yield self._response(name, answered)
        finally:
            del self._listeners[token]
            if not answered.done():
                self._server.protocol.notify(lsp.CANCEL_REQUEST, lsp.CancelParams(id=token))
                answered.add_done_callback(_take_note)  # to cancel it would make an error of the late answer

    def _response(self, name: str, answered: asyncio.Future[object]) -> Response:
        try:
            response = wire.read(protocol.ModelResponse, answered.result())
        except JsonRpcException as error:
            return _full_context(error)
        except wire.InvalidParams as error:
            raise ProviderError(f"The editor's model sent an invalid answer: {error}") from error
        if response.context_tokens is not None and response.context_tokens > 0:
            self._contexts[name] = response.context_tokens
        return Response(
            text=response.text,
            calls=tuple(ToolCall(id=c.id, name=c.name, arguments=c.arguments) for c in response.calls or ()),
            stop=STOPS.get(response.stop, StopReason.FINISH),
            reason=response.reason or "",
            usage=Usage(
                steps=1,
                input_tokens=read_tokens(response.input_tokens),
                output_tokens=read_tokens(response.output_tokens),
            ),
        )


def _take_note(answered: asyncio.Future[object]) -> None:
    """Take note of the error of a request that was given up, so that asyncio does not tell of it."""
    if not answered.cancelled():
        answered.exception()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """Provider port for one of a client's models."""

    models: EditorModel
    name: str

    @property
    def context_tokens(self) -> int:
        return self.models.context_tokens(self.name)

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Piece]:
        async with aclosing(self.models.ask(self.name, messages, tools)) as pieces:
            async for piece in pieces:
                yield piece


def _full_context(error: JsonRpcException) -> Response:
    """The response that stands for a context that is full. Raises ProviderError for any other error."""
    said = sanitize.clean(error.message, LIMIT_REASON_CHARS)
    if error.code == REQUEST_FAILED:
        raise ProviderError(said) from error
    if recover.is_context_full(said):
        return Response(text="", stop=StopReason.CONTEXT_FULL, reason=said)
    raise ProviderDown(f"The editor's model cannot answer now: {said}") from error


def _params(
    name: str, messages: Sequence[Message], tools: Sequence[ToolOffer], token: str
) -> protocol.ModelParams:
    return protocol.ModelParams(
        messages=[_message(message) for message in messages],
        tools=[
            protocol.ModelTool(name=tool.name, description=tool.description, schema=json.loads(tool.schema))
            for tool in tools
        ],
        partial_result_token=token,
        options={"model": name} if name else {},
    )


def _message(message: Message) -> protocol.ModelMessage:
    match message:
        case SystemMessage(text=text):
            return protocol.ModelMessage(role="system", text=text)
        case UserMessage():
            return protocol.ModelMessage(role="user", text=prompt.user_text(message))
        case AssistantMessage(text=text, calls=calls):
            made = [protocol.ModelCall(id=c.id, name=c.name, arguments=c.arguments) for c in calls]
            return protocol.ModelMessage(role="assistant", text=text, calls=made)
        case ToolMessage(results=results):
            results_ = [protocol.ModelResult(call=result.call, text=result.text) for result in results]
            return protocol.ModelMessage(role="tool", results=results_)
