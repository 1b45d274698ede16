"""
Read V4A envelopes: sections that add, update, move or delete files, updates as rows with a sign.

A marker is a whole line. It may be spelled a little differently and be indented, as long as it can be nothing
else; then the notes of the patch say what was corrected. Rows of files begin with a sign, so a marker in a
file is never taken for one of the patch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from handrail.core.documents.text import to_lf, unwritable
from handrail.core.failure import Failure
from handrail.core.patches import file_names, wrapper
from handrail.core.patches.hunk import FilePatch, Hunk, Operation, bad, no_changed_line, no_edits, unquote
from handrail.core.patches.signed import join_sections, signed_hunk
from handrail.patterns import lazy_pattern
from handrail.values import dataclass, replace

BEGIN = "*** Begin Patch"
END = "*** End Patch"
OPENING = lazy_pattern(r"^\*\*\*\s?Begin Patch(?:\s?\*\*\*|:)?$", re.IGNORECASE)
CLOSING = lazy_pattern(r"^\*\*\*\s?End Patch(?:\s?\*\*\*)?$", re.IGNORECASE)
SECTION = lazy_pattern(r"^\*\*\*[ \t]?(Add|Update|Delete) File[ \t]?:[ \t]*(\S.*)$", re.IGNORECASE)
MOVE = lazy_pattern(r"^\*\*\*[ \t]?Move to[ \t]?:[ \t]*(\S.*)$", re.IGNORECASE)
PLAIN = lazy_pattern(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): \S|^\*\*\* (?:Begin|End) Patch$")
MARKER = lazy_pattern(r"\*\*\*\s?(?:(?:Begin|End) Patch|(?:Add|Update|Delete) File\s?:)", re.IGNORECASE)
INDENTED = lazy_pattern(rf"{MARKER.pattern}|\*\*\*\s?(?:Move to\s?:|End of File)|@@", re.IGNORECASE)
WORD = lazy_pattern(r"\W*\w+\W*")
HEADER = "@@"

UNINDENTED = "The indentation of the patch was removed."
RESPELLED = "A marker of the patch was accepted although it is misspelled: {}."
NO_BEGIN = f"The patch was accepted although it lacks the line {BEGIN!r}."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Envelope:
    """The lines of a patch; its sections are from *first* up to *end*. *notes* say what was corrected."""

    lines: Sequence[str]
    first: int
    end: int
    notes: tuple[str, ...]


def parse_v4a(patch: str) -> tuple[FilePatch, ...] | Failure:
    """
    Read a V4A envelope, whatever stands around it.

    Several sections for one file are one patch of that file, hunks in order. A wholly empty line inside a
    hunk is a blank context line that lost its space.
    """
    if wrong := unwritable(patch, "the patch"):
        return wrong
    envelope = _envelope(to_lf(patch).split("\n"))
    if isinstance(envelope, Failure):
        return envelope
    lines, end = envelope.lines, envelope.end
    sections: list[FilePatch] = []
    at = envelope.first
    while at < end:
        if not lines[at].strip():
            at += 1
            continue
        head = SECTION.match(lines[at].strip())
        if head is None:
            return bad(at + 1, lines[at], "'*** Add File: …', '*** Update File: …' or '*** Delete File: …'")
        is_update = head[1].lower() == "update"
        stop = next((i for i in range(at + 1, end) if _is_section(lines[i], is_update=is_update)), end)
        section = _section(head, lines, (at + 1, stop))
        if isinstance(section, Failure):
            return section
        own = (*envelope.notes, *_spelling(lines[at]), *section.notes)
        sections.append(replace(section, notes=own))
        at = stop
    return join_sections(sections) if sections else no_edits("a file section between the markers")


def _is_section(line: str, *, is_update: bool) -> bool:
    """Whether a section begins; in an update an indented line is a row of the file."""
    return SECTION.match(line if is_update else line.strip()) is not None


def _spelling(line: str) -> tuple[str, ...]:
    """The note for a marker that is not spelled as it should be."""
    return () if PLAIN.match(line.rstrip()) else (RESPELLED.format(repr(line.strip()[:80])),)


# ---- The envelope ---------------------------------------------------------------------------------


def _envelope(lines: list[str]) -> _Envelope | Failure:
    """Returns where the sections of a patch begin and end, after removing its indentation."""
    while lines and not lines[-1].strip():
        lines.pop()
    start = next((at for at, line in enumerate(lines) if _opens(line.strip())), None)
    if start is None:
        at = next((at for at, line in enumerate(lines) if line.strip()), 0)
        return bad(at + 1, lines[at] if lines else "", f"{BEGIN!r}")
    last = next((at for at in range(len(lines) - 1, start, -1) if CLOSING.match(lines[at].strip())), None)
    if last is None:
        return bad(len(lines), lines[-1], f"{END!r} as the last line")
    indent = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
    has_begin = OPENING.match(lines[start].strip()) is not None
    around = [*range(start), *range(last + 1, len(lines))]
    bare = [line.removeprefix(indent) for line in lines]
    if wrong := wrapper.check_left_out(bare, around, (start, last)) or _doubtful_end(lines, start, last):
        return wrong
    notes = [wrapper.LEFT_OUT] * any(lines[at].strip() for at in around)
    notes += [NO_BEGIN] * (not has_begin)
    if indent:
        notes.append(UNINDENTED)
        lines = _unindent(lines, indent, (start, last))
    spelled = (*_spelling(lines[start]), *_spelling(lines[last])) if has_begin else _spelling(lines[last])
    return _Envelope(lines=lines, first=start + has_begin, end=last, notes=(*notes, *spelled))


def _opens(line: str) -> bool:
    return OPENING.match(line) is not None or SECTION.match(line) is not None


def _unindent(lines: Sequence[str], indent: str, body: tuple[int, int]) -> list[str]:
    """*lines* without *indent*: all lines if all have it, otherwise only the markers."""
    filled = [lines[at] for at in range(body[0], body[1] + 1) if lines[at].strip()]
    if all(line.startswith(indent) for line in filled):
        return [line.removeprefix(indent) for line in lines]
    return [_unindent_marker(line, indent) for line in lines]


def _unindent_marker(line: str, indent: str) -> str:
    bare = line.removeprefix(indent)
    return bare if INDENTED.match(bare) else line


def _doubtful_end(lines: Sequence[str], start: int, last: int) -> Failure | None:
    """`bad-patch` if the end is indented, the begin not, and it may be a row of a file that shows patches."""
    line = lines[last]
    indents = [each[: len(each) - len(each.lstrip())] for each in (lines[start], line)]
    shows = (re.match(r"[ +-]\s*", lines[at]) and MARKER.search(lines[at]) for at in range(start + 1, last))
    behind = (each for each in lines[last + 1 :] if each.strip() and not wrapper.FENCE.match(each))
    is_cut = not all(map(WORD.fullmatch, behind))
    if indents[1] and indents[1] != indents[0] and (is_cut or any(shows)):
        return bad(last + 1, line, f"{END!r} in the first column")
    return None


# ---- Sections -------------------------------------------------------------------------------------


def _section(head: re.Match[str], lines: Sequence[str], body: tuple[int, int]) -> FilePatch | Failure:
    first, end = body
    path, notes = unquote(head[2].strip())
    match head[1].lower():
        case "delete":
            for at in range(first, end):
                if lines[at].strip():
                    return bad(at + 1, lines[at], "another section, or the end of the patch")
            return FilePatch(path=path, operation=Operation.DELETE, notes=notes)
        case "add":
            while end > first and not lines[end - 1].strip():
                end -= 1
            for at in range(first, end):
                if lines[at] and not lines[at].startswith("+"):
                    return bad(at + 1, lines[at], "a line of the new file, beginning with '+'")
            content = "".join(line[1:] + "\n" for line in lines[first:end])
            return FilePatch(path=path, operation=Operation.ADD, content=content, notes=notes)
        case _:
            updated = _update(path, lines, body)
            if isinstance(updated, Failure):
                return updated
            return replace(updated, notes=(*notes, *updated.notes))


def _update(path: str, lines: Sequence[str], body: tuple[int, int]) -> FilePatch | Failure:
    at, end = body
    move_to, notes = None, tuple[str, ...]()
    if at < end and (found := MOVE.match(lines[at])):
        move_to, notes = unquote(found[1].strip())
        notes, at = (*_spelling(lines[at]), *notes), at + 1
    hunks: list[Hunk] = []
    scope: list[str] = []
    while at < end:
        if lines[at].startswith(HEADER):
            scope += [header] if (header := _header(lines[at])) else []
            at += 1
            continue
        stop = next((i for i in range(at, end) if lines[i].startswith(HEADER)), end)
        hunk = signed_hunk(lines, (at, stop), len(hunks) + 1, tuple(scope))
        if isinstance(hunk, Failure):
            return hunk
        if hunk is not None:
            hunks.append(hunk)
        scope, at = [], stop
    if not hunks and move_to is None:
        return no_changed_line(path)
    return FilePatch(
        path=path,
        operation=Operation.UPDATE,
        hunks=tuple(hunks),
        move_to=move_to,
        notes=notes,
        others=file_names.readings(path),
    )


def _header(line: str) -> str:
    """Returns the header in a line that begins with `@@`, and may end with it; empty if there is none."""
    return line.rstrip().removeprefix(HEADER).removesuffix(HEADER).rstrip().removeprefix(" ")
