"""
The ledger: which mutations failed, and for how long that matters.

A failure stays open until a landed mutation of a later step touches its place, brings its text or rewrites
the document, until its text comes to its place by other means, until its turn is restored, or until it is
dismissed. One that was to replace all occurrences stays open while any is left. A mutation of the same
document that lands elsewhere in a later step lowers it; one of the same step changes nothing. One without a
place is closed by the model's retry in the same turn (`retry`). The first error is kept; repeats raise its
count. If a quick fix is undone, its failure is open again. A denied call is not a failure. The ledger makes
no statement about a text that it has not seen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from handrail.core.documents import edit
from handrail.core.documents.change import Status
from handrail.core.documents.edit import carry
from handrail.core.documents.text import Text, to_lf
from handrail.core.failure import Failure, Span
from handrail.core.ledger import retry
from handrail.core.ledger.closing import close_by_landing, is_rewritten, is_same_edit, move_to, recheck_in
from handrail.core.ledger.outcome import Mutation, Named, OpenFailure, Outcome
from handrail.core.ledger.retry import Calls
from handrail.values import dataclass, replace

NO_CALLS: Calls = {}
FIXES = 20  # remembered quick fixes; each has a document's text


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """
    A quick fix that landed, for as long as it may be undone.

    Attributes:
        failure: The failure that it fixed, as it was before.
        text: The document as last seen.
        lines: The lines of `text` that it changed, and one line around them.
        without, made: These lines before and after it.
    """

    failure: OpenFailure
    text: Text
    lines: Span
    without: str
    made: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """All open failures, in the order in which they came up, and the quick fixes that may be undone."""

    open: tuple[OpenFailure, ...] = ()
    fixes: tuple[Fix, ...] = ()

    @property
    def mutations(self) -> tuple[Mutation, ...]:
        """
        The mutations whose documents matter: those that failed, and those whose quick fix may be undone.
        """
        return tuple(each.mutation for each in (*self.open, *(fix.failure for fix in self.fixes)))

    def find(self, failure: str) -> OpenFailure | None:
        """Returns the open failure with that id."""
        return next((known for known in self.open if known.id == failure), None)

    def drop(self, failures: Collection[str]) -> Ledger:
        """Returns the ledger with these failures closed permanently."""
        return Ledger(
            open=tuple(known for known in self.open if known.id not in failures),
            fixes=tuple(fix for fix in self.fixes if fix.failure.id not in failures),
        )


def record(ledger: Ledger, outcome: Outcome) -> Ledger:
    """Enters one outcome."""
    match outcome.status:
        case Status.FAILED:
            return _enter(ledger, outcome)
        case Status.DENIED:
            return ledger
        case Status.LANDED | Status.ALREADY:
            kept = []
            for known in ledger.open:
                if known.mutation.identity != outcome.mutation.identity:
                    kept.append(known)
                elif (left := close_by_landing(known, outcome)) is not None:
                    kept.append(left)
            fixes = [fix for fix in ledger.fixes if not is_rewritten(fix.failure, outcome)]
            return Ledger(open=tuple(kept), fixes=tuple(fixes))


def record_outcomes(ledger: Ledger, outcomes: Sequence[Outcome], calls: Calls = NO_CALLS) -> Ledger:
    """
    Enters outcomes of one step of a turn, and closes the failures of which they are retries.

    Args:
        ledger: The ledger before.
        outcomes: Those of some or all calls of the step.
        calls: See `retry.guess_retried`.
    """
    guessed = retry.guess_retried(ledger.open, outcomes, calls)
    # Failures first: their places refer to the text before, and move with the edits that landed.
    for outcome in sorted(outcomes, key=lambda outcome: outcome.status is not Status.FAILED):
        before, ledger = ledger.open, record(ledger, outcome)
        there = {known.id for known in ledger.open}
        spent = {known.mutation.order for known in before if known.id not in there}
        if good := retry.retried_failures(ledger.open, outcome, spent, guessed):
            ledger = ledger.drop(good)
    passed = tuple(retry.pass_over(known, outcomes, guessed) for known in ledger.open)
    ledger = ledger if passed == ledger.open else replace(ledger, open=passed)
    for outcome in outcomes:
        if outcome.moved_to is not None and outcome.status is Status.LANDED:
            ledger = rename(ledger, outcome.mutation.identity, outcome.moved_to)
    return ledger


def documents_with(ledger: Ledger, flat: str) -> dict[str, str]:
    """Returns the documents that had the text *flat* (with LF) when last seen: their URIs by identity."""
    seen = [
        (each.mutation, each.seen or (each.last[0] if each.last is not None else None))
        for each in ledger.open
    ]
    seen += [(fix.failure.mutation, fix.text) for fix in ledger.fixes]
    return {of.identity: of.uri for of, text in seen if text is not None and to_lf(text.content) == flat}


def rename(ledger: Ledger, identity: str, target: Named) -> Ledger:
    """Notes that a document has moved: what is known of it is about *target* now."""

    def move(known: OpenFailure) -> OpenFailure:
        if known.mutation.identity != identity:
            return known
        there = replace(known.mutation, uri=target.uri, identity=target.identity, path=target.path)
        return replace(known, mutation=there, failure=known.failure.with_uri(target.uri))

    return Ledger(
        open=tuple(map(move, ledger.open)),
        fixes=tuple(replace(fix, failure=move(fix.failure)) for fix in ledger.fixes),
    )


def replace_outcome(ledger: Ledger, outcome: Outcome) -> Ledger:
    """Replaces the outcome of a mutation that was reported too soon."""
    mutation = outcome.mutation
    if outcome.status is Status.FAILED:
        return record(ledger.drop((mutation.id,)), outcome)
    # A repeat is counted with the first attempt, whose order is then that of the repeat.
    same = (
        known.id
        for known in ledger.open
        if known.id == mutation.id
        or (
            (known.mutation.identity, known.mutation.order) == (mutation.identity, mutation.order)
            and mutation.hunk is not None
            and is_same_edit(known.mutation.hunk, mutation.hunk)
        )
    )
    return record_outcomes(ledger.drop(tuple(same)), [outcome])


def record_fix(ledger: Ledger, failure: OpenFailure, outcome: Outcome) -> Ledger:
    """
    Remembers a quick fix, in addition to `record`, so that its failure is open again if it is undone.

    Args:
        ledger: The ledger after `record`.
        failure: The failure that was fixed, as it was just before.
        outcome: The outcome of the quick fix.
    """
    if outcome.status is not Status.LANDED or outcome.text is None or failure.seen is None:
        return ledger
    fix = _fix(failure, failure.seen, outcome.text)
    return ledger if fix is None else replace(ledger, fixes=(*ledger.fixes, fix)[-FIXES:])


def first_line(outcomes: Sequence[Outcome]) -> int:
    """
    Returns the line, counted from 0, of a call's first change in the first document that it names.

    Changes that landed come before others; 0 if no place is known.
    """
    own = [each for each in outcomes if each.mutation.path == outcomes[0].mutation.path]
    landed = [each for each in own if each.status is Status.LANDED]
    return next((each.line for each in (*landed, *own) if each.line is not None), 0)


def count_misses(misses: Mapping[str, int], outcomes: Sequence[Outcome]) -> dict[str, int]:
    """
    Counts how many calls in a row have failed to edit each document that one call touched.

    Args:
        misses: The counts before the call, by the identity of the document.
        outcomes: The outcomes of the call; anything that landed resets the count.
    """
    result: dict[str, int] = {}
    for outcome in outcomes:
        identity = outcome.mutation.identity
        if not identity or result.get(identity) == 0:
            continue
        match outcome.status:
            case Status.LANDED:
                result[identity] = 0
            case Status.FAILED:
                result[identity] = misses.get(identity, 0) + 1
            case Status.ALREADY | Status.DENIED:
                pass
    return result


def observe(ledger: Ledger, identity: str, now: Text | None) -> Ledger:
    """
    Notes that a document's text is *now* as given (None: it no longer exists).

    Places move along with the text. A failure whose text has come to its place is closed, and one whose
    quick fix is gone again is open.
    """
    if not any(mutation.identity == identity for mutation in ledger.mutations):
        return ledger
    kept = []
    for known in ledger.open:
        if known.mutation.identity != identity:
            kept.append(known)
        elif (left := recheck_in(known, now)) is not None:
            kept.append(left)
    observed = Ledger(open=tuple(kept))
    for fix in ledger.fixes:
        if fix.failure.mutation.identity != identity:
            observed = replace(observed, fixes=(*observed.fixes, fix))
        elif now is not None:
            observed = _recheck_fix(observed, fix, now)
    return observed


def closed_ids(before: Ledger, after: Ledger) -> list[str]:
    """Returns the ids of failures that were open *before* and no longer are, and of their repeats."""
    there = {known.id for known in after.open}
    return [name for known in before.open if known.id not in there for name in (known.id, *known.repeats)]


def _enter(ledger: Ledger, outcome: Outcome) -> Ledger:
    assert outcome.failure is not None
    fresh = _fresh(outcome, outcome.failure)
    known = next((other for other in ledger.open if _repeats(fresh, other)), None)
    if known is None:
        return replace(ledger, open=(*ledger.open, fresh))
    again = replace(
        known,
        attempts=known.attempts + 1,
        lowered=False,
        repeats=(*known.repeats, outcome.mutation.id),
        mutation=replace(known.mutation, order=outcome.mutation.order),
    )
    return replace(ledger, open=tuple(again if other is known else other for other in ledger.open))


def _fresh(outcome: Outcome, failure: Failure) -> OpenFailure:
    there, times = "", 0
    if outcome.text is not None and failure.near:
        span = failure.near[0].span
        there = outcome.text.content[span.start : span.end]
        times = outcome.text.content.count(there) if there.strip() else 0
    return OpenFailure(
        mutation=outcome.mutation, failure=failure, seen=outcome.text, there=there, is_only=times == 1
    )


def _repeats(fresh: OpenFailure, known: OpenFailure) -> bool:
    """Whether *fresh* is another attempt at the edit of *known*."""
    if fresh.mutation.identity != known.mutation.identity:
        return False
    if not fresh.mutation.identity and not _may_repeat(fresh.mutation, known.mutation):
        return False
    one, other = fresh.mutation.hunk, known.mutation.hunk
    if one is None or other is None:
        return one is other and fresh.failure.code is known.failure.code
    if is_same_edit(one, other):
        return True
    later = fresh.mutation.order > known.mutation.order
    near, before = fresh.failure.near, known.failure.near
    return later and bool(near and before) and near[0].line == before[0].line and one.old == other.old


def _may_repeat(fresh: Mutation, known: Mutation) -> bool:
    """Whether a call that names no document may be another attempt at an earlier one."""
    return (fresh.tool, fresh.turn) == (known.tool, known.turn) and fresh.order > known.order


# ---- Quick fixes ------------------------------------------------------------------------------------


def _fix(failure: OpenFailure, base: Text, now: Text) -> Fix | None:
    """Returns the record of a quick fix that changed *base* to *now*; None if it changed nothing."""
    made = edit.edits_between(base.content, now.content)
    if not made:
        return None
    first = base.line_at(made[0].span.start) - 1
    last = base.line_at(made[-1].span.end) + 1
    start = base.starts[max(0, first)]
    lines = Span(start=start, end=base.row_end(last) if last < len(base.starts) else len(base.content))
    there = carry(lines, made)
    if made[-1].span.end == len(base.content):
        there = replace(there, end=len(now.content))
    if made[0].span.start == 0:
        there = replace(there, start=0)
    return Fix(
        failure=failure,
        text=now,
        lines=there,
        without=base.content[lines.start : lines.end],
        made=now.content[there.start : there.end],
    )


def _recheck_fix(ledger: Ledger, fix: Fix, now: Text) -> Ledger:
    """Closes the failure again if its quick fix is there, opens it if the earlier text is there."""
    lines = carry(fix.lines, edit.edits_between(fix.text.content, now.content))
    there = now.content[lines.start : lines.end]
    is_open = ledger.find(fix.failure.id) is not None
    result = replace(ledger, fixes=(*ledger.fixes, replace(fix, text=now, lines=lines)))
    was = fix.failure.seen
    is_undone = there == fix.without or (was is not None and was.content == now.content)
    if is_undone and not is_open:
        return replace(result, open=(*result.open, move_to(fix.failure, now)))
    hunk = fix.failure.mutation.hunk
    is_one_of_many = hunk is not None and hunk.replace_all
    if is_open and there == fix.made and not is_undone and not is_one_of_many:
        kept = tuple(known for known in result.open if known.id != fix.failure.id)
        return replace(result, open=kept)
    return result
