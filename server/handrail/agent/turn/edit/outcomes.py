"""Determine the outcome of each part of a planned call from the landings of its changes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from handrail.agent.turn.edit.plan import LIMIT_DIFF_CHARS, Part, PlannedFile, candidates_of, fits_alone
from handrail.core.documents import diff, edit
from handrail.core.documents.change import (
    Applied,
    Create,
    Delete,
    Landing,
    Partial,
    PlannedHunk,
    Rejected,
    Status,
    Update,
)
from handrail.core.documents.text import Text
from handrail.core.failure import Candidate, Code, Failure, Span
from handrail.core.ledger.outcome import IS_DOUBLED, WAS_DOUBLED, Outcome
from handrail.core.matching.similar import candidate_at
from handrail.core.planning import plan
from handrail.ports import Document, Editor

REFORMATTED = "The editor reformatted it, so the whitespace differs from what was sent."
CHANGED_ON_SAVE = (
    "When the editor saved the document, something such as a formatter changed these lines, so they differ "
    "from what was sent. Read them before you edit there again."
)
STAYS_OPEN = (
    "The file was removed, but the editor still has the document open; saving it there would create the file "
    "again. handrail does not save it unless you edit it again."
)
SEARCHED = (Code.NO_MATCH, Code.AMBIGUOUS_MATCH)  # failures whose message names places


async def outcomes(editor: Editor, file: PlannedFile, landings: Sequence[Landing]) -> tuple[Outcome, ...]:
    """Returns the outcome of each part of *file*, in order, given the landings of its changes."""
    now = await _text_now(editor, file, landings)
    return await asyncio.to_thread(_outcomes, file, landings, now)


async def _text_now(editor: Editor, file: PlannedFile, landings: Sequence[Landing]) -> Text | None:
    """Returns the final text, to which line numbers refer; None if it cannot be read."""
    has_failed = any(isinstance(part.planned, Failure) for part in file.parts)
    if not has_failed and all(isinstance(landing, Applied) for landing in landings):
        return landings[-1].text if landings and isinstance(landings[-1], Applied) else None
    document = await editor.read(file.parts[0].mutation.uri)
    return document.text if isinstance(document, Document) else None


def _outcomes(file: PlannedFile, landings: Sequence[Landing], now: Text | None) -> tuple[Outcome, ...]:
    return tuple(_outcome(part, file, landings, now) for part in file.parts)


def _outcome(part: Part, file: PlannedFile, landings: Sequence[Landing], now: Text | None) -> Outcome:
    if isinstance(part.planned, Failure):
        return _failed_outcome(part, part.planned, now)
    if part.host is not None:
        host = next(
            each for each in file.parts if each.mutation.hunk and each.mutation.hunk.number == part.host
        )
        own = replace(part.planned, edits=host.edits, within=None)
        return replace(_outcome(replace(part, planned=own), file, landings, now), diff=None)
    if not file.changes or (part.mutation.hunk is not None and not part.planned.edits):
        return Outcome(mutation=part.mutation, status=Status.ALREADY, text=part.text)
    return _landed_outcome(part, file, landings, now) or _missed_outcome(part, landings, now)


def _failed_outcome(part: Part, failure: Failure, now: Text | None) -> Outcome:
    """Returns the outcome of a part that does not fit, with places in the document's current text."""
    hunk, base, text = part.mutation.hunk, part.text, part.text
    if now is not None and hunk is not None and base is not None and base.content != now.content:
        failure, text = _refresh_candidates(part, failure, base, now), now
    return Outcome(mutation=part.mutation, status=Status.FAILED, failure=failure, text=text)


def _refresh_candidates(part: Part, failure: Failure, base: Text, now: Text) -> Failure:
    """Translates a failure that names places of *base* to the text *now*."""
    moved = edit.edits_between(base.content, now.content)
    there = [edit.carry(each.span, moved) for each in failure.near]
    near = tuple(
        _carry_candidate(part, base, now, each, span) for each, span in zip(failure.near, there, strict=True)
    )
    hunk, failure = part.mutation.hunk, replace(failure, near=near)
    if hunk is None or not near:
        return failure
    again = plan.plan_hunk(now, hunk)
    if isinstance(again, Failure):
        is_still_true = failure.code in SEARCHED or again.code is failure.code
        return again.with_uri(failure.uri) if is_still_true else failure
    if failure.code not in SEARCHED:
        return failure
    near = candidates_of(replace(part, planned=again, text=now), now) or near
    where = f"it fits now, at line {near[0].line + 1}" if again.edits else "the document has the new text now"
    return replace(
        failure,
        message=f"The edit did not fit the document when the call was made; {where}.",
        steps=("Send the edit again." if again.edits else "Read the document, then continue.",),
        near=near,
        is_applicable=True,
    )


