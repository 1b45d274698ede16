"""What the server asks of clients that offer services: saving, keys, and a model of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveParams:
    """
    Asks the client to save documents.

    Attributes:
        uris: URIs of the open documents to save.
    """

    uris: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveResult:
    """
    The result of saving.

    Attributes:
        saved: URIs of the documents that are saved now.
    """

    saved: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretParams:
    """
    Asks for a key that the client may keep.

    Attributes:
        name: Name of the key, such as `OPENAI_API_KEY`.
    """

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretResult:
    """
    The key. The server keeps it in memory only and sends it only to the server of its model.

    Attributes:
        value: The key; null if the client does not have it.
    """

    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """
    A tool call by the client's model.

    Attributes:
        id: The tool call's id.
        name: Name of the tool.
        arguments: The arguments as JSON text, exactly as the model wrote them.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResult:
    """
    The result of a tool call, for the client's model.

    Attributes:
        call: Id of the tool call.
        text: The result.
    """

    call: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMessage:
    """
    A message of the conversation.

    Attributes:
        role: Who it is from: handrail's instructions, the user, the model, or the tools.
        text: The text of the message; empty for `tool`.
        calls: The tool calls of an `assistant` message.
        results: The results in a `tool` message.
    """

    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    calls: list[ModelCall] | None = None
    results: list[ModelResult] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTool:
    """
    A tool that the client's model may call.

    Attributes:
        name: Name of the tool.
        description: What the tool does, for the model.
        schema: The JSON Schema of its arguments.
    """

    name: str
    description: str
    schema: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelParams:
    """
    Asks the client's model. The error RequestFailed (-32803) tells the server not to try again.

    Attributes:
        messages: The conversation so far, oldest message first.
        tools: The tools that the model may call.
        options: `model` names the model that the user chose; without it, the client chooses.
        partial_result_token: The token with which the client streams text, as `$/progress` with the value
            `{delta}`.
    """

    messages: list[ModelMessage]
    tools: list[ModelTool]
    options: dict[str, object]
    partial_result_token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResponse:
    """
    The complete answer of the client's model.

    Attributes:
        text: The text of the answer.
        calls: The tool calls that the model makes; null if it makes none.
        stop: Why the model stopped: `stop`, `toolCalls`, `length` or `refused`.
        reason: Why the model refused; null otherwise.
        input_tokens: Tokens that were sent to the model; null if unknown.
        output_tokens: Tokens that the model wrote; null if unknown.
        context_tokens: How many tokens the model's context holds; null if unknown.
    """

    text: str = ""
    calls: list[ModelCall] | None = None
    stop: str = "stop"
    reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    context_tokens: int | None = None
