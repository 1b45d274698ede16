"""
A parsed command line, how it is run, and its result.

A line is known to change nothing if it can be run without a shell, and each command in it is known to change
nothing. Of a line that only a shell can run, nothing is assumed; its parts are there for the user's rules,
and the files that it seems to name for the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from enum import StrEnum

from handrail.core.policy.commands.line import NOTHING, Pipeline
from handrail.core.policy.commands.runs import Words
from handrail.core.policy.commands.script import Script
from handrail.core.policy.containment import FREE, Contained
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """
    One simple command, or an assignment.

    Attributes:
        text: As it is written.
        words: The command's name and its arguments; None for one that only the shell can tell.
        assigns: Whether it sets variables, for itself or for what follows.
        marked: The words with a mark for each text in them that only a shell can tell; empty if there is
            none, or if it is known which words run.
        runs: The commands that this one runs, as `timeout` does.
        maybe: Those that it may run; they are arguments otherwise.
        unclear: Why it may run more than these, as the words after "because of"; empty if it cannot.
    """

    text: str
    words: tuple[str | None, ...]
    assigns: bool = False
    marked: Words = ()
    runs: tuple[Part, ...] = ()
    maybe: tuple[Part, ...] = ()
    unclear: str = ""


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
        pipelines: All of the line, if it can be run without a shell.
        needs_shell: Why it cannot, else.
    """

    line: str
    parts: tuple[Part, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    unclear: str = ""
    pipelines: tuple[Pipeline, ...] = ()
    needs_shell: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """
    A command line to run.

    Attributes:
        folder: The URI of the folder to run it in.
        script: The script to run without a shell; None to run the line in a shell.
        secrets: Values that its environment may contain only in variables that the user has named in full.
        model_keys: Values that its environment must not contain at all.
        contained: The paths that it sees and may change.
        timeout_s: The time limit, after which it is stopped; None for none.
        name: Names it while it runs, in `Process.set_aside`; empty for one that no one asks about.
        given: What a shell's line reads from its standard input.
    """

    line: str
    folder: str
    timeout_s: float | None
    secrets: tuple[str, ...] = ()
    model_keys: tuple[str, ...] = ()
    script: Script | None = None
    contained: Contained = FREE
    name: str = ""
    given: bytes = b""


class End(StrEnum):
    """
    How a command ended: by itself, at a limit of time or space, because it was stopped, or for what it did.
    """

    EXITED = "exited"
    TIMED_OUT = "timed-out"
    STOPPED = "stopped"
    UNCOVERED = "uncovered"
    FULL = "full"
    CROWDED = "crowded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Appeared:
    """
    A path that appeared while a command ran, and that runs later, holds keys or belongs to version control.

    Attributes:
        uri: Where it was.
        lies_in: The path that it was moved to, until `put_back`; empty if it could not be moved.
        files: The files in it, by their paths below it (empty for a file itself), with their text; None for
            what cannot be shown.
    """

    uri: str
    lies_in: str = ""
    files: tuple[tuple[str, str | None], ...] = ()

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder, as far as `files` tells."""
        return bool(self.files and self.files[0][0])


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """
    The result of a command.

    Attributes:
        code: Its exit code, below 0 for a signal; None if it did not end by itself.
        output: What it printed, on both channels, as a terminal would show it.
        left_processes: How many processes it left behind, which have been ended.
        layers: The folders that were changed only in a layer: the URI of each, and where the layer is.
        appeared: Paths that appeared while it ran, and must not be there before the user has said yes.
        left: The URIs of pipes and sockets that it left, which were moved away, since nothing uses them.
        reopened: The URIs of folders that it closed to its own user, and that were opened again.
        unsearched: Why it is not known what has appeared; empty if it is.
        uncovered: The path of a file that was hidden or kept, and was replaced while it ran.
    """

    end: End
    code: int | None
    output: str
    left_processes: int = 0
    layers: tuple[tuple[str, str], ...] = ()
    appeared: tuple[Appeared, ...] = ()
    left: tuple[str, ...] = ()
    reopened: tuple[str, ...] = ()
    unsearched: str = ""
    uncovered: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """
    Files that a running command made, that must not be there, and that were moved away.

    Attributes:
        appeared, unsearched, uncovered: As in `RunResult`.
        is_over: Whether the command has ended, so that its `RunResult` has the answer.
    """

    appeared: tuple[Appeared, ...] = ()
    unsearched: str = ""
    uncovered: str = ""
    is_over: bool = False


def paths(command: ParsedCommand) -> tuple[str, ...]:
    """
    Everything in *command* that may name a file: redirects, operands, and what follows an option.

    Some are not paths; treating them as names of files does no harm.
    """
    targets = [redirect.target for redirect in command.redirects if redirect.target not in (None, NOWHERE)]
    for part in command.parts:
        if part.words:
            targets += named_files([word or "" for word in part.words])
    return tuple(dict.fromkeys(path for path in targets if path))


def written_files(command: ParsedCommand) -> tuple[str, ...]:
    """The files that redirects of *command* write, as far as they are known."""
    targets = (redirect.target for redirect in command.redirects if redirect.writes)
    return tuple(dict.fromkeys(target for target in targets if target and target != NOWHERE))


def why_not_read_only(
    command: ParsedCommand, script: Script | None, allowed: Set[int] = frozenset()
) -> str | None:
    """
    Returns why *command* is not known to be read-only; None if it is, and then *script* is all that it runs.

    What it reads is judged by its places, not here.

    Args:
        script: The line as it runs without a shell; None if only a shell can run it.
        allowed: Indices of parts that may change something.
    """
    if script is not None:
        stages = enumerate(script.stages)
        return next((stage.why_not for i, stage in stages if stage.why_not and i not in allowed), None)
    if command.unclear:
        return f"handrail cannot parse the command: {command.unclear}"
    if any(redirect.writes and redirect.target != NOWHERE for redirect in command.redirects):
        return "It redirects its output to a file."
    if command.needs_shell == NOTHING:
        return "It contains no command."
    return f"handrail cannot tell what the command does, because of {command.needs_shell}."


# ---- What is known ----------------------------------------------------------------------------------

NOWHERE = "/dev/null"
SPEAKERS = frozenset(
    {"echo", "printf", "true", "false", "test", "[[", "expr", "seq", "date", "which", "type"}
)


def named_files(words: Sequence[str]) -> tuple[str, ...]:
    """Everything in the *words* of a command that may name a file: operands, and what follows an option."""
    if words[0] in SPEAKERS:
        return ()
    return tuple(dict.fromkeys(path for word in words[1:] if word for path in _names_in(word) if path))


def _names_in(word: str) -> Iterator[str]:
    """Yields what a word may name: itself, an option's value, the text behind a colon (`HEAD:path`)."""
    if word.startswith("-"):
        yield word.partition("=")[2]
        yield "" if word.startswith("--") else word[2:]
    else:
        yield word
        yield word.partition("=")[2]
    yield word.rpartition(":")[2] if ":" in word else ""
