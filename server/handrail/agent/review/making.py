"""From what a call has made of a document to what is pending in it."""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import accumulate

from handrail.core.checkpoint import CommandChange, CommandEffects, Image, Restoration, StepId
from handrail.core.checkpoint import Kind as Became
from handrail.core.documents.spelling import common_length
from handrail.core.documents.text import Text, split_lines
from handrail.core.failure import Failure
from handrail.core.policy.place import Place
from handrail.core.review import document as one
from handrail.core.review.document import Reviewed
from handrail.core.review.hunks import Hunk, Rows, Step, base_of
from handrail.core.review.pending import Kind, Pending
from handrail.ports import CheckpointError, Ports
from handrail.ports.review import AgentChange

logger = logging.getLogger(__name__)

NewId = Callable[[], str]
KINDS = {Became.CREATED: Kind.CREATED, Became.DELETED: Kind.DELETED, Became.CHANGED: Kind.WHOLE}


def add_edit(known: Pending | None, made: AgentChange, place: Place, new_id: NewId) -> Pending | None:
    """
    Returns the pending changes of a document after a call has changed its text; None if nothing is left.
    """
    before = rows_of(made.before) if known is None else _known_rows(known.document.rows, made.before)
    after = (
        rows_of(made.after)
        if made.before is None or made.after is None
        else split_changed_rows(before, made.before.content, made.after.content)
    )
    if known is not None and known.kind is Kind.CREATED and made.after is None:
        return None
    if known is not None and known.kind is Kind.WHOLE:
        return _with_step(known, whole_step(made.turn, made.call))
    if made.before is not None and made.after is None:
        return _removal(known, made, place, new_id)
    if known is None or (made.before is None and known.kind is Kind.CHANGED):  # the user had removed it
        known = Pending(
            uri=made.uri,
            identity=place.identity,
            path=place.path,
            document=Reviewed(rows=before),
            kind=Kind.CHANGED if made.before is not None else Kind.CREATED,
            checkpoint=made.step,
        )
    elif known.kind is Kind.DELETED:
        known = _create_again(known)
    document = one.add_agent_edit(known.document, before, after, (made.turn, made.call), new_id)
    if known.is_whole and not document.hunks:  # an empty file
        hunk = Hunk(id=new_id(), start=0, rows=(), steps=(whole_step(made.turn, made.call),))
        document = replace(document, hunks=(hunk,))
    return replace(known, uri=made.uri, document=document)


def _removal(known: Pending | None, made: AgentChange, place: Place, new_id: NewId) -> Pending:
    """
    Returns the pending changes of a removed document: its removal, and below that the changes before it.
    """
    before = rows_of(made.before)
    earlier = one.observe(known.document, before) if known is not None else Reviewed(rows=before)
    step = Step(turn=made.turn, call=made.call, before=before, after=())
    return Pending(
        uri=made.uri,
        identity=place.identity,
        path=place.path,
        document=Reviewed(rows=(), hunks=(Hunk(id=new_id(), start=0, rows=(), steps=(step,)),)),
        kind=Kind.DELETED,
        checkpoint=made.step,
        earlier=earlier if earlier.hunks else None,
    )


def _create_again(known: Pending) -> Pending:
    """Returns a removed document that a call created again: its earlier contents count as replaced."""
    before = known.earlier
    if before is None or not before.hunks:
        return replace(known, kind=Kind.CHANGED, earlier=None)
    (removal, *_) = known.document.hunks
    step = replace(removal.steps[0], before=tuple(base_of(before.rows, before.hunks)))
    document = replace(known.document, hunks=(replace(removal, steps=(step,)),))
    return replace(known, kind=Kind.CHANGED, document=document, earlier=None)


def _with_step(known: Pending, whose: Step) -> Pending:
    """A document that is pending as a whole, after one more call."""
    first, *_ = known.document.hunks
    hunk = replace(first, steps=(*first.steps, whose))
    return replace(known, document=replace(known.document, hunks=(hunk,)))


