"""
Convert between our values and LSP's: offsets and positions, edits, diagnostics, outcomes and reports.

A position is never inside a character or beyond its line. Something without a place in a text is shown at the
document's first line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

from lsprotocol import types as lsp

from handrail.agent.restore.restore import RestoreReport
from handrail.core import surfaces
from handrail.core.checkpoint import Checkpoint
from handrail.core.conversation.journal import JournalTurn
from handrail.core.conversation.message import Usage
from handrail.core.documents.edit import TextEdit
from handrail.core.documents.text import Text
from handrail.core.failure import Candidate, Span
from handrail.core.failure import Failure as CoreFailure
from handrail.core.ledger import report
from handrail.core.ledger.ledger import Ledger
from handrail.core.ledger.outcome import Mutation, OpenFailure, Outcome
from handrail.lsp import protocol
from handrail.lsp.documents import from_units, to_units
from handrail.values import dataclass

MESSAGE_CHARS = 10_000  # of a diagnostic
OWN_SOURCE = "handrail"  # of diagnostics of failed edits
REVIEW_SOURCE = f"{OWN_SOURCE} review"  # of the marks of pending changes
SEVERITIES = {
    report.Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    report.Severity.HINT: lsp.DiagnosticSeverity.Hint,
}


def is_own_source(source: str | None) -> bool:
    """Returns whether diagnostics of this source are handrail's own: the source's first word is its name."""
    return (source or "").lower().partition(" ")[0] == OWN_SOURCE


def position(text: Text, offset: int, encoding: str) -> lsp.Position:
    """Returns the position of *offset*; inside a CRLF, that of the line's end."""
    line = text.line_at(offset)
    row = text.rows[line] if line < len(text.rows) else ""
    return lsp.Position(line=line, character=to_units(row, offset - text.starts[line], encoding))


def offset(text: Text, at: lsp.Position | protocol.Position, encoding: str) -> int:
    """Returns the offset of a position; one beyond the text is clamped."""
    if at.line >= len(text.starts):
        return len(text.content)
    row = text.rows[at.line] if at.line < len(text.rows) else ""
    return text.starts[at.line] + from_units(row, at.character, encoding)


def range_of(given: lsp.Range) -> protocol.Range:
    """Returns a client's range in the form of our requests."""
    start, end = given.start, given.end
    return protocol.Range(
        start=protocol.Position(line=start.line, character=start.character),
        end=protocol.Position(line=end.line, character=end.character),
    )


def lines(span: protocol.Range) -> tuple[int, int]:
    """Returns the first and the last line that a range covers, at least in part."""
    first, last = span.start.line, span.end.line
    return first, max(first, last - 1 if span.end.character == 0 else last)


def line(number: int) -> lsp.Range:
    """Returns the beginning of a line, counted from 0."""
    start = lsp.Position(line=number, character=0)
    return lsp.Range(start=start, end=start)


def lsp_range(text: Text, span: Span, encoding: str) -> lsp.Range:
    """Returns the range of a span."""
    return lsp.Range(start=position(text, span.start, encoding), end=position(text, span.end, encoding))


def text_edits(text: Text, edits: Sequence[TextEdit], encoding: str) -> list[lsp.TextEdit]:
    """Converts edits of *text* to LSP's, all relative to it."""
    return [
        lsp.TextEdit(range=lsp_range(text, edit.span, encoding), new_text=edit.new)
        for edit in (_before_last_terminator(text, each) for each in edits)
    ]


def _before_last_terminator(text: Text, edit: TextEdit) -> TextEdit:
    """
    Converts lines after the last one to an insertion at that line's end.

    For Neovim, the end of a text after its final terminator is not a line, and it adds another terminator to
    text inserted there.
    """
    end, eol = len(text.content), text.eols[-1] if text.eols else ""
    if edit.span.start != end or not eol or not edit.new.endswith(eol):
        return edit
    start = end - len(eol)
    return TextEdit(span=Span(start=start, end=start), new=eol + edit.new.removesuffix(eol))


