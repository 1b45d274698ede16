"""
The actions that tool calls become once their arguments are read.

A tool parses its arguments into an action: a look, which reads and answers with text; a visit to a command
that runs in the background; an inquiry, which is put to the user; edits, which the executor plans,
checkpoints and applies, so there is one road for every change of a document; or a command, which begins
alone, after a snapshot of the workspace folders.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from handrail.core.conversation.message import Picture, ToolOffer
from handrail.core.failure import Code, Failure
from handrail.core.patches.notations import FilePatch
from handrail.core.policy.commands.script import Script
from handrail.core.policy.containment import FREE, Contained, Need
from handrail.core.policy.place import Place
from handrail.core.policy.shell import Appeared
from handrail.core.policy.tool_kind import ToolKind
from handrail.ports import Ports
from handrail.values import dataclass

Arguments = Mapping[str, object]


class ReadOnly(Protocol):
    """Reads documents and answers with text."""

    @property
    def title(self) -> str:
        """For people: what is being done."""
        ...

    @property
    def reads(self) -> tuple[str, ...]:
        """The paths it reads, as the model wrote them."""
        ...

    async def run(self, places: Mapping[str, Place], ports: Ports) -> str | Seen | Failure:
        """Do it; *places* holds every path of `reads`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A picture, and what is said of it."""

    text: str
    picture: Picture


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """
    Changes documents.

    Attributes:
        title: For people: what is being done.
        patches: One for each file, in order.
        partial: Whether hunks that fit are to land although others do not.
        wrong: Why the edits cannot even be read; `patches` then names the files they were meant for.
    """

    title: str
    patches: tuple[FilePatch, ...]
    partial: bool = False
    wrong: Failure | None = None

    @property
    def changes(self) -> tuple[str, ...]:
        """The paths it changes, as the model wrote them; a move counts twice."""
        paths = [path for patch in self.patches for path in (patch.path, patch.move_to) if path]
        return tuple(dict.fromkeys(paths))


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandInspection:
    """
    Looks at a command that runs in the background, or ends it.

    Attributes:
        command: Its id; empty for a list of all.
        stops: Whether it is to be ended.
    """

    command: str
    stops: bool = False

    @property
    def title(self) -> str:
        """For people: what is being done."""
        if self.stops:
            return f"Stop {self.command}"
        return f"Read output {self.command}" if self.command else "List background commands"

    @property
    def reads(self) -> tuple[str, ...]:
        """No path."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserQuestion:
    """Asks the user something; what else was called waits for the answer."""

    question: str
    choices: tuple[str, ...]

    @property
    def title(self) -> str:
        """For people: what is being done."""
        return f"Ask: {self.question}"


async def _never(_: str, __: str, ___: str) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """
    The connections of a running command with its turn and the user.

    Attributes:
        tell: Takes its output as it comes.
        stop: Set when it is to be stopped.
        stops_alone: Whether its turn goes on then.
        notice: Tells the user a sentence, which is a warning or not.
        named: The paths of which the user has been told that no snapshot covers them, or not all of them.
        script: What runs in place of a shell; None for a shell.
        contained: What the command sees and may change.
        keeps: Asks the user whether files that have appeared may be put back: their paths, why, and what is
            in them.
        name: The id of a command that runs in the background; empty for one that does not.
    """

    tell: Callable[[str], None]
    stop: asyncio.Event
    notice: Callable[[str, bool], None]
    named: set[str]
    script: Script | None = None
    contained: Contained = FREE
    keeps: Callable[[str, str, str], Awaitable[bool]] = _never
    name: str = ""
    stops_alone: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandReport:
    """
    The report of a command's end and output, as the model reads it; a failure if it was stopped early.

    Attributes:
        layers: What it changed only in layers; see `RunResult`.
        appeared: What has appeared and was taken away; see `RunResult`.
        left: The pipes and sockets that it left; see `RunResult`.
        reopened: The folders that were opened again; see `RunResult`.
        unsearched: Why it is not known what has appeared; see `RunResult`.
        withheld: Whether what it printed must not be read: it may have seen what it must not.
    """

    text: str
    failure: Failure | None = None
    layers: tuple[tuple[str, str], ...] = ()
    appeared: tuple[Appeared, ...] = ()
    left: tuple[str, ...] = ()
    reopened: tuple[str, ...] = ()
    unsearched: str = ""
    withheld: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """
    Runs a program, which may change what it does not name; so it runs alone, after a snapshot.

    Attributes:
        title: For people: what is being done.
        line: The command line, as the user is asked about it.
        run: Does it, given the places of `reads`.
        reads: The folder it runs in, as the model wrote it.
        is_read_only: Whether the line is known to change nothing, which is found out when it is taken apart:
            then it need not run alone, and no snapshot is taken.
        script: What runs in place of a shell.
        needs: What is to be opened in its containment, as the model asked for it.
        opened: The paths that it asked for, which are among `reads`.
        reason: Why, in the model's words.
        contained: What it sees and may change, once that is decided.
        is_background: Whether it is to run on when its call has its result.
    """

    title: str
    line: str
    run: Callable[[Mapping[str, Place], Ports, Console], Awaitable[CommandReport | Failure]]
    reads: tuple[str, ...] = (".",)
    is_read_only: bool = False
    script: Script | None = None
    needs: frozenset[Need] = frozenset()
    opened: tuple[str, ...] = ()
    reason: str = ""
    contained: Contained = FREE
    is_background: bool = False


