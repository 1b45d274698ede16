"""The command line as argparse has it: commands, options, and what `--help` says of them."""

from __future__ import annotations

import argparse
import contextlib
import re
from pathlib import Path
from typing import Any

from handrail import __version__
from handrail.cli.help_texts import (
    CHECKPOINTS,
    CONTINUE,
    EXIT_CODES,
    EXIT_CODES_OF_APPLY,
    FOLLOWING,
    LAYERS,
    WORKSPACE,
    YES,
    YES_OF_TURNS,
)

LISTED = 50  # sessions, unless told otherwise
ANSWER_TIMEOUT_S, COMMAND_TIMEOUT_S = 10.0, 0.5  # of a server, unless told otherwise


class Parser(argparse.ArgumentParser):
    """A parser whose exit code is the same if no one reads what it says, on every Python."""

    def _print_message(self, message: str, file: Any = None) -> None:
        with contextlib.suppress(OSError):  # Python does that from 3.11.4 on
            super()._print_message(message, file)


def parser() -> argparse.ArgumentParser:
    """All commands."""
    parser: argparse.ArgumentParser = Parser(
        prog="handrail", description="A language server that hosts a coding agent."
    )
    parser.add_argument("--version", action="version", version=f"handrail {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    _serve_parser(commands)
    run = _with_exit_codes(commands, "run", "run one turn without an editor")
    run.add_argument("--session", metavar="ID", help=CONTINUE.format("run"))
    _turn(run)

    chat = commands.add_parser("chat", help="talk with the agent in the terminal")
    chat.add_argument("--session", metavar="ID", help=CONTINUE.format("chat"))
    _settings(chat)
    chat.add_argument("--workspace", type=Path, metavar="DIR", help=WORKSPACE)
    chat.add_argument("--yes", action="store_true", help=YES_OF_TURNS)

    apply = _with_exit_codes(
        commands, "apply", "apply a pasted reply without an editor or a model", EXIT_CODES_OF_APPLY
    )
    apply.add_argument(
        "file",
        nargs="?",
        default="-",
        metavar="FILE",
        help="the file with the reply; `-`, the default, reads standard input",
    )
    apply.add_argument("--partial", action="store_true", help="make edits that fit, even if others do not")
    way = apply.add_mutually_exclusive_group()
    way.add_argument(
        "--jsonl",
        action="store_true",
        help="for programs: read JSON requests from standard input, one per line, and print a JSON answer to "
        "each",
    )
    way.add_argument("--workspace", type=Path, metavar="DIR", help=WORKSPACE)
    _answers(apply, yes=YES)

    _checkpoint_parser(commands)
    _review_parser(commands)
    _session_parser(commands)
    _rules_parser(commands)
    _layer_parser(commands)
    _config_parser(commands)
    commands.add_parser("doctor", help="show what is installed, what is configured, and what is missing")
    _describe(parser)
    return parser


def _describe(parser: argparse.ArgumentParser) -> None:
    """Lets the help of each command begin with what the help of the command above it says about it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for listed in action._get_subactions():
                command, does = action.choices[listed.dest], listed.help or ""
                more = f" {command.description}" if command.description else ""
                command.description = f"{does[:1].upper()}{does[1:]}.{more}"
                _describe(command)


def _serve_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    server = commands.add_parser("serve", help="serve one editor on standard input and output")
    server.add_argument(
        "--stdio", action="store_true", help="accepted because some editors pass it; has no effect"
    )
    server.add_argument(
        "--answer-timeout",
        type=float,
        default=ANSWER_TIMEOUT_S,
        metavar="SECONDS",
        help="seconds to wait for the editor to answer an edit (default: 10)",
    )
    server.add_argument(
        "--command-timeout",
        type=float,
        default=COMMAND_TIMEOUT_S,
        metavar="SECONDS",
        help="seconds after which `workspace/executeCommand` is answered with `null`, if it edits documents "
        "and has not finished; it then continues. Some editors block until they have an answer (default: "
        "0.5). The time limit of shell commands is the setting terminal.timeout",
    )
    server.add_argument(
        "--clock",
        type=Path,
        metavar="FILE",
        help="for tests: the time limit of questions is measured by the seconds in FILE, not by the clock",
    )


def _checkpoint_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    checkpoint = commands.add_parser(
        "checkpoint", help="list, show, compare, restore or remove checkpoints", description=CHECKPOINTS
    )
    actions = checkpoint.add_subparsers(dest="action", required=True, metavar="ACTION")
    listed = "an id from `checkpoint list`"
    named = f"{listed}, or the id of a step from `checkpoint show`"
    actions.add_parser("list", help="list the checkpoints of a workspace, newest first")
    actions.add_parser(
        "show", help="show what a turn changed; with the id of a step, what it changed from that step on"
    ).add_argument("id", metavar="ID", help=named)
    diff = actions.add_parser(
        "diff",
        help="compare the state before a turn or a step with the state after the turn, with another "
        "checkpoint, or with the files now",
    )
    diff.add_argument("id", metavar="ID", help=named)
    diff.add_argument(
        "--against",
        metavar="ID",
        help="compare with this checkpoint, or with `now`; default: with the state after the turn",
    )
    diff.add_argument("--file", type=Path, metavar="FILE", help="only this file")
    restore = actions.add_parser(
        "restore",
        help="undo the changes of a turn; with the id of a step, only those from that step on",
    )
    restore.add_argument("id", metavar="ID", help=named)
    restore.add_argument("--following", action="store_true", help=FOLLOWING)
    restore.add_argument(
        "--conversation",
        action="store_true",
        help="also rewind the turn's conversation to before the turn or the step; other conversations stay",
    )
    restore.add_argument(
        "--no-files", dest="files", action="store_false", help="do not change files (with --conversation)"
    )
    restore.add_argument(
        "--file", type=Path, action="append", metavar="FILE", help="only this file; may be repeated"
    )
    restore.add_argument(
        "--lines",
        type=_lines,
        metavar="A-B",
        help="only what the turn changed in these lines of the file given with --file, as numbered now",
    )
    prune = actions.add_parser(
        "prune",
        help="remove the given checkpoints; without an ID, those beyond the limits of the settings "
        "checkpoints.maxSize and checkpoints.maxAge",
    )
    prune.add_argument("ids", nargs="*", metavar="ID", help=listed)
    actions.add_parser("verify", help="check that every checkpoint can be read")
    for name, action in actions.choices.items():
        _common(action, yes="remove the checkpoints without asking" if name == "prune" else "")


def _review_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    review = commands.add_parser("review", help="list, show, keep or undo the agent's changes, one by one")
    actions = review.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="list pending changes")
    shown = actions.add_parser("show", help="show changes with their lines")
    keep = actions.add_parser("keep", help="keep changes: they are no longer pending")
    undo = actions.add_parser("undo", help="undo changes; text that you typed in them stays")
    for action in (shown, keep, undo):
        action.add_argument("hunks", nargs="*", metavar="ID", help="an id from `handrail review list`")
    for action in actions.choices.values():
        action.add_argument("--file", type=Path, metavar="FILE", help="all changes in this file")
        action.add_argument(
            "--turn",
            metavar="TURN",
            help="all changes of this turn (`handrail checkpoint list` shows its id)",
        )
    for action in (keep, undo):
        action.add_argument("--all", action="store_true", help="all pending changes")
    undo.add_argument(
        "--typed", action="store_true", help="also undo what you typed in them; a new checkpoint keeps it"
    )
    for action in actions.choices.values():
        action.add_argument("--workspace", type=Path, metavar="DIR", help=WORKSPACE)
        action.add_argument("--json", action="store_true", help="print one JSON value")


def _session_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    session = commands.add_parser("session", help="list, show, resume, fork, rename or delete sessions")
    actions = session.add_subparsers(dest="action", required=True, metavar="ACTION")
    named = "an id from `handrail session list`"
    listing = actions.add_parser("list", help="list the sessions of a workspace, newest first")
    many = listing.add_mutually_exclusive_group()
    many.add_argument(
        "--limit", type=_count, default=LISTED, metavar="N", help=f"list at most N (default: {LISTED})"
    )
    many.add_argument("--all", dest="limit", action="store_const", const=None, help="list all sessions")
    actions.add_parser("show", help="show the turns of a session").add_argument(
        "session", metavar="ID", help=named
    )
    resume = _with_exit_codes(
        actions, "resume", "run another turn in a session, like `handrail run --session ID`"
    )
    resume.add_argument("session", metavar="ID", help=named)
    _turn(resume)
    fork = actions.add_parser("fork", help="start a session with the conversation of an existing one")
    fork.add_argument("session", metavar="ID", help=named)
    fork.add_argument(
        "turn",
        nargs="?",
        metavar="TURN",
        help="copy everything up to the end of this turn, an id from `session show` (default: the last turn)",
    )
    rename = actions.add_parser("rename", help="give a session another title")
    rename.add_argument("session", metavar="ID", help=named)
    rename.add_argument("title", metavar="TITLE", help="the new title")
    delete = actions.add_parser(
        "delete", help="delete sessions permanently; the checkpoints of their turns stay"
    )
    delete.add_argument("sessions", nargs="+", metavar="ID", help=named)
    for name, action in actions.choices.items():
        if name != "resume":
            _common(action, yes="delete the sessions without asking" if name == "delete" else "")


def _config_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    config = commands.add_parser("config", help="show or change your settings for the terminal")
    actions = config.add_subparsers(dest="action", required=True, metavar="ACTION")
    name = "the name of a setting (`handrail config list` shows them), such as model or context.window"
    listing = actions.add_parser("list", help="list all settings and their values")
    get = actions.add_parser("get", help="show the value of one setting")
    get.add_argument("name", metavar="NAME", help=name)
    for action in (listing, get):
        action.add_argument("--json", action="store_true", help="print one JSON value")
    change = actions.add_parser("set", help="change one setting in config.toml; the rest of the file stays")
    change.add_argument("name", metavar="NAME", help=name)
    change.add_argument("value", metavar="VALUE", help="JSON or plain text")
    actions.add_parser("path", help="show the path of config.toml")


def _rules_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    rules = commands.add_parser("rules", help='list or remove the rules that you added by answering "always"')
    actions = rules.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="list the rules that your answers added to a workspace")
    remove = actions.add_parser("remove", help="remove rules, so that handrail asks again")
    remove.add_argument("ids", nargs="+", metavar="ID", help="an id from `handrail rules list`")
    for action in actions.choices.values():
        action.add_argument("--workspace", type=Path, metavar="DIR", help=WORKSPACE)
        action.add_argument("--json", action="store_true", help="print one JSON value")


def _layer_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    layers = commands.add_parser(
        "layer",
        help="list changes that are only in a layer (a separate copy), or make them in the real folder",
        description=LAYERS,
    )
    actions = layers.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list the layers of a workspace, newest first")
    listing.add_argument(
        "--all",
        action="store_true",
        help="list the layers of all workspaces",
    )
    copy = actions.add_parser(
        "copy", help="make the changes of a layer in the real folder; this may also remove files there"
    )
    copy.add_argument("id", metavar="ID", help="an id from `handrail layer list`")
    copy.add_argument("--to", type=Path, metavar="DIR", help="make the changes in this folder instead")
    copy.add_argument("--yes", action="store_true", help="do not ask")
    for action in actions.choices.values():
        action.add_argument("--workspace", type=Path, metavar="DIR", help=WORKSPACE)
        action.add_argument("--json", action="store_true", help="print one JSON value")


def _turn(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a command that runs a turn, after the session if there is one."""
    parser.add_argument(
        "prompt", metavar="PROMPT", help="what to do, or a pasted reply; `-` reads it from standard input"
    )
    _settings(parser)
    _common(parser, yes=YES_OF_TURNS)


def _settings(parser: argparse.ArgumentParser) -> None:
    """Add the options that decide how turns are run."""
    parser.set_defaults(settings=())
    for option, name, metavar, does in (
        (
            "--model",
            "model",
            "MODEL",
            "a model such as ollama:NAME, or `paste`: no model; the prompt is a reply that you copied from a "
            "chat (default: the setting model in config.toml, or else paste)",
        ),
        ("--base-url", "baseUrl", "URL", "the address of the model's server"),
        (
            "--mode",
            "mode",
            "MODE",
            "edit, ask or plan; ask and plan change nothing (default: the mode chosen for the session "
            "in an editor, or else the setting mode in config.toml, or else edit)",
        ),
        (
            "--set",
            None,
            "NAME=VALUE",
            "any setting (`handrail config list` shows them); the value is JSON or plain text",
        ),
    ):
        parser.add_argument(option, action=_Given, const=name, dest="settings", metavar=metavar, help=does)
    parser.add_argument(
        "--approve",
        action="append",
        dest="approved",
        default=[],
        metavar="TOOL[:PATTERN]",
        help="allow this without asking, such as 'terminal:npm test' or 'edit:docs/**'; without PATTERN, "
        "every file, also outside the workspace, or every command. handrail can still ask about a command "
        "that runs in the background, names a protected file or one outside the workspace, needs more "
        "access, or is not understood. May be repeated",
    )


class _Given(argparse.Action):
    """Collects (name, value) of settings in the order of the command line."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        name, equals, value = (self.const, "=", str(values)) if self.const else str(values).partition("=")
        if not name or not equals:
            parser.error(f"argument --set: write NAME=VALUE, such as context.window=32000, not {values!r}")
        namespace.settings = (*namespace.settings, (name.strip(), value))


def _with_exit_codes(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    does: str,
    codes: str = EXIT_CODES,
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name, help=does, epilog=codes, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def _count(given: str) -> int:
    if not given.isascii() or not given.isdigit() or not int(given[:9]) > 0:
        raise argparse.ArgumentTypeError(f"{given!r} is not a number of 1 or more")
    return int(given[:9])


def _common(parser: argparse.ArgumentParser, *, yes: str) -> None:
    """Add the arguments of a command on a folder; *yes*: what `--yes` does, empty if it asks nothing."""
    parser.add_argument("--workspace", type=Path, metavar="DIR", help=WORKSPACE)
    _answers(parser, yes=yes)


def _answers(parser: argparse.ArgumentParser, *, yes: str) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON value")
    if yes:
        parser.add_argument("--yes", action="store_true", help=yes)


def _lines(given: str) -> dict[str, dict[str, int]]:
    """The LSP range of whole lines: `A` or `A-B`, counted from 1."""
    found = re.fullmatch(r"([1-9]\d*)(?:-([1-9]\d*))?", given)
    begin, end = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if end < begin:
        raise argparse.ArgumentTypeError(
            f"{given!r} is not a line or a range of lines: give a number of 1 or more, or a range such as 3-7"
        )
    return {"start": {"line": begin - 1, "character": 0}, "end": {"line": end, "character": 0}}
