"""
What went wrong, where, and what to do next: the value that everything fallible here returns.

A `Failure` is for the model and the user, who can both correct it. Its code is stable: clients, help
pages and tests depend on it. Errors that end a turn are exceptions and live in `handrail.ports`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self


class Code(StrEnum):
    """
    The stable name of a class of failure; there are no others.

    This is the one place to add a code: `docs/failures.md`, the schema and the TypeScript are made from it.

    Attributes:
        page: What `docs/failures.md` says of it, as Markdown: what has happened, and what to do.
    """

    _value_: str
    page: str

    def __new__(cls, value: str, page: str = "") -> Self:
        """A code with its page."""
        member = str.__new__(cls, value)
        member._value_, member.page = value, page
        return member

    # The patch.
    BAD_PATCH = (
        "bad-patch",
        "The patch cannot be read, or its parts contradict each other. The message names the line of "
        "the patch and what was expected there. The same code marks edits that would fit but were "
        "held back because another edit of the same call does not, and new lines whose indentation "
        "cannot be carried over to the document's. Correct the patch and send it again.",
    )
    EMPTY_SEARCH = (
        "empty-search",
        "The search text is empty or blank, so nothing says where the change belongs. Give the lines "
        "to replace; for a new file use `write_file`.",
    )
    NO_MATCH = (
        "no-match",
        "The search text is not in the document. The diagnostic stands at the nearest place; its "
        "quick fix makes the edit there. Or read the document again and send the lines as they stand.",
    )
    AMBIGUOUS_MATCH = (
        "ambiguous-match",
        "The search text occurs more than once and nothing tells the places apart. The quick fixes "
        "make the edit at the place you choose. Or add a line of context, or a line number.",
    )
    NO_CHANGE = (
        "no-change",
        "Search text and replacement are the same. Leave the edit out.",
    )
    OMISSION = (
        "omission",
        "The new text stands for more than it says: a line such as `... existing code ...` that the "
        "document does not have. Send the lines in full.",
    )
    # The document.
    NO_SUCH_FILE = (
        "no-such-file",
        "There is no file of that name, or it is a folder. Check the path.",
    )
    FILE_EXISTS = (
        "file-exists",
        "A file is to be added or moved to a name that is taken. Update that file, or choose another name.",
    )
    OUTSIDE_WORKSPACE = (
        "outside-workspace",
        "The path leads out of the workspace folders, directly or through `..` or a link, and no user was "
        "there to ask. Nothing was read or changed. Add the folder to the workspace, use a path inside it, "
        "or allow it in the setting `handrail.approvals`.",
    )
    STALE_DOCUMENT = (
        "stale-document",
        "You changed the lines that the edit changes. Your text is kept. Read the document again.",
    )
    BAD_ENCODING = (
        "bad-encoding",
        "The file is neither UTF-8 nor UTF-16 with a byte order mark, and no `.editorconfig` names "
        "its encoding; or the new text has a character that the file's encoding lacks. Name the "
        "encoding (`charset = latin1`), or convert the file.",
    )
    TOO_LARGE = (
        "too-large",
        "The file exceeds the limit that the message names.",
    )
    # The editor.
    EDIT_REJECTED = (
        "edit-rejected",
        "The editor refused the edit, did not answer in time, or the file could not be written; the "
        "message says which. See whether the document is read-only or a dialog is open, then try "
        "again.",
    )
    NOT_AS_WRITTEN = (
        "not-as-written",
        "After the edit, the document does not hold what was asked for: the editor applied only some of it, "
        "or reported an edit that it had not made. Look at the document; the checkpoint has what it held "
        "before.",
    )
    BUSY = (
        "busy",
        "Something else holds what the call needs: another program keeps writing the file, or has had its "
        "folder locked for two seconds (the message names it if the system does). Nothing "
        "was changed. Try again.",
    )
    # The call.
    BLOCKED = (
        "blocked",
        "The path belongs to version control's own files, or to handrail's (`.handrail`): no answer "
        "and no setting lifts this. Or a rule of your setting `handrail.approvals` blocks the call.",
    )
    DENIED = (
        "denied",
        "You answered no when asked whether the call may run, or the question timed out. This does "
        "not count as a failure: no document shows a problem, and there is nothing to dismiss. The "
        "turn's report lists the edit as denied, and `handrail run` exits with 1, because the edit "
        "was not made.",
    )
    TIMED_OUT = (
        "timed-out",
        "The call took longer than its limit and was stopped. A command's result has what it had "
        "printed by then; what it had changed stays changed, and can be taken back. The setting "
        "`handrail.terminal.timeout` is the limit.",
    )
    UNKNOWN_TOOL = (
        "unknown-tool",
        "The model called a tool that does not exist. It is told which do.",
    )
    BAD_ARGUMENTS = (
        "bad-arguments",
        "The call's arguments are not valid JSON, or one is missing or of the wrong kind; the message "
        "names it.",
    )
    CUT_SHORT = (
        "cut-short",
        "The turn was stopped before this call ran, while it ran, or before it had a result.",
    )
    TOOL_FAILED = (
        "tool-failed",
        "The call failed for a reason that the message gives, for example because no checkpoint could "
        "be taken: then nothing was changed.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A half-open range of a document; offsets count code points, `start <= end`."""

    start: int
    end: int

    def shift(self, by: int) -> Span:
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
