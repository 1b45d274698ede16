"""
The command line, and the place where everything is joined: argv to adapters to a server or a headless run.

Only what a command needs is imported, so that `initialize` is answered without any model's SDK.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import logging
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from handrail import __version__
from handrail.adapters.standard_streams import standard_streams
from handrail.core.policy.containment import Sandbox

if TYPE_CHECKING:
    from handrail.adapters.containment.containment import Containment

SANDBOX = "HANDRAIL_SANDBOX"  # in the environment: decides how commands are contained
WORKSPACE = "the folder to work on"
SWITCH_S = 0.001  # how soon a thread that is busy lets the one go on that answers the editor


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is the process's."""
    with standard_streams():
        return _command(_parser().parse_args(argv))


def _command(options: argparse.Namespace) -> int:
    match options.command:
        case "serve":
            return serve(options.answer_timeout, options.command_timeout, options.clock)
        case "run":
            return _run(options)
        case "apply":
            return _apply_lines() if options.jsonl else _apply(options)
        case "checkpoint":
            return _checkpoint(options)
        case "rules":
            return _rules(options)
        case _:
            return _doctor()


def serve(answer_timeout_s: float, command_timeout_s: float, clock: Path | None) -> int:
    """Serve one client on standard input and output until it leaves; 1 if it did so without `shutdown`."""
    from handrail.adapters.checkpoints.port import ShadowRepo
    from handrail.adapters.clock import FileClock, SystemClock
    from handrail.adapters.commands.environment import Environ
    from handrail.adapters.commands.process import Processes
    from handrail.adapters.connection import Messages, Watchdog
    from handrail.adapters.files.disk import Disk
    from handrail.adapters.files.watch import FileWatch, stamp
    from handrail.adapters.models.keys import Keys
    from handrail.adapters.models.providers import Providers
    from handrail.adapters.served.folder import ServedFolder
    from handrail.adapters.state.grant_file import GrantFile
    from handrail.adapters.state.home import state_folder, workspace_folder
    from handrail.adapters.state.session_log import SessionLog
    from handrail.adapters.state.spill_folder import SpillFolder
    from handrail.adapters.surroundings import Here
    from handrail.adapters.workspace.folders import Folders
    from handrail.headless.summary import VERIFIER
    from handrail.lsp.apply_edit import Patience
    from handrail.lsp.server import create_server
    from handrail.lsp.state import World

    folders, keys, environ = Folders(()), Keys(os.environ), Environ(os.environ)
    _log_without(keys.secrets)
    containment = _containment(lambda: folders.roots, lambda: state_folder() / "handrail")
    world = World(
        disk=Disk(state_folder() / "handrail" / "locks", lambda: folders.roots),
        workspace=folders,
        checkpoints=ShadowRepo(state_folder(), lambda: folders.roots, lambda: datetime.now(UTC)),
        provider=Providers(keys),
        sessions=SessionLog(
            lambda: workspace_folder(state_folder(), folders.roots) / "sessions", keys.secrets
        ),
        clock=SystemClock() if clock is None else FileClock(clock),
        served=ServedFolder(state=state_folder(), roots=lambda: folders.roots),
        surroundings=Here(lambda: folders.roots, lambda: datetime.now().astimezone()),
        secrets=keys.secrets,
        watch=FileWatch(),
        process=Processes(environ, lambda: folders.roots, containment),
        add_to_environment=environ.add,
        grants=GrantFile(state_folder(), lambda: folders.roots),
        spills=SpillFolder(state_folder() / "handrail" / "outputs"),
        stamp=stamp,
        diagnostics=_verifier(os.environ.get(VERIFIER)),
        sandbox=_sandbox(os.environ.get(SANDBOX)),
        patience=Patience(
            answer_s=answer_timeout_s, echo_s=answer_timeout_s / 2, command_s=command_timeout_s
        ),
    )
    server = create_server(world)
    gc.freeze()  # what is imported stays, and need not be looked at whenever garbage is collected
    sys.setswitchinterval(SWITCH_S)
    watchdog = Watchdog()
    server.client_left = watchdog.begin
    try:
        server.start_io(Messages(sys.stdin.buffer, watchdog.begin))  # type: ignore[arg-type]  # all of it that is read
    finally:
        containment.close()
    return 0 if server.was_told_to_end else 1


