"""
The pending changes of files that the editor holds in an older text.

Another window may change a file that is open here and that the editor has not loaded again. This text says
nothing about changes that it never had: they stay pending in the file, and only the others are shown here.
"""

from __future__ import annotations

from collections.abc import Sequence

from handrail.core.documents.text import split_lines
from handrail.core.failure import Failure
from handrail.core.review import document as one
from handrail.core.review.pending import Kind, Pending
from handrail.ports import Editor
from handrail.values import dataclass, field, replace


@dataclass(kw_only=True)
class OutdatedTexts:
    """
    The documents of which the editor holds an older text.

    Attributes:
        stored: Their pending changes as other windows have stored them, by identity.
    """

    stored: dict[str, Pending] = field(default_factory=dict)

    def take(self, identity: str, stored: Pending | None, rows: Sequence[str] | None) -> Pending | None:
        """
        Takes over what another window has stored, and returns what of it is pending in the editor's text.

        Args:
            rows: The editor's text; None if the document is not open.
        """
        self.stored.pop(identity, None)
        if stored is None or rows is None or not _lacks_changes(stored, rows):
            return stored
        self.stored[identity] = stored
        return replace(stored, document=one.observe(stored.document, rows))

    def end(self, identity: str, known: Pending | None, rows: Sequence[str]) -> Pending | None:
        """
        Called when the editor's text is that of the file; returns what is pending then.

        Args:
            known: What was pending in the editor's text.
            rows: The text of both.
        """
        stored = self.stored.pop(identity, None)
        if stored is None or (
            known is not None and not one.keeps_more(stored.document, known.document, rows)
        ):
            return known
        return stored

    async def end_if_same(
        self, identity: str, known: Pending | None, editor: Editor, *, is_open: bool
    ) -> tuple[Pending, Sequence[str]] | None:
        """
        Reads an outdated document again.

        Args:
            known: What is pending in the editor's text.

        Returns:
            Its pending changes and its text, if the editor and the file have the same text; else None.
        """
        if (stored := self.stored.get(identity)) is None:
            return None
        document = await editor.read(stored.uri)
        if isinstance(document, Failure):
            return None if is_open else (self.stored.pop(identity, stored), stored.document.rows)
        if document.unsaved:
            return None
        rows = split_lines(document.text.content)
        return self.end(identity, known, rows) or stored, rows

    def is_over(self, identity: str, rows: Sequence[str]) -> bool:
        """Whether a document was outdated, and has all that is pending now."""
        return identity in self.stored and not _lacks_changes(self.stored[identity], rows)

    def keep(self, identity: str, ids: frozenset[str]) -> None:
        """Called when the user has kept hunks, which the editor's text has."""
        if (stored := self.stored.get(identity)) is not None:
            self.stored[identity] = replace(stored, document=one.keep(stored.document, ids))


def _lacks_changes(stored: Pending, rows: Sequence[str]) -> bool:
    """Whether a text does not have all the changes that are pending."""
    if stored.kind in (Kind.DELETED, Kind.WHOLE):
        return False  # these are not seen in a text
    steps = one.observe(stored.document, rows).steps
    return any(len(steps.get(name, ())) < len(all_of_it) for name, all_of_it in stored.document.steps.items())
