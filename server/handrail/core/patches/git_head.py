"""
Read the lines that git writes above the hunks of a file: its names, and what happens to it as a whole.

They may be all that a patch says of a file: that it is renamed, or that an empty one is made or deleted. What
handrail cannot do is refused as what it is: copies, binary files, links, and changes of nothing but the mode.
A mode next to another change is left out, and a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from handrail.core.failure import Code, Failure
from handrail.core.patches.hunk import FilePatch, Operation, bad, no_changed_line, unquote
from handrail.patterns import lazy_pattern

PREAMBLE = lazy_pattern(
    r"^(?:diff (?:-\S|a/\S+ b/)|index \S+\.\.\S|(?:dis)?similarity index |(?:rename|copy) (?:from|to) \S"
    r"|(?:old|new) mode \d|(?:new|deleted) file mode \d|Binary files? .* differ\s*$"
    r"|GIT binary patch\s*$)"
)
FACT = lazy_pattern(
    r"^(diff|index|(?:dis)?similarity|(?:rename|copy) \w+|(?:old|new) mode|(?:new|deleted) file|Binary|GIT)\b"
    r" ?(?:mode |index )?(.*?)\s*$"
)
PREFIX_OLD, PREFIX_NEW = lazy_pattern(r"^a[/\\]"), lazy_pattern(r"^b[/\\]")
NAMES = lazy_pattern(r'^("(?:[^"\\]|\\.)*"|a/.+|\S+) ("(?:[^"\\]|\\.)*"|b/.+|\S+)$')
QUOTED = lazy_pattern(r'"((?:[^"\\]|\\(?:[abfnrtv"\\]|(?!000)[0-3][0-7]{2}))+)"')
ESCAPE = lazy_pattern(r'\\([abfnrtv"\\]|[0-3][0-7]{2})')
CONTROLS = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
UTF_8 = "a file name in UTF-8"
NO_FILE = lazy_pattern(r"\b1[26]0000$")  # the mode of a symbolic link, or of a submodule
WITH_MODE = ("index", "old mode", "new mode", "new file", "deleted file")
RENAME = ("rename from", "rename to")
USUAL_MODE = "100644"
EMPTY = ("e69de29", "473a0f4")  # how the hash of an empty file begins, with SHA-1 and SHA-256
MISSING = "the changed lines below it, because it says that the text of the file changes"
NO_BINARY = ("handrail patches no binary files", "Leave the file out of the patch.")
NO_COPY = ("handrail copies no files", "Send the copy as a new file, with its whole text.")
NO_LINK = ("handrail patches no symbolic links and no submodules", "Leave the file out of the patch.")
NO_MODE = (
    "handrail changes no modes of files",
    "Leave the file out of the patch. If you can run commands, change the mode with one.",
)
NOT_DONE = {"copy from": NO_COPY, "copy to": NO_COPY, "Binary": NO_BINARY, "GIT": NO_BINARY}

Facts = Mapping[str, tuple[int, str]]  # by the first words of a line: its number, and the rest of it


def facts_of(lines: Sequence[str], numbers: Sequence[int]) -> Facts | Failure:
    """What the lines *numbers*, all of them of git, say of one file; or why it cannot be done."""
    facts: dict[str, tuple[int, str]] = {}
    for at in numbers:
        found = FACT.match(lines[at])
        assert found is not None
        key, value = found[1], found[2]
        if key in NOT_DONE:
            return _refuse(lines, at, NOT_DONE[key])
        if key in WITH_MODE and NO_FILE.search(value):
            return _refuse(lines, at, NO_LINK)
        if key in RENAME:
            name = name_of(value, is_git=True)
            if name is None:
                return bad(at + 1, lines[at], UTF_8)
            value = name[0]
        facts[key] = (at, value)
    return facts


def name_of(written: str, *, is_git: bool = False) -> tuple[str, tuple[str, ...]] | None:
    """
    Returns a file name without quotes, and a note if these are not as git writes them.

    git writes other characters than those of ASCII as the bytes of their UTF-8. What may also be a path of
    Windows, with backslashes between folders, is taken for one.

    Args:
        written: The name in the patch.
        is_git: Whether only git writes such a line.

    Returns:
        None if the name is not UTF-8.
    """
    found = QUOTED.fullmatch(written)
    escapes = ESCAPE.findall(written) if found is not None else []
    is_git = is_git or written[1:3] in ("a/", "b/") or not any(each in CONTROLS for each in escapes)
    if found is None or not escapes or not is_git:
        return unquote(written)
    raw = ESCAPE.sub(lambda each: CONTROLS.get(each[1]) or _character(each[1]), found[1])
    try:
        return raw.encode("utf-8", "surrogateescape").decode("utf-8"), ()
    except UnicodeDecodeError:
        return None


def _character(escape: str) -> str:
    """The character of an escape; `surrogateescape` makes a byte of it again."""
    return bytes([int(escape, 8)]).decode("ascii", "surrogateescape") if len(escape) == 3 else escape


def _refuse(lines: Sequence[str], at: int, why: tuple[str, str]) -> Failure:
    message = f"Line {at + 1} of the patch is {lines[at][:80]!r}, but {why[0]}."
    return Failure(code=Code.BAD_PATCH, message=message, steps=(why[1],))


def begins_another(lines: Sequence[str], numbers: Sequence[int], at: int) -> bool:
    """Whether line *at*, below the lines *numbers* about one file, is already about the next file."""
    keys = [FACT.match(lines[each]) for each in (*numbers, at)]
    *known, new = (found[1] for found in keys if found is not None)
    return new == "diff" or new in known


def may_be_prose(facts: Facts) -> bool:
    """Whether lines above a patch may look like git's by chance: they are not a whole section."""
    return "diff" not in facts and not facts.keys() >= {"rename from", "rename to"}


