"""From what a call has made of a document to what is pending in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from handrail.core.checkpoint import CommandChange, Image, Restoration, StepId
from handrail.core.checkpoint import Kind as Became
from handrail.core.documents.text import Text, split_lines
from handrail.core.failure import Failure
from handrail.core.policy.place import Place
from handrail.core.review import document as one
from handrail.core.review.document import Reviewed
from handrail.core.review.hunks import Hunk, Step
from handrail.core.review.pending import Kind, Pending
from handrail.ports.review import Made

NewId = Callable[[], str]
KINDS = {Became.CREATED: Kind.CREATED, Became.DELETED: Kind.DELETED, Became.CHANGED: Kind.WHOLE}


def edited(known: Pending | None, made: Made, place: Place, new_id: NewId) -> Pending | None:
    """What is pending in a document after a call has changed its text; None if that is nothing any more."""
    before, after = _rows(made.before), _rows(made.after)
    if known is None or known.kind is Kind.WHOLE:
        known = Pending(
            uri=made.uri,
            identity=place.identity,
            path=place.path,
            document=Reviewed(rows=before),
            kind=_kind(made),
            checkpoint=made.step,
        )
    elif made.after is None and known.kind is Kind.CREATED:
        return None
    elif made.after is None or known.kind is Kind.DELETED:
        known = replace(known, kind=_kind(replace(made, before=made.before or Text(""))))
    document = one.landed(known.document, before, after, (made.turn, made.call), new_id)
    if known.is_whole and not document.hunks:  # an empty file
        hunk = Hunk(id=new_id(), start=0, rows=(), steps=(_step(made.turn, made.call),))
        document = replace(document, hunks=(hunk,))
    return replace(known, uri=made.uri, document=document)


def replaced(
    known: Pending | None, change: CommandChange, whose: Step, place: Place, new_id: NewId
) -> Pending:
    """What is pending in a document that is no text, after a command has changed it."""
    if known is not None and known.is_whole:
        (hunk,) = known.document.hunks
        hunk = replace(hunk, steps=(*hunk.steps, whose))
        return replace(known, document=Reviewed(rows=(), hunks=(hunk,)))
    hunk = Hunk(id=new_id(), start=0, rows=(), steps=(whose,))
    return Pending(
        uri=change.uri,
        identity=place.identity,
        path=place.path,
        document=Reviewed(rows=(), hunks=(hunk,)),
        kind=KINDS[change.change],
    )


def as_text(step: StepId, call: str, restoration: Restoration) -> Made | None:
    """What a command made of a text; None if it is none, or too large."""
    after = restoration.after
    if after is None or restoration.is_place:
        return None
    was, now = _text(restoration.found or restoration.before), _text(after)
    if isinstance(was, Failure) or isinstance(now, Failure):
        return None
    return Made(
        uri=restoration.uri,
        before=was,
        after=now,
        turn=step.turn,
        call=call,
        step=f"{step.turn}.{step.number}",
    )


def _kind(made: Made) -> Kind:
    if made.before is None:
        return Kind.CREATED
    return Kind.DELETED if made.after is None else Kind.CHANGED


def _rows(text: Text | None) -> tuple[str, ...]:
    return () if text is None else tuple(split_lines(text.content))


def _step(turn: str, call: str) -> Step:
    return Step(turn=turn, call=call, before=(), after=())


def _text(image: Image) -> Text | Failure | None:
    if image.unsaved is not None:
        return image.unsaved.text
    return None if image.raw is None else Text.parse(image.raw)
