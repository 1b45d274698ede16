"""The values in messages of both sides: places, failures, outcomes, reports, checkpoints, sessions."""

from __future__ import annotations

from typing import Literal

from handrail.core.failure import Code
from handrail.values import dataclass

TurnState = Literal["finished", "stopped", "cancelled", "failed"]
Mode = Literal["edit", "ask", "plan"]
Status = Literal["landed", "already", "failed", "denied"]
Tier = Literal["safe", "normalised", "anchored"]
PathChange = Literal["created", "changed", "deleted"]
CheckpointKind = Literal["turn", "quickFix", "undo", "restore", "redo"]
ApprovalKind = Literal["command", "file", "outside", "tool", "question", "saving", "appeared"]
ApprovalEnd = Literal["answered", "timedOut", "withdrawn"]
RuleScope = Literal["session", "workspace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """
    An LSP position.

    Attributes:
        line: The line, counted from 0.
        character: The offset in the line, counted from 0 in the negotiated encoding.
    """

    line: int
    character: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """
    An LSP range.

    Attributes:
        start: Where it begins.
        end: Where it ends; the character at this position is not part of it.
    """

    start: Position
    end: Position


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """
    A place where a failed edit may have been meant to go.

    Attributes:
        range: The lines of the document that the edit would replace.
        score: How similar these lines are to the text that the edit looked for, from 0 to 1.
    """

    range: Range
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """
    An edit or another tool call that failed.

    Attributes:
        id: Identifies it in `failure.apply`, `failure.diff` and `failure.dismiss`.
        code: The class of failure.
        message: What happened, and where.
        steps: What to do next, the most useful first.
        uri: URI of the document; empty if the failure is not about a document.
        range: The most similar place in the document; null if there is none.
        candidates: Places where the edit could be made instead, best first; empty for a change of a whole
            document.
        attempts: How often the edit was tried.
        turn: Id of the turn that tried it.
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
    The result of one attempted change.

    Attributes:
        id: The outcome's id; if the change failed, also the id of the failure.
        uri: URI of the document; if the change moved it, its new one.
        call: Id of the tool call that tried the change.
        tool: Name of the tool that was called.
        hunk: Number of the hunk in its patch, counted from 1; null for a change of a whole document.
        status: `landed`: the change was made. `already`: the document had it before. `failed`: it could not
            be made. `denied`: the user said no or did not answer in time; a denied change is not an open
            failure.
        tier: How exactly the searched text matched; null if the change did not land or needed no search.
        failure: Why the change failed or was denied; null otherwise.
        diff: The change that landed, as a unified diff for people to read.
        uncovered: Why no checkpoint can undo the change, if it landed without one.
        notes: What handrail corrected or adapted to make the change, and what the editor altered in it, one
            sentence each.
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
    """
    Tokens and price, summed over a number of model calls.

    Attributes:
        steps: How many model calls are included.
        input_tokens: Tokens that were sent to the model.
        output_tokens: Tokens that the model wrote.
        cached_tokens: Tokens of the input that the provider read from its cache.
        cost_usd: The price in US dollars; null if the price of any call is unknown.
    """

    steps: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReport:
    """
    The result of a turn.

    Attributes:
        session: The session's id.
        turn: The turn's id.
        state: `finished`: the model gave its answer. `stopped`: handrail ended the turn, at a limit or
            because the model repeated itself, refused, or gave no usable answer. `cancelled`: the user ended
            it, or it was queued and did not start. `failed`: the model or the editor could not be reached or
            used, or an error in handrail or its storage ended the turn; `reason` says which.
        answer: The model's own text, with nothing added.
        outcomes: Every change that was tried, in order.
        checkpoint: Id of the turn's checkpoint; null if nothing was changed.
        usage: What this turn used.
        session_usage: What all turns of the session have used so far, this one included.
        reason: Why the turn did not finish. null if it finished, or if it was cancelled while it was running.
        pending: Ids of the turn's changes that are neither kept nor undone yet; see `review.list`.
        unstored: True if nothing of the session could be stored, so that it is lost when the server ends;
            otherwise null.
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
    pending: list[str] | None = None
    unstored: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnApplied:
    """
    The result of edits that another program wrote.

    Attributes:
        text: The result in words for a model: which edits landed, which failed and why, and what to do next.
        report: The report of the turn that applied the edits.
    """

    text: str
    report: TurnReport


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointStep:
    """
    One step of a checkpoint.

    Attributes:
        id: Identifies the step in `checkpoint.restore`, which undoes this step and all later steps of the
            turn.
        paths: The paths that the step changed, spelled as in the checkpoint's `paths`.
    """

    id: str
    paths: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPath:
    """
    A path that a turn changed.

    Attributes:
        uri: URI of the file.
        path: The path as people read it: relative to its workspace folder, with `/`, or absolute outside the
            workspace.
        change: What the turn did to the file.
    """

    uri: str
    path: str
    change: PathChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """
    The contents of documents before a turn changed them.

    Attributes:
        id: The checkpoint's id, which is the id of its turn.
        session: The session's id; empty for a quick fix, for changes undone in a review, and for a restore or
            a redo of one of these.
        turn: The same id as `id`. (A quick fix, an undo, a restore and a redo count as turns here: each has
            an id of its own.)
        kind: The kind of change before which it was taken: a `turn` (of a model, or of edits given by another
            program), a `quickFix`, an `undo` in a review, a `restore`, or the `redo` of a restore.
        label: A short title for people, such as the first line of the turn's prompt; for a restore,
            `Before restoring: …`; for a redo, `Before undoing a restore: …`.
        name: The title to show in a list from which the user chooses what to undo. It is the label, except
            for a restore (`Restore: …`) and a redo (`Undo of a restore: …`).
        time: When the checkpoint was started, as an RFC 3339 time.
        root: Absolute path of the first workspace folder; empty if there was none.
        steps: The steps of the turn that changed something, in order.
        paths: Every path that the turn changed.
    """

    id: str
    session: str
    turn: str
    kind: CheckpointKind
    label: str
    name: str
    time: str
    root: str
    steps: list[CheckpointStep]
    paths: list[CheckpointPath]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTurn:
    """
    A turn of a session. All turns that were copied from another session are one entry.

    Attributes:
        turn: The turn's id. For copied turns: the id of the last one, which is a turn of the other session;
            a restore with this id undoes the turn of that session.
        prompt: What the user asked for. For copied turns: in the last one of them.
        state: How the turn ended, as in `TurnReport`; null if it did not reach its end, for example because
            the server was killed.
        copied: How many turns were copied; null for a turn of this session.
    """

    turn: str
    prompt: str
    state: str | None = None
    copied: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionResumeResult:
    """
    A session that was resumed; new turns can begin in it.

    Attributes:
        session: The session's id.
        turns: The turns of its conversation, oldest first.
        mode: What its next turn may do, unless the request that starts it says otherwise; null in the report
            of a restore.
        usage: What all its turns have used, even those that a restore has removed; null in the report of a
            restore.
    """

    session: str
    turns: list[SessionTurn]
    mode: Mode | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreConflict:
    """
    A document that a restore left unchanged.

    Attributes:
        uri: URI of the document.
        reason: Why the document was not restored, in a sentence.
        diff: A unified diff from the current text to the text in the checkpoint; null if there is none to
            show.
    """

    uri: str
    reason: str
    diff: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePart:
    """
    A document that was restored only in part.

    Attributes:
        uri: URI of the document.
        reason: Why not all of it was restored, in a sentence.
        diff: What is still missing: a unified diff from the current text to the text in the checkpoint; null
            if there is none to show.
    """

    uri: str
    reason: str
    diff: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReport:
    """
    The result of a restore. Each document is listed in exactly one of the first five fields.

    Attributes:
        restored: URIs of the documents that have their earlier contents again.
        unchanged: URIs of the documents that needed no change.
        deleted: URIs of the documents that were deleted because they did not exist before.
        conflicts: Documents that were left unchanged.
        partial: Documents of which only a part was restored, so that they match neither their state before
            the restore nor the checkpoint.
        checkpoint: Id of a checkpoint taken just before, which undoes this restore; null if there was nothing
            to restore, and in the report of a dry run.
        conversation: The session whose conversation was rewound too, with its remaining turns; null if only
            documents were restored.
    """

    restored: list[str]
    unchanged: list[str]
    deleted: list[str]
    conflicts: list[RestoreConflict]
    partial: list[RestorePart]
    checkpoint: str | None
    conversation: SessionResumeResult | None = None
