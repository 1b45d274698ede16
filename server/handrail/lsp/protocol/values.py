"""What both sides speak of: places, failures, outcomes, reports, checkpoints, sessions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from handrail.core.failure import Code

TurnState = Literal["finished", "stopped", "cancelled", "failed"]
Mode = Literal["edit", "ask", "plan"]
Status = Literal["landed", "already", "failed", "denied"]
Tier = Literal["safe", "normalised", "anchored"]
PathChange = Literal["created", "changed", "deleted"]
ApprovalKind = Literal["command", "file", "outside", "tool", "question", "saving", "appeared"]
ApprovalEnd = Literal["answered", "timedOut", "withdrawn"]
RuleScope = Literal["session", "workspace"]


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
        pending: The ids of its changes that are neither kept nor undone yet; see `review.list`.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnApplied:
    """
    What became of edits.

    Attributes:
        text: For a model: what landed, what did not and why, and what to do next.
    """

    text: str
    report: TurnReport


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
