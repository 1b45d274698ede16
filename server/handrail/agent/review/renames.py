"""Find a document that has gone under another name, or that is back where it was."""

from __future__ import annotations

import asyncio
from collections.abc import Set

from handrail.core.documents.text import split_lines
from handrail.core.failure import Code, Failure
from handrail.core.policy.place import Place
from handrail.core.review import document as one
from handrail.core.review.pending import Kind, Pending
from handrail.ports import Document, Editor, Ports
from handrail.values import dataclass, field, replace

REMEMBERED = 20  # moves that were taken back


def is_opened_early(known: Pending) -> bool:
    """Whether editors may open a document under its new name before they close it: one without a file."""
    return known.uri.startswith("untitled:")


async def find_renamed(known: Pending, ports: Ports, new: Set[str]) -> Pending | None:
    """
    Returns the pending changes of a document under its new name.

    Args:
        known: As it was under the old one.
        ports: The ports of the server.
        new: The identities of the documents that may be it. If several have its text, none of them is
            taken. A document with nearly its text is taken only if no other has exactly its text, or one
            that it had before.
    """
    alike = list[tuple[Pending, bool]]()
    for other in await ports.editor.open_documents() if new else ():
        place = ports.workspace.resolve(other.uri)
        if not isinstance(place, Place) or place.identity not in new:
            continue
        now = await asyncio.to_thread(one.observe, known.document, split_lines(other.text.content))
        if one.is_like(known.document, now):
            moved = replace(known, uri=other.uri, identity=place.identity, path=place.path, document=now)
            alike.append((moved, one.has_held(known.document, now.rows)))
    same = [each for each, is_same in alike if is_same] or [each for each, _ in alike]
    if len(same) != 1:
        return None
    ports.renames.on_rename(known.identity, same[0].uri)
    return same[0]


@dataclass(kw_only=True)
class RevertedMoves:
    """
    The agent's moves and removals that a restore, an undo of the editor or another program has reverted.

    Attributes:
        known: What was pending before that, by the identity of the document.
    """

    known: dict[str, Pending] = field(default_factory=dict)

    async def find_returned(self, known: Pending, editor: Editor) -> Pending | None:
        """
        Returns the pending changes of a document that was moved or removed, and is back as it was.

        None if it is not back, or is another one by now.
        """
        (first, *_) = known.document.hunks or (None,)
        is_away = known.kind in (Kind.RENAMED, Kind.DELETED)
        if not is_away or first is None or await _rows(editor, known.back.uri) != first.before:
            return None
        self.known[known.identity] = known
        for old in list(self.known)[:-REMEMBERED]:
            del self.known[old]
        return known.back

    async def find_redone(self, editor: Editor) -> list[Pending]:
        """
        Returns changes that are pending again because a restore has redone what an earlier one reverted.
        """
        pending = list[Pending]()
        for identity, known in list(self.known.items()):
            there = await editor.read(known.back.uri)
            is_gone = isinstance(there, Failure) and there.code is Code.NO_SUCH_FILE
            is_there = known.kind is Kind.DELETED or await _rows(editor, known.uri) == known.document.rows
            if is_gone and is_there:
                pending.append(self.known.pop(identity))
        return pending


async def _rows(editor: Editor, uri: str) -> tuple[str, ...] | None:
    there = await editor.read(uri)
    return tuple(split_lines(there.text.content)) if isinstance(there, Document) else None
