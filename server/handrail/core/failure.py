"""
What went wrong, where, and what to do next: the value that every fallible function here returns.

A `Failure` is for the model and the user, who can both correct it. Its code is stable: clients, help
pages and tests depend on it. Errors that end a turn are exceptions and live in `handrail.ports`.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Self

from handrail.values import dataclass, replace


class Code(StrEnum):
    """
    The stable name of a class of failure.

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
        "The patch cannot be read, or its parts contradict each other. The message names the line of the "
        "patch and what was expected there. Other failures have this code too: the patch asks for something "
        "that handrail does not do, such as copying a file or changing its permissions; it is unclear which "
        "file the patch means; an edit that would fit was not made, or was reverted, because another edit of "
        "the same call did not land; new lines have an indentation that cannot be adapted to the document; "
        "or, in a document with CR and LF, the edit would put a CR directly before an LF, so that two line "
        "endings become one. Correct the patch, or the edit that did not land, and send it again. If line "
        "endings are mixed, convert the document to one kind first.",
    )
    EMPTY_SEARCH = (
        "empty-search",
        "It is unknown where the change belongs: the search text is empty or blank, or the edit only inserts "
        "lines and has no context. Give the lines to replace, or a line of context that is not blank; for a "
        "new file, use `write_file`.",
    )
    NO_MATCH = (
        "no-match",
        "The search text is not in the document, or not where the patch says. If a place is similar, the "
        "diagnostic is there, and a quick fix *Apply at line N* may make the edit there. Otherwise, read the "
        "document again and send its exact lines.",
    )
    AMBIGUOUS_MATCH = (
        "ambiguous-match",
        "The edit does not say which place it means. Its search text, or the line after which it inserts new "
        "lines, occurs more than once. Or the search text does not occur, and several places are similar to "
        "it. Or one place is similar to it, but the document also has the new text already. Choose the place "
        "with a quick fix *Apply at line N*, if there is one. Otherwise, send exact lines, and add a line of "
        "context or a line number; or leave the edit out, if the document already has its text.",
    )
    NO_CHANGE = (
        "no-change",
        "The search text and its replacement are the same. Leave the edit out.",
    )
    OMISSION = (
        "omission",
        "The new text leaves out lines: it has a remark such as `... existing code ...` that the document "
        "does not have. Send the lines in full. Or it has the mark `[key removed by handrail]`, and "
        "handrail cannot tell which value of the document the mark stands for. Leave lines with such a mark "
        "unchanged.",
    )
    # The document.
    NO_SUCH_FILE = (
        "no-such-file",
        "The file or folder does not exist, its name is too long for the system, or handrail does not have "
        "the output of an earlier call that the model requested. Check the path, or the id of the output.",
    )
    UNREADABLE = (
        "unreadable-file",
        "The file is there, but it cannot be read: its permissions or a device do not allow it, its symbolic "
        "links form a loop, or it is a pipe, a socket or a device. The message says which. No file can be "
        "created or moved there. Remove the cause, or use another file.",
    )
    FILE_EXISTS = (
        "file-exists",
        "The edit adds a file, or moves one, to a name that already exists. Update that file, or choose "
        "another name.",
    )
    OUTSIDE_WORKSPACE = (
        "outside-workspace",
        "Either the path leads out of the workspace folders, directly or through `..` or a link, and the "
        "question about it got no answer: handrail could not ask you, or the question timed out. Or no "
        "folder is open in the editor, or the path's workspace folder was removed just before the call was "
        "to run. In all these cases, nothing was read or changed. Use a path inside the workspace, add the "
        "folder to the workspace (in a terminal, `--workspace` can name a folder that contains the workspace "
        "and the path), or allow the absolute path in the setting `handrail.approvals`, such as "
        "`/home/me/notes/**`.",
    )
    STALE_DOCUMENT = (
        "stale-document",
        "The document is different from what the edit expected: you or another program changed or deleted "
        "it, the editor has not loaded what is on disk, or the document is open twice. Or, just before the "
        "call was to run, a path led elsewhere than before, or the workspace folders changed. Your text is "
        "kept, unless the message says that the editor applied the edit while you were typing: then your "
        "editor's undo brings your text back. If the message asks you to reload, save or close a document "
        "in the editor, do that first. Then the model has to read the document again, or to send the call "
        "again.",
    )
    BAD_ENCODING = (
        "bad-encoding",
        "The file is neither UTF-8 nor UTF-16 with a byte order mark, and no `.editorconfig` names its "
        "encoding; or the new text has a character that the file's encoding does not have. Set the encoding "
        "in `.editorconfig` (`charset = latin1`), or convert the file. A file that is not text, such as an "
        "image, cannot be edited at all.",
    )
    TOO_LARGE = (
        "too-large",
        "The file, the search text or the number of changes is larger than the limit that the message names. "
        "If the search text is too long, send a shorter one; if there are too many changes, send fewer. If a "
        "text to replace occurs in too many places, write the whole file. For a picture, make a "
        "smaller copy. handrail cannot edit a file that is too large: change it by hand, or let the model "
        "run a command. In the sandbox, files over 20 MB are read-only, and so are files over 1 MB that git "
        "ignores, if they are not in an ignored folder. In most ignored folders, a command can change only a "
        "separate copy (a layer) or, on a machine without layers, nothing. If the model asks to write to the "
        "file itself, handrail asks you. No checkpoint has such a file, so you cannot undo that change.",
    )
    # The editor.
    EDIT_REJECTED = (
        "edit-rejected",
        "The editor refused the edit or did not answer in time, or the file could not be written; the "
        "message says which. Check whether the document is read-only or a dialog is open, then try again. "
        "In an editor that has notebooks, handrail edits a notebook only while it is open as text. handrail "
        "does not edit a file whose line endings the editor would change: close it, so that handrail edits "
        "it on disk (unless `handrail.edits.closedDocuments` is `editor`), or convert its line endings. If "
        "the editor accepts no edits that a server sends, choose the quick fix *Make this edit*.",
    )
    NOT_AS_WRITTEN = (
        "not-as-written",
        "After the edit, the document does not have the text that it should have: the editor applied only "
        "part of the edit, or reported an edit that it had not made; or another program changed the file "
        "right after it was written. Check the document; the checkpoint has "
        "its earlier text.",
    )
    BUSY = (
        "busy",
        "Another program is using the file: it writes the file again and again, or has locked the file's "
        "folder for two seconds (the message names the program if the system reports its name). Nothing was "
        "changed. Try again.",
    )
    # The call.
    BLOCKED = (
        "blocked",
        "The path belongs to version control's own files, or to handrail's (`.handrail`), which no answer or "
        "setting can unblock. Or your settings do not allow the call: to make it possible, change the rule "
        "in `handrail.approvals` that blocks it, choose the mode `edit` instead of `ask` or `plan`, or trust "
        "the workspace. Then send your message again.",
    )
    DENIED = (
        "denied",
        "handrail may run the call only with your permission. You answered no, or the question got no "
        "answer: it timed out, or handrail could not ask you. (If the call concerned a path outside the "
        "workspace, a question without an answer has the code [outside-workspace](#outside-workspace) "
        "instead.) This does not count as a failure: no document shows a problem, and there is nothing to "
        "dismiss. If the call was an edit, the turn's report lists it as denied, and `handrail run` exits "
        "with 1. A denied command does not change the exit code.",
    )
    TIMED_OUT = (
        "timed-out",
        "The call took longer than its limit and was stopped. The result of a command has its output up to "
        "then; its changes remain, and can be undone. The limit is the setting `handrail.terminal.timeout`, "
        "unless the model asked for another limit. A search has a fixed limit: search with a simpler "
        "pattern, or in fewer files.",
    )
    UNKNOWN_TOOL = (
        "unknown-tool",
        "The model called a tool that does not exist. It is told which tools exist.",
    )
    BAD_ARGUMENTS = (
        "bad-arguments",
        "The call's arguments are not valid JSON, or an argument is missing or cannot be used (such as a "
        "path that names a folder instead of a file). The message says which.",
    )
    CUT_SHORT = (
        "cut-short",
        "The turn or the command was stopped before this call finished, handrail ended, or the model made "
        "more calls at once than are allowed. If only a command was stopped, or there were too many calls, "
        "the turn continues, and there is nothing to do. If the turn has ended, check what the call has "
        "changed, then send your message again.",
    )
    TOOL_FAILED = (
        "tool-failed",
        "The call failed; the message says why. Fix that cause, then send your message again. If the cause "
        "was that no checkpoint could be taken, nothing was changed.",
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
    Something that the model or the user can correct.

    Attributes:
        code: The class of failure.
        message: What happened and where, as one or two sentences.
        steps: What to do next, the most useful first.
        uri: The document concerned; empty where there is none.
        near: The most likely places, best first.
        is_applicable: Whether the edit can be made, so that another search text would not help.
    """

    code: Code
    message: str
    steps: tuple[str, ...] = ()
    uri: str = ""
    near: tuple[Candidate, ...] = ()
    is_applicable: bool = False

    def with_uri(self, uri: str) -> Failure:
        """The same failure, said of the document *uri*."""
        return replace(self, uri=uri)


# What Python's reader says of JSON, and how we say it. What is not here is told by its place alone.
JSON_FAULTS = {
    "Expecting value": "a value was expected",
    "Expecting property name enclosed in double quotes": "a name in double quotes was expected",
    "Expecting ':' delimiter": "`:` was expected",
    "Expecting ',' delimiter": "`,` or the closing bracket was expected",
    "Illegal trailing comma before end of object": "no comma may stand before the closing bracket",
    "Illegal trailing comma before end of array": "no comma may stand before the closing bracket",
    "Unterminated string starting at": "a string begins there, and its closing quotation mark is missing",
    "Invalid control character at": "a line break or control character must be escaped, such as `\\n`",
    "Invalid \\escape": "a backslash must be written as `\\\\`",
    "Invalid \\uXXXX escape": "`\\u` must be followed by four hexadecimal digits",
    "Extra data": "nothing may follow the value",
}


def why_not_json(error: ValueError | RecursionError) -> str:
    """Returns why a text was not read as JSON, and where, as words for the end of a sentence."""
    match error:
        case RecursionError():
            return "it is nested too deeply"
        case json.JSONDecodeError() if error.pos >= len(error.doc.rstrip()):
            return "it ends too early"
        case json.JSONDecodeError():
            fault = JSON_FAULTS.get(
                error.msg.partition(": ")[0].rstrip(":"), "it cannot be read from there on"
            )
            return f"line {error.lineno}, column {error.colno}: {fault}"
        case UnicodeDecodeError():
            return f"it is not UTF-8 (byte {error.start + 1:,})"
        case _:
            return "it has a number with too many digits"