START = lsp.Range(start=lsp.Position(line=0, character=0), end=lsp.Position(line=0, character=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Converter:
    """
    Converts for one client.

    Attributes:
        encoding: The position encoding agreed on.
        related, data: Parts of a diagnostic that the client supports.
        ledger: The open failures, whose places move along with the text.
        spelled: Returns the URI by which the client knows a document.
        redact: Removes keys from a text. A client may print what it is told, in the log of a build too.
    """

    encoding: str
    related: bool = False
    data: bool = False
    ledger: Callable[[], Ledger] = Ledger
    spelled: Callable[[str], str] = str
    redact: Callable[[str], str] = str

    def diagnostic(self, known: report.Diagnostic) -> lsp.Diagnostic:
        """Converts an open failure to a diagnostic."""
        near = known.near if known.text is not None else ()
        return lsp.Diagnostic(
            range=self._range(known.text, near[0].span) if near else START,
            message=surfaces.line(self.redact(known.message), MESSAGE_CHARS),
            severity=SEVERITIES[known.severity],
            code=known.code.value,
            source=OWN_SOURCE,
            related_information=self._related_information(known, near[1:])
            if self.related and near[1:]
            else None,
            data={"failure": known.failure} if self.data else None,
        )

    def _related_information(
        self, known: report.Diagnostic, others: Sequence[Candidate]
    ) -> list[lsp.DiagnosticRelatedInformation]:
        return [
            lsp.DiagnosticRelatedInformation(
                location=lsp.Location(uri=self.spelled(known.uri), range=self._range(known.text, other.span)),
                message=f"Did you mean line {other.line + 1}? ({other.score:.0%} similar)",
            )
            for other in others
        ]

    def _range(self, text: Text | None, span: Span) -> lsp.Range:
        return lsp_range(text, span, self.encoding) if text is not None else START

    def _wire_range(self, text: Text, span: Span) -> protocol.Range:
        range_ = lsp_range(text, span, self.encoding)
        return protocol.Range(
            start=protocol.Position(line=range_.start.line, character=range_.start.character),
            end=protocol.Position(line=range_.end.line, character=range_.end.character),
        )

    def failure(self, known: OpenFailure) -> protocol.Failure:
        """Converts an open failure."""
        return self._failure(known.mutation, known.failure, known.seen, known.attempts)

    def _failure(
        self, mutation: Mutation, failure: CoreFailure, text: Text | None, attempts: int
    ) -> protocol.Failure:
        ranges = [self._wire_range(text, near.span) for near in failure.near] if text is not None else []
        offered = mutation.hunk is not None
        return protocol.Failure(
            id=mutation.id,
            code=failure.code,
            message=self.redact(failure.message),
            steps=[self.redact(step) for step in failure.steps],
            uri=self.spelled(mutation.uri),
            range=ranges[0] if ranges else None,
            candidates=[
                protocol.Candidate(range=range_, score=near.score)
                for range_, near in zip(ranges, failure.near, strict=False)
                if offered
            ],
            attempts=attempts,
            turn=mutation.turn,
        )

    def outcome(self, outcome: Outcome) -> protocol.Outcome:
        """Converts the outcome of a mutation."""
        mutation, failure = outcome.mutation, outcome.failure
        wire = self._failure(mutation, failure, outcome.text, 1) if failure is not None else None
        known = self.ledger().find(mutation.id)
        return protocol.Outcome(
            id=mutation.id,
            uri=self.spelled(outcome.document.uri),
            call=mutation.call,
            tool=mutation.tool,
            hunk=mutation.hunk.number if mutation.hunk is not None else None,
            status=outcome.status.value,
            tier=outcome.tier.value if outcome.tier is not None else None,
            failure=self.failure(known) if known is not None and wire is not None else wire,
            diff=self.redact(outcome.diff) if outcome.diff else outcome.diff,
            uncovered=outcome.uncovered,
            notes=list(outcome.notes) or None,
        )

    def turn_report(self, told: report.TurnReport) -> protocol.TurnReport:
        """Converts a turn's report."""
        return protocol.TurnReport(
            session=told.session,
            turn=told.turn,
            state=told.state.value,
            answer=told.answer,
            outcomes=[self.outcome(outcome) for outcome in told.outcomes],
            checkpoint=told.checkpoint,
            usage=usage(told.usage),
            session_usage=usage(told.session_usage),
            reason=told.reason,
        )

    def event(self, event: report.Told) -> protocol.TurnEvent:
        """Converts an event."""
        match event:
            case report.Started(prompt=prompt, mode=mode, instructions=paths):
                return protocol.StartedEvent(
                    kind="started",
                    prompt=self.redact(prompt),
                    mode=mode.value,
                    instructions=list(paths) or None,
                )
            case report.TextDelta(delta=delta):
                return protocol.TextEvent(kind="text", delta=delta)
            case report.ThoughtDelta(delta=delta):
                return protocol.ThinkingEvent(kind="thinking", delta=delta)
            case report.CallStarted(call=call, tool=tool, title=title):
                return protocol.ToolCallEvent(kind="toolCall", call=call, tool=tool, title=title)
            case report.CallEnded(call=call, summary=summary, has_failed=failed):
                return protocol.ToolResultEvent(
                    kind="toolResult", call=call, summary=summary, failed=failed or None
                )
            case Outcome():
                return protocol.OutcomeEvent(kind="outcome", **_fields(self.outcome(event)))
            case report.Superseded(failure=failure):
                return protocol.SupersededEvent(kind="superseded", failure=failure)
            case _:
                return _short_event(event)


def _short_event(
    event: report.CallOutput
    | report.Notice
    | report.Asked
    | report.Retried
    | report.Compacted
    | report.Used
    | report.Ended,
) -> protocol.TurnEvent:
    match event:
        case report.CallOutput(call=call, text=text, skipped=skipped):
            return protocol.ToolOutputEvent(kind="toolOutput", call=call, text=text, skipped=skipped)
        case report.Notice(call=call, text=text, is_warning=warning):
            return protocol.NoticeEvent(kind="notice", call=call, text=text, warning=warning)
        case report.Asked(end=end):
            return protocol.ApprovalEvent(
                kind="approval",
                call=event.call,
                subject=event.subject,
                approval=event.question,
                asks_permission=event.asks_permission,
                end=end.value if end is not None else None,
                choice=event.choice,
            )
        case report.Retried(reason=reason, in_s=in_s):
            return protocol.RetryEvent(kind="retry", reason=reason, in_seconds=in_s)
        case report.Compacted(before=before, after=after):
            return protocol.CompactedEvent(kind="compacted", before=before, after=after)
        case report.Used(step=step, turn=turn):
            return protocol.UsageEvent(kind="usage", step=usage(step), **_fields(usage(turn)))
        case report.Ended(state=state, reason=reason):
            return protocol.EndedEvent(kind="ended", state=state.value, reason=reason)


def _fields(value: protocol.Outcome | protocol.Usage) -> dict[str, Any]:
    """The fields of a value by name, for an event that carries them."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def usage(usage: Usage) -> protocol.Usage:
    """Converts usage."""
    return protocol.Usage(
        steps=usage.steps,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        cost_usd=usage.cost_usd,
    )


def checkpoint(checkpoint: Checkpoint) -> protocol.Checkpoint:
    """Converts a checkpoint."""
    return protocol.Checkpoint(
        id=checkpoint.id,
        session=checkpoint.session,
        turn=checkpoint.turn,
        kind=checkpoint.origin.value,
        label=checkpoint.label,
        name=checkpoint.name,
        time=checkpoint.time,
        root=checkpoint.root,
        steps=[protocol.CheckpointStep(id=step.id, paths=list(step.paths)) for step in checkpoint.steps],
        paths=[
            protocol.CheckpointPath(uri=each.uri, path=each.path, change=each.change.value)
            for each in checkpoint.paths
        ],
    )


def session(name: str, turns: Sequence[JournalTurn]) -> protocol.SessionResumeResult:
    """Converts a session with its turns."""
    told = [
        protocol.SessionTurn(
            turn=each.turn,
            prompt=each.prompt,
            state=each.state,
            copied=each.count if each.is_copied else None,
        )
        for each in turns
    ]
    return protocol.SessionResumeResult(session=name, turns=told)


def restore_report(report: RestoreReport) -> protocol.RestoreReport:
    """Converts the report of a restore."""
    now = report.conversation
    return protocol.RestoreReport(
        restored=list(report.restored),
        unchanged=list(report.unchanged),
        deleted=list(report.deleted),
        conflicts=[
            protocol.RestoreConflict(uri=each.uri, reason=each.reason, diff=each.diff or None)
            for each in report.conflicts
        ],
        partial=[
            protocol.RestorePart(uri=each.uri, reason=each.reason, diff=each.diff or None)
            for each in report.partial
        ],
        checkpoint=report.checkpoint,
        conversation=None if now is None else session(now.session, now.turns),
    )
