"""
The protocol between handrail and its clients, version 1, defined once.

`docs/protocol.md`, `docs/protocol.schema.json` and the extension's TypeScript types are made from this
module by `scripts/generate.py`. Field names are written in camelCase on the wire. Unknown fields are
ignored, fields with a default may be missing; `handrail.lsp.wire` reads and writes the values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from handrail.core.failure import Code

VERSION = 1

TurnState = Literal["finished", "stopped", "cancelled", "failed"]
Mode = Literal["edit", "ask", "plan"]
Status = Literal["landed", "already", "failed", "denied"]
Tier = Literal["safe", "normalised", "anchored"]
PathChange = Literal["created", "changed", "deleted"]
ApprovalKind = Literal["command", "file", "outside", "tool", "question", "saving", "appeared"]
ApprovalEnd = Literal["answered", "timedOut", "withdrawn"]
RuleScope = Literal["session", "workspace"]

# ---- Values ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """LSP's position, in the negotiated encoding."""

    line: int
    character: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """LSP's range, in the negotiated encoding."""

    start: Position
    end: Position


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A place where a failed edit may have been meant to go; `score` is from 0 to 1."""

    range: Range
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """
    An edit, or another call, that did not happen.

    Attributes:
        id: Names it in `failure.apply` and `failure.dismiss`.
        code: The class of failure.
        message: What happened and where.
        steps: What to do next, the most useful first.
        uri: The document; empty where there is none.
        range: The nearest place, if any.
        candidates: All places offered, best first.
        attempts: How often it was tried.
        turn: The turn that tried it.
    """

    id: str
    code: Code
    message: str
    steps: list[str]
    uri: str
    range: Range | None
    candidates: list[Candidate]
    attempts: int
    turn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """
    What came of one mutation.

    Attributes:
        hunk: Its number in the patch, counted from 1; null for a whole document.
        status: *denied* if the user said no or the question timed out; such an edit is not an open failure.
        tier: How exactly it matched, if it landed.
        failure: Why it did not land, or was denied.
        diff: The change that landed, as a unified diff for people.
        uncovered: Why no checkpoint can take it back, if it landed without one.
        notes: What was put right or adapted to make it, and what the editor changed of it, in sentences.
    """

    id: str
    uri: str
    call: str
    tool: str
    hunk: int | None
    status: Status
    tier: Tier | None = None
    failure: Failure | None = None
    diff: str | None = None
    uncovered: str | None = None
    notes: list[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and price over a number of model calls; the price is null where it is not known."""

    steps: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReport:
    """
    What a turn came to.

    Attributes:
        state: *finished* the model gave its answer; *stopped* a guard or a limit ended it; *cancelled* by
            the user; *failed* the provider or the editor was lost.
        reason: Why it is not finished.
        answer: The model's own text, nothing added.
        checkpoint: Its id, if anything was changed.
    """

    session: str
    turn: str
    state: TurnState
    answer: str
    outcomes: list[Outcome]
    checkpoint: str | None
    usage: Usage
    session_usage: Usage
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointStep:
    """One step of a checkpoint; its id can be restored as well: this step and what follows."""

    id: str
    paths: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPath:
    """One path of a checkpoint, relative to the root or absolute outside it, and what became of it."""

    uri: str
    path: str
    change: PathChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What documents held before a turn changed them; `time` is RFC 3339."""

    id: str
    session: str
    turn: str
    label: str
    time: str
    root: str
    steps: list[CheckpointStep]
    paths: list[CheckpointPath]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTurn:
    """A turn of a session; a state of null is a turn that did not come to its end."""

    turn: str
    prompt: str
    state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionResumeResult:
    """The session is there again, and turns can be begun in it."""

    session: str
    turns: list[SessionTurn]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreConflict:
    """A document that a restore left as it is, and why; `diff` leads from it to what the checkpoint has."""

    uri: str
    reason: str
    diff: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePart:
    """A document that was restored in part, and why not as a whole; `diff` has what is missing."""

    uri: str
    reason: str
    diff: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReport:
    """
    What a restore came to: each document stands in one of the first five.

    Attributes:
        partial: Of which the editor took only a part of the restore: neither as before nor as the checkpoint.
        checkpoint: Taken before it, null if it had nothing to do; restoring that takes the restore back.
        conversation: The session that went back as well, with the turns that it has now.
    """

    restored: list[str]
    unchanged: list[str]
    deleted: list[str]
    conflicts: list[RestoreConflict]
    partial: list[RestorePart]
    checkpoint: str | None
    conversation: SessionResumeResult | None = None


# ---- Client to server -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """Something the user points at: a document, or a range of it."""

    uri: str
    range: Range | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStartParams:
    """Begin a turn: in a new session unless one is named."""

    prompt: str
    session: str | None = None
    mode: Mode | None = None
    context: list[TurnContext] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStartResult:
    """The turn has begun; its end is had by `turn.wait`."""

    session: str
    turn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWaitParams:
    """Names the turn whose end is awaited."""

    turn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSteerParams:
    """Say something to a running turn."""

    turn: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionListParams:
    """Sessions of the workspace: the newest `limit` of them, else all."""

    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """
    A session.

    Attributes:
        title: As the user has named it, else the first line of its first prompt.
        time: When it was last written to, RFC 3339.
        turns: How many turns it has.
    """

    session: str
    title: str
    time: str
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionResumeParams:
    """Names the session to take up again."""

    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionForkParams:
    """A new session with the conversation up to the end of a turn."""

    session: str
    turn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionForkResult:
    """The new session."""

    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRenameParams:
    """Give a session another title."""

    session: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDeleteParams:
    """Remove the conversation of a session for good; checkpoints of its turns stay."""

    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCancelParams:
    """Names the turn to stop."""

    turn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureListParams:
    """Which failures: of one document, or all."""

    uri: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureDismissParams:
    """Close one failure, or all."""

    failure: str | None = None
    all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureApplyParams:
    """Make a failed edit at one of its candidates (an index into them)."""

    failure: str
    candidate: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureDiffParams:
    """Show what a failed edit would change at one of its candidates (an index into them), or at each."""

    failure: str
    candidate: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureDiff:
    """A unified diff, and the document that shows it: virtual, or a file where a client lacks those."""

    uri: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointListParams:
    """
    Which checkpoints: of one session, or all.

    Attributes:
        uri: Only those that have this document; it is the only one of their `paths` then.
    """

    session: str | None = None
    uri: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointDiffParams:
    """
    Compare a checkpoint.

    Attributes:
        checkpoint: The id of a turn or a step; the diff begins with what was there before it.
        against: Another checkpoint, before which the diff ends, or `now`; without it, what the turn left.
        uri: The only document to look at.
    """

    checkpoint: str
    against: str | None = None
    uri: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointDiff:
    """A unified diff, and the document that shows it: virtual, or a file where a client lacks those."""

    uri: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRestoreParams:
    """
    Take a turn, or a step and what follows it, back.

    Attributes:
        checkpoint: Its id; with `conversation`, any turn of a session, even if it changed no document.
        uris: Only these documents.
        conversation: The session goes back as well, to before the turn or the step; what came later in it is
            out of the conversation, and stays in the session's journal.
        following: All later turns as well.
        files: Restore documents; `false`, with `conversation`, leaves them all as they are.
        range: In the one document of `uris` as it is now: only what the turn changed in these lines.
    """

    checkpoint: str
    uris: list[str] | None = None
    conversation: bool = False
    following: bool = False
    files: bool = True
    range: Range | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPruneParams:
    """Remove these checkpoints, whatever the limits say; without any, what the limits do not allow."""

    checkpoints: list[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPruned:
    """The checkpoints that are gone, and what the others take on the disk."""

    removed: list[str]
    bytes_used: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointVerifyParams:
    """Nothing is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSoundness:
    """How many checkpoints were read, and what is wrong; nothing if `problems` is empty."""

    checkpoints: int
    problems: list[str]


