"""
Everything that clients are told, independent of LSP: events, the turn's report, and diagnostics.

Everything here is derived from the ledger and the outcomes; nothing is added to the model's answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from handrail.core.conversation.message import Usage
from handrail.core.conversation.prompt import Mode
from handrail.core.documents.change import Status
from handrail.core.documents.text import Text
from handrail.core.failure import Candidate, Code, Failure
from handrail.core.ledger.ledger import Ledger
from handrail.core.ledger.outcome import OpenFailure, Outcome
from handrail.core.results import sanitize
from handrail.values import dataclass

MISSES = 3  # so many failures in a row, and the result carries the text itself (roo-comparison 2f)
AROUND, REGION = 8, 60  # rows shown around a place, and of it
LIMIT_ROW = 1000  # characters of a row that are shown
# What another search text can correct, if it is not in the document.
OF_THE_TEXT = frozenset({Code.EMPTY_SEARCH, Code.NO_MATCH})
# What to do after so many failures: the document lacks the search text, or has it more than once; else.
OTHER_TEXT = (
    "Do not send {edit} again unchanged: read the document and copy its exact lines as the search text, or "
    "write the whole file with write_file."
)
LONGER_TEXT = (
    "Do not send {edit} again unchanged: read the document and copy more of its exact lines, so that the "
    "search text occurs only once, or write the whole file with write_file."
)
AS_TOLD = "Do what the numbered steps{of} say."
NO_MORE = "Do not send the same edit again until the cause of the failure is removed."
LIMIT_DIAGNOSTICS = 200  # for each document; more would not help, and slow the editor


class State(StrEnum):
    """The ways in which a turn ends; what handrail ends is `STOPPED`, what the user ends is `CANCELLED`."""

    FINISHED = "finished"
    STOPPED = "stopped"
    CANCELLED = "cancelled"
    FAILED = "failed"


# What people read of a state, if it is another word: handrail ends a turn early, and the user stops it.
STATE_WORDS: Mapping[str, str] = {State.STOPPED: "ended early", State.CANCELLED: "stopped"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReport:
    """
    The outcome of a turn.

    Attributes:
        state: How it ended.
        reason: Why it did not finish; None if it did, or was stopped while it ran.
        answer: The model's own text.
        outcomes: Every mutation that was tried, in order.
        checkpoint: Its id, if anything was changed.
        usage, session_usage: Of this turn; of all turns of the session up to now.
    """

    session: str
    turn: str
    state: State
    reason: str | None
    answer: str
    outcomes: tuple[Outcome, ...]
    checkpoint: str | None
    usage: Usage
    session_usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The turn has begun, in `mode`, with the project's instructions in these files."""

    prompt: str
    mode: Mode = Mode.EDIT
    instructions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """A piece of the model's text."""

    delta: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThoughtDelta:
    """A piece of the model's reasoning."""

    delta: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted:
    """A tool call is about to run; `title` is for people."""

    call: str
    tool: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOutput:
    """A running tool call has printed something; that many characters before it are `skipped`."""

    call: str
    text: str
    skipped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailed:
    """A tool call, or one of its edits, has failed; `said` is for the user's log, not for the model."""

    tool: str
    code: Code
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A notice about a call; `is_warning` if something that it did cannot be undone."""

    call: str
    text: str
    is_warning: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnded:
    """A tool call has its result; `summary` is its first line."""

    call: str
    summary: str
    has_failed: bool = False


class QuestionEnd(StrEnum):
    """The ways in which a question to the user ends; a withdrawn one needs no answer."""

    ANSWERED = "answered"
    TIMED_OUT = "timedOut"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """
    The user is asked *question*, an id, or the question has ended with *choice*.

    Attributes:
        asks_permission: Whether it asks for permission; otherwise it is a question by the model.
        could_last: Whether it offers a lasting yes too.
    """

    call: str
    subject: str
    question: str
    asks_permission: bool = True
    could_last: bool = True
    end: QuestionEnd | None = None
    choice: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseded:
    """A failure is no longer open."""

    failure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried:
    """The model could not be reached; the step is repeated in `in_s` seconds."""

    reason: str
    in_s: float

    @property
    def told(self) -> str:
        """What happens and why, for people; less than a second is not worth a number."""
        pause = f" in {self.in_s:.0f} s" if self.in_s >= 1 else ""
        return f"Trying again{pause}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """The conversation was made smaller; both are estimates, in tokens."""

    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """A step has used tokens; `turn` is the usage of the turn up to now."""

    step: Usage
    turn: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The turn has ended."""

    state: State
    reason: str | None


Told = (
    Started
    | TextDelta
    | ThoughtDelta
    | CallStarted
    | CallOutput
    | CallEnded
    | Notice
    | Asked
    | Outcome
    | Superseded
    | Retried
    | Compacted
    | Used
    | Ended
)
Event = Told | CallFailed  # which is logged