def _carry_candidate(part: Part, base: Text, now: Text, near: Candidate, span: Span) -> Candidate:
    """Returns the candidate *near* of *base* in the text *now*, where it is at *span*."""
    hunk, before = part.mutation.hunk, base.content[near.span.start : near.span.end]
    if hunk is None or before == now.content[span.start : span.end]:
        return replace(near, span=span, line=now.line_at(span.start))
    return candidate_at(now, hunk, span)


def _missed_outcome(part: Part, landings: Sequence[Landing], now: Text | None) -> Outcome:
    """Returns the outcome of a part that was sent but did not land."""
    landing = next(landing for landing in landings if not isinstance(landing, Applied))
    failure = landing.failure
    number = part.mutation.hunk.number if part.mutation.hunk is not None else None
    if isinstance(landing, Rejected) and landing.conflicts and number not in landing.conflicts:
        bad = f"hunk {landing.conflicts[0]} of {part.mutation.path}"
        failure = fits_alone(part, bad, has_host=part.host not in landing.conflicts)
    text = now or part.text
    failure = replace(failure, near=candidates_of(part, text) if text is not None else ())
    if landing.uri is not None:
        part, failure = (
            replace(part, mutation=replace(part.mutation, uri=landing.uri)),
            failure.with_uri(landing.uri),
        )
    return Outcome(mutation=part.mutation, status=Status.FAILED, failure=failure, text=text)


def _landed_outcome(
    part: Part, file: PlannedFile, landings: Sequence[Landing], now: Text | None
) -> Outcome | None:
    """Returns the outcome of a part that landed; None if it did not."""
    assert isinstance(part.planned, PlannedHunk)
    failed = next((landing for landing in landings if not isinstance(landing, Applied)), None)
    if isinstance(failed, Rejected):
        return None
    change, landed = file.changes[-1], dict[edit.TextEdit, bool]()
    if isinstance(change, Update):
        fate = failed.landed if isinstance(failed, Partial) else (True,) * len(change.edits)
        landed = dict(zip(change.edits, fate, strict=True))
        if not all(landed.get(each, False) for each in part.planned.edits):
            return None
    first, last = landings[0], landings[-1]
    if file.moved_to is not None and isinstance(first, Applied):
        now = first.text
    return Outcome(
        mutation=replace(part.mutation, uri=last.uri) if last.uri is not None else part.mutation,
        status=Status.LANDED,
        tier=part.planned.tier if part.mutation.hunk is not None else None,
        notes=(*part.planned.notes, *(note for each in landings for note in _landing_notes(each))),
        text=now or part.text,
        spans=_spans(change, part, landed, now) if now is not None and isinstance(change, Update) else (),
        diff=_diff(file, part)[:LIMIT_DIFF_CHARS],
        moved_to=file.moved_to,
    )


def _landing_notes(landing: Landing) -> tuple[str, ...]:
    """Returns notes about what the editor did beyond the request."""
    if not isinstance(landing, Applied):
        return ()
    said = (
        (landing.is_reformatted and not landing.was_changed_on_save, REFORMATTED),
        (landing.was_changed_on_save, CHANGED_ON_SAVE),
        (landing.was_doubled, WAS_DOUBLED),
        (landing.is_doubled, IS_DOUBLED),
        (landing.stays_open, STAYS_OPEN),
    )
    return tuple(sentence for is_so, sentence in said if is_so)


def _spans(change: Update, part: Part, landed: Mapping[edit.TextEdit, bool], now: Text) -> tuple[Span, ...]:
    """Returns the spans of *part*'s edits in *now*, given which edits landed."""
    ours, spans, growth = set(part.edits), [], 0
    made = [each for each in change.edits if landed[each]]
    for each in made:
        start = each.span.start + growth
        if each in ours:
            spans.append(Span(start=start, end=start + len(each.new)))
        growth += each.growth
    written = edit.apply(change.base.content, made)
    if written == now.content:
        return tuple(spans)
    moved = edit.edits_between(written, now.content)  # the user has typed since
    return tuple(edit.carry(span, moved) for span in spans)


def _diff(file: PlannedFile, part: Part) -> str:
    assert part.text is not None
    match file.changes:
        case (Create(text=text),):
            return diff.creation_diff(file.path, text)
        case (Delete(base=text),):
            return diff.deletion_diff(file.path, text)
        case _:
            return diff.unified_diff(file.path, part.text, part.edits)
