"""
Decide what happens to an open failure when its document has changed.

Its places move with the text, which is compared with the text in which they were found, so that no change is
missed or counted twice. Places that were removed are searched for in each later text, because the user may
undo the removal, and a program may empty a file before it writes it. The user's typing closes a failure only
at its place; a landed mutation of a later step also closes it by writing its text elsewhere, because its
author knew about the failure.
"""

from __future__ import annotations

from dataclasses import replace

from handrail.core.documents import edit
from handrail.core.documents.change import Status
from handrail.core.documents.edit import carry
from handrail.core.documents.text import Text, to_lf
from handrail.core.failure import Candidate, Code, Span
from handrail.core.ledger import presence
from handrail.core.ledger.outcome import OpenFailure, Outcome
from handrail.core.patches.hunk import Hunk


def is_same_edit(one: Hunk | None, other: Hunk) -> bool:
    """Whether two hunks are the same edit, wherever they belong."""
    return one is not None and (one.old, one.new) == (other.old, other.new)


def is_rewritten(known: OpenFailure, outcome: Outcome) -> bool:
    """Whether the document was rewritten or removed as a whole in a later step."""
    mine, other = known.mutation, outcome.mutation
    is_whole = other.hunk is None and outcome.moved_to is None
    return mine.identity == other.identity and is_whole and mine.order < other.order


def close_by_landing(known: OpenFailure, outcome: Outcome) -> OpenFailure | None:
    """Returns *known* after *outcome*, in the same document, has landed; None if that closes it."""
    if known.mutation.order >= outcome.mutation.order:
        return known if outcome.text is None else move_to(known, outcome.text)
    if is_rewritten(known, outcome):
        return None
    seen = known if outcome.text is None else recheck_in(known, outcome.text)
    made = outcome.mutation.hunk
    if seen is None or made is None:
        return seen if outcome.moved_to is not None else None
    is_made = is_same_edit(seen.mutation.hunk, made)
    if is_made or _touches(seen, outcome) or _brings(seen, outcome):
        if seen.mutation.hunk is None or not seen.mutation.hunk.replace_all or (is_made and made.replace_all):
            return None
        return _what_is_left(replace(seen, is_begun=True), outcome.text)
    return replace(seen, lowered=True) if outcome.status is Status.LANDED else seen


def _candidates(known: OpenFailure) -> tuple[Candidate, ...]:
    """Returns the possible places: the nearest, or all if several match equally."""
    hunk = known.mutation.hunk
    is_any = known.failure.code is Code.AMBIGUOUS_MATCH or (hunk is not None and hunk.replace_all)
    return known.failure.near if is_any else known.failure.near[:1]


def _touches(known: OpenFailure, outcome: Outcome) -> bool:
    """Whether *outcome* changed the place."""
    return any(
        span.start <= each.span.end and each.span.start <= span.end
        for span in outcome.spans
        for each in _candidates(known)
    )


def _brings(known: OpenFailure, outcome: Outcome) -> bool:
    """Whether *outcome* wrote the failed edit's new text, at any place."""
    hunk, made = known.mutation.hunk, outcome.mutation.hunk
    if hunk is None or made is None or outcome.status is not Status.LANDED:
        return False
    return presence.is_distinct(hunk) and presence.brings(made, hunk)


def recheck_in(known: OpenFailure, now: Text | None) -> OpenFailure | None:
    """Returns *known* with its places in *now*; None if its text is now at its place."""
    if now is None:
        gone = replace(known, seen=None, failure=replace(known.failure, near=()))
        return replace(gone, last=_last_near(known))
    if known.seen is not None and known.seen.content == now.content:
        return known
    known = _find_again(known, now)
    hunk, moved = known.mutation.hunk, move_to(known, now)
    if hunk is None or not presence.is_distinct(hunk):
        return moved
    if hunk.replace_all:
        has_more = presence.count(now, hunk) > presence.count(known.seen, hunk)
        return _what_is_left(replace(moved, is_begun=known.is_begun or has_more), now)
    return None if _has_come(known, moved, hunk) else moved


def _what_is_left(known: OpenFailure, now: Text | None) -> OpenFailure | None:
    """A failure to replace all occurrences; None once some were replaced and none is left."""
    hunk = known.mutation.hunk
    if not known.is_begun or hunk is None:
        return known
    return known if now is not None and presence.is_left(now, hunk, known.there) else None


def _has_come(known: OpenFailure, moved: OpenFailure, hunk: Hunk) -> bool:
    """
    Whether the new text has appeared at its place since the document was last seen.

    It may be anywhere if no place is known, or if the old text, which was only there, was removed.
    """
    assert moved.seen is not None
    before, after = _candidates(known), _candidates(moved)
    if known.seen is not None and any(
        presence.count_at(moved.seen, hunk, there.span) > presence.count_at(known.seen, hunk, here.span)
        for here, there in zip(before, after, strict=True)
    ):
        return True
    is_removed = known.is_only and all(each.span.start == each.span.end for each in after)
    if after and not (is_removed and known.there not in moved.seen.content):
        return False
    return presence.count(moved.seen, hunk) > presence.count(known.seen, hunk)


def move_to(known: OpenFailure, now: Text) -> OpenFailure:
    """Returns *known* with its places in *now*; without places if it was not seen in any text."""
    known = _find_again(known, now)
    near = () if known.seen is None else _carry(known.seen, known.failure.near, now)
    last = _last_near(known) if known.last is not None or _is_lost(known.failure.near, near, now) else None
    return replace(known, seen=now, failure=replace(known.failure, near=near), last=last)


def _find_again(known: OpenFailure, now: Text) -> OpenFailure:
    """Returns *known* as it was before its places were removed, if *now* has them; otherwise unchanged."""
    if known.last is None:
        return known
    text, near = known.last
    if _is_lost(near, _carry(text, near, now), now):
        return known
    return replace(known, seen=text, failure=replace(known.failure, near=near), last=None)


def _last_near(known: OpenFailure) -> tuple[Text, tuple[Candidate, ...]] | None:
    if known.last is not None or known.seen is None:
        return known.last
    return known.seen, known.failure.near


def _is_lost(before: tuple[Candidate, ...], after: tuple[Candidate, ...], now: Text) -> bool:
    """Whether the text of a place was removed, or everything was."""
    return not now.content.strip() or any(
        here.span.start < here.span.end and there.span.start == there.span.end
        for here, there in zip(before, after, strict=True)
    )


def _carry(text: Text, near: tuple[Candidate, ...], now: Text) -> tuple[Candidate, ...]:
    """Returns the places *near* of *text*, translated to *now*."""
    # An editor may hold LF for a file that has CRLF, which changes every line and moves none.
    old, new = (text, now) if text.eol == now.eol else (Text(to_lf(text.content)), Text(to_lf(now.content)))
    made = edit.edits_between(old.content, new.content)
    spans = [_across(new, carry(_across(text, each.span, old), made), now) for each in near]
    return tuple(
        replace(each, span=span, line=now.line_at(span.start)) for each, span in zip(near, spans, strict=True)
    )


def _across(text: Text, span: Span, other: Text) -> Span:
    """Returns *span* of *text* in the same text with other line endings."""
    if text is other:
        return span
    start, end = (
        min(other.starts[line] + offset - text.starts[line], other.row_end(line))
        for offset in (span.start, span.end)
        for line in (text.line_at(offset),)
    )
    return Span(start=start, end=end)
