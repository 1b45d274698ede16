"""
The server's messages about turns and checkpoints as values, read from JSON.

Only what is shown or decided upon is read; unknown fields are ignored, a missing one is the server's fault.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from handrail.counts import count_of
from handrail.headless.fields import Fields
from handrail.values import dataclass

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A place where a hunk may have been meant to go; lines count from 0, `score` runs from 0 to 1."""

    first_line: int
    last_line: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A reason why something did not land; `line` counts from 0, None when no place is known."""

    id: str
    code: str
    message: str
    steps: tuple[str, ...]
    uri: str
    line: int | None
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """
    The result of one hunk.

    Attributes:
        diff: Its change, if it landed.
        uncovered: Why that cannot be restored, if so.
        notes: How it was adapted, in sentences.
    """

    uri: str
    tool: str
    status: str
    tier: str | None
    diff: str | None
    failure: Failure | None
    uncovered: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReport:
    """
    The result of a turn.

    Attributes:
        pending: How many of its changes can be kept or undone.
        is_unstored: Whether the session ends with the server.
    """

    session: str
    pending: int
    state: str
    reason: str | None
    answer: str
    outcomes: tuple[Outcome, ...]
    checkpoint: str | None
    used: str
    used_by_session: str
    is_unstored: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A turn that can be restored; `paths` are (path, change), `steps` are (id, paths)."""

    id: str
    name: str
    time: str
    steps: tuple[tuple[str, tuple[str, ...]], ...]
    paths: tuple[tuple[str, str], ...]

    def has(self, name: str) -> bool:
        """Whether *name* is its own id, or that of a step."""
        return name in (self.id, *(step for step, _ in self.steps))


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReport:
    """
    The result of a restore.

    Attributes:
        partial, conflicts: (uri, reason, diff) of what was restored in part, and of what was left alone.
        conversation: (session, turns), if one went back.
    """

    restored: tuple[str, ...]
    unchanged: tuple[str, ...]
    deleted: tuple[str, ...]
    partial: tuple[tuple[str, str, str], ...]
    conflicts: tuple[tuple[str, str, str], ...]
    checkpoint: str | None
    conversation: tuple[str, int] | None

    @property
    def count(self) -> int:
        """The number of documents that it names."""
        named = (self.restored, self.unchanged, self.deleted, self.partial, self.conflicts)
        return sum(len(each) for each in named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session as a list shows it."""

    session: str
    title: str
    time: str
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """
    A turn of a session.

    Attributes:
        state: How it ended; None if it did not come to its end.
        copied: How many turns of another session it is the copy of; 0 for a turn of the session's own.
    """

    turn: str
    prompt: str
    state: str | None
    copied: int


def turn_report(json: Any) -> TurnReport:
    """Read a `TurnReport`; raises ServerGarbledError."""
    fields = Fields("TurnReport", json)
    return TurnReport(
        session=fields.text("session"),
        pending=len(fields.get("pending") or ()),
        state=fields.text("state"),
        reason=fields.text_or_none("reason"),
        answer=fields.text("answer"),
        outcomes=fields.read_list("outcomes", outcome),
        checkpoint=fields.text_or_none("checkpoint"),
        used=_describe_usage(fields.get("usage") or {}),
        used_by_session=_describe_usage(fields.get("sessionUsage")),
        is_unstored=fields.get("unstored") is True,
    )


def pause(event: Mapping[str, object]) -> str:
    """Returns in how many seconds a request is tried again; empty if it is less than one."""
    seconds = event.get("inSeconds")
    return f" in {seconds:.0f} s" if isinstance(seconds, int | float) and seconds >= 1 else ""


def _describe_usage(json: Any) -> str:
    """Return the usage of turns, for people; empty if no model was asked."""
    if json is None:
        return ""
    fields = Fields("usage", json)
    steps, read, written = (fields.number(name) for name in ("steps", "inputTokens", "outputTokens"))
    if not read + written:
        return ""
    cost = fields.get("costUsd")
    price = f", {cost:.3f} USD" if isinstance(cost, int | float) else ""
    cached = fields.number("cachedTokens")
    kept = f" ({cached:,} of them from the cache)" if cached else ""
    return f"{count_of(steps, 'step')}, {count_of(read, 'token')} read{kept}, {written:,} written{price}"


def outcome(json: Any) -> Outcome:
    """Read an `Outcome`; raises ServerGarbledError."""
    fields = Fields("Outcome", json)
    given = fields.get("failure")
    return Outcome(
        uri=fields.text("uri"),
        tool=fields.text("tool"),
        status=fields.text("status"),
        tier=fields.text_or_none("tier"),
        diff=fields.text_or_none("diff"),
        failure=None if given is None else failure(given),
        uncovered=fields.text_or_none("uncovered"),
        notes=fields.read_list("notes", str) if fields.get("notes") is not None else (),
    )


def failure(json: Any) -> Failure:
    """Read a `Failure`; raises ServerGarbledError."""
    fields = Fields("Failure", json)
    span = fields.get("range")
    return Failure(
        id=fields.text("id"),
        code=fields.text("code"),
        message=fields.text("message"),
        steps=fields.read_list("steps", str),
        uri=fields.text("uri"),
        line=None if span is None else _lines(span)[0],
        candidates=fields.read_list("candidates", _candidate),
    )


def checkpoint(json: Any) -> Checkpoint:
    """Read a `Checkpoint`; raises ServerGarbledError."""
    fields = Fields("Checkpoint", json)
    return Checkpoint(
        id=fields.text("id"),
        name=fields.text("name"),
        time=fields.text("time"),
        steps=fields.read_list("steps", _step),
        paths=fields.read_list("paths", lambda path: _pair("path", path, "path", "change")),
    )


def _step(json: Any) -> tuple[str, tuple[str, ...]]:
    fields = Fields("step", json)
    return fields.text("id"), fields.read_list("paths", str)


def restore_report(json: Any) -> RestoreReport:
    """Read a `RestoreReport`; raises ServerGarbledError."""
    fields = Fields("RestoreReport", json)
    session = fields.get("conversation")
    return RestoreReport(
        restored=fields.read_list("restored", str),
        unchanged=fields.read_list("unchanged", str),
        deleted=fields.read_list("deleted", str),
        partial=fields.read_list("partial", _conflict) if fields.get("partial") is not None else (),
        conflicts=fields.read_list("conflicts", _conflict),
        checkpoint=fields.text_or_none("checkpoint"),
        conversation=None if session is None else _conversation(session),
    )


def _conflict(json: Any) -> tuple[str, str, str]:
    fields = Fields("conflict", json)
    return fields.text("uri"), fields.text("reason"), fields.text_or_none("diff") or ""


def _conversation(json: Any) -> tuple[str, int]:
    fields = Fields("conversation", json)
    return fields.text("session"), count_turns(fields.read_list("turns", _turn))


def diff(json: Any) -> str:
    """Read the text of a `CheckpointDiff`; raises ServerGarbledError."""
    return Fields("CheckpointDiff", json).text("text")


def pruned_checkpoints(json: Any) -> tuple[tuple[str, ...], int]:
    """Read which checkpoints are gone, and how many bytes the others take; raises ServerGarbledError."""
    fields = Fields("CheckpointPruned", json)
    return fields.read_list("removed", str), fields.number("bytesUsed")


def rules(json: Any) -> tuple[tuple[str, str], ...]:
    """Read (id, text) of each `RuleInfo`; raises ServerGarbledError."""
    return tuple(_pair("RuleInfo", each, "id", "text") for each in (json if isinstance(json, list) else ()))


def commands(json: Any) -> tuple[tuple[str, str, str], ...]:
    """Read (id, command line, state) of each `BackgroundCommand`; raises ServerGarbledError."""
    rows = [Fields("BackgroundCommand", each) for each in (json if isinstance(json, list) else ())]
    return tuple((each.text("command"), each.text("line"), each.text("state")) for each in rows)


def sessions(json: Any) -> list[Session]:
    """Read a list of `SessionInfo`; raises ServerGarbledError."""
    each = [Fields("SessionInfo", one) for one in (json if isinstance(json, list) else ())]
    return [
        Session(
            session=one.text("session"),
            title=one.text("title"),
            time=one.text("time"),
            turns=one.number("turns"),
        )
        for one in each
    ]


def turns(json: Any) -> tuple[Turn, ...]:
    """Read the turns out of a `SessionResumeResult`; raises ServerGarbledError."""
    return Fields("SessionResumeResult", json).read_list("turns", _turn)


def count_turns(turns: Iterable[Turn]) -> int:
    """Count turns, including each of those that were copied."""
    return sum(each.copied or 1 for each in turns)


def session_state(json: Any) -> tuple[str, str]:
    """Read what turns may do and have used, of a `SessionResumeResult`; raises ServerGarbledError."""
    fields = Fields("SessionResumeResult", json)
    return fields.text("mode"), _describe_usage(fields.get("usage"))


def _turn(json: Any) -> Turn:
    fields = Fields("SessionTurn", json)
    return Turn(
        turn=fields.text("turn"),
        prompt=fields.text("prompt"),
        state=fields.text_or_none("state"),
        copied=0 if fields.get("copied") is None else fields.number("copied"),
    )


def compacted_sizes(json: Any) -> tuple[int, int] | None:
    """Read how many tokens a conversation had and has, None if it stays; raises ServerGarbledError."""
    fields = Fields("SessionCompacted", json)
    if fields.get("before") is None:
        return None
    return fields.number("before"), fields.number("after")


def session_id(json: Any) -> str:
    """Read the id of the session that a turn or a fork has begun; raises ServerGarbledError."""
    return Fields("answer", json).text("session")


def soundness(json: Any) -> tuple[int, tuple[str, ...]]:
    """Read how many checkpoints were looked at, and what is wrong; raises ServerGarbledError."""
    fields = Fields("CheckpointSoundness", json)
    return fields.number("checkpoints"), fields.read_list("problems", str)


def turn_id(json: Any) -> str:
    """Read the turn out of the answer to `handrail/turn/start`; raises ServerGarbledError."""
    return Fields("answer to `handrail/turn/start`", json).text("turn")


def _candidate(json: Any) -> Candidate:
    fields = Fields("candidate", json)
    first, last = _lines(fields.get("range"))
    score = fields.get("score")
    if not isinstance(score, int | float):
        raise fields.missing_field("score")
    return Candidate(first_line=first, last_line=last, score=score)


def _lines(json: Any) -> tuple[int, int]:
    """Give the first and last line of a range that holds anything."""
    span = Fields("range", json)
    start, end = Fields("range", span.get("start")), Fields("range", span.get("end"))
    first, last = start.number("line"), end.number("line")
    return first, max(first, last - 1 if end.number("character") == 0 else last)


def _pair(what: str, json: Any, first: str, second: str) -> tuple[str, str]:
    fields = Fields(what, json)
    return fields.text(first), fields.text(second)


def text(what: str, json: Any, name: str) -> str:
    """The text *name* of a value; raises ServerGarbledError."""
    return Fields(what, json).text(name)


def texts(what: str, json: Any, name: str) -> tuple[str, ...]:
    """The list of texts *name* of a value; raises ServerGarbledError."""
    return Fields(what, json).read_list(name, str)