class Severity(StrEnum):
    """The severity of a diagnostic."""

    WARNING = "warning"
    HINT = "hint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """
    One open failure as a diagnostic.

    Attributes:
        failure: The id.
        near: The places, best first; it is shown at the first one, or at the document's start if there is
            none.
        text: The text that the places refer to; None if the document has none.
        choices: The places for which a quick fix may be offered.
    """

    failure: str
    uri: str
    code: Code
    message: str
    severity: Severity
    near: tuple[Candidate, ...]
    text: Text | None
    choices: tuple[Candidate, ...]


def diagnostics(ledger: Ledger) -> dict[str, tuple[Diagnostic, ...]]:
    """Returns the open failures of each document, by URI."""
    result: dict[str, list[Diagnostic]] = {}
    for known in ledger.open:
        shown = result.setdefault(known.mutation.uri, [])
        if len(shown) < LIMIT_DIAGNOSTICS:
            shown.append(_diagnostic(known))
    return {uri: tuple(shown) for uri, shown in result.items()}


def _diagnostic(known: OpenFailure) -> Diagnostic:
    failure = known.failure
    message = f"This edit did not land: {failure.message}"
    if known.attempts > 1:
        message += f" (tried {known.attempts} times)"
    return Diagnostic(
        failure=known.id,
        uri=known.mutation.uri,
        code=failure.code,
        message=message,
        severity=Severity.HINT if known.lowered else Severity.WARNING,
        near=failure.near,
        text=known.seen,
        choices=failure.near if known.mutation.hunk is not None else (),
    )


def result_text(outcomes: Sequence[Outcome], misses: Mapping[str, int]) -> str:
    """
    Returns the text for the model about the mutations of one call: one line each, and how to continue after a
    failure.

    Args:
        outcomes: The outcomes of the call.
        misses: By the identity of a document, how many calls in a row have failed to edit it by now. From the
            third on, the text around the place is added.
    """
    lines = [_result_line(outcome) for outcome in outcomes]
    missed: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        identity = outcome.mutation.identity
        if outcome.status is Status.FAILED and misses.get(identity, 0) >= MISSES:
            missed.setdefault(identity, []).append(outcome)
    lines += [_advice_after_misses(each, misses[identity]) for identity, each in missed.items()]
    failed = sum(outcome.failure is not None for outcome in outcomes)
    count = f"{failed} of {len(outcomes)} edits did not land:\n" if failed and len(outcomes) > 1 else ""
    return f"{sanitize.PREFIX} {count}" * bool(failed) + "\n".join(lines)


def _advice_after_misses(failed: Sequence[Outcome], count: int) -> str:
    """
    Returns advice after several failures in a row to edit a document, and the document's text at the place.

    Args:
        failed: Those of the last call; the advice is about the first of them that has to be corrected.
    """
    outcome = next(
        (each for each in failed if each.failure is not None and not each.failure.is_applicable), failed[0]
    )
    path, text = outcome.mutation.path, outcome.text
    assert outcome.failure is not None
    hunk = outcome.mutation.hunk
    which = f"hunk {hunk.number}" if hunk is not None and len(failed) > 1 else ""
    advice = f"{count} calls in a row have failed to edit {path}. {_way_on(outcome, outcome.failure, which)}"
    if text is None or not text.rows:
        return advice
    near = outcome.failure.near
    middle = near[0].line if near else 0
    last = text.line_at(near[0].span.end) if near else 0
    first, end = max(0, middle - AROUND), min(len(text.rows), min(last, middle + REGION) + AROUND + 1)
    rows = [f"{number + 1}|{text.rows[number][:LIMIT_ROW]}" for number in range(first, end)]
    return f"{advice}\n{path}, lines {first + 1} to {end} now:\n" + "\n".join(rows)


def _way_on(outcome: Outcome, failure: Failure, which: str) -> str:
    """Returns what to do about an edit, as its failure has it; *which* names it among several."""
    near, can_be_other = failure.near, outcome.mutation.hunk is not None and not failure.is_applicable
    if can_be_other and failure.code is Code.AMBIGUOUS_MATCH and len(near) > 1:
        return LONGER_TEXT.format(edit=which or "the edit")
    is_there = any(each.score == 1 for each in near)
    if can_be_other and failure.code in OF_THE_TEXT and not is_there:
        return OTHER_TEXT.format(edit=which or "the edit")
    return AS_TOLD.format(of=which and f" of {which}") if failure.steps else NO_MORE


def _result_line(outcome: Outcome) -> str:
    where = outcome.name
    match outcome.status:
        case Status.LANDED:
            lost = f" It cannot be undone: {outcome.uncovered}" if outcome.uncovered else ""
            return f"Landed: {where}.{_notes(outcome)}{lost}"
        case Status.ALREADY:
            return f"Already there: {where}. Nothing was changed."
        case Status.FAILED | Status.DENIED:
            assert outcome.failure is not None
            said = sanitize.clean(outcome.failure.message + _ways_on(outcome))
            return f"FAILED [{outcome.failure.code}] {where}: {said}"


def _notes(outcome: Outcome) -> str:
    """Returns the corrections, after a space."""
    return "".join(f" {note}" for note in outcome.notes)


def _ways_on(outcome: Outcome) -> str:
    """
    Returns the nearest places of a failed mutation, with line numbers and scores, and the numbered next
    steps.
    """
    assert outcome.failure is not None
    lines = []
    if outcome.text is not None and outcome.mutation.hunk is not None:
        for near in outcome.failure.near:
            last = outcome.text.line_at(near.span.end)
            where = f"line {near.line + 1}" if last == near.line else f"lines {near.line + 1}-{last + 1}"
            lines.append(f"near: {where}, {near.score:.0%} similar")
    lines += [f"{number}. {step}" for number, step in enumerate(outcome.failure.steps, 1)]
    return "".join(f"\n  {line}" for line in lines)
