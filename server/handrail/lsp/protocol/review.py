"""Pending changes: what they are, and the requests about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from handrail.lsp.protocol.questions import ServedDocument
from handrail.lsp.protocol.request import Request
from handrail.lsp.protocol.values import Mode, Range

HunkKind = Literal["changed", "created", "deleted", "renamed", "whole"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """
    A change of the agent's that is neither kept nor undone.

    Attributes:
        id: Names it, for as long as it is pending.
        uri, range: The rows that it has now; empty, before the row that it begins with, if it only removed.
        before, after: What would be there without it, and what is there. Both are empty for `whole`.
        turns, calls: Which turns and calls wrote in it, in order.
        edited_by_user: Whether you have typed in it since.
        kind: `changed`: some rows. `created`, `deleted`, `renamed`: a document. `whole`: a file without text.
        renamed_from: The URI that a `renamed` document had, and `before` is what it held there; else null.
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
    """Which pending changes: of a document, of a turn, or all."""

    uri: str | None = None
    turn: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewBaseParams:
    """
    Which document, and which of its pending changes.

    Attributes:
        turn: Leave out only the changes of this turn; without it, all of them.
    """

    uri: str
    turn: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewBase:
    """What a document would hold without its pending changes; what you typed beside them is in it."""

    uri: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewKeepParams:
    """Which pending changes: some by their ids, those of a document, of a turn, or all."""

    hunks: list[str] | None = None
    uri: str | None = None
    turn: str | None = None
    all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewKept:
    """The ids of the changes that are kept now."""

    hunks: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewUndoParams:
    """
    Which pending changes: some by their ids, those of a document, of a turn, or all.

    Attributes:
        typed: Whether what you have typed in them goes as well; the checkpoint has it.
        say_why: Whether the review document makes room below them to say why.
    """

    hunks: list[str] | None = None
    uri: str | None = None
    turn: str | None = None
    all: bool = False
    typed: bool = False
    say_why: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPlace:
    """A line of the review document, counted from 0."""

    uri: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewConflict:
    """
    A change that was not undone.

    Attributes:
        now, before: What is there, and what would be there without it.
    """

    hunk: str
    uri: str
    reason: str
    now: str
    before: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewUndone:
    """
    What came of an undo.

    Attributes:
        hunks: The ids of the changes that were undone; of a turn's, its part of them.
        checkpoint: Has what was there before; null if nothing was touched.
        why: Where you can say why; null if you did not ask for that, or nothing was undone.
    """

    hunks: list[str]
    conflicts: list[ReviewConflict]
    checkpoint: str | None
    why: ReviewPlace | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewStepParams:
    """Where to look from: a document and a line in it, counted from 0; else from the very beginning."""

    uri: str | None = None
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewOpenParams:
    """This request takes no params."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewCommentParams:
    """
    A comment on a change, or on lines of any document.

    Attributes:
        hunk: The id of the change.
        uri, range: The lines; those that the range touches.
        text: The comment; without it, the review document makes room for one.
    """

    hunk: str | None = None
    uri: str | None = None
    range: Range | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSendParams:
    """
    How the comments are sent.

    Attributes:
        session: The session that answers; by default the one whose changes they are about.
        mode: Of the turn; by default the setting `mode`.
    """

    session: str | None = None
    mode: Mode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSent:
    """The turn that answers, and how many comments it was sent."""

    session: str
    turn: str
    comments: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewChanged:
    """
    What is pending has changed.

    Attributes:
        uris: The documents in which it has.
        pending: How many changes are pending now, in all documents.
    """

    uris: list[str]
    pending: int


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
    does="Gives the text of a document without its pending changes, for a client that shows the difference.",
)
REVIEW_KEEP = Request(
    name="review.keep",
    params=ReviewKeepParams,
    result=ReviewKept,
    does="Keeps changes: they are the user's from then on. No document is changed.",
)
REVIEW_UNDO = Request(
    name="review.undo",
    params=ReviewUndoParams,
    result=ReviewUndone,
    does=(
        "Undoes changes by an edit that is read back and has a checkpoint. What the user has typed in them "
        "stays; where it cannot be told from the agent's text, the change stays and is told with both texts."
    ),
)
REVIEW_NEXT = Request(
    name="review.next",
    params=ReviewStepParams,
    result=Hunk,
    does="Shows the next change after a line, in its document or the next; after the last one the first.",
)
REVIEW_PREVIOUS = Request(
    name="review.previous",
    params=ReviewStepParams,
    result=Hunk,
    does="Shows the last change before a line, in its document or the one before.",
)
REVIEW_OPEN = Request(
    name="review.open",
    params=ReviewOpenParams,
    result=ServedDocument,
    does="Writes the review document, which shows all changes, and opens it. Comments are written in it.",
)
REVIEW_COMMENT = Request(
    name="review.comment",
    params=ReviewCommentParams,
    result=ReviewPlace,
    does="Writes a comment on a change or on lines in the review document, or opens it where there is room.",
)
REVIEW_SEND = Request(
    name="review.send",
    params=ReviewSendParams,
    result=ReviewSent,
    does="Sends all comments as one turn, which begins after those of its session.",
)
