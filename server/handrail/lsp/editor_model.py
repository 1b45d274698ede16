"""
The editor's own model, asked by `handrail/client/model` where the client offers that.

The client streams text by `$/progress` on our token and answers with the whole. A request that is cancelled
here is cancelled there.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from handrail.core import prompt
from handrail.core.message import (
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
)
from handrail.lsp import protocol, wire
from handrail.lsp.client import Client
from handrail.ports import ProviderDown, ProviderError

SERVICE = "model"
CONTEXT = 64_000  # tokens; the client does not say
STOPS: dict[str, StopReason] = {
    "stop": StopReason.FINISH,
    "toolCalls": StopReason.TOOL_CALLS,
    "length": StopReason.LENGTH,
    "refused": StopReason.REFUSED,
}


class EditorModel:
    """Provider port for one client's model; `client` is what the client said of itself."""

    context_tokens = CONTEXT

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._listeners: dict[str, asyncio.Queue[str | None]] = {}
        self.client = Client()

    def hear(self, token: object, value: object) -> None:
        """Take a piece of text that the client streams; one for nobody is ignored."""
        if isinstance(token, str) and token in self._listeners and isinstance(value, Mapping):
            self._listeners[token].put_nowait(str(value.get("delta", "")))

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Piece]:
        """Ask the client. Raises ProviderError."""
        if SERVICE not in self.client.services:
            raise ProviderError(
                "The setting handrail.model is 'editor', but this editor offers no model of its own."
            )
        token = f"model-{uuid.uuid4().hex[:12]}"
        heard = self._listeners[token] = asyncio.Queue()
        sent = self._server.protocol.send_request_async(
            protocol.CLIENT_MODEL, wire.write(_params(messages, tools, token)), token
        )
        answered = asyncio.ensure_future(sent)
        answered.add_done_callback(lambda _: heard.put_nowait(None))
        try:
            while (delta := await heard.get()) is not None:
                yield Delta(text=delta)
            yield _response(answered)
        finally:
            del self._listeners[token]
            if not answered.done():
                self._server.protocol.notify(lsp.CANCEL_REQUEST, lsp.CancelParams(id=token))
                answered.cancel()


def _params(messages: Sequence[Message], tools: Sequence[ToolOffer], token: str) -> protocol.ModelParams:
    return protocol.ModelParams(
        messages=[_message(message) for message in messages],
        tools=[
            protocol.ModelTool(name=tool.name, description=tool.description, schema=json.loads(tool.schema))
            for tool in tools
        ],
        partial_result_token=token,
        options={},
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
            found = [protocol.ModelResult(call=result.call, text=result.text) for result in results]
            return protocol.ModelMessage(role="tool", results=found)


def _response(answered: asyncio.Future[object]) -> Response:
    try:
        found = wire.read(protocol.ModelResponse, answered.result())
    except JsonRpcException as error:
        raise ProviderDown(f"The editor's model cannot be reached: {error.message}") from error
    except wire.InvalidParams as error:
        raise ProviderError(f"The editor's model answered with something else: {error}") from error
    return Response(
        text=found.text,
        calls=tuple(ToolCall(id=c.id, name=c.name, arguments=c.arguments) for c in found.calls or ()),
        stop=STOPS.get(found.stop, StopReason.FINISH),
        reason=found.reason or "",
        usage=Usage(steps=1, input_tokens=found.input_tokens or 0, output_tokens=found.output_tokens or 0),
    )
