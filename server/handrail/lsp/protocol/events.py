"""What the server tells and asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from handrail.lsp.protocol.questions import Approval
from handrail.lsp.protocol.values import ApprovalEnd, Mode, Outcome, TurnState, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedEvent:
    """The turn has begun; `instructions` are the paths of the project's own that the model was given."""

    kind: Literal["started"]
    prompt: str
    mode: Mode
    instructions: list[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEvent:
    """A piece of the model's text."""

    kind: Literal["text"]
    delta: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingEvent:
    """A piece of the model's reasoning."""

    kind: Literal["thinking"]
    delta: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallEvent:
    """A tool call is about to run."""

    kind: Literal["toolCall"]
    call: str
    tool: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutputEvent:
    """A running tool call has printed `text`, and before it as many characters that are `skipped`."""

    kind: Literal["toolOutput"]
    call: str
    text: str
    skipped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultEvent:
    """A tool call has its result."""

    kind: Literal["toolResult"]
    call: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeEvent:
    """What a person should know of a call; a warning, of what cannot be taken back, is a message as well."""

    kind: Literal["notice"]
    call: str
    text: str
    warning: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeEvent(Outcome):
    """What came of one mutation: the outcome's own fields."""

    kind: Literal["outcome"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SupersededEvent:
    """A failure is open no longer."""

    kind: Literal["superseded"]
    failure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalEvent:
    """
    The user is asked, or the question has ended.

    Attributes:
        approval: The question's id.
        end: How it has ended; missing while it waits for the user.
        choice: What it ended with; "deny" if it was not answered.
    """

    kind: Literal["approval"]
    call: str
    subject: str
    approval: str
    end: ApprovalEnd | None = None
    choice: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageEvent(Usage):
    """What the turn has used so far: the usage's own fields; and what the last `step` has used."""

    kind: Literal["usage"]
    step: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryEvent:
    """The model could not be reached, or broke off; the step is begun anew, and its text so far is void."""

    kind: Literal["retry"]
    reason: str
    in_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedEvent:
    """The conversation was made smaller to fit into the model's context; both are estimates, in tokens."""

    kind: Literal["compacted"]
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedEvent:
    """The turn has ended."""

    kind: Literal["ended"]
    state: TurnState
    reason: str | None = None


TurnEvent = (
    StartedEvent
    | TextEvent
    | ThinkingEvent
    | ToolCallEvent
    | ToolOutputEvent
    | ToolResultEvent
    | NoticeEvent
    | OutcomeEvent
    | SupersededEvent
    | ApprovalEvent
    | RetryEvent
    | CompactedEvent
    | UsageEvent
    | EndedEvent
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnUpdate:
    """Something has happened in a turn; `seq` counts from 1 without gaps."""

    session: str
    turn: str
    seq: int
    event: TurnEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequestParams(Approval):
    """
    A question that has just been asked. Give the user time: `null` and an error are not an answer, and leave
    the question open. When it ends by other means, this request is cancelled and `approval/ended` is sent.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequestResult:
    """The answer: one of the choices, exactly, or text if it is taken. Else the question stays open."""

    choice: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalEndedParams:
    """
    A question is open no longer: remove its buttons.

    Attributes:
        approval: The question's id.
        end: *answered*, by whichever surface; *timedOut*, which is a no; *withdrawn*, because its turn was
            stopped or an answer to another question covers it.
        choice: What was answered.
    """

    approval: str
    end: ApprovalEnd
    choice: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveParams:
    """Save these open documents."""

    uris: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveResult:
    """Which of them are saved now."""

    saved: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretParams:
    """Names a key that the client may keep, such as OPENAI_API_KEY."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretResult:
    """The key, if the client has it. It is kept in memory only, and reaches nobody but its model's server."""

    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """A tool call of the client's model; `arguments` is JSON text as the model gave it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResult:
    """The result of a tool call, for the client's model."""

    call: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMessage:
    """One message of the conversation: the assistant's have `calls`, those of tools have `results`."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    calls: list[ModelCall] | None = None
    results: list[ModelResult] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTool:
    """A tool that the client's model may call; `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelParams:
    """
    Ask the client's model, `options.model` if the user names one; text streams as `{delta}` by `$/progress`
    on the token. The error RequestFailed (-32803) says that asking again would not help.
    """

    messages: list[ModelMessage]
    tools: list[ModelTool]
    options: dict[str, object]
    partial_result_token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResponse:
    """What the client's model answers, whole; `stop` is "stop", "toolCalls", "length" or "refused"."""

    text: str = ""
    calls: list[ModelCall] | None = None
    stop: str = "stop"
    reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    context_tokens: int | None = None
