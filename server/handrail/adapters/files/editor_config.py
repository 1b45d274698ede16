"""
The encoding that `.editorconfig` files name for a document.

Only `charset` is looked for. The files are those of the document's folder and all above it, up to one that
says `root = true`; each is read only if it is plain and small, and its globs are matched in linear time,
since a repository may have put anything there. Other files and lines are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path

from handrail.adapters.files import setting_file
from handrail.core.documents.text import Text
from handrail.core.policy import wildcard

NAME = ".editorconfig"
# The values of `charset`, as Python calls them.
ENCODINGS = {
    "latin1": "latin-1",
    "utf-8": "utf-8",
    "utf-8-bom": "utf-8",  # the mark itself tells, where it is there
    "utf-16be": "utf-16-be",
    "utf-16le": "utf-16-le",
}
WITH_MARK = "utf-8-bom"
LIMIT_BYTES = 200_000
LIMIT_GLOBS = 1_000  # that name a charset, in one file
LIMIT_GLOB_CHARS = 1_000
LIMIT_ALTERNATIVES = 100  # of one glob
SECTION = re.compile(r"\s*\[(?P<glob>.+)\]\s*(?:[#;].*)?")
ENTRY = re.compile(r"\s*(?P<name>[^=:\s]+)\s*[=:]\s*(?P<value>[^\s#;]*)")
BRACES = re.compile(r"\{([^{}]*)\}")
NUMBERS = re.compile(r"([+-]?\d{1,9})\.\.([+-]?\d{1,9})")


def named_encoding(path: Path) -> str | None:
    """The codec that `.editorconfig` files name for *path*; None if none does."""
    charset = _charset(path)
    return None if charset is None else ENCODINGS.get(charset)


def empty_text(path: Path) -> Text:
    """A text in the encoding of a new file at *path*: UTF-8 if no `.editorconfig` names one that is known."""
    charset = _charset(path)
    return Text("", ENCODINGS.get(charset or "", "utf-8"), charset == WITH_MARK)


def _charset(path: Path) -> str | None:
    for folder in path.parents:
        is_root, globs = _read(folder / NAME)
        name = path.relative_to(folder).as_posix() if globs else ""
        for glob, charset in reversed(globs):  # the last that matches wins, and the innermost file
            if _takes(glob, name):
                return charset
        if is_root:
            return None
    return None


def _read(path: Path) -> tuple[bool, list[tuple[str, str]]]:
    """Whether a file says that it is the topmost one, and its globs with a charset, in order."""
    try:
        text = setting_file.read_all(path, LIMIT_BYTES).decode("utf-8-sig", "replace")
    except OSError:
        return False, []
    return _parse(text)


@lru_cache(maxsize=8)
def _parse(text: str) -> tuple[bool, list[tuple[str, str]]]:
    is_root, glob, pairs = False, "", list[tuple[str, str]]()
    for row in text.splitlines():
        if section := SECTION.fullmatch(row):
            glob = section["glob"]
        elif entry := ENTRY.match(row):
            name, value = entry["name"].lower(), entry["value"].lower()
            if not glob and name == "root":
                is_root = value == "true"
            elif glob and name == "charset" and len(glob) <= LIMIT_GLOB_CHARS:
                pairs.append((glob, value))
    return is_root, pairs[-LIMIT_GLOBS:]


def _takes(glob: str, name: str) -> bool:
    """Whether a glob means the file *name*, relative to the folder of its `.editorconfig`."""
    return any(pattern.fullmatch(name) for pattern in _compile(glob))


@lru_cache(maxsize=4 * LIMIT_GLOBS)
def _compile(glob: str) -> tuple[re.Pattern[str], ...]:
    anywhere = glob.removeprefix("/") if "/" in glob else f"**/{glob}"
    result = []
    for each in islice(_alternatives(anywhere), LIMIT_ALTERNATIVES):
        try:
            result.append(wildcard.path_regex(each, has_brackets=True))
        except (re.error, RecursionError, OverflowError):
            continue
    return tuple(result)


def _alternatives(glob: str) -> Iterator[str]:
    """The globs that one with braces stands for; braces without a comma or a range are themselves."""
    begin = 0
    while (found := BRACES.search(glob, begin)) is not None:
        if parts := _parts(found[1]):
            for part in parts:
                yield from _alternatives(glob[: found.start()] + part + glob[found.end() :])
            return
        begin = found.end()
    yield glob


def _parts(held: str) -> list[str]:
    if numbers := NUMBERS.fullmatch(held):
        first, last = sorted((int(numbers[1]), int(numbers[2])))
        return [str(number) for number in range(first, min(last, first + LIMIT_ALTERNATIVES) + 1)]
    return held.split(",") if "," in held else []
