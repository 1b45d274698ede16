"""Read unified diffs; their line numbers are hints, and their counts are ignored."""

from __future__ import annotations

import re

from handrail.core.documents.text import to_lf, unwritable
from handrail.core.failure import Code, Failure
from handrail.core.patches import file_names, git_head, wrapper
from handrail.core.patches.hunk import FilePatch, Hunk, Operation, bad, no_changed_line, no_edits
from handrail.core.patches.signed import NO_NEWLINE, join_sections, signed_hunk
from handrail.patterns import lazy_pattern
from handrail.values import dataclass, replace

OLD_FILE = lazy_pattern(r"^---(?: |(?=[ab]/|/dev/null))([^\t]*\S)[^\S\t]*(?:\t.*)?$")
NEW_FILE = lazy_pattern(r"^\+\+\+(?: |(?=[ab]/|/dev/null))([^\t]*\S)[^\S\t]*(?:\t.*)?$")
RANGE = lazy_pattern(r"^@@(?: -(\d+)(?:,\d+)? \+\d+(?:,\d+)?)? ?(?:\.\.\. ?)?@@ ?(.*)$|^@@\s*$")
COUNTS = lazy_pattern(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
NOWHERE = "/dev/null"
TIME = lazy_pattern(r"(?<!\s)\s+\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?(?:[+-]\d\d:?\d\d|Z))?$")
VERSION = lazy_pattern(r"^\d+\.\d+[\w.-]*(?: \(.*\))?\s*$")  # of git, below a patch in a mail
ROW = lazy_pattern(r"^[ +\-\\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """The lines about one file: those of git, and from `---` to the one past the last hunk, if any."""

    head: tuple[int, ...]
    body: tuple[int, int] | None = None


def parse_unified(patch: str) -> tuple[FilePatch, ...] | Failure:
    """
    Read a unified diff; wrong or missing line numbers do no harm, and counts are not believed.

    A file section begins with its `---` and `+++` lines; `/dev/null` on one side adds or deletes. A section
    that consists of git's lines alone is read in `git_head`. Counts are believed only if the fence around the
    patch does not end: the patch is then cut short.
    """
    if wrong := unwritable(patch, "the patch"):
        return wrong
    lines = to_lf(patch).split("\n")
    first, last = wrapper.pair_around(lines)
    notes = (wrapper.LEFT_OUT,) if (first, last) != wrapper.filled_range(lines) else ()
    lines = ["" if not first <= at < last else line for at, line in enumerate(lines)]
    lines = _without_signature(lines)
    sections = _Reader(lines).run()
    if isinstance(sections, Failure):
        return sections
    if not sections:
        return no_edits("'--- a/path' and '+++ b/path' lines")
    above = (*sections[0].head, *(sections[0].body or ()))[0]
    if wrapper.is_open(lines[:above]) and (wrong := _check_end(lines, sections[-1])) is not None:
        return wrong
    files: list[FilePatch] = []
    for section in sections:
        facts = git_head.facts_of(lines, section.head)
        if isinstance(facts, Failure):
            return facts
        if section.body is None:
            file = git_head.whole_file(lines, facts)
        else:
            file = _unified_file(lines, section.body, facts)
        if isinstance(file, Failure):
            return file
        files.append(replace(file, notes=(*notes, *file.notes)))
    return join_sections(files)


class _Reader:
    """One pass over the lines of a patch; none is left over, except for prose above the first section."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.sections: list[_Section] = []
        self.head: list[int] = []  # lines of git of which the section is still to come
        self.start: int | None = None  # of the section that is open

    def run(self) -> list[_Section] | Failure:
        for at, line in enumerate(self.lines):
            wrong = None
            if git_head.PREAMBLE.match(line):
                wrong = self._git_line(at)
            elif self._opens_section(at):
                self._close(at)
                self.sections.append(_Section(head=tuple(self.head), body=(at, len(self.lines))))
                self.head, self.start = [], at
            elif line.strip() and self.start is None:
                wrong = self._close_head() or self._stray(at)
            if wrong is not None:
                return wrong
        return self._close_head() or self.sections

    def _git_line(self, at: int) -> Failure | None:
        self._close(at)
        is_next = bool(self.head) and git_head.begins_another(self.lines, self.head, at)
        wrong = self._close_head() if is_next else None
        self.head.append(at)
        return wrong

    def _close(self, at: int) -> None:
        if self.start is not None:
            self.sections[-1] = replace(self.sections[-1], body=(self.start, at))
            self.start = None

    def _close_head(self) -> Failure | None:
        """Ends the section of git's lines alone, if there is one."""
        facts = git_head.facts_of(self.lines, self.head)
        if isinstance(facts, Failure):
            return facts
        if facts and (self.sections or not git_head.may_be_prose(facts)):
            self.sections.append(_Section(head=tuple(self.head)))
        self.head = []
        return None

    def _stray(self, at: int) -> Failure | None:
        if RANGE.match(self.lines[at]):
            return bad(at + 1, self.lines[at], "'--- a/path' and '+++ b/path' lines directly above it")
        if self.sections:
            return bad(at + 1, self.lines[at], "another section, or the end of the patch")
        return None

    def _opens_section(self, at: int) -> bool:
        """Whether a section begins at line *at*: inside hunks a pair of such lines may also be two rows."""
        if is_file_head(self.lines, at):
            return True
        is_in_hunk = self.start is not None and any(map(str.strip, self.lines[self.start + 2 : at]))
        if is_in_hunk or not _is_pair(self.lines, at):
            return False
        return bool(self.head) or ROW.match(self.lines[at + 2]) is not None


def _check_end(lines: list[str], section: _Section) -> Failure | None:
    """Why the last *section* is cut short, if it is; the fence around the patch does not end."""
    start, end = section.body or (section.head[0], len(lines))
    while not lines[end - 1].strip():
        end -= 1
    header = next((at for at in range(end - 1, start, -1) if RANGE.match(lines[at])), end)
    missing = _missing_rows(lines, header, end)
    is_cut = max(missing) > 0 if missing else header + 1 >= end or lines[end - 1].startswith(("+", "-"))
    wanted = "more lines below it, or the end of the fence around the patch"
    return bad(end, lines[end - 1], wanted) if is_cut else None


def _missing_rows(lines: list[str], header: int, end: int) -> tuple[int, int] | None:
    """How many old and new rows the hunk lacks that its header announces; None if it says nothing."""
    counts = COUNTS.match(lines[header]) if header < end else None
    if counts is None:
        return None
    rows = [line for line in lines[header + 1 : end] if not line.startswith(NO_NEWLINE)]
    old, new = (sum(not row.startswith(sign) for row in rows) for sign in "+-")
    return int(counts[1] or 1) - old, int(counts[2] or 1) - new


def _without_signature(lines: list[str]) -> list[str]:
    """*lines* without what git writes below a patch in a mail, if the last hunk is whole without it."""
    end = wrapper.filled_range(lines)[1]
    if end < 3 or lines[end - 2].rstrip() != "--" or not VERSION.match(lines[end - 1]):
        return lines
    header = next((at for at in range(end - 3, -1, -1) if RANGE.match(lines[at])), end)
    is_whole = _missing_rows(lines, header, end - 2) == (0, 0)
    return lines[: end - 2] if is_whole or git_head.PREAMBLE.match(lines[end - 3]) else lines


def is_file_head(lines: list[str], at: int) -> bool:
    """Whether a file section of a unified diff begins at line *at* (counted from 0)."""
    if not _is_pair(lines, at):
        return False
    below = lines[at + 2] if at + 2 < len(lines) else ""
    is_empty = NOWHERE in lines[at] + lines[at + 1]  # a file without any text needs no hunks
    return (
        not below.strip()
        or RANGE.match(below) is not None
        or git_head.PREAMBLE.match(below) is not None
        or (is_empty and _is_pair(lines, at + 2))
    )


def _is_pair(lines: list[str], at: int) -> bool:
    return at + 1 < len(lines) and bool(OLD_FILE.match(lines[at]) and NEW_FILE.match(lines[at + 1]))


def _unified_file(lines: list[str], body: tuple[int, int], facts: git_head.Facts) -> FilePatch | Failure:
    start, end = body
    names = _names(lines, start, facts)
    if isinstance(names, Failure):
        return names
    hunks: list[Hunk] = []
    at = start + 2
    while at < end:
        header = RANGE.match(lines[at])
        if header is None:
            if lines[at].strip():
                return bad(at + 1, lines[at], "'@@ … @@' to begin a hunk")
            at += 1
            continue
        stop = next((i for i in range(at + 1, end) if RANGE.match(lines[i])), end)
        hunk = signed_hunk(lines, (at + 1, stop), len(hunks) + 1, ())
        if isinstance(hunk, Failure):
            return hunk
        if hunk is None and names.new == NOWHERE and any(map(str.strip, lines[at + 1 : stop])):
            return bad(at + 1, lines[at], "lines to remove, because the file is deleted")
        if hunk is not None:
            if not (hunk.old or header[1] or names.old == NOWHERE):
                return bad(at + 1, lines[at], "a line of context around the lines that this hunk adds")
            hunks.append(_with_header(hunk, header))
        at = stop
    if not hunks and (wrong := git_head.check_no_hunks(lines, facts)) is not None:
        return wrong
    content = "\n".join(hunk.new for hunk in hunks)
    ends = "" if not content or any(line.startswith(NO_NEWLINE) for line in lines[start:end]) else "\n"
    return _unified_patch(names, hunks, content + ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """The names of a file before and after, the one it is moved to if that is said, and notes."""

    old: str
    new: str
    move_to: str | None = None
    notes: tuple[str, ...] = ()


def _names(lines: list[str], at: int, facts: git_head.Facts) -> _Names | Failure:
    """The names in the file head at line *at*, without git's prefixes; two that are the same have none."""
    old_line, new_line = OLD_FILE.match(lines[at]), NEW_FILE.match(lines[at + 1])
    assert old_line is not None
    assert new_line is not None
    before, after = (git_head.name_of(TIME.sub("", line[1])) for line in (old_line, new_line))
    if before is None or after is None:
        line = at if before is None else at + 1
        return bad(line + 1, lines[line], git_head.UTF_8)
    (old, old_notes), (new, new_notes) = before, after
    notes = tuple(dict.fromkeys((*old_notes, *new_notes)))
    names = _Names(old=old, new=new, notes=notes)
    if old != new:
        names = replace(names, old=git_head.PREFIX_OLD.sub("", old), new=git_head.PREFIX_NEW.sub("", new))
    moves = "rename from" in facts and "rename to" in facts
    for key, name in (("rename from", names.old), ("rename to", names.new)):
        if moves and facts[key][1] != name:
            line = facts[key][0]
            return bad(line + 1, lines[line], f"the name {name!r}, which the line before the hunks gives")
    if "deleted file" in facts and names.new != NOWHERE:
        line = facts["deleted file"][0]
        return bad(
            at + 2, lines[at + 1], f"'+++ {NOWHERE}', because line {line + 1} says that the file is deleted"
        )
    made = names.new if names.new != NOWHERE else names.old
    names = replace(names, notes=(*notes, *git_head.mode_note(facts, made)))
    names = replace(names, old=NOWHERE) if "new file" in facts else names
    return replace(names, move_to=names.new) if moves else names


def _with_header(hunk: Hunk, header: re.Match[str]) -> Hunk:
    """*hunk* with what its header says of the place; what is behind `@@` is around it, not above it."""
    line_number = int(header[1]) if header[1] else None
    scope = (header[2].strip(),) if hunk.old and header[2] and header[2].strip() else ()
    return replace(hunk, line_number=line_number, scope=scope)


def _unified_patch(names: _Names, hunks: list[Hunk], content: str) -> FilePatch | Failure:
    if names.new == NOWHERE:
        if any(hunk.new.strip() for hunk in hunks):
            return Failure(
                code=Code.BAD_PATCH,
                message=f"The patch deletes {names.old} (its '+++' line has {NOWHERE}), but keeps or adds "
                f"lines of it.",
                steps=(
                    "To delete the file, remove all of its lines.",
                    "Otherwise give its name in the '+++' line.",
                ),
            )
        removed = tuple(hunks)
        return FilePatch(path=names.old, operation=Operation.DELETE, notes=names.notes, removed=removed)
    if names.old == NOWHERE and not any(hunk.old for hunk in hunks):
        return FilePatch(path=names.new, operation=Operation.ADD, content=content, notes=names.notes)
    if not hunks and names.move_to is None:
        return no_changed_line(names.new)
    notes = names.notes
    if names.old == NOWHERE:
        path, others = names.new, tuple[str, ...]()
        notes = (*notes, f"{path} was taken to be an existing file, because the hunk has lines from it.")
    elif names.move_to is not None:
        path, others = names.old, ()
    else:
        path, *rest = file_names.claims(names.old, names.new)
        bare = re.sub(r"^[ab]/", "", path)
        others = tuple(rest) if rest or bare == path else (bare,)
    return FilePatch(
        path=path,
        operation=Operation.UPDATE,
        hunks=tuple(hunks),
        move_to=names.move_to,
        notes=notes,
        others=others,
    )
