"""
The contents of a patch in any notation: for each file, what happens to it, and the hunks.

Texts have LF and paths are as the model wrote them; nothing is looked up. Notations are read in `notations`.
"""

from __future__ import annotations

import re
from enum import StrEnum

from handrail.core.failure import Code, Failure
from handrail.values import dataclass

Block = tuple[int, int, int, int]

UNSIGNED = "?"
KEPT = f" {UNSIGNED}"  # the signs of rows that a hunk leaves as they are


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """
    One replacement inside a document.

    Attributes:
        number: Its place in the patch, counted from 1.
        old: The text to find, with LF; empty for an insertion whose place the scope or the end gives.
        new: The text to put there, with LF.
        whole_lines: Whether both texts are whole lines, without the last terminator.
        line_number: Where the model believes it to be, counted from 1; a hint.
        scope: Lines above the place, outermost first (`@@` headers).
        at_end: Whether the place is the end of the document.
        replace_all: Whether every occurrence is meant.
        leaves_blank: For whole lines: whether an empty `new` is one blank line, and not zero lines.
        notes: What was corrected to read it so, in sentences; the match is then not exact.
        rivals: Other old texts that the patch may mean; if the document has one of them, the hunk is refused.
        signs: The sign of each row of a V4A or unified hunk, UNSIGNED for a row without one.
        unsigned: Why a hunk with such rows is refused, unless the document has them so.
    """

    number: int
    old: str
    new: str
    whole_lines: bool = True
    line_number: int | None = None
    scope: tuple[str, ...] = ()
    at_end: bool = False
    replace_all: bool = False
    leaves_blank: bool = False
    notes: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    signs: str = ""
    unsigned: Failure | None = None

    @property
    def blocks(self) -> tuple[Block, ...] | None:
        """
        The changes as the signs mark them: old rows i to j become new rows k to m, for each.

        None where only the two texts tell what changes.
        """
        if not self.signs:
            return None
        result = []
        i = k = 0
        for kept, changed in re.findall(r"([^-+]*)([-+]*)", self.signs):
            i, k = i + len(kept), k + len(kept)
            j, m = i + changed.count("-"), k + changed.count("+")
            result += [(i, j, k, m)] if changed else []
            i, k = j, m
        return tuple(result)


class Operation(StrEnum):
    """The operations of a patch on a file as a whole."""

    UPDATE = "update"
    ADD = "add"
    WRITE = "write"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePatch:
    """
    All that a patch says of one file.

    Attributes:
        path: As the model wrote it.
        operation: ADD refuses an existing file, WRITE replaces it.
        hunks: For UPDATE, in the order of the patch.
        content: For ADD, with LF; for WRITE, as the model sent it.
        move_to: The new path, if the file is to be moved after the update.
        notes: What was corrected to read the patch so, in sentences.
        others: Other names that it gives the one file, or that may be the file's.
        removed: For DELETE: hunks that must have all of its text; None if its text does not matter.
    """

    path: str
    operation: Operation
    hunks: tuple[Hunk, ...] = ()
    content: str = ""
    move_to: str | None = None
    notes: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    removed: tuple[Hunk, ...] | None = None


def rows_of(hunk: Hunk) -> tuple[list[str], list[str]]:
    """A hunk's old and new text as rows; a last line end of strings opens no further row."""
    old, new = hunk.old.split("\n"), hunk.new.split("\n")
    if hunk.whole_lines:
        return old, new if hunk.new or hunk.leaves_blank else []
    if len(old) > 1 and not old[-1]:
        old.pop()
        new = new[:-1] if not new[-1] else new
    return old, new


def unquote(name: str) -> tuple[str, tuple[str, ...]]:
    """A file name without the quotes or backticks around it, and the note that says so."""
    mark = name[0]
    if len(name) < 3 or mark not in "`\"'" or name[-1] != mark or mark in name[1:-1]:
        return name, ()
    return name[1:-1].strip(), (f"The marks around the file name {name} were removed.",)


def bad(line_number: int, line: str, expected: str) -> Failure:
    """A parse failure that names the line of the patch (counted from 1) and what was expected there."""
    return bad_line(f"Line {line_number} of the patch is {show_line(line)}; expected {expected}.")


def bad_line(message: str) -> Failure:
    """A parse failure, described in full by its *message*."""
    return Failure(
        code=Code.BAD_PATCH,
        message=message,
        steps=(
            "Correct the patch and send it again.",
            "Or send each change as a call of its own in mode replace, with old_string and new_string.",
        ),
    )


def show_line(line: str) -> str:
    """Returns a line in quotation marks; only its beginning if it is long."""
    return repr(line if len(line) <= 80 else line[:77] + "...")


def no_edits(expected: str) -> Failure:
    """The failure for a patch in which there is nothing to do."""
    return Failure(
        code=Code.BAD_PATCH,
        message=f"The patch contains no edit; expected {expected}.",
        steps=("Send the patch again with at least one edit.",),
    )


def no_changed_line(path: str) -> Failure:
    """The failure for a section of a patch that changes nothing in the file *path*; others may."""
    return Failure(
        code=Code.BAD_PATCH,
        message=f"The section for {path} changes no line.",
        steps=("Give the section at least one changed line, or leave it out.",),
    )
