"""
The ledger: which mutations failed, and for how long that matters.

A failure stays open until a landed mutation of a later step touches its place, brings its text or
rewrites the document, until its text is there by other means, or until it is dismissed. A mutation of the
same document that lands elsewhere in a later step lowers it; one of the same step changes nothing. The
first error is kept, repeats raise its count. Nothing here claims anything about a text it was not shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from handrail.core.documents import edit
from handrail.core.documents.change import Tier
from handrail.core.documents.edit import carry
from handrail.core.documents.text import Text, to_lf
from handrail.core.failure import Code, Failure, Span
from handrail.core.matching import similar as match
from handrail.core.patches.hunk import Hunk

DISTINCT = 4  # characters; a shorter text may be anywhere by chance


class Status(StrEnum):
    """What became of one mutation."""

    LANDED = "landed"
    ALREADY = "already"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """
    One hunk, or one whole document, that a tool call tried to change.

    Attributes:
        id: Its outcome's id; for a failure, the id by which clients name it.
        turn, call, tool: Whose it is.
        order: The step, counted over all turns of the process, so that later steps compare as greater.
        uri, identity, path: The document, as the client spells it, as it is identified, as people read it.
        hunk: What was to be written; None for a whole document.
    """

    id: str
    turn: str
    call: str
    tool: str
    order: int
    uri: str
    identity: str
    path: str
    hunk: Hunk | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """
    What came of a mutation.

    Attributes:
        mutation: What was tried.
        status: Whether it is in the document now.
        tier: How the hunk matched, if it did.
        failure: Why it is not there.
        text: The document as last seen: what was read back, or what the hunk was searched in.
        spans: Where the change stands in `text`.
        diff: The change that landed, for people; None if nothing landed.
        uncovered: Why no checkpoint has what was there before it landed; None if one has.
    """

    mutation: Mutation
    status: Status
    tier: Tier | None = None
    failure: Failure | None = None
    text: Text | None = None
    spans: tuple[Span, ...] = ()
    diff: str | None = None
    uncovered: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFailure:
    """
    A failure that the user should see.

    Attributes:
        mutation: What was tried first.
        failure: The first error; its places are those of `seen`.
        seen: The document's text that `failure.near` refers to; None if it has none.
        attempts: How often it was tried.
        lowered: Whether later edits of the document landed elsewhere.
    """

    mutation: Mutation
    failure: Failure
    seen: Text | None
    attempts: int = 1
    lowered: bool = False

    @property
    def id(self) -> str:
        """By which clients name it."""
        return self.mutation.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """All open failures, in the order in which they came up."""

    open: tuple[OpenFailure, ...] = ()

    def find(self, failure: str) -> OpenFailure | None:
        """The open failure of that id."""
        return next((known for known in self.open if known.id == failure), None)

    def without(self, failures: Sequence[str]) -> Ledger:
        """The same ledger, these failures dismissed."""
        return Ledger(open=tuple(known for known in self.open if known.id not in failures))


def record(ledger: Ledger, outcome: Outcome) -> Ledger:
    """Enter one outcome."""
    if outcome.status is Status.FAILED:
        return _entered(ledger, outcome)
    kept = []
    for known in ledger.open:
        if known.mutation.identity != outcome.mutation.identity:
            kept.append(known)
        elif (left := _after_landing(known, outcome)) is not None:
            kept.append(left)
    return Ledger(open=tuple(kept))


def missed(misses: Mapping[str, int], outcomes: Sequence[Outcome]) -> dict[str, int]:
    """
    How many calls in a row have failed to edit a document, of those that one call has touched.

    Args:
        misses: By the identity of the document, before the call.
        outcomes: Of one call; anything of it that landed resets the count.
    """
    found: dict[str, int] = {}
    for outcome in outcomes:
        identity = outcome.mutation.identity
        if not identity or found.get(identity) == 0:
            continue
        match outcome.status:
            case Status.LANDED:
                found[identity] = 0
            case Status.FAILED:
                found[identity] = misses.get(identity, 0) + 1
            case Status.ALREADY:
                pass
    return found


def observe(ledger: Ledger, identity: str, now: Text | None) -> Ledger:
    """
    Take note that a document's text is *now* as given (None: it is gone).

    Places move along with the text; a failure whose text is there by now is closed.
    """
    if not any(known.mutation.identity == identity for known in ledger.open):
        return ledger
    kept = []
    for known in ledger.open:
        if known.mutation.identity != identity:
            kept.append(known)
        elif (left := _seen_at(known, now)) is not None:
            kept.append(left)
    return Ledger(open=tuple(kept))


def _entered(ledger: Ledger, outcome: Outcome) -> Ledger:
    assert outcome.failure is not None
    fresh = OpenFailure(mutation=outcome.mutation, failure=outcome.failure, seen=outcome.text)
    known = next((other for other in ledger.open if _repeats(fresh, other)), None)
    if known is None:
        return Ledger(open=(*ledger.open, fresh))
    again = replace(
        known,
        attempts=known.attempts + 1,
        lowered=False,
        mutation=replace(known.mutation, order=outcome.mutation.order),
    )
    return Ledger(open=tuple(again if other is known else other for other in ledger.open))


def _repeats(fresh: OpenFailure, known: OpenFailure) -> bool:
    """Whether *fresh* is another attempt at what *known* stands for."""
    if fresh.mutation.identity != known.mutation.identity:
        return False
    one, other = fresh.mutation.hunk, known.mutation.hunk
    if one is None or other is None:
        return one is other and fresh.failure.code is known.failure.code
    if _says(one, other):
        return True
    later = fresh.mutation.order > known.mutation.order
    near, before = fresh.failure.near, known.failure.near
    return later and bool(near and before) and near[0].line == before[0].line and one.old == other.old


def _says(one: Hunk | None, other: Hunk) -> bool:
    """Whether a hunk is the edit that *other* is, wherever either is meant."""
    return one is not None and (one.old, one.new) == (other.old, other.new)


def _after_landing(known: OpenFailure, outcome: Outcome) -> OpenFailure | None:
    if known.mutation.order >= outcome.mutation.order:
        return known if outcome.text is None else _moved_to(known, outcome.text)
    if outcome.mutation.hunk is None:
        return None  # the document was rewritten, or removed
    seen = _seen_at(known, outcome.text) if outcome.text is not None else known
    if seen is None or _says(seen.mutation.hunk, outcome.mutation.hunk) or _touches(seen, outcome):
        return None
    return replace(seen, lowered=True) if outcome.status is Status.LANDED else seen


def _touches(known: OpenFailure, outcome: Outcome) -> bool:
    """Whether *outcome* changed the place: the nearest one, or any of several that match equally."""
    near = known.failure.near if known.failure.code is Code.AMBIGUOUS_MATCH else known.failure.near[:1]
    return any(
        span.start <= each.span.end and each.span.start <= span.end for span in outcome.spans for each in near
    )


def _seen_at(known: OpenFailure, now: Text | None) -> OpenFailure | None:
    """*known* with its places in *now*; None if its text is there."""
    if now is None:
        return replace(known, seen=None, failure=replace(known.failure, near=()))
    if known.seen is not None and known.seen.content == now.content:
        return known
    return None if _is_there(known, now) else _moved_to(known, now)


def _moved_to(known: OpenFailure, now: Text) -> OpenFailure:
    """*known* with its places where they lie in *now*."""
    made = edit.between(known.seen.content, now.content) if known.seen is not None else ()
    near = tuple(
        replace(candidate, span=span, line=now.line_at(span.start))
        for candidate in known.failure.near
        if (span := carry(candidate.span, made)).end <= len(now.content)
    )
    return replace(known, seen=now, failure=replace(known.failure, near=near))


def _is_there(known: OpenFailure, now: Text) -> bool:
    """Whether the new text has come into the document since it was last seen."""
    hunk = known.mutation.hunk
    if hunk is None or len(hunk.new.strip()) < DISTINCT:
        return False
    before = _count(known.seen, hunk) if known.seen is not None else 0
    return _count(now, hunk) > before


def _count(text: Text, hunk: Hunk) -> int:
    """How often the hunk's new text stands in *text*."""
    new = hunk.new.strip("\n")
    if hunk.whole_lines:
        return match.count(text, new.split("\n"))
    return to_lf(text.content).count(new)
