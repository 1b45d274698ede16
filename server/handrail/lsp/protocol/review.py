"""Pending changes: the requests that list, keep and undo them."""

from __future__ import annotations

from typing import Literal

from handrail.lsp.protocol.request import Request
from handrail.lsp.protocol.values import Range
from handrail.values import dataclass

HunkKind = Literal["changed", "created", "deleted", "renamed", "whole"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """
    A change by the agent that is neither kept nor undone.

    Attributes:
        id: Identifies the change until it is kept or undone.
        uri: URI of the document, under its current name.
        range: The changed lines in the current text. Where lines were only removed, it is empty and is at
            the line that follows them.
        before: The text that would be there without the change; empty for `whole`.
        after: The text that is there now; empty for `whole`.
        turns: Ids of the turns that made the change, in order.
        calls: Ids of the tool calls that made the change, in order.
        edited_by_user: Whether the user has typed in it since.
        kind: `changed`: some lines. `created`, `deleted`, `renamed`: a document. `whole`: a file that is not
            text.
        renamed_from: URI of a `renamed` document before it was renamed; null otherwise.
    """

    id: str
    uri: str
    range: Range
    before: str
    after: str
    turns: list[str]
    calls: list[str]
    edited_by_user: bool
    kind: HunkKind
    renamed_from: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewListParams:
    """
    Selects the pending changes to list; without either field, all.

    Attributes:
        uri: Only changes in this document.
        turn: Only changes that this turn made.
    """

    uri: str | None = None
    turn: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewBaseParams:
    """
    Selects a document, and which of its changes to leave out.

    Attributes:
        uri: URI of the document.
        turn: Leave out only the changes that this turn made; by default all pending changes.
    """

    uri: str
    turn: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewBase:
    """
    The text of a document without its pending changes. It includes what the user typed outside them.

    Attributes:
        uri: URI of the document.
        text: That text.
    """

    uri: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewKeepParams:
    """
    Selects the pending changes to keep. At least one field must be given; several narrow each other down.

    Attributes:
        hunks: Ids of the changes.
        uri: The changes in this document.
        turn: The changes that this turn made.
        all: Whether to keep all pending changes.
    """

    hunks: list[str] | None = None
    uri: str | None = None
    turn: str | None = None
    all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewKept:
    """
    The result of keeping changes.

    Attributes:
        hunks: Ids of the changes that were kept.
    """

    hunks: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewUndoParams:
    """
    Selects the pending changes to undo. At least one of the first four fields must be given; several narrow
    each other down.

    Attributes:
        hunks: Ids of the changes.
        uri: The changes in this document.
        turn: What this turn changed.
        all: Whether to undo all pending changes.
        typed: Whether to remove what the user has typed in the changes too; the checkpoint keeps it. With
            `turn`, what later turns wrote stays.
        say_why: Whether to make room below the undone changes in the review document, where the user can say
            why.
    """

    hunks: list[str] | None = None
    uri: str | None = None
    turn: str | None = None
    all: bool = False
    typed: bool = False
    say_why: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPlace:
    """
    A line of the review document.

    Attributes:
        uri: URI of the review document.
        line: The line, counted from 0.
    """

    uri: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewConflict:
    """
    A change that could not be undone.

    Attributes:
        hunk: The change's id.
        uri: URI of the document.
        reason: Why it was not undone, in a sentence.
        now: The text that is there now.
        before: The text that would be there without the change.
        edited_by_user: Whether text that the user typed is the reason; `typed` removes that text too.
    """

    hunk: str
    uri: str
    reason: str
    now: str
    before: str
    edited_by_user: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewUndone:
    """
    The result of an undo.

    Attributes:
        hunks: Ids of the changes that were undone. With `turn`, only the part of each change that this turn
            made was undone.
        conflicts: The changes that could not be undone.
        checkpoint: Id of a checkpoint taken just before, which brings the changes back; null if nothing was
            changed.
        why: Where the user can say why; null if that was not asked for, or nothing was undone.
    """

    hunks: list[str]
    conflicts: list[ReviewConflict]
    checkpoint: str | None
    why: ReviewPlace | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewStepParams:
    """
    The place from which the next or previous change is searched.

    Attributes:
        uri: URI of the document to start from; null goes to the first change, or the last one when going
            backwards.
        line: The line to start from, counted from 0; by default 0. Changes at this line itself are passed
            over.
    """

    uri: str | None = None
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewChanged:
    """
    Pending changes have come, gone or moved, or comments on them have changed.

    Attributes:
        uris: URIs of the documents concerned; empty if only comments changed.
        pending: How many changes are pending now, in all documents.
        comments: How many comments are written and not sent; `review.comments` lists them.
    """

    uris: list[str]
    pending: int
    comments: int


REVIEW_LIST = Request(
    name="review.list",
    params=ReviewListParams,
    result=list[Hunk],
    does="Lists the agent's changes that are neither kept nor undone.",
)

REVIEW_BASE = Request(
    name="review.base",
    params=ReviewBaseParams,
    result=ReviewBase,
    does=(
        "Returns the text of a document without its pending changes, for a client that shows the difference."
    ),
)

REVIEW_KEEP = Request(
    name="review.keep",
    params=ReviewKeepParams,
    result=ReviewKept,
    does="Keeps changes: from now on they are the user's. No document is changed.",
)

REVIEW_UNDO = Request(
    name="review.undo",
    params=ReviewUndoParams,
    result=ReviewUndone,
    does=(
        "Undoes changes with an edit that is verified and has a checkpoint. The user's typing in them "
        "stays; if it cannot be separated from the agent's text, the change stays and both texts are "
        "returned."
    ),
)

REVIEW_NEXT = Request(
    name="review.next",
    params=ReviewStepParams,
    result=Hunk,
    does=(
        "Shows the next change after a line, in its document or a later one; after the last change, the "
        "first."
    ),
)

REVIEW_PREVIOUS = Request(
    name="review.previous",
    params=ReviewStepParams,
    result=Hunk,
    does=(
        "Shows the previous change before a line, in its document or an earlier one; before the first "
        "change, the last."
    ),
)