# ---- Questions --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """
    An open question. Everything in it is text of a model, a file or a command: show it, never interpret it.

    Attributes:
        id: Names it in `approval.answer` and `approval.show`.
        kind: *command* may this line run; *file* may the tool use these files; *outside* the same outside the
            workspace; *tool* may the tool be used; *question* the model's own; *saving* may these be saved;
            *appeared* may these files stay, which appeared while a command ran.
        subject: All of what it is about: the command line, the paths, or the question itself.
        detail: Why it is asked.
        folder: The folder in which a command runs, as people read it.
        choices: What can be answered. The first is "deny": no, or no answer to the model's own question. Then
            "allow", "session" (also for the rest of this session), "always" (also in this workspace for
            good); or the model's own choices.
        takes_text: Whether any other text is an answer, too: it is so for the model's own question.
        rules: What "session" and "always" add, each rule in words.
        diff: What would be written, as a unified diff.
        asked_at: When it was asked, RFC 3339.
        seconds_left: How long it still waits; then it ends as a no.
    """

    id: str
    session: str
    turn: str
    call: str
    tool: str
    kind: ApprovalKind
    subject: str
    detail: str
    choices: list[str]
    asked_at: str
    seconds_left: float
    folder: str | None = None
    rules: list[str] | None = None
    diff: str | None = None
    takes_text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalListParams:
    """All open questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAnswerParams:
    """Answer an open question with one of its choices, or in other words if it takes text."""

    approval: str
    choice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalShowParams:
    """Show an open question in full; without `approval`, the one that was asked first."""

    approval: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedDocument:
    """A document that the server has written, and its text."""

    uri: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputShowParams:
    """Which command's output to show: that of a tool call; without `call`, the last one."""

    call: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleListParams:
    """All rules that an answer has added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleInfo:
    """
    A rule that an answer to a question has added.

    Attributes:
        id: Names it in `rules.remove`.
        text: What it allows, in words.
        scope: Whether it holds for one session, or in this workspace for good.
        session: The session it holds for.
    """

    id: str
    text: str
    tool: str
    scope: RuleScope
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRemoveParams:
    """Remove a rule that an answer has added, so that handrail asks again."""

    rule: str


# ---- What a client says of itself -----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """
    What a client opts in to: `capabilities.experimental.handrail` or `initializationOptions.handrail`.

    Attributes:
        turn_updates: Send `handrail/turn/update`.
        approvals: Ask by `handrail/approval/request`, and send `handrail/approval/ended`.
        unattended: Nobody is there: a question that the client does not answer at once ends as a no.
        services: What the client does for the server: "save", "model".
        settings: Settings by name without `handrail.`, dotted or nested; machine settings may come here.
    """

    turn_updates: bool = False
    approvals: bool = False
    unattended: bool = False
    services: list[str] | None = None
    settings: dict[str, object] | None = None


# ---- Server to client -----------------------------------------------------------------------------


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """
    One message from client to server.

    Attributes:
        name: `noun.verb`; the command is `handrail.noun.verb`, the request `handrail/noun/verb`.
        params: The type of its params.
        result: The type of its result; None answers null.
        does: One sentence for the documentation.
    """

    name: str
    params: type
    result: object
    does: str

    @property
    def command(self) -> str:
        """The name for `workspace/executeCommand`."""
        return f"handrail.{self.name}"

    @property
    def method(self) -> str:
        """The name of the custom request."""
        return "handrail/" + self.name.replace(".", "/")


TURN_START = Request(
    name="turn.start",
    params=TurnStartParams,
    result=TurnStartResult,
    does="Begins a turn and answers at once.",
)
TURN_WAIT = Request(
    name="turn.wait", params=TurnWaitParams, result=TurnReport, does="Answers when the turn has ended."
)
TURN_STEER = Request(
    name="turn.steer",
    params=TurnSteerParams,
    result=None,
    does="Says something to a running turn; it reaches the model at the next step.",
)
SESSION_LIST = Request(
    name="session.list",
    params=SessionListParams,
    result=list[SessionInfo],
    does="Lists the sessions of the workspace, newest first.",
)
SESSION_RESUME = Request(
    name="session.resume",
    params=SessionResumeParams,
    result=SessionResumeResult,
    does="Takes a session up again, also after a restart.",
)
SESSION_FORK = Request(
    name="session.fork",
    params=SessionForkParams,
    result=SessionForkResult,
    does="Begins a new session with the conversation up to the end of a turn.",
)
SESSION_RENAME = Request(
    name="session.rename",
    params=SessionRenameParams,
    result=None,
    does="Gives a session another title.",
)
SESSION_DELETE = Request(
    name="session.delete",
    params=SessionDeleteParams,
    result=None,
    does="Removes a session for good; checkpoints of its turns stay.",
)
TURN_CANCEL = Request(
    name="turn.cancel",
    params=TurnCancelParams,
    result=None,
    does="Stops a turn; nothing is edited after the answer.",
)
FAILURE_LIST = Request(
    name="failure.list", params=FailureListParams, result=list[Failure], does="Lists the open failures."
)
FAILURE_DISMISS = Request(
    name="failure.dismiss",
    params=FailureDismissParams,
    result=None,
    does="Closes a failure without mending it.",
)
FAILURE_APPLY = Request(
    name="failure.apply",
    params=FailureApplyParams,
    result=list[Outcome],
    does="Makes a failed edit at one of its candidates.",
)
FAILURE_DIFF = Request(
    name="failure.diff",
    params=FailureDiffParams,
    result=FailureDiff,
    does="Shows what a failed edit would change at its candidates.",
)
CHECKPOINT_LIST = Request(
    name="checkpoint.list",
    params=CheckpointListParams,
    result=list[Checkpoint],
    does="Lists checkpoints, those of the newest turn first.",
)
CHECKPOINT_DIFF = Request(
    name="checkpoint.diff",
    params=CheckpointDiffParams,
    result=CheckpointDiff,
    does="Compares a checkpoint with what the turn left, with another one, or with now.",
)
CHECKPOINT_PRUNE = Request(
    name="checkpoint.prune",
    params=CheckpointPruneParams,
    result=CheckpointPruned,
    does="Removes checkpoints, or enforces the limits.",
)
CHECKPOINT_VERIFY = Request(
    name="checkpoint.verify",
    params=CheckpointVerifyParams,
    result=CheckpointSoundness,
    does="Reads all that is kept and says what cannot be read.",
)
CHECKPOINT_RESTORE = Request(
    name="checkpoint.restore",
    params=CheckpointRestoreParams,
    result=RestoreReport,
    does="Takes a turn or a step back; what was typed since is kept.",
)

APPROVAL_LIST = Request(
    name="approval.list",
    params=ApprovalListParams,
    result=list[Approval],
    does="Lists the open questions, the oldest first.",
)
APPROVAL_ANSWER = Request(
    name="approval.answer",
    params=ApprovalAnswerParams,
    result=None,
    does="Answers an open question; the first valid answer counts.",
)
APPROVAL_SHOW = Request(
    name="approval.show",
    params=ApprovalShowParams,
    result=ServedDocument,
    does="Shows an open question in full, in a document whose code actions answer it.",
)
OUTPUT_SHOW = Request(
    name="output.show",
    params=OutputShowParams,
    result=ServedDocument,
    does="Shows what a command has printed.",
)
RULES_LIST = Request(
    name="rules.list",
    params=RuleListParams,
    result=list[RuleInfo],
    does="Lists the rules that answers have added.",
)
RULES_REMOVE = Request(
    name="rules.remove",
    params=RuleRemoveParams,
    result=None,
    does="Removes a rule that an answer has added.",
)

REQUESTS = (
    TURN_START,
    TURN_WAIT,
    TURN_STEER,
    TURN_CANCEL,
    SESSION_LIST,
    SESSION_RESUME,
    SESSION_FORK,
    SESSION_RENAME,
    SESSION_DELETE,
    FAILURE_LIST,
    FAILURE_DISMISS,
    FAILURE_APPLY,
    FAILURE_DIFF,
    CHECKPOINT_LIST,
    CHECKPOINT_DIFF,
    CHECKPOINT_RESTORE,
    CHECKPOINT_PRUNE,
    CHECKPOINT_VERIFY,
    APPROVAL_LIST,
    APPROVAL_ANSWER,
    APPROVAL_SHOW,
    OUTPUT_SHOW,
    RULES_LIST,
    RULES_REMOVE,
)

TURN_UPDATE = "handrail/turn/update"
APPROVAL_REQUEST = "handrail/approval/request"
APPROVAL_ENDED = "handrail/approval/ended"
CLIENT_SAVE = "handrail/client/save"
CLIENT_MODEL = "handrail/client/model"

# What the server sends to clients that opted in: method, params, result, what happens otherwise.
SERVER_MESSAGES: tuple[tuple[str, type, object, str], ...] = (
    (TURN_UPDATE, TurnUpdate, None, "Work done progress tells the same in short."),
    (
        APPROVAL_REQUEST,
        ApprovalRequestParams,
        ApprovalRequestResult,
        "window/showMessageRequest offers *No* and *Show*.",
    ),
    (APPROVAL_ENDED, ApprovalEndedParams, None, "The request that asked is cancelled."),
    (CLIENT_SAVE, SaveParams, SaveResult, "Documents stay unsaved; the model is told."),
    (CLIENT_MODEL, ModelParams, ModelResponse, "The setting `model` names another one."),
)
