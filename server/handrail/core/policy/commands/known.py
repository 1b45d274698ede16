"""Look up a command by its words: how to run it so that it changes nothing, and what it reads."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.core.policy.commands import git
from handrail.core.policy.commands.options import Arguments, Below, Row, UnknownError, parse_arguments
from handrail.core.policy.commands.script import Environment
from handrail.core.policy.commands.special import SPECIAL
from handrail.core.policy.commands.table import TABLE
from handrail.values import dataclass

SHOWN_CHARS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """
    A command that is known to change nothing, if it may read what it reads.

    Attributes:
        arguments: What its program is started with.
        meant: What they mean.
        names: For git: the arguments that print the names of the files whose contents are shown; empty if
            none are shown but those that are read.
        shows_addresses: Whether git shows those of its remotes.
    """

    arguments: tuple[str, ...]
    meant: Arguments
    environment: Environment = Environment.BARE
    names: tuple[str, ...] = ()
    shows_addresses: bool = False


def find_command(words: Sequence[str], text: str) -> Known | str:
    """
    Returns what is known about a command, or a sentence that says what is unknown.

    Args:
        text: The command as it is written.
    """
    known = _find_command(words)
    if isinstance(known, Known):
        return known
    said = " ".join(text.split())
    said = said if len(said) <= SHOWN_CHARS else said[: SHOWN_CHARS - 1] + "…"
    why = f", because {'' if known.startswith('it ') else 'of '}{known}" if known else ""
    return f"`{said}` is not known to be read-only{why}."


def _find_command(words: Sequence[str]) -> Known | str:
    """Returns what is known about a command, or the part of it that is unknown; empty for all of it."""
    name, *arguments = words
    try:
        if name == "git":
            return _git(arguments)
        row = TABLE.get(name)
        if row is None:
            return ""
        special = SPECIAL.get(name)
        meant = Arguments(reads=special(arguments)) if special else parse_arguments(row, arguments)
    except UnknownError as error:
        return str(error)
    environment = Environment.PATH if row.own_path else Environment.BARE
    hides = row.hides if meant.below is Below.VISIBLE else ()
    given = (*row.added, *arguments[: meant.end], *hides, *arguments[meant.end :])
    return Known(arguments=given, meant=meant, environment=environment)


def _git(arguments: Sequence[str]) -> Known:
    rest = list(arguments)
    while rest and rest[0] in git.GLOBAL:
        rest.pop(0)
    before = arguments[: len(arguments) - len(rest)]
    name, row, rest = _subcommand(rest)
    meant = parse_arguments(row, rest)
    for each in meant.objects:
        if ":" in each and not git.IN_TREE.fullmatch(each):
            raise UnknownError(f"`{each}`")
    if name == "cat-file" and "-p" in meant.given and not all(":" in each for each in meant.objects):
        raise UnknownError("it may show a protected file")
    shows = git.shows_content(row, meant.given)
    return Known(
        arguments=(*git.options(), *before, *name.split(), *row.added, *rest),
        meant=meant,
        environment=Environment.GIT,
        names=(*git.options(), *before, *git.names(name, meant)) if shows else (),
        shows_addresses=name == "remote" and bool(meant.options),
    )


def _subcommand(rest: list[str]) -> tuple[str, Row, list[str]]:
    """The subcommand, its row, and its arguments."""
    for count in (2, 1):
        name = " ".join(rest[:count])
        if name in git.SUBCOMMANDS:
            return name, git.SUBCOMMANDS[name], rest[count:]
    raise UnknownError(f"`{rest[0]}`" if rest else "it names no subcommand")
