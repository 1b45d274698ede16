"""Clients: their options, the services that they offer (saving, keys, a model), and models to choose from."""

from __future__ import annotations

from typing import Literal

from handrail.lsp.protocol.request import Request
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelListParams:
    """
    Selects the server whose models to list.

    Attributes:
        like: A model, written as in the setting `handrail.model`, whose server is asked; by default, the
            model in that setting.
        own_address: With `like`: true to ask at the provider's own address with its usual key, false to ask
            at the address in `handrail.baseUrl`; by default, `handrail.baseUrl` is used only if `like` has
            the same provider as `handrail.model`.
    """

    like: str | None = None
    own_address: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """
    A model that can be chosen.

    Attributes:
        model: The value of the setting `handrail.model` that chooses it.
        title: Its name for people; null if the server gives none.
        window: The size of its context in tokens; null if the server does not say.
        current: Whether it is the chosen model, or the one given as `like`.
    """

    model: str
    title: str | None = None
    window: int | None = None
    current: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelForgetParams:
    """This request takes no params."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceTrustParams:
    """This request takes no params."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """
    The features that a client opts in to: `capabilities.experimental.handrail` or
    `initializationOptions.handrail`.

    Attributes:
        turn_updates: Whether the server sends `handrail/turn/update`.
        approvals: Whether the server asks with `handrail/approval/request` and sends
            `handrail/approval/ended`.
        unattended: Whether no user is present: a question that the client does not answer at once ends as
            not answered in time.
        untrusted: Whether the user has not trusted the workspace yet. Until `workspace.trust`, turns run only
            in the mode `ask`, and the workspace's settings, instructions, skills and commands are ignored.
        services: What the client does for the server: `save` saves documents, `reload` loads them again when
            a command has changed their files, `model` answers with its own
            model, `secret` keeps keys, `review` shows pending changes and receives `handrail/review/changed`,
            `chat` shows conversations and receives `handrail/chat/changed`, `diagnostics` passes on what
            other language servers report, `definition`, `references` and `symbols` ask them for names.
        settings: Settings without the prefix `handrail.`, dotted or nested; all are allowed here, also those
            of scope `machine` (see settings.md).
    """

    turn_updates: bool = False
    approvals: bool = False
    unattended: bool = False
    untrusted: bool = False
    services: list[str] | None = None
    settings: dict[str, object] | None = None


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
class ReloadParams:
    """
    Tells the client that a command has changed the files of open documents.

    Attributes:
        uris: URIs of the open documents whose text differs from that of their files.
    """

    uris: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretParams:
    """
    Asks for a key that the client may have stored.

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
        stop: Why the model stopped: `stop`, `toolCalls`, `length` or `refused`; by default `stop`.
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


WORKSPACE_TRUST = Request(
    name="workspace.trust",
    params=WorkspaceTrustParams,
    result=None,
    does="Tells the server that the user now trusts the workspace. Its settings apply from the next turn on.",
)

MODEL_LIST = Request(
    name="model.list",
    params=ModelListParams,
    result=list[ModelInfo],
    does="Lists the models of the chosen model's server; fails if that server does not answer.",
)

MODEL_FORGET = Request(
    name="model.forget",
    params=ModelForgetParams,
    result=None,
    does="Makes the server forget the API keys that it has read; the next turn reads them again.",
)
