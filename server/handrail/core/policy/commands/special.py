"""
Commands whose arguments a row of the table cannot describe: `find`, `test`, `echo` and `printf`.

For bash builtins that run as separate programs here, only arguments that both understand alike are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle

from handrail.core.policy.commands.options import Below, Read, UnknownError
from handrail.patterns import lazy_pattern

Special = Callable[[Sequence[str]], tuple[Read, ...]]

_FLAGS = (
    "-print -print0 -ls -empty -depth -d -xdev -mount -daystart -prune -quit -true -false -not -and -or -a "
    "-o -readable -writable -executable -nouser -nogroup -noleaf -ignore_readdir_race -nowarn -warn ( ) ! ,"
)
_VALUES = (
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime "
    "-mmin -atime -amin -ctime -cmin -perm -user -group -uid -gid -links -inum -maxdepth -mindepth -fstype "
    "-lname -ilname -used -printf"
)
FIND_FLAGS = frozenset(_FLAGS.split())
FIND_VALUES = frozenset(_VALUES.split())
FIND_FILES = frozenset({"-newer", "-anewer", "-cnewer", "-samefile"})
NEWER = lazy_pattern(r"-newer[aBcm]([aBcmt])")

UNARY = frozenset(f"-{letter}" for letter in "bcdefgGhkLnNOprsSuwxz")
BINARY = frozenset({"=", "==", "!=", "-nt", "-ot", "-ef"})
NUMERIC = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
INTEGER = lazy_pattern(r"[+-]?[1-9][0-9]{0,14}|0")

ANYTHING = lazy_pattern(".*", re.DOTALL)
ESCAPED = lazy_pattern(r"(?:[^\\]|\\(?:[abcefnrtv\\]|0[0-7]{0,3}|x[0-9A-Fa-f]{1,2}))*", re.DOTALL)
FORMAT = lazy_pattern(
    r"(?:[^%\\]|%%|%[-+ 0#]*[0-9]{0,3}(?:\.[0-9]{1,3})?[sdiuoxXb]"
    r"|\\(?:[abfnrtv\\\"]|[0-7]{1,3}|x[0-9A-Fa-f]{1,2}))*"
)
CONVERSION = lazy_pattern(r"%%|%[^a-zA-Z]*([a-zA-Z])")


def find(arguments: Sequence[str]) -> tuple[Read, ...]:
    """Returns what `find` reads. Raises UnknownError, like all functions here."""
    left = list(arguments)
    while left and left[0] in ("-H", "-P"):
        left.pop(0)
    starts: list[str] = []
    while left and not left[0].startswith("-") and left[0] not in FIND_FLAGS:
        starts.append(left.pop(0))
    reads = [Read(path=start, below=Below.NAMES) for start in starts or (".",)]
    while left:
        word = left.pop(0)
        newer = NEWER.fullmatch(word)
        takes_file = word in FIND_FILES or (newer is not None and newer[1] != "t")
        if word in FIND_FLAGS:
            continue
        if not left or not (takes_file or word in FIND_VALUES or newer):
            raise UnknownError(f"`{word}`")
        value = left.pop(0)
        if takes_file:
            reads.append(Read(path=value))
    return tuple(reads)


def test(arguments: Sequence[str]) -> tuple[Read, ...]:
    """`test` looks at files, and reads none."""
    words = list(arguments)
    match words:
        case [] | [_]:
            return ()
        case [left, operator, right] if operator in BINARY or _are_numbers(left, operator, right):
            return ()
        case ["!", *rest] if len(rest) <= 3:
            return test(rest)
        case [operator, _] if operator in UNARY:
            return ()
        case _:
            raise UnknownError(f"`{' '.join(words)}`")


def bracket(arguments: Sequence[str]) -> tuple[Read, ...]:
    """`[` is `test` with a `]` at its end."""
    if not arguments or arguments[-1] != "]":
        raise UnknownError("`[`")
    return test(arguments[:-1])


def echo(arguments: Sequence[str]) -> tuple[Read, ...]:
    """`echo` reads nothing."""
    options = []
    for word in arguments:
        if not re.fullmatch(r"-[neE]+", word):
            break
        options.append(word)
    if any("e" in word for word in options):
        unknown = next((word for word in arguments if not ESCAPED.fullmatch(word)), None)
        if unknown is not None:
            raise UnknownError(f"`{unknown}`")
    if len(arguments) == 1 and arguments[0] in ("--help", "--version"):
        raise UnknownError(f"the option `{arguments[0]}`")
    return ()


def printf(arguments: Sequence[str]) -> tuple[Read, ...]:
    """`printf` reads nothing."""
    if not arguments or arguments[0].startswith("-") or not FORMAT.fullmatch(arguments[0]):
        raise UnknownError(f"`{arguments[0] if arguments else 'printf'}`")
    letters = [found[1] for found in CONVERSION.finditer(arguments[0]) if found[1]]
    values = arguments[1:]
    if values and not letters:
        raise UnknownError(f"`{values[0]}`")
    for letter, value in zip(cycle(letters), values, strict=False):
        known = ANYTHING if letter == "s" else ESCAPED if letter == "b" else INTEGER
        if not known.fullmatch(value):
            raise UnknownError(f"`{value}`")
    return ()


SPECIAL: Mapping[str, Special] = {
    "find": find,
    "test": test,
    "[": bracket,
    "echo": echo,
    "printf": printf,
}


def _are_numbers(left: str, operator: str, right: str) -> bool:
    return operator in NUMERIC and all(INTEGER.fullmatch(each) for each in (left, right))
