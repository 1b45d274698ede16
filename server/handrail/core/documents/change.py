"""
What is to become of documents: the changes that a plan hands to the editor, and what came of them.

A change carries the text it was computed on, so that whoever applies it can see whether the document
has moved on. Nothing here computes or applies anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from handrail.core.documents.edit import TextEdit
from handrail.core.documents.text import Text
from handrail.core.failure import Failure


class Tier(StrEnum):
    """How exactly a hunk had to match."""

    SAFE = "safe"
    NORMALISED = "normalised"
    ANCHORED = "anchored"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedHunk:
    """
    A hunk with its place found.

    Attributes:
        number: Its place in the patch, counted from 1; None for a change of the whole document.
        tier: How it matched.
        edits: The smallest edits of the base text; none if the document says so already.
    """

    number: int | None
    tier: Tier
    edits: tuple[TextEdit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Change the text of an existing document; the hunks' edits are ascending and do not overlap."""

    uri: str
    base: Text
    hunks: tuple[PlannedHunk, ...]

    @property
    def edits(self) -> tuple[TextEdit, ...]:
        """All edits of all hunks, ascending."""
        found = [edit for hunk in self.hunks for edit in hunk.edits]
        return tuple(sorted(found, key=lambda edit: (edit.span.start, edit.span.end)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Make a document that is not there yet, with this text."""

    uri: str
    text: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Remove a document; `base` is the text that it was judged by."""

    uri: str
    base: Text


Change = Update | Create | Delete


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The change was read back and stands; `text` is what was read, None for a deletion."""

    text: Text | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial:
    """Some edits stand and some do not: `stands` has one value for each of the update's `edits`."""

    stands: tuple[bool, ...]
    failure: Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """Nothing of the change stands."""

    failure: Failure


Landing = Applied | Partial | Rejected
