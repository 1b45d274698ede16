"""
A command line taken apart, and whether it is known to change nothing.

Every part counts: each side of a pipe, `&&` and `;`, what stands in substitutions and subshells, and every
redirect. What a word comes to is known only if it is written out; of anything else nothing is assumed. Taking
the line apart happens elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """
    One simple command, or an assignment.

    Attributes:
        text: As it is written.
        words: The command's name and its arguments; None for one that only the shell can tell.
        assigns: Whether it sets variables, for itself or for what follows.
    """

    text: str
    words: tuple[str | None, ...]
    assigns: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirect:
    """A file that is read or written by a redirect; None for a name that only the shell can tell."""

    target: str | None
    writes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedCommand:
    """
    A command line.

    Attributes:
        line: As the model wrote it.
        parts: Every simple command in it, wherever it stands, in their order.
        redirects: Every redirect to or from a file.
        unclear: Why its parts are not all that it does; empty if they are.
    """

    line: str
    parts: tuple[Part, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    unclear: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """
    A command line to run.

    Attributes:
        folder: The URI of the folder to run it in.
        secrets: No variable with one of these values is in its environment.
    """

    line: str
    folder: str
    timeout_s: float
    secrets: tuple[str, ...] = ()


class End(StrEnum):
    """How a command ended: by itself, for want of time, or because it was to be stopped."""

    EXITED = "exited"
    TIMED_OUT = "timed-out"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """
    What came of a command.

    Attributes:
        code: Its exit code, below 0 for a signal; None if it did not end by itself.
        output: What it printed, on both channels, as a terminal would show it.
        left_processes: How many processes it left behind, which have been ended.
    """

    end: End
    code: int | None
    output: str
    left_processes: int = 0


def paths(command: ParsedCommand) -> tuple[str, ...]:
    """
    Everything in *command* that may name a file: redirects, operands, and what follows an option.

    Some are no paths at all; as names of files they do no harm.
    """
    found = [redirect.target for redirect in command.redirects if redirect.target not in (None, NOWHERE)]
    for part in command.parts:
        if part.words and part.words[0] not in SPEAKERS:
            found += [path for word in part.words[1:] if word for path in _named(word)]
    return tuple(dict.fromkeys(path for path in found if path))


def written(command: ParsedCommand) -> tuple[str, ...]:
    """The files that redirects of *command* write, as far as they are known."""
    found = (redirect.target for redirect in command.redirects if redirect.writes)
    return tuple(dict.fromkeys(target for target in found if target and target != NOWHERE))


def why_not_read_only(command: ParsedCommand, allowed: Set[int] = frozenset()) -> str | None:
    """
    Why *command* is not known to change nothing; None if it is.

    What it reads is judged by its `paths`, not here.

    Args:
        allowed: Indices of parts that may change something.
    """
    if command.unclear:
        return f"The command cannot be taken apart: {command.unclear}"
    for redirect in command.redirects:
        if redirect.target is None:
            return "Only the shell can tell to or from which file it is redirected."
        if redirect.writes and redirect.target != NOWHERE:
            return "It writes its output to a file."
    for index, part in enumerate(command.parts):
        if index not in allowed and not is_read_only(part):
            return f"`{_short(part.text)}` is not known to change nothing."
    return None if command.parts else "There is no command in it."


def is_read_only(part: Part) -> bool:
    """Whether a part is known to change nothing, whatever files it is used on."""
    name, *arguments = part.words or (None,)
    if part.assigns or name not in READERS or None in arguments:
        return False
    return READERS[name]([word for word in arguments if word is not None])


# ---- What is known ----------------------------------------------------------------------------------

NOWHERE = "/dev/null"
SPEAKERS = frozenset(
    {"echo", "printf", "true", "false", "test", "[[", "expr", "seq", "date", "which", "type"}
)
# bash evaluates what is compared as a number, or tested as a variable, and runs substitutions in it.
EVALUATED = re.compile(r"[$`]|(?:^|\s)-(?:eq|ne|lt|gt|le|ge|v|R)(?:\s|$)")
SHOWN_CHARS = 80

Check = Callable[[Sequence[str]], bool]


def _always(arguments: Sequence[str]) -> bool:
    return True


def _without(*options: str) -> Check:
    """All arguments are good but these options, however they are written: `-o`, `-xo`, `--out`, `--out=x`."""
    letters = {option[1] for option in options if len(option) == 2}
    longs = [option for option in options if len(option) > 2]

    def check(arguments: Sequence[str]) -> bool:
        for word in arguments:
            if word.startswith("--"):
                name = word.partition("=")[0]
                if len(name) > 2 and any(long.startswith(name) or name.startswith(long) for long in longs):
                    return False
            elif word.startswith("-") and (letters & set(word[1:]) or word in longs):
                return False
        return True

    return check


def _operands(most: int) -> Check:
    def check(arguments: Sequence[str]) -> bool:
        return sum(not word.startswith("-") for word in arguments) <= most

    return check


def _test(arguments: Sequence[str]) -> bool:
    return not EVALUATED.search(" ".join(arguments))


def _find(arguments: Sequence[str]) -> bool:
    changes = ("-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls")
    return not any(word in changes or word.startswith("-files0") for word in arguments)


GIT: dict[str, Check] = {
    "status": _always,
    "log": _without("--output", "--ext-diff", "--textconv"),
    "diff": _without("--output", "--ext-diff", "--textconv", "--no-index"),
    "show": _without("--output", "--ext-diff", "--textconv"),
    "blame": _without("--contents"),
    "shortlog": _without("--output"),
    "rev-parse": _always,
    "rev-list": _always,
    "ls-files": _always,
    "ls-tree": _always,
    "describe": _always,
    "merge-base": _always,
    "cat-file": _without("--textconv", "--filters"),
    "branch": lambda arguments: (
        set(arguments) <= {"-a", "-r", "-v", "-vv", "--all", "--list", "--show-current"}
    ),
    "tag": lambda arguments: set(arguments) <= {"-l", "--list"},
    "remote": lambda arguments: set(arguments) <= {"-v"},
    "stash": lambda arguments: list(arguments) == ["list"],
}


def _git(arguments: Sequence[str]) -> bool:
    """A subcommand that only looks; options before it could name programs to run."""
    rest = list(arguments)
    while rest and rest[0] in ("--no-pager", "-P"):
        rest.pop(0)
    return bool(rest) and rest[0] in GIT and GIT[rest[0]](rest[1:])


# Commands that change nothing, by name, and which of their arguments are good.
READERS: dict[str, Check] = {
    **dict.fromkeys(("cat", "head", "tail", "wc", "nl", "tac", "rev", "cut", "tr", "paste", "fold"), _always),
    **dict.fromkeys(
        ("ls", "pwd", "stat", "du", "df", "basename", "dirname", "realpath", "readlink"), _always
    ),
    **dict.fromkeys(("echo", "true", "false", "expr", "seq", "which", "type", "uname"), _always),
    **dict.fromkeys(("cmp", "comm", "md5sum", "sha1sum", "sha256sum", "cksum", "strings", "id"), _always),
    "date": _without("-s", "--set"),
    "diff": _without("-r", "--recursive", "--output"),
    "egrep": _without("-r", "-R", "-d", "--recursive", "--dereference-recursive", "--directories"),
    "fgrep": _without("-r", "-R", "-d", "--recursive", "--dereference-recursive", "--directories"),
    "file": _without("-C", "--compile"),
    "find": _find,
    "git": _git,
    "grep": _without("-r", "-R", "-d", "--recursive", "--dereference-recursive", "--directories"),
    "printf": _without("-v"),
    "sort": _without("-o", "-T", "--output", "--compress-program", "--temporary-directory"),
    "test": _test,
    "[[": _test,
    "tree": _without("-o", "-R"),
    "uniq": _operands(1),
    "whoami": _always,
}


def _named(word: str) -> Iterator[str]:
    """What a word may name: itself, an option's value, what stands behind a colon (`HEAD:path`)."""
    if word.startswith("-"):
        yield word.partition("=")[2]
        yield "" if word.startswith("--") else word[2:]
    else:
        yield word
        yield word.partition("=")[2]
    yield word.rpartition(":")[2] if ":" in word else ""


def _short(text: str) -> str:
    text = re.sub(r"\s+", " ", text.strip())
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
