"""Find a document that has gone under another name, or that is back under its old one."""

from __future__ import annotations

import asyncio
from collections.abc import Set
from dataclasses import dataclass, field, replace

from handrail.core.documents.text import split_lines
from handrail.core.policy.place import Place
from handrail.core.review import document as one
from handrail.core.review.pending import Pending
from handrail.ports import Document, Editor, Ports

REMEMBERED = 20  # moves that were taken back


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


@dataclass(kw_only=True)
class TakenBack:
    """
    The agent's moves that a restore, an undo of the editor or another program has taken back.

    Attributes:
        moves: What was pending at the new path, by the identity of that.
    """

    moves: dict[str, Pending] = field(default_factory=dict)

    async def back(self, known: Pending, editor: Editor) -> Pending | None:
        """What is pending in a moved document that is at its old path again, as it was; None if it is not."""
        if known.origin is None or not known.document.hunks:
            return None
        if await _rows(editor, known.origin.uri) != known.document.hunks[0].before:
            return None
        self.moves[known.identity] = known
        for old in list(self.moves)[:-REMEMBERED]:
            del self.moves[old]
        return known.back

    async def again(self, editor: Editor) -> list[Pending]:
        """What is pending in documents that are at their new paths again, such as after a second restore."""
        found = list[Pending]()
        for identity, known in list(self.moves.items()):
            is_gone = known.origin is not None and await editor.read_bytes(known.origin.uri) is None
            if is_gone and await _rows(editor, known.uri) == known.document.rows:
                found.append(self.moves.pop(identity))
        return found


async def _rows(editor: Editor, uri: str) -> tuple[str, ...] | None:
    there = await editor.read(uri)
    return tuple(split_lines(there.text.content)) if isinstance(there, Document) else None
