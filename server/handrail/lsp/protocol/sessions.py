"""Sessions: the requests that list, resume, fork, compact, rename and delete them."""

from __future__ import annotations

from handrail.lsp.protocol.request import Request
from handrail.lsp.protocol.values import SessionResumeResult
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionListParams:
    """
    Selects the sessions of the workspace to list.

    Attributes:
        limit: List only this many, the newest; null lists all.
    """

    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """
    A session of the workspace.

    Attributes:
        session: The session's id.
        title: The title that the user gave it, or else the first line of its first prompt.
        time: When it was last written to, as an RFC 3339 time.
        turns: The number of its turns, including those that were copied from another session.
    """

    session: str
    title: str
    time: str
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionResumeParams:
    """
    The session to resume.

    Attributes:
        session: The session's id.
    """

    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionForkParams:
    """
    The session to copy, and how much of it.

    Attributes:
        session: Id of the session to copy.
        turn: Id of the last turn to include.
    """

    session: str
    turn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionForkResult:
    """
    The new session.

    Attributes:
        session: The new session's id.
    """

    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCompactParams:
    """
    The session whose conversation to summarise.

    Attributes:
        session: The session's id.
    """

    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCompacted:
    """
    The result of summarising a conversation.

    Attributes:
        before: About how many tokens the conversation had; null if there is too little to summarise.
        after: About how many tokens it has now; null if there is too little to summarise.
    """

    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRenameParams:
    """
    The session's new title.

    Attributes:
        session: The session's id.
        title: The new title; it must not be empty.
    """

    session: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDeleteParams:
    """
    The session to delete.

    Attributes:
        session: The session's id.
    """

    session: str


SESSION_LIST = Request(
    name="session.list",
    params=SessionListParams,
    result=list[SessionInfo],
    does="Lists the sessions of the workspace, newest first.",
)

SESSION_RESUME = Request(
    name="session.resume",
    params=SessionResumeParams,
    result=SessionResumeResult,
    does="Resumes a session, even after a restart.",
)

SESSION_FORK = Request(
    name="session.fork",
    params=SessionForkParams,
    result=SessionForkResult,
    does="Copies a session up to the end of a turn into a new session.",
)

SESSION_COMPACT = Request(
    name="session.compact",
    params=SessionCompactParams,
    result=SessionCompacted,
    does="Summarises all but the latest part of a conversation, to make room for more.",
)

SESSION_RENAME = Request(
    name="session.rename",
    params=SessionRenameParams,
    result=None,
    does="Gives a session a new title.",
)

SESSION_DELETE = Request(
    name="session.delete",
    params=SessionDeleteParams,
    result=None,
    does="Deletes a session permanently. Its document is deleted too, unless it is open in the editor. The "
    "checkpoints of its turns stay.",
)
