"""The notifications and requests that the server sends."""

from __future__ import annotations

from typing import Literal

from handrail.lsp.protocol.questions import Approval
from handrail.lsp.protocol.values import ApprovalEnd, Mode, Outcome, TurnState, Usage
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedEvent:
    """
    The turn has begun.

    Attributes:
        prompt: What the user asked for.
        mode: What the turn may do.
        instructions: Paths of the project's instruction files that the model got; null if there are
            none.
    """

    kind: Literal["started"]
    prompt: str
    mode: Mode
    instructions: list[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEvent:
    """
    The model has written text.

    Attributes:
        delta: The new piece of text.
    """

    kind: Literal["text"]
    delta: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingEvent:
    """
    The model has written out some of its reasoning.

    Attributes:
        delta: The new piece of the reasoning.
    """

    kind: Literal["thinking"]
    delta: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallEvent:
    """
    A tool call is about to run.

    Attributes:
        call: The tool call's id.
        tool: Name of the tool.
        title: What the call does, for people.
    """

    kind: Literal["toolCall"]
    call: str
    tool: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutputEvent:
    """
    A running tool call has printed something.

    Attributes:
        call: The tool call's id.
        text: What it has printed.
        skipped: How many characters were printed before `text` but left out.
    """

    kind: Literal["toolOutput"]
    call: str
    text: str
    skipped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultEvent:
    """
    A tool call has its result.

    Attributes:
        call: The tool call's id.
        summary: The first line of the result.
        failed: True if the call failed; null if it did not.
    """

    kind: Literal["toolResult"]
    call: str
    summary: str
    failed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeEvent:
    """
    The user should know something about a tool call or about the turn.

    Attributes:
        call: The tool call's id; empty if it is about the turn.
        text: What the user should know.
        warning: Whether it is a warning, such as that something cannot be undone, or that instructions of the
            project are left out; the text is then shown as a message too.
    """

    kind: Literal["notice"]
    call: str
    text: str
    warning: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeEvent(Outcome):
    """A change was tried; the other fields are those of `Outcome`."""

    kind: Literal["outcome"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SupersededEvent:
    """
    A failure is no longer open.

    Attributes:
        failure: The failure's id.
    """

    kind: Literal["superseded"]
    failure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalEvent:
    """
    A question was asked or has ended.

    Attributes:
        call: Id of the tool call that asks; empty if no tool call asks, as in `Approval`.
        subject: What the question is about.
        approval: The question's id.
        asks_permission: Whether it asks for permission; otherwise it is a question by the model.
        end: How the question ended; null while it waits for the user.
        choice: The answer, or `deny` if there was none; null while the question is open.
    """

    kind: Literal["approval"]
    call: str
    subject: str
    approval: str
    asks_permission: bool
    end: ApprovalEnd | None = None
    choice: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageEvent(Usage):
    """
    The turn has used tokens; the fields of `Usage` are those of the turn so far.

    Attributes:
        step: What the last model call used.
    """

    kind: Literal["usage"]
    step: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryEvent:
    """
    The model could not be reached, or its answer broke off. The call is repeated; discard the text of the
    current step.

    Attributes:
        reason: What went wrong, in a sentence.
        in_seconds: Seconds until the call is repeated.
    """

    kind: Literal["retry"]
    reason: str
    in_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedEvent:
    """
    The conversation was shortened to fit into the model's context.

    Attributes:
        before: The estimated size before, in tokens.
        after: The estimated size after, in tokens.
    """

    kind: Literal["compacted"]
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedEvent:
    """
    The turn has ended.

    Attributes:
        state: How it ended, as in `TurnReport`.
        reason: Why it did not finish; null if it did, or was cancelled while it ran.
    """

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
    """
    Something has happened in a turn.

    Attributes:
        session: The session's id.
        turn: The turn's id.
        seq: The event's number in the turn, counted from 1 without gaps.
        event: What happened.
    """

    session: str
    turn: str
    seq: int
    event: TurnEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequestParams(Approval):
    """
    A question that was just asked. Give the user time: null and errors are not answers and leave the question
    open. If it ends in another way, this request is cancelled and `approval/ended` is sent.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequestResult:
    """
    The user's answer.

    Attributes:
        choice: One of the question's `choices`, or a text if it has `takesText`; null leaves the question
            open.
    """

    choice: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalEndedParams:
    """
    A question is no longer open: remove its buttons.

    Attributes:
        approval: The question's id.
        end: `answered`: in this client or elsewhere. `timedOut`: not answered in time, so a request for
            permission counts as a no, and the turn continues without an answer to a question of the model's
            own. `withdrawn`: no longer needed, because its turn was stopped or the answer to another question
            covers it.
        choice: The answer; null if there was none.
    """

    approval: str
    end: ApprovalEnd
    choice: str | None = None
