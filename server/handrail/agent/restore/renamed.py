"""
Find the documents of a restore under the names that the user has given them since.

A rename that the client or the review has noticed is believed if the document is gone from its old name, or
if only the new one has the agent's changes. Otherwise, a document that is gone is the one open document that
holds what the turn left, perhaps with a few lines typed since. Changes that were made under two names are
restored together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import replace

from handrail.agent.restore.document import revert_edits
from handrail.agent.restore.image_text import text_of
from handrail.agent.restore.names import identity
from handrail.core.checkpoint import Image, Restoration
from handrail.core.documents.text import Text, split_lines
from handrail.core.failure import Code, Failure
from handrail.core.policy.place import Place
from handrail.core.review.document import Reviewed, is_like
from handrail.ports import Document, Ports


async def follow(ports: Ports, plan: Sequence[Restoration]) -> tuple[Restoration, ...]:
    """Returns the plan with the current names of renamed documents."""
    known = {identity(ports, each.uri) for each in plan}
    places = {each.uri: await _find(ports, each, known) for each in plan}
    followed = [_follow_one(ports, each, places[each.uri]) for each in plan]
    by_name: dict[str, list[Restoration]] = {}
    for each in followed:
        by_name.setdefault(identity(ports, each.uri), []).append(each)
    result = list[Restoration]()
    for each in followed:
        alike = by_name.pop(identity(ports, each.uri), [])
        result += _join_alike(alike) if len(alike) > 1 else alike
    return tuple(result)


async def _find(ports: Ports, each: Restoration, known: Collection[str]) -> Place | None:
    """Returns the place that a document was renamed to; None if it was not, or if that is not certain."""
    if each.is_unfollowed or not _has_contents(each.after):
        return None
    name, now = identity(ports, each.uri), await ports.editor.read(each.uri)
    is_gone = isinstance(now, Failure) and now.code is Code.NO_SUCH_FILE
    if (place := ports.renames.find(name, ports.workspace.resolve)) is not None:
        if is_gone:
            return place
        there = await ports.editor.read(place.uri)
        is_there = await _holds(each, there) and not await _holds(each, now)
        return place if is_there else None
    return await _find_open(ports, each, known) if is_gone else None


async def _find_open(ports: Ports, each: Restoration, known: Collection[str]) -> Place | None:
    """Returns the place of the only open document that may be the one that is gone."""
    name, same, alike = identity(ports, each.uri), list[Place](), list[Place]()
    for document in await ports.editor.open_documents():
        place = ports.workspace.resolve(document.uri)
        if isinstance(place, Failure) or place.identity in known or not document.text.content.strip():
            continue
        if ports.renames.was_open(place.identity, name):
            continue
        if _is_left(each, document.text):
            same.append(place)
        elif await _holds(each, document):
            alike.append(place)
    found = same or alike
    return found[0] if len(found) == 1 else None


def _has_contents(image: Image | None) -> bool:
    return image is not None and (image.raw is not None or image.unsaved is not None)


def _is_left(each: Restoration, now: Text) -> bool:
    """Whether a text is what the turn, or some of its steps, left."""
    texts = (text_of(one.after, now) for one in (each, *each.earlier))
    return any(text is not None and text.content == now.content for text in texts)


async def _holds(each: Restoration, now: Document | Failure) -> bool:
    """Whether a document holds what the turn left, perhaps with a few other lines typed in it."""
    return isinstance(now, Document) and await asyncio.to_thread(_holds_text, each, now.text)


def _holds_text(each: Restoration, now: Text) -> bool:
    if _is_left(each, now):
        return True
    after, before = text_of(each.after, now), text_of(each.before, now)
    if after is None:
        return False
    rows = [Reviewed(rows=tuple(split_lines(text.content))) for text in (after, now)]
    return is_like(rows[0], rows[1]) and (before is None or bool(revert_edits(each, now, before)))


def _follow_one(ports: Ports, each: Restoration, place: Place | None) -> Restoration:
    """Returns what is to be restored at its current place."""
    if place is None:
        return each
    folders = tuple(_folder(ports, uri) for uri in each.made_folders)
    earlier = tuple(_follow_one(ports, one, place) for one in each.earlier)
    return replace(
        each,
        uri=place.uri,
        identity=place.identity,
        renamed_from=each.uri,
        made_folders=folders,
        earlier=earlier,
    )


def _folder(ports: Ports, uri: str) -> str:
    place = ports.renames.find(identity(ports, uri), ports.workspace.resolve)
    return uri if place is None else place.uri


def _join_alike(alike: Sequence[Restoration]) -> list[Restoration]:
    """
    Joins what is to be restored in one document, under an old name and then under the new one.

    They stay apart, each under its own name, if their order is not certain.
    """
    apart = [replace(each, uri=each.renamed_from or each.uri, renamed_from="") for each in alike]
    old, new = (
        [each for each in alike if each.renamed_from],
        [each for each in alike if not each.renamed_from],
    )
    if len(old) != 1 or len(new) != 1 or not _has_contents(new[0].before) or old[0].after is None:
        return apart
    return [_join(old[0], new[0])]


def _join(old: Restoration, new: Restoration) -> Restoration:
    """Returns the two as one: what others changed between them is a gap like any other."""
    assert old.after is not None
    between = () if old.after == new.before else ((old.after, new.before),)
    return replace(
        new,
        before=old.before,
        gaps=(*old.gaps, *between, *new.gaps),
        made_folders=(*old.made_folders, *new.made_folders),
        renamed_from=old.renamed_from,
        is_seen=old.is_seen and new.is_seen,
        earlier=(*(_join(old, one) for one in new.earlier), old, *old.earlier),
        before_last=new.before_last or new.before,
    )
