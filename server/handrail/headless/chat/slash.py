"""The commands of a chat: their table, and the parser of lines that begin with `/`."""

import difflib
import re
from collections.abc import Iterable, Sequence

from handrail.values import dataclass

MODES = ("edit", "ask", "plan")
LIMIT_NEAR = 5
LIMIT_OWN = 20  # commands of the project's that are listed where none is like the one that was typed
LIKE = 0.5  # of difflib: worth being named
NOT_SENT = "This text was not sent. To send it to the model, begin with something else."

# Names with what they take, and what they do.
COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("undo", "", "undo the last turn: its changes to files, and the turn itself"),
    ("checkpoints", "", "list the checkpoints of the session"),
    ("review", "[(keep|undo) (all|ID ID ...)]", "show the changes that are pending, or keep or undo them"),
    ("compact", "", "summarise the conversation so far, to make room for more"),
    ("new", "", "begin another session with the next message"),
    ("sessions", "[ID]", "list earlier sessions, or continue one"),
    ("model", "[MODEL]", "show the model, or use another one from the next turn on"),
    ("mode", "[edit|ask|plan]", "show or set what turns may do; ask and plan only read"),
    ("stop", "[ID]", "list the background commands, or stop one (Ctrl-C stops the turn)"),
    ("cost", "", "show the tokens and cost of the session so far"),
    ("help", "", "show these commands and keys"),
    ("quit", "", "quit, and show the command that continues the session"),
)
NAMES = tuple(name for name, _, _ in COMMANDS)

MENTIONS = (
    '@path, @path:10-20, @"a path with spaces"',
    "@problems: the edits that did not land",
    "@diff: the pending changes or, if there are none, the uncommitted ones",
    "@session: the latest other conversation; @session:ID names another one",
)

KEYS: tuple[tuple[str, str], ...] = (
    ("Enter", "send; while a turn runs, the model reads your message before its next answer"),
    ("Alt-Enter", "start a new line"),
    ("Ctrl-C", "stop the turn, or clear the line; twice on an empty line: quit"),
    ("Ctrl-D", "quit"),
    ("Up, Down", "earlier messages"),
    ("Tab", "complete @path or /command; answer an open question"),
)

_COMMAND = re.compile(r"/([A-Za-z0-9][\w-]*(?::[\w-]+)*)?(?:[ \t]+(.*?))?\s*")
_OWN = re.compile(r"(?:[^/]+/)?\.agents/commands/((?:[\w-]+/)*[A-Za-z0-9][\w-]*)\.md")  # a project's


@dataclass(frozen=True, slots=True)
class Command:
    """A command, and the rest of its line."""

    name: str
    argument: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A line that is meant as a command and is not one; `why` says so, with what may have been meant."""

    why: str


def parse(text: str, own: Sequence[str] = ()) -> Command | Unknown | None:
    """
    Read what was sent; None is a message for the model, such as `/usr/bin is full`, or several lines.

    *own* are commands of the project's, which may be meant instead of an unknown one.
    """
    found = _COMMAND.fullmatch(text.strip())
    if found is None or "\n" in text.strip():
        return None
    name, argument = (found[1] or "").lower(), found[2] or ""
    if name not in NAMES:
        not_sent = f" {NOT_SENT}" if argument else ""
        return Unknown(f"The command /{name} does not exist. {_nearest(name, own)}{not_sent}")
    if argument and not _takes(name):
        return Unknown(f"/{name} takes no arguments. {NOT_SENT}")
    return Command(name, argument)


def own_commands(paths: Iterable[str]) -> list[str]:
    """The names of the commands that a project with these files brings."""
    found = (_OWN.fullmatch(path) for path in paths)
    return sorted({each[1].replace("/", ":") for each in found if each is not None} - {*NAMES})


def own_file(text: str) -> str:
    """The file of the project's that says what a message means that begins with `/`."""
    name, *_ = text.strip().removeprefix("/").split(maxsplit=1) or [""]
    return f".agents/commands/{name.replace(':', '/')}.md"


def mode_problem(mode: str) -> str:
    """Return what is wrong with a mode; empty if nothing."""
    if mode in MODES:
        return ""
    near = difflib.get_close_matches(mode.lower(), MODES, 1, LIKE)
    hint = f"Did you mean {near[0]}?" if near else f"Modes are {', '.join(MODES)}."
    return f"The mode {mode} does not exist. {hint}"


def help_lines(own: Iterable[str] = ()) -> list[str]:
    """Return the help, line by line, readable on a narrow terminal; *own* are commands of the project."""
    lines = ["Commands:"]
    for name, takes, does in COMMANDS:
        lines += [f"  /{name}{' ' if takes else ''}{takes}", f"    {does}"]
    for name in own:
        lines += [f"  /{name}", f"    send the text of {own_file(name)}"]
    lines += ["Keys:"]
    for key, does in KEYS:
        lines += [f"  {key}", f"    {does}"]
    return [
        *lines,
        "Write these in a message to show the model files and more:",
        *(f"  {each}" for each in MENTIONS),
    ]


def _takes(name: str) -> str:
    return next(takes for each, takes, _ in COMMANDS if each == name)


def _nearest(name: str, own: Sequence[str]) -> str:
    known = (*NAMES, *own)
    begun = [each for each in known if name and each.startswith(name)]
    near = begun[:LIMIT_NEAR] or difflib.get_close_matches(name, known, 2, LIKE)
    if near:
        return f"Did you mean {' or '.join(f'/{each}' for each in near)}?"
    return f"Commands are {', '.join(f'/{each}' for each in (*NAMES, *own[:LIMIT_OWN]))}."
