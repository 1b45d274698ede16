"""
What went wrong, where, and what to do next: the value that everything fallible here returns.

A `Failure` is for the model and the user, who can both mend it. Its code is stable: clients, help
pages and tests depend on it. Errors that end a turn are exceptions and live in `handrail.ports`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Code(StrEnum):
    """The stable name of a class of failure; there are no others."""

    # The patch.
    BAD_PATCH = "bad-patch"
    EMPTY_SEARCH = "empty-search"
    NO_MATCH = "no-match"
    AMBIGUOUS_MATCH = "ambiguous-match"
    NO_CHANGE = "no-change"
    OMISSION = "omission"
    # The document.
    NO_SUCH_FILE = "no-such-file"
    FILE_EXISTS = "file-exists"
    OUTSIDE_WORKSPACE = "outside-workspace"
    STALE_DOCUMENT = "stale-document"
    BAD_ENCODING = "bad-encoding"
    TOO_LARGE = "too-large"
    # The editor.
    EDIT_REJECTED = "edit-rejected"
    NOT_AS_WRITTEN = "not-as-written"
    BUSY = "busy"
    # The call.
    BLOCKED = "blocked"
    DENIED = "denied"
    TIMED_OUT = "timed-out"
    UNKNOWN_TOOL = "unknown-tool"
    BAD_ARGUMENTS = "bad-arguments"
    CUT_SHORT = "cut-short"
    TOOL_FAILED = "tool-failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A half-open range of a document; offsets count code points, `start <= end`."""

    start: int
    end: int

    def shifted(self, by: int) -> Span:
        """The same range, *by* code points further on."""
        return Span(start=self.start + by, end=self.end + by)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """
    A place where a hunk may have been meant to go.

    Attributes:
        span: Whole lines of the document, without the last terminator.
        line: The first line, counted from 0.
        score: How alike search text and place are, from 0 to 1.
    """

    span: Span
    line: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """
    Something that the model or the user can mend.

    Attributes:
        code: The class of failure.
        message: What happened and where, as one or two sentences.
        steps: What to do next, the most useful first.
        uri: The document concerned; empty where there is none.
        near: The most likely places, best first.
    """

    code: Code
    message: str
    steps: tuple[str, ...] = ()
    uri: str = ""
    near: tuple[Candidate, ...] = ()

    def at(self, uri: str) -> Failure:
        """The same failure, said of the document *uri*."""
        return replace(self, uri=uri)
