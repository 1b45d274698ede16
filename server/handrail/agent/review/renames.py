"""Find a document that has gone under another name."""

from __future__ import annotations

import asyncio
from collections.abc import Set
from dataclasses import replace

from handrail.core.documents.text import split_lines
from handrail.core.policy.place import Place
from handrail.core.review import document as one
from handrail.core.review.pending import Pending
from handrail.ports import Ports


async def found(known: Pending, ports: Ports, new: Set[str]) -> Pending | None:
    """
    What is pending in a document, under its new name.

    Args:
        known: As it was under the old one.
        ports: The world.
        new: The identities of the documents that may be it. If several have its text, none of them is
            taken. A document with nearly its text is taken only if no other has exactly its text.
    """
    alike = list[tuple[Pending, bool]]()
    for other in await ports.editor.opened():
        place = ports.workspace.resolve(other.uri)
        if not isinstance(place, Place) or place.identity not in new:
            continue
        now = await asyncio.to_thread(one.observed, known.document, split_lines(other.text.content))
        if one.is_like(known.document, now):
            moved = replace(known, uri=other.uri, identity=place.identity, path=place.path, document=now)
            alike.append((moved, now.rows == known.document.rows))
    same = [each for each, is_same in alike if is_same] or [each for each, _ in alike]
    return same[0] if len(same) == 1 else None
