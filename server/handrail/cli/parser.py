"""The command line as argparse has it: commands, options, and what `--help` says of them."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from handrail import __version__

WORKSPACE = "the folder to work on"


def parser() -> argparse.ArgumentParser:
    """All commands."""
    parser = argparse.ArgumentParser(
        prog="handrail", description="A language server that hosts a coding agent."
    )
    parser.add_argument("--version", action="version", version=f"handrail {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    server = commands.add_parser("serve", help="serve one editor on standard input and output")
    server.add_argument("--stdio", action="store_true", help="the default, and the only way")
    server.add_argument(
        "--answer-timeout",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="how long to wait for the editor to answer an edit (10)",
    )
    server.add_argument(
        "--command-timeout",
        type=float,
        default=0.5,
        metavar="SECONDS",
        help="after how long an editing command is answered with null and goes on, since some editors stand "
        "still until then (0.5)",
    )
    server.add_argument(
        "--clock",
        type=Path,
        metavar="FILE",
        help="for tests: the time of questions stands still but for the seconds in FILE",
    )

    run = commands.add_parser("run", help="run one turn without an editor")
    run.add_argument(
        "prompt", metavar="PROMPT", help="what is to be done, or a pasted reply; - reads it from stdin"
    )
    run.add_argument("--model", help="paste (the default), or a model such as ollama:NAME")
    run.add_argument(
        "--session", metavar="ID", help="go on with a session, as the end of its last turn names it"
    )
    _common(run)

    apply = commands.add_parser("apply", help="apply a pasted reply without an editor or a model")
    apply.add_argument("file", nargs="?", default="-", metavar="FILE", help="the reply; - is stdin (-)")
    apply.add_argument("--partial", action="store_true", help="make what fits, although the rest does not")
    way = apply.add_mutually_exclusive_group(required=True)
    way.add_argument("--jsonl", action="store_true", help="answer requests on stdin instead, one a line")
    way.add_argument("--workspace", type=Path, metavar="DIR", help=WORKSPACE)
    _answers(apply)

    _checkpoint_parser(commands)
    _rules_parser(commands)
    commands.add_parser("doctor", help="say what is installed, what is set, and what is missing")
    return parser


def _checkpoint_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    checkpoint = commands.add_parser("checkpoint", help="list, show, compare, restore or remove checkpoints")
    actions = checkpoint.add_subparsers(dest="action", required=True, metavar="ACTION")
    named = "as `handrail checkpoint list` shows it"
    actions.add_parser("list", help="all checkpoints of a workspace, newest first")
    actions.add_parser("show", help="what a turn or a step changed").add_argument(
        "id", metavar="ID", help=named
    )
    diff = actions.add_parser("diff", help="a turn or a step as a unified diff")
    diff.add_argument("id", metavar="ID", help=named)
    diff.add_argument(
        "--against", metavar="ID", help="end before that checkpoint, or at `now`; not at what the turn left"
    )
    diff.add_argument("--file", type=Path, metavar="FILE", help="only this file")
    restore = actions.add_parser("restore", help="take a turn or a step back")
    restore.add_argument("id", metavar="ID", help=named)
    restore.add_argument("--following", action="store_true", help="and all later turns")
    restore.add_argument(
        "--conversation",
        action="store_true",
        help="its session goes back as well, to before it",
    )
    restore.add_argument(
        "--no-files", dest="files", action="store_false", help="leave the files; with --conversation"
    )
    restore.add_argument(
        "--file", type=Path, action="append", metavar="FILE", help="only this file; may be repeated"
    )
    restore.add_argument(
        "--lines", type=_lines, metavar="A-B", help="only what it changed in these lines of the one --file"
    )
    prune = actions.add_parser("prune", help="remove checkpoints, or what the limits do not allow")
    prune.add_argument("ids", nargs="*", metavar="ID", help=named)
    actions.add_parser("verify", help="read all that is kept, and say what cannot be read")
    for action in actions.choices.values():
        _common(action)


def _rules_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    rules = commands.add_parser("rules", help="list or remove what answers of *always* allow")
    actions = rules.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="the rules that answers have added to a workspace")
    remove = actions.add_parser("remove", help="remove rules, so that handrail asks again")
    remove.add_argument("ids", nargs="+", metavar="ID", help="as `handrail rules list` shows it")
    for action in actions.choices.values():
        action.add_argument("--workspace", type=Path, required=True, metavar="DIR", help=WORKSPACE)
        action.add_argument("--json", action="store_true", help="print one JSON value")


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workspace", type=Path, required=True, metavar="DIR", help=WORKSPACE)
    _answers(parser)


def _answers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON value")
    parser.add_argument("--yes", action="store_true", help="answer every question with yes")


def _lines(given: str) -> dict[str, dict[str, int]]:
    """The LSP range of whole lines: `A` or `A-B`, counted from 1."""
    found = re.fullmatch(r"([1-9]\d*)(?:-([1-9]\d*))?", given)
    begin, end = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if end < begin:
        raise argparse.ArgumentTypeError(
            f"{given!r} names no lines: give a number from 1 on, or two as in 3-7"
        )
    return {"start": {"line": begin - 1, "character": 0}, "end": {"line": end, "character": 0}}
