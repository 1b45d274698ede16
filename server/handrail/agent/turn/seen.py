"""
The documents that the model has read in a turn, as it knows them: it is told when one changes otherwise.

What the turn's own calls change is known to the model. Line ends do not count: editors show them otherwise
than the disk has them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from handrail.core import surfaces
from handrail.core.documents import edit
from handrail.core.documents.change import Status
from handrail.core.documents.text import Text, split_lines, to_lf
from handrail.core.ledger.outcome import Outcome
from handrail.core.policy.place import Place
from handrail.ports import Document, Ports

LIMIT_DOCUMENTS = 50  # those that were read last


@dataclass(kw_only=True)
class Seen:
    """What the model knows of documents, by their identities."""

    ports: Ports
    _known: dict[str, tuple[Place, str]] = field(default_factory=dict)

    async def read(self, places: Iterable[Place]) -> None:
        """The model reads these documents now."""
        for place in places:
            text = await self._text(place)
            self._known.pop(place.identity, None)
            if text is not None:
                self._known[place.identity] = (place, text)
        while len(self._known) > LIMIT_DOCUMENTS:
            del self._known[next(iter(self._known))]

    def note(self, outcomes: Sequence[Outcome]) -> None:
        """Calls of this turn have changed documents; one whose text is not told is no longer followed."""
        for each in outcomes:
            known = self._known.get(each.mutation.identity)
            if known is None or each.status is not Status.LANDED:
                continue
            if isinstance(each.text, Text):
                self._known[each.mutation.identity] = (known[0], to_lf(each.text.content))
            else:
                del self._known[each.mutation.identity]

    async def changes(self, identities: Iterable[str] | None = None) -> list[str]:
        """
        What the model is told of documents that have changed since it knew them, once for each change.

        Args:
            identities: Those that are meant; None for all.
        """
        names = (
            list(self._known) if identities is None else [each for each in identities if each in self._known]
        )
        texts = await asyncio.gather(*(self._text(self._known[name][0]) for name in names))
        told = []
        for name, now in zip(names, texts, strict=True):
            place, was = self._known[name]
            if now is None:
                del self._known[name]
            elif now != was:
                self._known[name] = (place, now)
                told.append(await asyncio.to_thread(_said, place.path, was, now))
        return told

    async def _text(self, place: Place) -> str | None:
        document = await self.ports.editor.read(place.uri)
        return to_lf(document.text.content) if isinstance(document, Document) else None


def _said(path: str, was: str, now: str) -> str:
    blocks = edit.opcodes(split_lines(was), split_lines(now))
    first = min(k for _, _, k, _ in blocks) + 1
    last = max(first, *(m for _, _, _, m in blocks))
    where = f"line {first}" if first == last else f"lines {first} to {last}"
    return (
        f"{surfaces.line(path)} has changed since you last read or edited it, at {where}. "
        "You did not make this change. Read it again before you edit there."
    )
