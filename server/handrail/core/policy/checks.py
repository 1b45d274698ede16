"""
The user's own checks: commands that report problems in documents, run before and after a turn's edits.

A check names the format of its output, so that nothing has to be guessed. Only machine settings can contain
checks, so that no folder chooses what runs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from enum import StrEnum

from handrail.core.policy import rules
from handrail.values import dataclass

FILES, FILE = "{files}", "{file}"
FIELDS = ("command", "format", "files", "stdin")
LIMIT_CHECKS = 20
LIMIT_CHARS = 2_000  # of a command, or a pattern
LIMIT_PATTERNS = 50
# A name goes in quotes of ours, so it must be a whole word, or all that follows an `=`.
LOOSE = re.compile(r"(?<![^\s=(])\{files?\}(?![^\s;|&<>)])")
EXAMPLE = (
    '{"command": "ruff check --no-cache --output-format=concise {files}", "format": "lines", '
    '"files": ["*.py"]}'
)


class Format(StrEnum):
    """The formats in which a check prints the problems that it has found."""

    LINES = "lines"
    SARIF = "sarif"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """
    A check.

    Attributes:
        command: A command line; `{files}` in it stands for the documents.
        format: How it prints what it has found.
        files: Patterns for the documents that it is for; empty for all.
        stdin: A command line that reads one document, `{file}`, from its standard input; empty for none. It
            is used where `command` would not see unsaved text.
    """

    command: str
    format: Format
    files: tuple[str, ...] = ()
    stdin: str = ""

    @property
    def program(self) -> str:
        """The name by which people know it: the program that it runs."""
        words = self.command.split()
        return words[0].rpartition("/")[2] if words else ""

    def is_for(self, path: str) -> bool:
        """Whether it is for a document, by its path below its workspace folder."""
        return not self.files or any(rules.path_pattern(each).fullmatch(path) for each in self.files)

    def line(self, paths: Sequence[str]) -> str:
        """The command line for documents, by their paths."""
        return _fill(self.command, FILES, paths)

    def stdin_line(self, path: str) -> str:
        """The command line that reads one document from its standard input."""
        return _fill(self.stdin, FILE, [path])


def _fill(line: str, name: str, paths: Sequence[str]) -> str:
    """A command line with paths in place of a name; none of them can be read as an option."""
    words = (path if not path.startswith("-") else f"./{path}" for path in paths)
    return line.replace(name, " ".join(map(shlex.quote, words)))


def read(value: object) -> tuple[Check, ...] | str:
    """The checks in a setting's value; else what is wrong, for the user."""
    if not isinstance(value, list | tuple):
        return f"it must be a list of checks, such as [{EXAMPLE}]"
    if len(value) > LIMIT_CHECKS:
        return f"it has {len(value)} checks; the limit is {LIMIT_CHECKS}"
    result = []
    for number, each in enumerate(value, 1):
        check = _check(each)
        if isinstance(check, str):
            return f"check {number} {check}"
        result.append(check)
    return tuple(result)


def _check(value: object) -> Check | str:
    """The check that a value describes; else what is wrong with it."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        return f"must be like {EXAMPLE}"
    if unknown := sorted(set(value) - set(FIELDS)):
        return f"has the field {unknown[0]!r}, which does not exist; the fields are {', '.join(FIELDS)}"
    command, stdin = value.get("command"), value.get("stdin", "")
    if not isinstance(command, str) or not isinstance(stdin, str) or not command.strip():
        return f"must have a `command`, such as {EXAMPLE}"
    if value.get("format") not in tuple(Format):
        return f"must name the `format` of what it prints: {' or '.join(Format)}"
    if wrong := _wrong_line("command", command, FILES) or _wrong_line("stdin", stdin, FILE):
        return wrong
    files = value.get("files", ())
    if not isinstance(files, list | tuple) or not all(isinstance(each, str) and each for each in files):
        return 'must have a list of patterns as its `files`, such as ["*.py"]'
    if len(files) > LIMIT_PATTERNS or any(len(each) > LIMIT_CHARS for each in files):
        return "has too many patterns in `files`, or one that is too long"
    return Check(command=command, format=Format(value["format"]), files=tuple(files), stdin=stdin)


def _wrong_line(field: str, line: str, name: str) -> str:
    """
    Returns what is wrong with a command line in which *name* is replaced by documents; empty if nothing.
    """
    if len(line) > LIMIT_CHARS or "\0" in line or "\n" in line:
        return f"has a `{field}` that is too long, or has more than one line"
    other = FILE if name == FILES else FILES
    if other in line:
        return f"has {other} in its `{field}`, where only {name} is replaced"
    try:
        words = _words(line)
    except ValueError:
        return f"has a quotation mark in its `{field}` that is not closed"
    apart = sum(word == name or word.endswith(f"={name}") for word in words)  # not within a quoted word
    if not line.count(name) == len(LOOSE.findall(line)) == apart:
        return f"must have {name} in its `{field}` as a word of its own, without quotes"
    return ""


def _words(line: str) -> list[str]:
    """The words of a command line, operators apart. Raises ValueError."""
    reader = shlex.shlex(line, posix=True, punctuation_chars=True)
    reader.whitespace_split, reader.commenters = True, ""
    return list(reader)
