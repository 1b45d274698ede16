"""
Read the arguments of a command by its row in a table: which of them name files, and whether all are known.

An option that is not in the row makes the command unknown; so does one that is shortened, since only the
command can tell what it stands for. Letters in one word (`-la`) are read one by one. Options may follow
operands.

How a row lists options. `-ab` are letters without a value, `--all` is a word without one, `-#` a number
(`-20`). A sign at the end says more: `:` a value that is text, `<` a value that is a file to read, `?` a
value only if it is attached (`-I4`, `--color=always`); `!` everything below its operands is read, `*` files
whose names begin with a dot are read too, `^` it takes the place of the first operand. Several signs may
stand together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache

from handrail.values import dataclass

SIGNS = ":<?!*^"
NUMBER = re.compile(r"-[0-9]+")


class Below(StrEnum):
    """The extent to which files below a folder are read, if a folder is given."""

    NOTHING = "nothing"
    NAMES = "names"  # and sizes and dates
    VISIBLE = "visible"  # their contents, unless a name begins with a dot
    CONTENTS = "contents"
    LINKED = "linked"  # their contents, and what links lead to


class Operand(StrEnum):
    """The kinds of operands."""

    TEXT = "text"
    FILE = "file"  # read, or looked at; a folder's names
    TREE = "tree"  # the same with all that is below
    FORMAT = "format"  # text that begins with `+`
    ROWS = "rows"  # which rows of a text are shown: `10,20p`
    OBJECT = "object"  # of git: a revision, a path, or one in the other
    PATHS = "paths"  # of git: behind `--`


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """
    The options and operands of a known command.

    Attributes:
        options: As said above.
        operands: What its operands are, in order; `*` at the end of the last is for all that follow.
        below: What it sees of folders, where it reads what is below them.
        implied: The operand that it has if no operand of a file is given.
        added: Arguments that it is always given, before the others.
        hides: Options that it is given behind the others, so that it sees what is visible only.
        options_first: Whether some systems take options behind operands for operands, and write them.
        forbidden: A pattern that no argument may contain.
        needs: Without one of these options it takes no operands.
        content: Whether it may show contents of files that it does not name, as git does.
        no_patch: The options with which it does not, if it does without any.
        own_path: Whether it sees the user's PATH.
        values_apart: Whether the value of a letter is always a word of its own, so that others may follow it.
        from_files: Whether it is known only with files to read: what it reads elsewhere it copies to a file.
    """

    options: str = ""
    operands: str = ""
    below: Below = Below.NOTHING
    implied: str = ""
    added: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()
    options_first: bool = False
    forbidden: str = ""
    needs: str = ""
    content: bool = False
    no_patch: str = ""
    own_path: bool = False
    values_apart: bool = False
    from_files: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A file or folder that a command reads, and what it sees of the files below."""

    path: str
    below: Below = Below.NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """
    The arguments of a command that is known.

    Attributes:
        reads: The files and folders that it reads.
        below: What it sees of all that is below folders.
        end: How many arguments stand before `--`.
        is_parted: Whether there is a `--`.
        options: Those that are given, in order: name, signs, value.
        objects: Operands that git looks up.
        paths: Operands behind `--`, of git.
    """

    reads: tuple[Read, ...] = ()
    below: Below = Below.NOTHING
    end: int = 0
    is_parted: bool = False
    options: tuple[tuple[str, str, str], ...] = ()
    objects: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    @property
    def given(self) -> frozenset[str]:
        """The names of the options."""
        return frozenset(name for name, _, _ in self.options)


class UnknownError(Exception):
    """Something in the arguments is not known; the text says what."""


def parse_arguments(row: Row, arguments: Sequence[str]) -> Arguments:
    """Returns the meaning of *arguments* according to *row*. Raises UnknownError."""
    if row.forbidden and (found := next((w for w in arguments if re.search(row.forbidden, w)), None)):
        raise UnknownError(f"`{found}`")
    given, operands, behind, end = _split_arguments(row, arguments)
    reads = [Read(path=value) for _, signs, value in given if "<" in signs and value not in ("", "-")]
    kinds = _kinds(row, given)
    if PATHS in kinds:
        kinds, paths = [kind for kind in kinds if kind != PATHS], tuple(behind)
    else:
        operands, paths = operands + behind, ()
    if row.needs and operands and not {name for name, _, _ in given} & set(row.needs.split()):
        raise UnknownError(f"`{operands[0]}`")
    named = list(_operands(kinds, operands))
    if row.from_files and (not named or any(path == "-" for _, path in named)):
        raise UnknownError("standard input, which it would copy to a file")
    below = _describe_below(row, given)
    reads += [Read(path=path, below=below) for kind, path in named if kind in READ and path != "-"]
    if row.implied and below is not Below.NOTHING and not any(kind in READ for kind, _ in named):
        reads.append(Read(path=row.implied, below=below))
    return Arguments(
        reads=tuple(reads),
        below=below,
        end=end,
        is_parted=end < len(arguments),
        options=tuple(given),
        objects=tuple(path for kind, path in named if kind == Operand.OBJECT),
        paths=paths,
    )


