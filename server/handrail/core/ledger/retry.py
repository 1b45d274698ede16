"""
Find the failures that a retry has corrected although neither place nor text connects the two.

A call that lacked an argument, could not be read, named a wrong path, or searched for text like none in the
document leaves a failure without a place. An edit that lands in a later step of the same turn is its retry if
it changes the same document or one of the same name, or is the same edit in another document. The next calls
of the failed call's tool are retries too, unless their step has more of them than had failed. An edit that
lands is the retry of at most one failure of each step, and of none if it has already corrected another one of
that step by place or text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from handrail.core.documents.change import Status
from handrail.core.failure import Code
from handrail.core.ledger.closing import is_same_edit
from handrail.core.ledger.outcome import OpenFailure, Outcome

Calls = Mapping[str, str]  # the tools of calls, by the calls' ids

# Failures without a place that the model may have meant.
LOST = frozenset(
    {
        Code.BAD_ENCODING,
        Code.BAD_PATCH,
        Code.EMPTY_SEARCH,
        Code.NO_MATCH,
        Code.NO_CHANGE,
        Code.OMISSION,
        Code.NO_SUCH_FILE,
        Code.UNREADABLE,
        Code.FILE_EXISTS,
        Code.OUTSIDE_WORKSPACE,
        Code.BAD_ARGUMENTS,
    }
)
# Failures that were meant for another document, if for any.
ELSEWHERE = frozenset({Code.NO_SUCH_FILE, Code.UNREADABLE, Code.OUTSIDE_WORKSPACE})


def retried_failures(
    known: Sequence[OpenFailure], outcome: Outcome, spent: Collection[int], guessed: Collection[str]
) -> list[str]:
    """
    Returns the ids of the failures of which *outcome* is a retry.

    Args:
        known: The open failures.
        outcome: If it has not landed, and the document did not already have it, it is not a retry.
        spent: The orders of the steps of which it has already corrected a failure by other rules.
        guessed: See `guess_retried`.
    """
    if outcome.status not in (Status.LANDED, Status.ALREADY):
        return []
    waiting = [each for each in known if each.mutation.order not in spent and _waits(each, outcome)]
    chosen: list[OpenFailure] = []
    for each in reversed(waiting):  # an edit with a wrong path was often tried before
        tried = {other.mutation.identity for other in chosen} - {""}
        if each.mutation.identity in tried or _may_be_meant(each, outcome, guessed):
            chosen.append(each)
    chosen.sort(key=lambda each: _likeness(each, outcome))
    return list({each.mutation.order: each.id for each in chosen}.values())  # the most similar of each step


def guess_retried(known: Sequence[OpenFailure], outcomes: Sequence[Outcome], calls: Calls) -> frozenset[str]:
    """
    Returns the ids of failures that only their tool connects with the calls of a step.

    Such a call is a retry only if there are no more of them than there were failures in a step.

    Args:
        known: The open failures.
        outcomes: Those of some calls of the step.
        calls: All calls of the step but those that landed before these; empty if there are no others.
    """
    counts = Counter((calls or {each.mutation.call: each.mutation.tool for each in outcomes}).values())
    result: dict[tuple[str, int], list[str]] = {}
    for failure in known:
        mine = failure.mutation
        if any(each.mutation.tool == mine.tool and _may_follow(failure, each) for each in outcomes):
            result.setdefault((mine.tool, mine.order), []).append(failure.id)
    return frozenset(
        failure for (tool, _), ids in result.items() if counts[tool] <= len(ids) for failure in ids
    )


def pass_over(known: OpenFailure, outcomes: Sequence[Outcome], guessed: Collection[str]) -> OpenFailure:
    """Returns *known* after *outcomes*, none of which is its retry: calls of later steps are not either."""
    order = outcomes[0].mutation.order if known.id in guessed else known.retried_in
    landed = (each.mutation.tool for each in outcomes if each.status is Status.LANDED and _waits(known, each))
    is_passed = _has_no_document(known) and known.mutation.tool in landed
    is_lowered = known.lowered or is_passed
    if (is_lowered, order) == (known.lowered, known.retried_in):
        return known
    return replace(known, lowered=is_lowered, retried_in=order)


def _may_follow(known: OpenFailure, outcome: Outcome) -> bool:
    """Whether nothing but its tool connects a failure with the step of *outcome*, and no earlier step."""
    is_next = not known.lowered or known.retried_in == outcome.mutation.order
    return is_next and _has_no_document(known) and _waits(known, outcome)


def _waits(known: OpenFailure, outcome: Outcome) -> bool:
    """Whether a failure has no place, and *outcome* is of a later step of its turn."""
    mine, other = known.mutation, outcome.mutation
    is_lost = known.failure.code in LOST and not known.failure.near
    return is_lost and mine.turn == other.turn and mine.order < other.order


def _has_no_document(known: OpenFailure) -> bool:
    """Whether the document of a failed call is unknown."""
    return not known.mutation.identity or known.failure.code in ELSEWHERE


def _may_be_meant(known: OpenFailure, outcome: Outcome, guessed: Collection[str]) -> bool:
    mine, other = known.mutation, outcome.mutation
    if mine.identity == other.identity:
        return True
    if not _has_no_document(known):
        return False
    if mine.hunk is not None and other.hunk is not None and is_same_edit(mine.hunk, other.hunk):
        return True
    is_same_name = bool(mine.path) and mine.path.rpartition("/")[2] == other.path.rpartition("/")[2]
    return is_same_name or (mine.tool == other.tool and known.id in guessed)


def _likeness(known: OpenFailure, outcome: Outcome) -> tuple[bool, int]:
    """Returns how similar a failed edit and one that landed are: the document first, then rows."""
    mine, other = known.mutation.hunk, outcome.mutation.hunk
    is_same = known.mutation.identity == outcome.mutation.identity
    if mine is None or other is None:
        return is_same, 0
    rows = [{row.strip() for row in f"{hunk.old}\n{hunk.new}".split("\n")} for hunk in (mine, other)]
    return is_same, len(rows[0] & rows[1])
