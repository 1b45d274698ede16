"""
Read the notations in which models write edits, all into the same hunks.

Notations: V4A envelopes, SEARCH/REPLACE blocks, unified diffs, whole-file fences, and plain search and
replacement strings. Line ends of the patch never matter; the document decides about those. Line numbers
are hints. What a hunk matches and what it writes is decided in `match` and `plan`. Finding edit blocks in
a pasted reply is `reply`'s work.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from handrail.core.failure import Code, Failure
from handrail.core.text import to_lf


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
        scope: Lines that stand above the place, outermost first (`@@` headers).
        at_end: Whether the place is the end of the document.
        replace_all: Whether every occurrence is meant.
    """

    number: int
    old: str
    new: str
    whole_lines: bool = True
    line_number: int | None = None
    scope: tuple[str, ...] = ()
    at_end: bool = False
    replace_all: bool = False


class Operation(StrEnum):
    """What a patch does with a file as a whole."""

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
        content: For ADD and WRITE, with LF.
        move_to: The new path, if the file is to be moved after the update.
    """

    path: str
    operation: Operation
    hunks: tuple[Hunk, ...] = ()
    content: str = ""
    move_to: str | None = None


def bad(line_number: int, line: str, expected: str) -> Failure:
    """A parse failure that names the line of the patch (counted from 1) and what was expected there."""
    shown = line if len(line) <= 80 else line[:77] + "..."
    return Failure(
        code=Code.BAD_PATCH,
        message=f"Line {line_number} of the patch is {shown!r}; expected {expected}.",
        steps=("Send the patch again in the right form.", "Or use one search and replacement per edit."),
    )


def nothing(expected: str) -> Failure:
    """The failure for a patch in which there is nothing to do."""
    return Failure(
        code=Code.BAD_PATCH,
        message=f"The patch holds no edit; expected {expected}.",
        steps=("Send the patch again with at least one edit.",),
    )


# ---- SEARCH/REPLACE -------------------------------------------------------------------------------

SEARCH = re.compile(r"^\s{0,3}(?:<{5,9}|-{5,9}) ?SEARCH>?\s*(?::(\d+))?\s*$")
DIVIDER = re.compile(r"^={5,9}\s*$")
REPLACE = re.compile(r"^\s{0,3}(?:>{5,9}|\+{5,9}) ?REPLACE<?\s*$")
START_LINE = re.compile(r"^:start_line:\s*(\d+)\s*$")
END_LINE = re.compile(r"^:end_line:\s*\d+\s*$")
RULE = re.compile(r"^-{5,9}\s*$")


def parse_search_replace(path: str, patch: str) -> FilePatch | Failure:
    """
    Read SEARCH/REPLACE blocks that all edit *path*.

    Text between the blocks is passed over. An empty search part means the whole content of a new file.
    Origin: the dialects of aider, Cline and Roo (`:start_line:` and a rule below it).
    """
    lines = to_lf(patch).split("\n")
    hunks: list[Hunk] = []
    at = 0
    while at < len(lines):
        if not SEARCH.match(lines[at]):
            at += 1
            continue
        block = _search_replace_block(lines, at, len(hunks) + 1)
        if isinstance(block, Failure):
            return block
        hunk, at = block
        hunks.append(hunk)
    if not hunks:
        return nothing("'<<<<<<< SEARCH', '=======' and '>>>>>>> REPLACE' lines")
    if len(hunks) == 1 and not hunks[0].old.strip():
        return FilePatch(path=path, operation=Operation.ADD, content=hunks[0].new + "\n")
    return FilePatch(path=path, operation=Operation.UPDATE, hunks=tuple(hunks))


def _search_replace_block(lines: list[str], at: int, number: int) -> tuple[Hunk, int] | Failure:
    marked = SEARCH.match(lines[at])
    hint = int(marked[1]) if marked and marked[1] else None
    first = at + 1
    while first < len(lines) and (START_LINE.match(lines[first]) or END_LINE.match(lines[first])):
        if found := START_LINE.match(lines[first]):
            hint = int(found[1])
        first += 1
    if first > at + 1 and first < len(lines) and RULE.match(lines[first]):
        first += 1
    middle = _find(lines, first, DIVIDER)
    if middle is None:
        return bad(len(lines), lines[-1], f"'=======' to end the search part that line {at + 1} opens")
    last = _find(lines, middle + 1, REPLACE)
    if last is None:
        return bad(len(lines), lines[-1], f"'>>>>>>> REPLACE' to end the block that line {at + 1} opens")
    old, new = "\n".join(lines[first:middle]), "\n".join(lines[middle + 1 : last])
    return Hunk(number=number, old=old, new=new, line_number=hint), last + 1


def _find(lines: list[str], at: int, pattern: re.Pattern[str]) -> int | None:
    return next((index for index in range(at, len(lines)) if pattern.match(lines[index])), None)


# ---- V4A ------------------------------------------------------------------------------------------

BEGIN = "*** Begin Patch"
END = "*** End Patch"
SECTION = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+?)\s*$")
MOVE = re.compile(r"^\*\*\* Move to: (.+?)\s*$")
END_OF_FILE = "*** End of File"
HEADER = re.compile(r"^@@ ?(.*?)(?: ?@@)?\s*$")


def parse_v4a(patch: str) -> tuple[FilePatch, ...] | Failure:
    """
    Read a V4A envelope; its markers are whole lines in column 0.

    Several sections for one file are one patch of that file, hunks in order. A wholly empty line inside a
    hunk is a blank context line that lost its space.
    """
    lines = [line.rstrip("\r") for line in to_lf(patch).split("\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    at = next((index for index, line in enumerate(lines) if line.strip()), 0)
    if not lines or lines[at].rstrip() != BEGIN:
        return bad(at + 1, lines[at] if lines else "", f"{BEGIN!r}")
    if lines[-1].rstrip() != END:
        return bad(len(lines), lines[-1], f"{END!r} as the last line")
    sections: list[FilePatch] = []
    at += 1
    while at < len(lines) - 1:
        if not lines[at].strip():
            at += 1
            continue
        head = SECTION.match(lines[at])
        if head is None:
            return bad(at + 1, lines[at], "'*** Add File: …', '*** Update File: …' or '*** Delete File: …'")
        end = next((i for i in range(at + 1, len(lines) - 1) if SECTION.match(lines[i])), len(lines) - 1)
        section = _section(head[1], head[2], lines, (at + 1, end))
        if isinstance(section, Failure):
            return section
        sections.append(section)
        at = end
    return _joined(sections) if sections else nothing("a file section between the markers")


def _section(kind: str, path: str, lines: list[str], body: tuple[int, int]) -> FilePatch | Failure:
    first, end = body
    match kind:
        case "Delete":
            return FilePatch(path=path, operation=Operation.DELETE)
        case "Add":
            for at in range(first, end):
                if lines[at] and not lines[at].startswith("+"):
                    return bad(at + 1, lines[at], "a line of the new file, beginning with '+'")
            content = "".join(line[1:] + "\n" for line in lines[first:end])
            return FilePatch(path=path, operation=Operation.ADD, content=content)
        case _:
            return _update(path, lines, body)


def _update(path: str, lines: list[str], body: tuple[int, int]) -> FilePatch | Failure:
    at, end = body
    move_to = None
    if at < end and (found := MOVE.match(lines[at])):
        move_to, at = found[1], at + 1
    hunks: list[Hunk] = []
    scope: list[str] = []
    while at < end:
        if (header := HEADER.match(lines[at])) and lines[at].startswith("@@"):
            if header[1]:
                scope.append(header[1])
            at += 1
            continue
        stop = next((i for i in range(at, end) if lines[i].startswith("@@")), end)
        hunk = _v4a_hunk(lines, (at, stop), len(hunks) + 1, tuple(scope))
        if isinstance(hunk, Failure):
            return hunk
        if hunk is not None:
            hunks.append(hunk)
        scope, at = [], stop
    if not hunks and move_to is None:
        return nothing(f"at least one changed line for {path}")
    return FilePatch(path=path, operation=Operation.UPDATE, hunks=tuple(hunks), move_to=move_to)


def _v4a_hunk(
    lines: list[str], body: tuple[int, int], number: int, scope: tuple[str, ...]
) -> Hunk | Failure | None:
    old: list[str] = []
    new: list[str] = []
    at_end = changed = False
    first, end = body
    while end > first and not lines[end - 1]:
        end -= 1
    for at in range(first, end):
        line = lines[at]
        match line[:1]:
            case "" | " ":
                old.append(line[1:])
                new.append(line[1:])
            case "-":
                old.append(line[1:])
                changed = True
            case "+":
                new.append(line[1:])
                changed = True
            case "*" if line.rstrip() == END_OF_FILE:
                at_end = True
            case "\\":
                pass
            case _:
                return bad(at + 1, line, "a hunk line beginning with ' ', '+' or '-'")
    if not changed:
        return None
    return Hunk(number=number, old="\n".join(old), new="\n".join(new), scope=scope, at_end=at_end)


def _joined(sections: list[FilePatch]) -> tuple[FilePatch, ...] | Failure:
    """Sections for one file become one; two that cannot both hold are a bad patch."""
    joined: dict[str, FilePatch] = {}
    for section in sections:
        earlier = joined.get(section.path)
        if earlier is None:
            joined[section.path] = section
        elif earlier.operation is section.operation is Operation.UPDATE and earlier.move_to is None:
            hunks = [*earlier.hunks, *section.hunks]
            numbered = tuple(
                Hunk(
                    number=number,
                    old=hunk.old,
                    new=hunk.new,
                    scope=hunk.scope,
                    at_end=hunk.at_end,
                    line_number=hunk.line_number,
                )
                for number, hunk in enumerate(hunks, 1)
            )
            joined[section.path] = FilePatch(
                path=section.path, operation=Operation.UPDATE, hunks=numbered, move_to=section.move_to
            )
        else:
            return Failure(
                code=Code.BAD_PATCH,
                message=f"The patch has two sections for {section.path} that exclude each other.",
                steps=("Send one section for each file.",),
            )
    return tuple(joined.values())


# ---- Unified diff ---------------------------------------------------------------------------------

OLD_FILE = re.compile(r"^--- (?:a/)?([^\t]+?)(?:\t.*)?\s*$")
NEW_FILE = re.compile(r"^\+\+\+ (?:b/)?([^\t]+?)(?:\t.*)?\s*$")
RANGE = re.compile(r"^@@(?: -(\d+)(?:,\d+)? \+\d+(?:,\d+)?)? ?(?:\.\.\. ?)?@@ ?(.*)$|^@@\s*$")
NOWHERE = "/dev/null"
PREAMBLE = re.compile(
    r"^(diff |index |similarity |dissimilarity |rename |old mode|new mode|new file|deleted file)"
)


def parse_unified(patch: str) -> tuple[FilePatch, ...] | Failure:
    """
    Read a unified diff; wrong or missing line numbers do no harm, and counts are not believed.

    A file section begins with its `---` and `+++` lines; `/dev/null` on one side adds or deletes.
    """
    lines = to_lf(patch).split("\n")
    heads = [at for at in range(len(lines) - 1) if is_file_head(lines, at)]
    if not heads:
        return nothing("'--- a/path' and '+++ b/path' lines")
    files: list[FilePatch] = []
    for at, end in zip(heads, [*heads[1:], len(lines)], strict=True):
        file = _unified_file(lines, at, end)
        if isinstance(file, Failure):
            return file
        files.append(file)
    return _joined(files)


def is_file_head(lines: list[str], at: int) -> bool:
    """Whether a file section of a unified diff begins at line *at* (counted from 0)."""
    if not (OLD_FILE.match(lines[at]) and at + 1 < len(lines) and NEW_FILE.match(lines[at + 1])):
        return False
    return at + 2 >= len(lines) or not lines[at + 2].strip() or bool(RANGE.match(lines[at + 2]))


def _unified_file(lines: list[str], at: int, end: int) -> FilePatch | Failure:
    old_path, new_path = OLD_FILE.match(lines[at]), NEW_FILE.match(lines[at + 1])
    assert old_path is not None
    assert new_path is not None
    hunks: list[Hunk] = []
    at += 2
    while at < end:
        header = RANGE.match(lines[at])
        if header is None:
            if lines[at].strip() and not PREAMBLE.match(lines[at]):
                return bad(at + 1, lines[at], "'@@ … @@' to begin a hunk")
            at += 1
            continue
        stop = next((i for i in range(at + 1, end) if RANGE.match(lines[i]) or PREAMBLE.match(lines[i])), end)
        scope = (header[2].strip(),) if header[2] and header[2].strip() else ()
        hunk = _v4a_hunk(lines, (at + 1, stop), len(hunks) + 1, ())
        if isinstance(hunk, Failure):
            return hunk
        if hunk is not None:
            line_number = int(header[1]) if header[1] else None
            number = len(hunks) + 1
            hunks.append(
                Hunk(number=number, old=hunk.old, new=hunk.new, line_number=line_number, scope=scope)
            )
        at = stop
    return _unified_patch(old_path[1], new_path[1], hunks)


def _unified_patch(old_path: str, new_path: str, hunks: list[Hunk]) -> FilePatch | Failure:
    if new_path == NOWHERE:
        return FilePatch(path=old_path, operation=Operation.DELETE)
    if old_path == NOWHERE:
        content = "\n".join(hunk.new for hunk in hunks) + "\n"
        return FilePatch(path=new_path, operation=Operation.ADD, content=content)
    if not hunks:
        return nothing(f"at least one changed line for {new_path}")
    move_to = new_path if new_path != old_path else None
    return FilePatch(path=old_path, operation=Operation.UPDATE, hunks=tuple(hunks), move_to=move_to)
