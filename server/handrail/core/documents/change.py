"""
The changes of documents that a plan passes to the editor, and their results.

A change contains the text for which it was computed, so that the editor port can see whether the document has
changed since. Nothing here computes or applies anything.
"""

from __future__ import annotations

from enum import StrEnum

from handrail.core.documents.edit import TextEdit, rebase
from handrail.core.documents.text import Text
from handrail.core.failure import Failure, Span
from handrail.values import dataclass, replace


class Tier(StrEnum):
    """The kinds of matches, from exact to lenient."""

    SAFE = "safe"
    NORMALISED = "normalised"
    ANCHORED = "anchored"


class Status(StrEnum):
    """The result of one hunk, or of the change of a whole document; *denied*: the user said no."""

    LANDED = "landed"
    ALREADY = "already"
    FAILED = "failed"
    DENIED = "denied"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedHunk:
    """
    A hunk with its place found.

    Attributes:
        number: Its place in the patch, counted from 1; None for a change of the whole document.
        tier: How it matched.
        edits: The smallest edits of the base text; none if the document already has this change, or if they
            are among those of another hunk (`within`).
        notes: What was corrected to understand it, in sentences.
        within: The number of the hunk whose edits make this one too, because it builds on that hunk's text.
    """

    number: int | None
    tier: Tier
    edits: tuple[TextEdit, ...]
    notes: tuple[str, ...] = ()
    within: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """
    Change the text of an existing document; the hunks' edits are ascending and do not overlap.

    Attributes:
        base: The text on which the edits were computed.
        is_divisible: Whether hunks that still fit may be made if others no longer do.
        is_alone: Whether it is for the document of this URI alone, of several that are open of one file.
    """

    uri: str
    base: Text
    hunks: tuple[PlannedHunk, ...]
    is_divisible: bool = False
    is_alone: bool = False

    @property
    def edits(self) -> tuple[TextEdit, ...]:
        """All edits of all hunks, ascending."""
        edits = [edit for hunk in self.hunks for edit in hunk.edits]
        return tuple(sorted(edits, key=lambda edit: (edit.span.start, edit.span.end)))

    @property
    def numbers(self) -> tuple[int, ...]:
        """For each of all edits, the number of its hunk."""
        of = {edit: hunk.number or 1 for hunk in self.hunks for edit in hunk.edits}
        return tuple(of[edit] for edit in self.edits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebased:
    """
    An update carried over to a later text.

    Attributes:
        edits: Edits of that text: those of the update that are kept.
        kept: For each of the update's edits, whether it is; a hunk is kept whole or not at all.
        conflicts: The numbers of the hunks that are not kept, since their lines have changed.
    """

    edits: tuple[TextEdit, ...]
    kept: tuple[bool, ...]
    conflicts: tuple[int, ...]


def rebase_update(update: Update, now: str) -> Rebased:
    """Carries *update* over to *now*, a later text of its document."""
    if now == update.base.content:
        edits = update.edits
        return Rebased(edits=edits, kept=(True,) * len(edits), conflicts=())
    moved = rebase(update.base, update.edits, now)
    blocked = {old for old, new in zip(update.edits, moved, strict=True) if new.conflict}
    lost = [hunk for hunk in update.hunks if blocked.intersection(hunk.edits)]
    dropped = {edit for hunk in lost for edit in hunk.edits}
    kept = tuple(edit not in dropped for edit in update.edits)
    return Rebased(
        edits=tuple(new.edit for new, keep in zip(moved, kept, strict=True) if keep),
        kept=kept,
        conflicts=tuple(hunk.number or 1 for hunk in lost),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """
    Make a document that is not there yet, with this text.

    Attributes:
        moved_from: The URI of a file that is moved here, whose permission bits it gets.
    """

    uri: str
    text: Text
    moved_from: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Remove a document; `base` is the text that it was judged by."""

    uri: str
    base: Text


Change = Update | Create | Delete


def insertion(create: Create) -> Update:
    """Returns the update of an empty document that gives it the text of a new one."""
    edit = TextEdit(span=Span(start=0, end=0), new=create.text.content)
    hunk = PlannedHunk(number=None, tier=Tier.SAFE, edits=(edit,) if edit.new else ())
    return Update(uri=create.uri, base=replace(create.text, content=""), hunks=(hunk,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """
    The change was read back and has landed.

    Attributes:
        text: The text that was read back; None for a deletion.
        saved: The text after we had the editor save it, if something such as a formatter changed it then.
        is_reformatted: Whether the editor has changed blanks of it.
        was_changed_on_save: Whether the save changed more than blanks of it.
        was_doubled: Whether the editor made it twice, and the second copy was undone.
        is_doubled: Whether the second copy could not be undone, and is still there.
        stays_open: Whether the editor still has a deleted document open.
        uri: Where the document is now, if it was renamed in the meantime.
    """

    text: Text | None
    saved: Text | None = None
    is_reformatted: bool = False
    was_changed_on_save: bool = False
    was_doubled: bool = False
    is_doubled: bool = False
    stays_open: bool = False
    uri: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial:
    """
    Some edits have landed and some have not.

    Attributes:
        landed: One value for each of the update's `edits`.
        uri: Where the document is now, if it was renamed in the meantime.
        has_overwritten: Whether it was made over what was typed; the failure has both texts.
    """

    landed: tuple[bool, ...]
    failure: Failure
    uri: str | None = None
    has_overwritten: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """
    Nothing of the change has landed.

    Attributes:
        conflicts: The numbers of the hunks that no longer fit, if the others do; empty for all.
        uri: Where the document is now, if it was renamed in the meantime.
        has_overwritten: As in `Partial`.
    """

    failure: Failure
    conflicts: tuple[int, ...] = ()
    uri: str | None = None
    has_overwritten: bool = False


Landing = Applied | Partial | Rejected


def with_what_was_overwritten(failure: Failure, way: Landing) -> Failure:
    """
    Returns the failure of a reverted edit, with the user's typing that the revert (*way*) has overwritten.
    """
    if isinstance(way, Applied) or not way.has_overwritten:
        return failure
    message = f"{failure.message} {way.failure.message}"
    return replace(failure, message=message, steps=(*way.failure.steps, *failure.steps))