Action = ReadOnly | CommandInspection | Edits | UserQuestion | Command


def is_of(kind: ToolKind, action: Action) -> bool:
    """
    Whether a call of a tool of that *kind* may turn into *action*.

    The user's rules and the turn's mode know a tool by its kind, so a tool that says that it reads must not
    change anything.
    """
    match action:
        case Edits():
            return kind is ToolKind.EDIT
        case Command() | CommandInspection(stops=True):
            return kind is ToolKind.COMMAND
        case CommandInspection():
            return kind in (ToolKind.COMMAND, ToolKind.OUTPUT)
        case UserQuestion():
            return kind is ToolKind.TALK
        case _:
            return kind not in (ToolKind.EDIT, ToolKind.COMMAND)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """
    A tool.

    Attributes:
        kind: What it does. Rules, modes and scheduling follow from it; see `is_of`.
        offer: What the model sees of it.
        parse: Reads its arguments.
        needs: What the editor must offer (`Languages.offers`), or the tool is not there; empty for nothing.
    """

    kind: ToolKind
    offer: ToolOffer
    parse: Callable[[Arguments], Action | Failure]
    needs: str = ""


def offer(
    name: str, description: str, properties: Mapping[str, object], required: tuple[str, ...]
) -> ToolOffer:
    """A tool's offer; *properties* are those of its JSON Schema."""
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolOffer(name=name, description=description, schema=json.dumps(schema))


def bad(argument: str, expected: str) -> Failure:
    """The failure for an argument that is missing or of the wrong kind."""
    return Failure(
        code=Code.BAD_ARGUMENTS,
        message=f"The argument {argument!r} must be {expected}.",
        steps=("Call the tool again with a valid value for it.",),
    )


def text(arguments: Arguments, name: str) -> str | Failure:
    """A string that must be there; it may be empty."""
    value = arguments.get(name)
    return value if isinstance(value, str) else bad(name, "a string")


def optional_text(arguments: Arguments, name: str) -> str | Failure:
    """A string; empty if it is not there."""
    return "" if arguments.get(name) is None else text(arguments, name)


def path(arguments: Arguments, name: str = "path") -> str | Failure:
    """A string that must be there and not be blank."""
    value = arguments.get(name)
    if value == "":
        return Failure(
            code=Code.BAD_ARGUMENTS,
            message=f"No file was given: the argument {name!r} is empty.",
            steps=("Give the file's path.",),
        )
    return value if isinstance(value, str) and value.strip() else bad(name, "the path of a file")


def line_number(arguments: Arguments, name: str) -> int | Failure | None:
    """A whole number from 1, or nothing."""
    value = arguments.get(name)
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    return bad(name, "a line number, counted from 1")


def count(arguments: Arguments, name: str) -> int | Failure | None:
    """A whole number from 0, or nothing."""
    value = arguments.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    return bad(name, "a whole number, 0 or more")


def flag(arguments: Arguments, name: str) -> bool | Failure:
    """True or false; false if it is not there."""
    value = arguments.get(name)
    return bool(value) if value is None or isinstance(value, bool) else bad(name, "true or false")