def add_replacement(
    known: Pending | None, change: CommandChange, whose: Step, place: Place, new_id: NewId
) -> Pending:
    """Returns the pending change of a file that is not text, after a command has changed it."""
    if known is not None and known.kind is Kind.WHOLE:
        return _with_step(known, whose)
    hunk = Hunk(id=new_id(), start=0, rows=(), steps=(whose,))
    earlier = known.document if known is not None and known.kind is Kind.CHANGED else None
    is_ours = known is not None and known.kind is Kind.CREATED
    return Pending(
        uri=change.uri,
        identity=place.identity,
        path=place.path,
        document=Reviewed(rows=(), hunks=(hunk,)),
        kind=Kind.CREATED if is_ours else KINDS[change.change],
        checkpoint=known.checkpoint if known is not None and is_ours else "",
        earlier=earlier if earlier is not None and earlier.hunks else None,
    )


async def of_command(
    ports: Ports, step: StepId, call: str, effects: CommandEffects
) -> list[tuple[CommandChange, AgentChange | None]]:
    """The changes of a command, each with its texts; links and what version control ignores are left out."""
    try:
        plan = await ports.checkpoints.restore_plan(f"{step.turn}.{step.number}")
    except CheckpointError as error:
        logger.warning("Changes made by a command could not be listed for review: %s", error)
        return []
    of = {each.uri: each for each in plan if not each.is_unfollowed}
    ignored = await ports.workspace.ignored_uris([change.uri for change in effects.changes])
    changes = (each for each in effects.changes if each.uri in of and each.uri not in ignored)
    return [(each, as_text(step, call, of[each.uri])) for each in changes]


async def find_unchanged(ports: Ports, pending: Iterable[Pending]) -> list[Pending]:
    """The documents that are pending as a whole, but of which nothing is left to undo."""
    whole = [each for each in pending if each.kind is Kind.WHOLE]
    return [each for each in whole if await _is_as_before(ports, each)]


async def _is_as_before(ports: Ports, known: Pending) -> bool:
    try:
        plan = await ports.checkpoints.restore_plan(known.checkpoint, following=True)
    except CheckpointError:
        return False
    before = next((each.before.raw for each in plan if each.uri == known.uri), None)
    return before is None or before == await ports.editor.read_bytes(known.uri)


def as_text(step: StepId, call: str, restoration: Restoration) -> AgentChange | None:
    """Returns the change of a text file by a command; None if the file is not text, or too large."""
    after = restoration.after
    if after is None or restoration.is_unfollowed:
        return None
    was, now = _text(restoration.before_last or restoration.before), _text(after)
    if isinstance(was, Failure) or isinstance(now, Failure):
        return None
    return AgentChange(
        uri=restoration.uri,
        before=was,
        after=now,
        turn=step.turn,
        call=call,
        step=f"{step.turn}.{step.number}",
    )


def rows_of(text: Text | None) -> Rows:
    """The rows of a text; none of nothing."""
    return () if text is None else tuple(split_lines(text.content))


def whole_step(turn: str, call: str) -> Step:
    """Returns the step of a call that changed a document as a whole, without rows."""
    return Step(turn=turn, call=call, before=(), after=())


def _text(image: Image) -> Text | Failure | None:
    if image.unsaved is not None:
        return image.unsaved.text
    return None if image.raw is None else Text.parse(image.raw)


def _known_rows(rows: Rows, text: Text | None) -> Rows:
    """The rows of a text, which are most often these *rows*."""
    return rows if text is not None and "".join(rows) == text.content else rows_of(text)


def split_changed_rows(rows: Rows, before: str, after: str) -> Rows:
    """The rows of the text *after*, given the *rows* of the text *before*: only what differs is split."""
    head = common_length(before, after)
    rest = min(len(before), len(after)) - head
    tail = common_length(before[len(before) - rest :][::-1], after[len(after) - rest :][::-1])
    starts = [0, *accumulate(map(len, rows))]
    first = max(0, bisect_right(starts, head) - 2)  # one row more on each side: a CR and an LF may meet
    last = min(len(rows), bisect_left(starts, len(before) - tail) + 1)
    changed = after[starts[first] : len(after) - (len(before) - starts[last])]
    return (*rows[:first], *split_lines(changed), *rows[last:])
