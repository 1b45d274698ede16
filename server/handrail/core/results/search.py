"""Searches and their results, as values, and as the model reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from handrail.core.policy.place import Place
from handrail.core.policy.rules import Decision
from handrail.counts import count_of
from handrail.values import dataclass

LIMIT_LINES = 300
LIMIT_PATHS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """
    A search: the pattern, and the files to look in.

    Attributes:
        pattern: A regular expression, looked for in each line by itself.
        within: The folder or file to search; None for all workspace folders.
        glob: Which files, relative to that folder: `*.py`, `src/**/*.{ts,tsx}`; empty for all.
    """

    pattern: str
    ignore_case: bool = False
    within: Place | None = None
    glob: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line that a search found: its document's path, as people read it, and its number from 1."""

    path: str
    line_number: int
    row: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """
    The lines that a search found, by path and number.

    Attributes:
        more: Whether there are others.
        left_out: What was not searched, for the model: as sentences, if nothing was found.
    """

    lines: tuple[Line, ...]
    more: bool = False
    left_out: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Part of an output that was kept aside: `offset` and `total`, all of it, count characters."""

    text: str
    offset: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A line of an output: its number from 1, the match's offset in the whole, the line."""

    line_number: int
    offset: int
    row: str


UNSEARCHED = {  # by whether the folder that was named is protected, and whether it is ignored
    (False, False): "Ignored and protected files were not searched.",
    (True, False): (
        "Ignored files were not searched, and neither were files that would be protected in any other folder "
        "too."
    ),
    (False, True): (
        "This folder was searched although it is ignored. Files in it were not searched if they are "
        "protected, or if they would be ignored even if this folder were not."
    ),
    (True, True): (
        "This folder was searched although it is ignored. Files in it were not searched if they would be "
        "protected in any other folder too, or if they would be ignored even if this folder were not."
    ),
}
CLOSED_FILE = (
    "This file was not searched: handrail.approvals blocks or asks about reading it. If you need it, call "
    "read_file: the user may be asked."
)
STRICT = {Decision.BLOCK: "blocks", Decision.ASK: "asks about"}
NARROWER = "there are more: narrow the pattern, or search fewer files"


def closed_note(decisions: Iterable[Decision]) -> str:
    """Returns that files to which a strict one of these applies were not searched; empty without one."""
    given = set(decisions)
    does = " or ".join(words for decision, words in STRICT.items() if decision in given)
    return f"Files that handrail.approvals {does} were not searched." if does else ""


def show_lines(matching: Lines, if_more: str = NARROWER) -> str:
    """The lines, below one line that counts them; each document's path stands once, above its lines."""
    if not matching.lines and matching.left_out == CLOSED_FILE:
        return CLOSED_FILE
    if not matching.lines:
        return " ".join(filter(None, ("No lines match.", matching.left_out)))
    parts = [""]
    for path, lines in groupby(matching.lines, key=lambda line: line.path):
        parts += [path, *(f"  {line.line_number}|{line.row}" for line in lines)]
    files = len({line.path for line in matching.lines})
    parts[0] = f"{count_of(len(matching.lines), 'line')} in {count_of(files, 'file')}"
    parts[0] += f"; {if_more}." if matching.more else "."
    return "\n".join(parts)


def list_paths(paths: Sequence[str], limit: int = LIMIT_PATHS) -> str:
    """
    The paths, sorted; if they are too many, folders with the number of their files instead.

    As many levels are shown as fit into *limit* lines.
    """
    if not paths:
        return "No files."
    if len(paths) <= limit:
        return "\n".join((f"{count_of(len(paths), 'file')}.", *paths))
    rows = list(_fold(paths, 1))
    depth = 2
    while len(deeper := list(_fold(paths, depth))) <= limit:
        rows, depth = deeper, depth + 1
    rest = f"\n… and {len(rows) - limit:,} more" if len(rows) > limit else ""
    head = f"{count_of(len(paths), 'file')}; list a folder, or give a glob, to see the files below it."
    return "\n".join((head, *rows[:limit])) + rest


def _fold(paths: Sequence[str], depth: int) -> list[str]:
    """The paths with at most *depth* parts; what is deeper is counted at its folder."""
    counts: Counter[str] = Counter()
    for path in paths:
        parts = path.split("/")
        counts["/".join(parts[:depth]) + ("/" if len(parts) > depth else "")] += 1
    return [
        f"{path} ({count_of(count, 'file')})" if path.endswith("/") else path
        for path, count in sorted(counts.items())
    ]