def mode_note(facts: Facts, path: str) -> tuple[str, ...]:
    """The note about a mode that is not set."""
    usual = facts["old mode"][1] if "old mode" in facts else USUAL_MODE
    mode = facts.get("new mode", facts.get("new file", (0, usual)))[1] or usual
    return () if mode == usual else (f"The mode {mode}, which the patch gives {path}, was not set.",)


def whole_file(lines: Sequence[str], facts: Facts) -> FilePatch | Failure:
    """The patch of a file of which these lines say everything: no hunk follows."""
    first = min(at for at, _ in facts.values())
    names = _names(facts)
    old, new = (facts.get(key, (0, name))[1] for key, name in zip(RENAME, names, strict=True))
    is_known = bool(old and new) and ("rename from" in facts) == ("rename to" in facts)
    if not is_known:
        return bad(first + 1, lines[first], "the names of the file, as 'diff --git a/path b/path'")
    if (wrong := check_no_hunks(lines, facts)) is not None:
        return wrong
    if "rename from" in facts:
        notes = mode_note(facts, new)
        return FilePatch(path=old, operation=Operation.UPDATE, move_to=new, notes=notes)
    if "new file" in facts:
        return FilePatch(path=new, operation=Operation.ADD, notes=mode_note(facts, new))
    if "deleted file" in facts:
        return FilePatch(path=old, operation=Operation.DELETE, removed=())
    if "new mode" in facts:
        return _refuse(lines, facts["new mode"][0], NO_MODE)
    return no_changed_line(new)


def check_no_hunks(lines: Sequence[str], facts: Facts) -> Failure | None:
    """Why no hunk is too few: the text of a renamed or new file is said to change."""
    similarity, value = facts.get("similarity", (0, "100%"))
    index, hashes = facts.get("index", (0, ""))
    before, _, after = hashes.partition(" ")[0].partition("..")
    is_empty = "new file" in facts and after.startswith(EMPTY)
    if value != "100%" and "rename from" in facts:
        return bad(similarity + 1, lines[similarity], MISSING)
    if before != after and not is_empty and "deleted file" not in facts:
        return bad(index + 1, lines[index], MISSING)
    return None


def _names(facts: Facts) -> tuple[str, str]:
    """The names in the line `diff --git`, without git's prefixes; empty if they are not certain."""
    value = re.sub(r"^-\S+\s+", "", facts.get("diff", (0, ""))[1])
    middle = len(value) // 2
    halves = (value[:middle], value[middle + 1 :])
    bare = (PREFIX_OLD.sub("", halves[0]), PREFIX_NEW.sub("", halves[1]))
    if value[middle : middle + 1] == " " and '"' not in value and bare[0] == bare[1]:
        return bare
    found = NAMES.match(value)
    names = [name_of(name) for name in found.groups()] if found is not None else []
    (old, _), (new, _) = (name or ("", ()) for name in names or (None, None))
    if old == new:
        return old, new
    return PREFIX_OLD.sub("", old), PREFIX_NEW.sub("", new)
