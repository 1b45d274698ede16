"""Comments on changes and lines, in the review document: the requests that write, list and send them."""

from __future__ import annotations

from handrail.lsp.protocol.questions import ServedDocument
from handrail.lsp.protocol.request import Request
from handrail.lsp.protocol.review import ReviewPlace
from handrail.lsp.protocol.values import Mode, Range
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewOpenParams:
    """This request takes no params."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewCommentParams:
    """
    A comment on a change, or on lines of any document. Give `hunk`, or `uri` and `range`.

    Attributes:
        hunk: Id of the change to comment on.
        uri: URI of the document to comment on.
        range: The lines to comment on: all that the range touches.
        text: The comment; without it, the review document makes room for one.
    """

    hunk: str | None = None
    uri: str | None = None
    range: Range | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewCommentsParams:
    """This request takes no params."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewComment:
    """
    A comment that is written in the review document and was not sent yet.

    Attributes:
        id: Identifies the comment until it is sent, even if its text changes.
        text: The comment.
        uri: URI of the document that it is about; null if it is not about a document.
        range: The lines that it is about, in the current text; null if it is not about lines, or if they are
            not found.
        hunk: Id of the pending change that it is about; null if it is not about a change, or if the change
            has been kept or undone.
    """

    id: str
    text: str
    uri: str | None = None
    range: Range | None = None
    hunk: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewEditParams:
    """
    A change of a comment.

    Attributes:
        comment: The comment's id.
        text: Its new text; empty deletes the comment.
        was: The text that it replaces. If the comment reads differently by now, nothing is changed.
    """

    comment: str
    text: str
    was: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSendParams:
    """
    The session and mode in which the comments are sent.

    Attributes:
        session: Id of the session that answers; by default the latest one that made any of the changes, or
            else a new one.
        mode: What the turn may do; by default the mode that was chosen for the session, or else the setting
            `handrail.mode`.
    """

    session: str | None = None
    mode: Mode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSent:
    """
    The turn that answers the comments.

    Attributes:
        session: The session's id.
        turn: The turn's id.
        comments: How many comments were sent.
    """

    session: str
    turn: str
    comments: int


REVIEW_OPEN = Request(
    name="review.open",
    params=ReviewOpenParams,
    result=ServedDocument,
    does="Writes and opens the review document, which shows all changes and takes comments.",
)

REVIEW_COMMENT = Request(
    name="review.comment",
    params=ReviewCommentParams,
    result=ReviewPlace,
    does="Writes a comment on a change or on lines into the review document, or adds an empty place there to "
    "write one.",
)

REVIEW_COMMENTS = Request(
    name="review.comments",
    params=ReviewCommentsParams,
    result=list[ReviewComment],
    does="Lists the comments that were not sent yet, wherever they were written.",
)

REVIEW_EDIT = Request(
    name="review.edit",
    params=ReviewEditParams,
    result=None,
    does="Changes a comment that was not sent yet, or deletes it.",
)

REVIEW_SEND = Request(
    name="review.send",
    params=ReviewSendParams,
    result=ReviewSent,
    does="Sends all comments as one turn, which begins after the earlier turns of its session.",
)
