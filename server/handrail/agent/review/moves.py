"""
Determine the pending changes after a call that has moved documents.

A moved document is one change at its new path, of kind `renamed`, whatever else the call and later ones
change in it. Changes that were pending at the old path come back when the move is undone. A document that the
agent has created and then moves counts as created at its new path. A move to a path at which something is
pending is two changes: the document at the old path was deleted, and the one at the new path was created or
changed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from handrail.agent.review.making import NewId, add_edit, rows_of
from handrail.core.failure import Failure
from handrail.core.policy.place import Place
from handrail.core.review import document as one
from handrail.core.review.document import Reviewed
from handrail.core.review.hunks import Hunk, Step
from handrail.core.review.pending import Kind, Origin, Pending
from handrail.ports import Workspace
from handrail.ports.review import AgentChange

SMALL_CHARS = 200_000  # of a text that is compared at once, within a few milliseconds
NEW = (Kind.CREATED, Kind.RENAMED)
Became = dict[str, Pending | None]  # what is pending in each document now, by its identity
Places = tuple[Place, Place | None]  # where a document is, and where it was if it was moved


async def apply_to_pending_in_thread(
    known: Mapping[str, Pending], made: AgentChange, workspace: Workspace, new_id: NewId
) -> Became:
    """
    Does the same as `apply_to_pending`, in a thread if the document is large.

    Nothing is pending outside the workspace.
    """
    place = workspace.resolve(made.uri)
    source = workspace.resolve(made.moved_from) if made.moved_from is not None else None
    if not isinstance(place, Place) or isinstance(source, Failure):
        return {}
    places = (place, source)
    size = sum(len(text.content) for text in (made.before, made.after) if text is not None)
    if size <= SMALL_CHARS:
        return apply_to_pending(known, made, places, new_id)
    return await asyncio.to_thread(apply_to_pending, dict(known), made, places, new_id)


def apply_to_pending(
    known: Mapping[str, Pending], made: AgentChange, places: Places, new_id: NewId
) -> Became:
    """
    Returns what is pending after a call has changed, moved, created or removed a document.

    Args:
        known: What was pending, by the identities of documents.
        made: What the call did.
        places: Where the document is, and where it was if the call moved it.
        new_id: Names a new hunk.
    """
    place, source = places
    now = known.get(place.identity)
    if source is not None:
        return _move(known, made, (place, source), new_id)
    if now is not None and now.origin is not None and made.after is None:
        if _is_typed_in(one.observe(now.document, rows_of(made.before))):  # what is undone must bring it back
            return {place.identity: add_edit(None, made, place, new_id)}
        removal = Step(turn=made.turn, call=made.call, before=(), after=())
        return {place.identity: None, now.origin.identity: _remove_renamed(now, now.origin, removal)}
    moved = [each for each in known.values() if made.before is None and _was_at(each, place)]
    if moved:
        split = _split(moved[0], new_id)
        return {**split, **apply_to_pending({**known, **split}, made, places, new_id)}
    return {place.identity: add_edit(now, made, place, new_id)}


def pair(made: Sequence[AgentChange]) -> list[AgentChange]:
    """
    Joins what a command removed and created into moves, where one document of each has the same text.

    A text that several documents had, or that is empty, says nothing of where it came from.
    """
    gone = [each for each in made if each.before is not None and each.after is None]
    new = [each for each in made if each.before is None and each.after is not None]
    counts = [
        Counter(each.before.content for each in gone if each.before is not None),
        Counter(each.after.content for each in new if each.after is not None),
    ]
    result, joined = list[AgentChange](), set[str]()
    for target in new:
        text = target.after.content if target.after is not None else ""
        source = next((each for each in gone if each.before == target.after), None)
        if text and source is not None and [count[text] for count in counts] == [1, 1]:
            result.append(replace(target, before=source.before, moved_from=source.uri))
            joined |= {source.uri, target.uri}
    return [each for each in made if each.uri not in joined] + result


def _move(
    known: Mapping[str, Pending], made: AgentChange, places: tuple[Place, Place], new_id: NewId
) -> Became:
    place, source = places
    was, there = known.get(source.identity), known.get(place.identity)
    if there is not None and there.kind in (Kind.CHANGED, *NEW):  # nothing was there: it has gone unseen
        is_same = there.origin is not None and there.origin.identity == source.identity
        was, there = was or (there.back if is_same and there.document.hunks else None), None
    if was is not None and not was.document.hunks:
        was = None  # it is all the user's by now
    is_back = was is not None and was.origin is not None and was.origin.identity == place.identity
    if there is not None and there.document.hunks:
        return _remove_and_create(known, made, places, new_id)
    now: Pending | None
    if was is None or was.kind is Kind.CHANGED:
        now = _rename(was, made, places, new_id)
    elif is_back:
        now = _move_back(was, made, place, new_id)
    elif was.is_new:
        at = replace(was, uri=made.uri, identity=place.identity, path=place.path, recorded=("", ""))
        now = add_edit(at, replace(made, moved_from=None), place, new_id)
    else:
        return _remove_and_create(known, made, places, new_id)
    return {source.identity: None, place.identity: now}


def _remove_and_create(
    known: Mapping[str, Pending], made: AgentChange, places: tuple[Place, Place], new_id: NewId
) -> Became:
    """The document at the old path was removed, and the one at the new path created or changed."""
    place, source = places
    uri = made.moved_from or made.uri
    removal = replace(made, uri=uri, after=None, moved_from=None)
    creation = replace(made, before=None, moved_from=None)
    return {
        source.identity: add_edit(known.get(source.identity), removal, source, new_id),
        place.identity: add_edit(known.get(place.identity), creation, place, new_id),
    }


def _rename(was: Pending | None, made: AgentChange, places: tuple[Place, Place], new_id: NewId) -> Pending:
    place, source = places
    before, after = rows_of(made.before), rows_of(made.after)
    earlier = one.observe(was.document, before) if was is not None else Reviewed(rows=before)
    step = Step(turn=made.turn, call=made.call, before=before, after=after)
    return Pending(
        uri=made.uri,
        identity=place.identity,
        path=place.path,
        document=Reviewed(rows=after, hunks=(Hunk(id=new_id(), start=0, rows=after, steps=(step,)),)),
        kind=Kind.RENAMED,
        checkpoint=made.step,
        earlier=earlier if earlier.hunks else None,
        origin=Origin(uri=made.moved_from or made.uri, identity=source.identity, path=source.path),
    )


def _move_back(was: Pending, made: AgentChange, place: Place, new_id: NewId) -> Pending | None:
    """A renamed document that is at its old path again: what the calls changed in it is left."""
    before, after, whose = rows_of(made.before), rows_of(made.after), (made.turn, made.call)
    seen, first = one.observe(was.document, before), was.document.hunks[0]
    if _is_typed_in(seen):  # one change, of which the user's part is known
        now = one.add_agent_edit(seen, before, after, whose, new_id)
    else:
        earlier = was.earlier or Reviewed(rows=first.before)
        now = one.add_agent_edit(earlier, first.before, after, whose, new_id)
    pending = Pending(uri=made.uri, identity=place.identity, path=place.path, document=now)
    return pending if now.hunks else None


def _remove_renamed(now: Pending, origin: Origin, removal: Step) -> Pending:
    """A renamed document that was removed: the one at its old path is gone."""
    first = now.document.hunks[0]
    steps = (replace(removal, before=first.before, after=()),)
    return replace(
        now,
        uri=origin.uri,
        identity=origin.identity,
        path=origin.path,
        document=Reviewed(rows=(), hunks=(replace(first, start=0, rows=(), steps=steps),)),
        kind=Kind.DELETED,
        origin=None,
        recorded=("", ""),
    )


def _is_typed_in(renamed: Reviewed) -> bool:
    """Whether the user has typed in a document since it was renamed, or next to its only hunk."""
    return [hunk.rows for hunk in renamed.hunks] != [renamed.rows] or renamed.hunks[0].is_typed_in


def _was_at(known: Pending, place: Place) -> bool:
    is_there = known.origin is not None and known.origin.identity == place.identity
    return is_there and bool(known.document.hunks)


def _split(now: Pending, new_id: NewId) -> dict[str, Pending]:
    """A renamed document as two changes, as its old path is about to be used again."""
    first, *others = now.document.hunks
    step = replace(first.steps[0], before=())
    creation = replace(now.document, hunks=(replace(first, steps=(step, *first.steps[1:])), *others))
    created = replace(now, document=creation, kind=Kind.CREATED, origin=None, earlier=None)
    origin = now.origin or Origin(uri=now.uri, identity=now.identity, path=now.path)
    deleted = _remove_renamed(now, origin, first.steps[0])
    (removal,) = deleted.document.hunks
    deleted = replace(deleted, document=replace(deleted.document, hunks=(replace(removal, id=new_id()),)))
    return {now.identity: created, origin.identity: deleted}
