"""
Read the notations in which models write edits, all into the same hunks.

Notations: V4A envelopes, SEARCH/REPLACE blocks, unified diffs, whole-file fences, and plain search and
replacement strings. Line ends of the patch never matter; the document decides about those. Line numbers
are hints. What a hunk matches and what it writes is decided in `match` and `plan`. Finding edit blocks in
a pasted reply is `reply`'s work.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from handrail.core.documents.text import to_lf, unwritable
from handrail.core.failure import Code, Failure
from handrail.core.patches.hunk import FilePatch, Hunk, Operation, bad, nothing

__all__ = ["FilePatch", "Hunk", "Operation", "parse_search_replace", "parse_unified", "parse_v4a"]


# ---- SEARCH/REPLACE -------------------------------------------------------------------------------

SEARCH = re.compile(r"^\s{0,3}(?:<{5,9}|-{5,9}) ?SEARCH>?(?:\s*:(\d+))?\s*$")
DIVIDER = re.compile(r"^={5,9}\s*$")
REPLACE = re.compile(r"^\s{0,3}(?:>{5,9}|\+{5,9}) ?REPLACE<?\s*$")
START_LINE = re.compile(r"^:start_line:\s*(\d+)\s*$")
END_LINE = re.compile(r"^:end_line:\s*\d+\s*$")
RULE = re.compile(r"^-{5,9}\s*$")
ESCAPED = re.compile(r"^\\(?=<{5,9}|={5,9}|>{5,9}|-{5,9}|\+{5,9}|:(?:start|end)_line:)", re.MULTILINE)


def parse_search_replace(path: str, patch: str) -> FilePatch | Failure:
    """
    Read SEARCH/REPLACE blocks that all edit *path*.

    Text between the blocks is passed over. An empty search part means the whole content of a new file. A
    marker where it cannot be one is refused, for then it is not certain where the parts end; one that is
    text is written with a backslash before it.
    Origin: the dialects of aider, Cline and Roo (`:start_line:` and a rule below it).
    """
    if wrong := unwritable(patch):
        return wrong
    lines = to_lf(patch).split("\n")
    hunks: list[Hunk] = []
    at = 0
    while at < len(lines):
        if REPLACE.match(lines[at]):
            return bad(at + 1, lines[at], "'<<<<<<< SEARCH' before it")
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
        only = hunks[0]
        content = only.new + "\n" if only.new or only.leaves_blank else ""
        return FilePatch(path=path, operation=Operation.ADD, content=content)
    if placeless := next((hunk for hunk in hunks if not hunk.old.strip()), None):
        return nothing(f"text in the search part of block {placeless.number}, to tell its place")
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
    last = next(
        (i for i in range(first, len(lines)) if REPLACE.match(lines[i]) or SEARCH.match(lines[i])), None
    )
    if last is None or SEARCH.match(lines[last]):
        stop = len(lines) - 1 if last is None else last
        return bad(stop + 1, lines[stop], f"'>>>>>>> REPLACE' to end the block that line {at + 1} opens")
    middle = _divider(lines, (first, last), at)
    if isinstance(middle, Failure):
        return middle
    old, new = (ESCAPED.sub("", "\n".join(part)) for part in (lines[first:middle], lines[middle + 1 : last]))
    blank = lines[middle + 1 : last] == [""]
    return Hunk(number=number, old=old, new=new, line_number=hint, leaves_blank=blank), last + 1


def _divider(lines: list[str], block: tuple[int, int], opening: int) -> int | Failure:
    """The one divider of a block; one as long as the opening marker is meant before any other."""
    found = [at for at in range(*block) if DIVIDER.match(lines[at])]
    length = len(re.match(r"\s*(.)\1*", lines[opening])[0].strip())  # type: ignore[index]
    alike = [at for at in found if len(lines[at].strip()) == length] or found
    if not alike:
        wanted = f"'=======' to end the search part that line {opening + 1} opens"
        return bad(block[1] + 1, lines[block[1]], wanted)
    if len(alike) > 1:
        return bad(alike[1] + 1, lines[alike[1]], "one '=======' in a block; write others as '\\======='")
    return alike[0]


# ---- V4A ------------------------------------------------------------------------------------------

BEGIN = "*** Begin Patch"
END = "*** End Patch"
SECTION = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.*\S)\s*$")
MOVE = re.compile(r"^\*\*\* Move to: (.*\S)\s*$")
END_OF_FILE = "*** End of File"
HEADER = "@@"
NO_NEWLINE = "\\ No newline"


def parse_v4a(patch: str) -> tuple[FilePatch, ...] | Failure:
    """
    Read a V4A envelope; its markers are whole lines in column 0.

    Several sections for one file are one patch of that file, hunks in order. A wholly empty line inside a
    hunk is a blank context line that lost its space.
    """
    if wrong := unwritable(patch):
        return wrong
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
            for at in range(first, end):
                if lines[at].strip():
                    return bad(at + 1, lines[at], "another section, or the end of the patch")
            return FilePatch(path=path, operation=Operation.DELETE)
        case "Add":
            while end > first and not lines[end - 1]:
                end -= 1
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
        if lines[at].startswith(HEADER):
            scope += [header] if (header := _header(lines[at])) else []
            at += 1
            continue
        stop = next((i for i in range(at, end) if lines[i].startswith(HEADER)), end)
        hunk = _v4a_hunk(lines, (at, stop), len(hunks) + 1, tuple(scope))
        if isinstance(hunk, Failure):
            return hunk
        if hunk is not None:
            hunks.append(hunk)
        scope, at = [], stop
    if not hunks and move_to is None:
        return nothing(f"at least one changed line for {path}")
    return FilePatch(path=path, operation=Operation.UPDATE, hunks=tuple(hunks), move_to=move_to)


def _header(line: str) -> str:
    """What a line that begins with `@@`, and may end with it, names; empty if nothing."""
    return line.rstrip().removeprefix(HEADER).removesuffix(HEADER).rstrip().removeprefix(" ")


def _v4a_hunk(
    lines: list[str], body: tuple[int, int], number: int, scope: tuple[str, ...]
) -> Hunk | Failure | None:
    """The hunk of these lines; None if it changes nothing. Blank lines behind it are padding."""
    first, end = body
    while end > first and not lines[end - 1]:
        end -= 1
    at_end = end > first and lines[end - 1].rstrip() == END_OF_FILE
    signs = [(line[:1] or " ", line[1:]) for line in lines[first : end - at_end]]
    for at, (sign, _) in enumerate(signs, first):
        if sign not in (" ", "+", "-") and not lines[at].startswith(NO_NEWLINE):
            return bad(at + 1, lines[at], "a hunk line beginning with ' ', '+' or '-'")
    old = [row for sign, row in signs if sign in " -"]
    new = [row for sign, row in signs if sign in " +"]
    if not any(sign in "+-" for sign, _ in signs):
        return None
    if old and not any(row.strip() for row in old):
        return bad(first + 1, lines[first], "a line that is not blank among those that tell the place")
    blank = new == [""]
    return Hunk(
        number=number, old="\n".join(old), new="\n".join(new), scope=scope, at_end=at_end, leaves_blank=blank
    )


def _joined(sections: list[FilePatch]) -> tuple[FilePatch, ...] | Failure:
    """Sections for one file become one; two that cannot both hold are a bad patch."""
    joined: dict[str, FilePatch] = {}
    for section in sections:
        earlier = joined.get(section.path)
        if earlier is None:
            joined[section.path] = section
        elif earlier.operation is section.operation is Operation.UPDATE and earlier.move_to is None:
            hunks = (*earlier.hunks, *section.hunks)
            numbered = tuple(replace(hunk, number=number) for number, hunk in enumerate(hunks, 1))
            joined[section.path] = replace(section, hunks=numbered)
        else:
            return _exclusive(section.path)
    left = [path for patch in joined.values() for path in (patch.path, patch.move_to) if path]
    twice = [path for path, times in Counter(left).items() if times > 1]
    return _exclusive(twice[0]) if twice else tuple(joined.values())


def _exclusive(path: str) -> Failure:
    return Failure(
        code=Code.BAD_PATCH,
        message=f"The patch has two sections for {path} that exclude each other.",
        steps=("Send one section for each file.",),
    )


# ---- Unified diff ---------------------------------------------------------------------------------

OLD_FILE = re.compile(r"^--- ([^\t]*\S)[^\S\t]*(?:\t.*)?$")
NEW_FILE = re.compile(r"^\+\+\+ ([^\t]*\S)[^\S\t]*(?:\t.*)?$")
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
    if wrong := unwritable(patch):
        return wrong
    lines = to_lf(patch).split("\n")
    heads = [at for at in range(len(lines) - 1) if is_file_head(lines, at)]
    if not heads:
        return nothing("'--- a/path' and '+++ b/path' lines")
    if astray := next((at for at in range(heads[0]) if RANGE.match(lines[at])), None):
        return bad(astray + 1, lines[astray], "'--- a/path' and '+++ b/path' lines before it")
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
    old_path, new_path = _paths(lines[at], lines[at + 1])
    hunks: list[Hunk] = []
    start, at = at, at + 2
    while at < end:
        header = RANGE.match(lines[at])
        if header is None:
            if lines[at].strip() and not PREAMBLE.match(lines[at]):
                return bad(at + 1, lines[at], "'@@ … @@' to begin a hunk")
            at += 1
            continue
        stop = next((i for i in range(at + 1, end) if RANGE.match(lines[i]) or PREAMBLE.match(lines[i])), end)
        hunk = _v4a_hunk(lines, (at + 1, stop), len(hunks) + 1, ())
        if isinstance(hunk, Failure):
            return hunk
        if hunk is not None:
            if not (hunk.old or header[1] or old_path == NOWHERE):
                return bad(at + 1, lines[at], "a line of context around the lines that this hunk adds")
            hunks.append(_placed(hunk, header))
        at = stop
    content = "\n".join(hunk.new for hunk in hunks)
    ends = "" if not content or any(line.startswith(NO_NEWLINE) for line in lines[start:end]) else "\n"
    return _unified_patch((old_path, new_path), hunks, content + ends)


def _paths(old_line: str, new_line: str) -> tuple[str, str]:
    """The two paths of a file head without git's prefixes; two that are the same have none."""
    old, new = OLD_FILE.match(old_line), NEW_FILE.match(new_line)
    assert old is not None
    assert new is not None
    if old[1] == new[1]:
        return old[1], new[1]
    return old[1].removeprefix("a/"), new[1].removeprefix("b/")


def _placed(hunk: Hunk, header: re.Match[str]) -> Hunk:
    """*hunk* with what its header says of the place; what is behind `@@` is around it, not above it."""
    line_number = int(header[1]) if header[1] else None
    scope = (header[2].strip(),) if hunk.old and header[2] and header[2].strip() else ()
    return replace(hunk, line_number=line_number, scope=scope)


def _unified_patch(paths: tuple[str, str], hunks: list[Hunk], content: str) -> FilePatch | Failure:
    old_path, new_path = paths
    if new_path == NOWHERE:
        return FilePatch(path=old_path, operation=Operation.DELETE)
    if old_path == NOWHERE:
        return FilePatch(path=new_path, operation=Operation.ADD, content=content)
    if not hunks:
        return nothing(f"at least one changed line for {new_path}")
    move_to = new_path if new_path != old_path else None
    return FilePatch(path=old_path, operation=Operation.UPDATE, hunks=tuple(hunks), move_to=move_to)