PATHS = Operand.PATHS.value
READ = (Operand.FILE.value, Operand.TREE.value)
ROWS = re.compile(r"(?:[0-9]+|\$)(?:,(?:\+?[0-9]+|\$))?[pdq](?:;(?:[0-9]+|\$)(?:,(?:\+?[0-9]+|\$))?[pdq])*")


def _split_arguments(
    row: Row, arguments: Sequence[str]
) -> tuple[list[tuple[str, str, str]], list[str], list[str], int]:
    """The options, the operands before `--` and behind it, and how many arguments stand before it."""
    given: list[tuple[str, str, str]] = []
    operands: list[str] = []
    left = list(arguments)
    while left:
        word = left.pop(0)
        if word == "-" or not word.startswith("-"):
            operands.append(word)
        elif operands and row.options_first:
            raise UnknownError(f"`{word}` after an operand")
        elif word == "--":
            return given, operands, left, len(arguments) - len(left) - 1
        elif word.startswith("--"):
            given.append(_long(row, word, left))
        else:
            given += _letters(row, word, left)
    return given, operands, [], len(arguments)


def _long(row: Row, word: str, left: list[str]) -> tuple[str, str, str]:
    """The option *word*, its signs and its value, which may be the first of *left*."""
    name, is_attached, value = word.partition("=")
    signs = _options(row.options).get(name)
    if signs is None or (is_attached and not set(signs) & set(":<?")):
        raise UnknownError(f"the option `{word}`")
    if not is_attached and set(signs) & set(":<"):
        if not left:
            raise UnknownError(f"the option `{word}` without a value")
        value = left.pop(0)
    return name, signs, value


def _letters(row: Row, word: str, left: list[str]) -> Iterator[tuple[str, str, str]]:
    """The options in *word*, such as `-la` or `-n5`."""
    known = _options(row.options)
    if word in known and len(word) > 2:  # some commands have words with one dash
        yield _long(row, word, left)
        return
    if NUMBER.fullmatch(word) and "-#" in known:
        yield "-#", "", word
        return
    for at, letter in enumerate(word[1:], 1):
        signs = known.get(f"-{letter}")
        if signs is None:
            raise UnknownError(f"the option `{word}`")
        rest = word[at + 1 :]
        if "?" in signs:
            yield f"-{letter}", signs, rest
            return
        if set(signs) & set(":<"):
            if rest and row.values_apart:
                raise UnknownError(f"the option `{word}`, which combines options")
            if not rest and not left:
                raise UnknownError(f"the option `{word}` without a value")
            yield f"-{letter}", signs, rest or left.pop(0)
            return
        yield f"-{letter}", signs, ""


def _kinds(row: Row, given: Sequence[tuple[str, str, str]]) -> list[str]:
    kinds = row.operands.split()
    return kinds[1:] if any("^" in signs for _, signs, _ in given) else kinds


def _operands(kinds: Sequence[str], operands: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each operand with what it is."""
    for index, operand in enumerate(operands):
        last = kinds[-1] if kinds else ""
        kind = kinds[index] if index < len(kinds) else last if last.endswith("*") else ""
        kind = kind.removesuffix("*")
        is_wrong = (kind == Operand.FORMAT and not operand.startswith("+")) or (
            kind == Operand.ROWS and not ROWS.fullmatch(operand)
        )
        if not kind or is_wrong:
            raise UnknownError(f"`{operand}`")
        yield kind, operand


def _describe_below(row: Row, given: Sequence[tuple[str, str, str]]) -> Below:
    """Returns what the command reads below its operands."""
    signs = "".join(each for _, each, _ in given)
    is_deep = "!" in signs or "tree" in row.operands
    if not is_deep:
        return Below.NOTHING
    return Below.CONTENTS if row.below is Below.VISIBLE and "*" in signs else row.below


@lru_cache(maxsize=256)
def _options(options: str) -> Mapping[str, str]:
    """The signs of each option of a row, by its name."""
    result: dict[str, str] = {}
    for each in options.split():
        name = each.rstrip(SIGNS)
        signs = each[len(name) :]
        if name.startswith("--") or name == "-#" or (signs and len(name) > 2):
            result[name] = signs
        else:
            result.update((f"-{letter}", signs) for letter in name[1:])
    return result