def _log_without(secrets: Callable[[], Sequence[str]]) -> None:
    """Log to standard error, without keys."""
    from handrail.core.results.redact import redact

    class Formatter(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return redact(super().format(record), secrets())

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Formatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # its records carry documents and prompts


def _verifier(value: str | None) -> bool | None:
    """What the environment says of failure diagnostics: on, off, or nothing."""
    return {"0": False, "1": True}.get((value or "").strip())


def _sandbox(value: str | None) -> Sandbox | None:
    """What the variable says of containment; None if it says nothing, or nothing that is known."""
    return Sandbox(value) if value in frozenset(Sandbox) else None


def _run(options: argparse.Namespace) -> int:
    from handrail.headless.run import RunOptions, run

    return asyncio.run(
        run(
            RunOptions(
                workspace=options.workspace,
                prompt=options.prompt,
                model=options.model,
                session=options.session,
                as_json=options.json,
                yes=options.yes,
            )
        )
    )


def _apply_lines() -> int:
    from handrail.adapters.lines import serve as serve_lines

    serve_lines(sys.stdin.buffer, sys.stdout.buffer)
    return 0


def _apply(options: argparse.Namespace) -> int:
    from handrail.apply import ApplyOptions, apply

    return asyncio.run(
        apply(
            ApplyOptions(
                source=options.file,
                workspace=options.workspace,
                as_json=options.json,
                yes=options.yes,
                partial=options.partial,
            )
        )
    )


def _checkpoint(options: argparse.Namespace) -> int:
    from handrail.headless import run

    chosen = run.WorkspaceOptions(workspace=options.workspace, as_json=options.json, yes=options.yes)
    match options.action:
        case "list":
            command = run.list_checkpoints(chosen)
        case "show":
            command = run.show_checkpoint(chosen, options.id)
        case "diff":
            uri = options.file and _uri(options.workspace / options.file)
            asked = {"against": options.against, "uri": uri}
            wish = {"checkpoint": options.id, **{name: value for name, value in asked.items() if value}}
            command = run.diff_checkpoint(chosen, wish)
        case "restore":
            uris = {"uris": [_uri(options.workspace / file) for file in options.file]} if options.file else {}
            wish = {
                "checkpoint": options.id,
                "following": options.following,
                "conversation": options.conversation,
                "files": options.files,
                "range": options.lines,
                **uris,
            }
            command = run.restore_checkpoint(chosen, wish)
        case "prune":
            command = run.prune_checkpoints(chosen, options.ids)
        case _:
            command = run.verify_checkpoints(chosen)
    return asyncio.run(command)


def _rules(options: argparse.Namespace) -> int:
    from handrail.headless import run

    chosen = run.WorkspaceOptions(workspace=options.workspace, as_json=options.json)
    is_list = options.action == "list"
    return asyncio.run(run.list_rules(chosen) if is_list else run.remove_rules(chosen, options.ids))


def _lines(given: str) -> dict[str, dict[str, int]]:
    """The LSP range of whole lines: `A` or `A-B`, counted from 1."""
    found = re.fullmatch(r"([1-9]\d*)(?:-([1-9]\d*))?", given)
    begin, end = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if end < begin:
        raise argparse.ArgumentTypeError(
            f"{given!r} names no lines: give a number from 1 on, or two as in 3-7"
        )
    return {"start": {"line": begin - 1, "character": 0}, "end": {"line": end, "character": 0}}


def _uri(file: Path) -> str:
    """The URI of a file that is named relative to the workspace, or absolutely."""
    return Path(os.path.abspath(file)).as_uri()


def _doctor() -> int:
    from handrail.adapters.doctor import report
    from handrail.adapters.state.home import state_folder
    from handrail.headless.summary import VERIFIER
    from handrail.lsp.settings import SECTION, SETTINGS

    defaults = {f"{SECTION}.{setting.name}": setting.default for setting in SETTINGS}
    lines, sound = report(
        state_folder,
        defaults,
        {name: os.environ.get(name) for name in (VERIFIER, SANDBOX)},
        _contained_here(),
    )
    with contextlib.suppress(BrokenPipeError):
        print("\n".join(lines))
    return 0 if sound else 1


def _containment(roots: Callable[[], Sequence[Path]], state: Callable[[], Path]) -> Containment:
    """What contains commands."""
    from handrail.adapters.containment.containment import Containment
    from handrail.adapters.workspace.protected import kind_of

    return Containment(environ=os.environ, roots=roots, kind_of=kind_of, state=state)


def _contained_here() -> tuple[str, str]:
    """What contains commands in the folder that one is in, and why there is no more."""
    with tempfile.TemporaryDirectory() as state:
        here = _containment(lambda: (Path.cwd(),), lambda: Path(state))
        found = asyncio.run(here.available())
        here.close()
    return found.by, found.why_not


def _parser() -> argparse.ArgumentParser:
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
