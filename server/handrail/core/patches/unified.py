"""Read unified diffs; their line numbers are hints, and their counts are ignored."""

from __future__ import annotations

import re

from handrail.core.documents.text import to_lf, unwritable
from handrail.core.failure import Code, Failure
from handrail.core.patches import file_names, wrapper
from handrail.core.patches.hunk import FilePatch, Hunk, Operation, bad, no_changed_line, no_edits, unquote
from handrail.core.patches.signed import NO_NEWLINE, join_sections, signed_hunk
from handrail.values import dataclass, replace

OLD_FILE = re.compile(r"^---(?: |(?=[ab]/|/dev/null))([^\t]*\S)[^\S\t]*(?:\t.*)?$")
NEW_FILE = re.compile(r"^\+\+\+(?: |(?=[ab]/|/dev/null))([^\t]*\S)[^\S\t]*(?:\t.*)?$")
RENAME = re.compile(r"^rename (from|to) (.*\S)\s*$")
RANGE = re.compile(r"^@@(?: -(\d+)(?:,\d+)? \+\d+(?:,\d+)?)? ?(?:\.\.\. ?)?@@ ?(.*)$|^@@\s*$")
NOWHERE = "/dev/null"
PREFIX_OLD, PREFIX_NEW = re.compile(r"^a[/\\]"), re.compile(r"^b[/\\]")
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
    first, last = wrapper.pair_around(lines)
    notes = (wrapper.LEFT_OUT,) if (first, last) != wrapper.filled_range(lines) else ()
    lines = ["" if not first <= at < last else line for at, line in enumerate(lines)]
    heads = [at for at in range(len(lines) - 1) if is_file_head(lines, at)]
    above = lines[: heads[0]] if heads else lines
    astray = next((at for at, line in enumerate(above) if RANGE.match(line)), None)
    if astray is not None:
        return bad(astray + 1, lines[astray], "'--- a/path' and '+++ b/path' lines directly above it")
    if not heads:
        return no_edits("'--- a/path' and '+++ b/path' lines")
    files: list[FilePatch] = []
    for at, end in zip(heads, [*heads[1:], len(lines)], strict=True):
        file = _unified_file(lines, at, end)
        if isinstance(file, Failure):
            return file
        files.append(replace(file, notes=(*notes, *file.notes)))
    return join_sections(files)


def is_file_head(lines: list[str], at: int) -> bool:
    """Whether a file section of a unified diff begins at line *at* (counted from 0)."""
    if not (OLD_FILE.match(lines[at]) and at + 1 < len(lines) and NEW_FILE.match(lines[at + 1])):
        return False
    return at + 2 >= len(lines) or not lines[at + 2].strip() or bool(RANGE.match(lines[at + 2]))


def _unified_file(lines: list[str], at: int, end: int) -> FilePatch | Failure:
    names = _names(lines, at)
    if isinstance(names, Failure):
        return names
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
        hunk = signed_hunk(lines, (at + 1, stop), len(hunks) + 1, ())
        if isinstance(hunk, Failure):
            return hunk
        if hunk is not None:
            if not (hunk.old or header[1] or names.old == NOWHERE):
                return bad(at + 1, lines[at], "a line of context around the lines that this hunk adds")
            hunks.append(_with_header(hunk, header))
        at = stop
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


def _names(lines: list[str], at: int) -> _Names | Failure:
    """The names in a file head, without git's prefixes; two that are the same have none."""
    old_line, new_line = OLD_FILE.match(lines[at]), NEW_FILE.match(lines[at + 1])
    assert old_line is not None
    assert new_line is not None
    (old, old_notes), (new, new_notes) = unquote(old_line[1]), unquote(new_line[1])
    notes = tuple(dict.fromkeys((*old_notes, *new_notes)))
    names = _Names(old=old, new=new, notes=notes)
    if old != new:
        names = replace(names, old=PREFIX_OLD.sub("", old), new=PREFIX_NEW.sub("", new))
    renamed = {}
    above = at - 1
    while above >= 0 and PREAMBLE.match(lines[above]):
        if found := RENAME.match(lines[above]):
            renamed[found[1]] = (above, unquote(found[2])[0])
        above -= 1
    for key, name in (("from", names.old), ("to", names.new)):
        if len(renamed) == 2 and renamed[key][1] != name:
            line = renamed[key][0]
            return bad(line + 1, lines[line], f"the name {name!r}, which the line before the hunks gives")
    return replace(names, move_to=names.new) if len(renamed) == 2 else names


def _with_header(hunk: Hunk, header: re.Match[str]) -> Hunk:
    """*hunk* with what its header says of the place; what is behind `@@` is around it, not above it."""
    line_number = int(header[1]) if header[1] else None
    scope = (header[2].strip(),) if hunk.old and header[2] and header[2].strip() else ()
    return replace(hunk, line_number=line_number, scope=scope)


def _unified_patch(names: _Names, hunks: list[Hunk], content: str) -> FilePatch | Failure:
    if names.new == NOWHERE:
        if any(hunk.new for hunk in hunks):
            return Failure(
                code=Code.BAD_PATCH,
                message=f"The patch deletes {names.old} (its '+++' line has {NOWHERE}), but keeps or adds "
                f"lines of it.",
                steps=(
                    "To delete the file, remove all of its lines.",
                    "Otherwise give its name in the '+++' line.",
                ),
            )
        return FilePatch(path=names.old, operation=Operation.DELETE, notes=names.notes)
    if names.old == NOWHERE and not any(hunk.old for hunk in hunks):
        return FilePatch(path=names.new, operation=Operation.ADD, content=content, notes=names.notes)
    if not hunks:
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
