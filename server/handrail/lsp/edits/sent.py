"""An edit as it was sent, and what a text tells about it; `sending` sends those of open documents."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from handrail.core.documents import edit
from handrail.core.documents.change import Applied, Landing, Partial, Rebased, Rejected, Update
from handrail.core.documents.edit import TextEdit
from handrail.core.documents.readback import LANDED, Fate, fates
from handrail.core.documents.text import Text
from handrail.core.failure import Failure
from handrail.lsp.documents import OpenDocument
from handrail.values import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """
    An edit that was sent.

    Attributes:
        uri: The document, as the client spells it.
        base: The text before the edit.
        edits: The edits of `base` that were sent.
        kept: For each edit of the update, whether it was sent.
        conflicts: The numbers of the hunks that were not sent because their lines had changed.
        numbers: For each edit that was sent, the number of its hunk.
        version: The client's version of `base`.
        opened: The number of documents that had been opened by then.
        label: The label for the user's undo list.
    """

    uri: str
    base: Text
    edits: tuple[TextEdit, ...]
    kept: tuple[bool, ...]
    conflicts: tuple[int, ...]
    numbers: tuple[int, ...]
    version: int
    opened: int
    label: str = ""

    def fates(self, now: str) -> tuple[Fate, ...]:
        """Returns the fate of each edit that was sent, given the document's text *now*."""
        return fates(self.base, self.edits, now, self.numbers)

    def count_in(self, now: str) -> int:
        """Counts the edits that are in the document's text *now*."""
        return sum(fate in LANDED for fate in self.fates(now))

    def has_landed(self, now: Text) -> bool:
        """Whether all edits that were sent are in the text *now*; an empty document must be empty."""
        if not self.edits:
            return not now.content.strip()
        return self.count_in(now.content) == len(self.edits)

    def texts_before(self, seen: Sequence[str]) -> list[str]:
        """Returns the document's texts, in order, before any of this showed."""
        return list(takewhile(lambda text: not self.count_in(text), seen))

    def as_part_of(self, part: Update, whole: Update) -> Sent:
        """Returns what was sent of a *part* of an update in terms of the *whole*."""
        if part is whole:
            return self
        sent = {each for each, keep in zip(part.edits, self.kept, strict=True) if keep}
        left_out = {hunk.number or 1 for hunk in whole.hunks if not sent.issuperset(hunk.edits)}
        return replace(
            self, kept=tuple(each in sent for each in whole.edits), conflicts=tuple(sorted(left_out))
        )

    def is_in(self, document: OpenDocument, *, is_gone: bool) -> bool:
        """Whether *document* is that of the edit; if that *is_gone*, it may have another name now."""
        if not is_gone:
            return document.uri == self.uri
        if document.number <= self.opened or not self.base.content:  # every text is like an empty one
            return False
        rows, there = ({row for row in text.rows if row.strip()} for text in (self.base, document.text))
        is_alike = len(rows & there) * 2 >= len(rows) - len(self.edits)
        return is_alike and any(fate in LANDED for fate in self.fates(document.text.content))

    def landing(self, now: Text, failure: Failure | None, uri: str | None = None) -> Landing:
        """
        Returns the landing of the update.

        Args:
            now: The document's text.
            failure: Why edits that were sent did not land; None if they all did.
            uri: The document's name, if it has another one by now.
        """
        fates = self.fates(now.content)
        landed = [fate in LANDED for fate in fates]
        if all(landed) and not self.conflicts:
            text = replace(now, encoding=self.base.encoding, bom=self.base.bom)
            return Applied(text=text, is_reformatted=Fate.REFORMATTED in fates, uri=uri)
        if failure is None:
            failure = edit.stale("The document")
        if not any(landed):
            return Rejected(failure=failure.with_uri(self.uri))
        each = iter(landed)
        of_all = tuple(keep and next(each) for keep in self.kept)
        return Partial(landed=of_all, failure=failure.with_uri(uri or self.uri), uri=uri)


def prepare_unopened(update: Update, opened: int) -> Sent:
    """Prepares an update of a document that is not open."""
    return Sent(
        uri=update.uri,
        base=update.base,
        edits=update.edits,
        kept=(True,) * len(update.edits),
        conflicts=(),
        numbers=update.numbers,
        version=0,
        opened=opened,
    )


def prepare(update: Update, left: Update, rebased: Rebased, document: OpenDocument, opened: int) -> Sent:
    """Prepares the part of *update* to send: those hunks of *left* that are kept."""
    kept = {each for each, keep in zip(left.edits, rebased.kept, strict=True) if keep}
    return Sent(
        uri=document.uri,
        base=document.text,
        edits=rebased.edits,
        kept=tuple(each in kept for each in update.edits),
        conflicts=(),
        numbers=tuple(number for number, keep in zip(left.numbers, rebased.kept, strict=True) if keep),
        version=document.version,
        opened=opened,
    )
