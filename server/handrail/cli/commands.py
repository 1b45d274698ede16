"""
What each command of the command line does: argv to a server, a headless run, or an answer of its own.

Only what a command needs is imported, so that `initialize` is answered without any model's SDK.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from handrail.adapters.standard_streams import standard_streams
from handrail.cli.parser import parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is the process's."""
    with standard_streams():
        return _command(parser().parse_args(argv))


def _command(options: argparse.Namespace) -> int:
    match options.command:
        case "serve":
            from handrail.cli.serve import serve

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


def _run(options: argparse.Namespace) -> int:
    from handrail.headless.commands.turn import RunOptions, run

    return asyncio.run(
        run(
            RunOptions(
                workspace=options.workspace,
                prompt=options.prompt,
                settings={} if options.model is None else {"model": options.model},
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
    from handrail.headless.commands import checkpoints
    from handrail.headless.commands.stage import Options

    chosen = Options(workspace=options.workspace, as_json=options.json, yes=options.yes)
    match options.action:
        case "list":
            command = checkpoints.list_checkpoints(chosen)
        case "show":
            command = checkpoints.show_checkpoint(chosen, options.id)
        case "diff":
            uri = options.file and _uri(options.workspace / options.file)
            asked = {"against": options.against, "uri": uri}
            wish = {"checkpoint": options.id, **{name: value for name, value in asked.items() if value}}
            command = checkpoints.diff_checkpoint(chosen, wish)
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
            command = checkpoints.restore_checkpoint(chosen, wish)
        case "prune":
            command = checkpoints.prune_checkpoints(chosen, options.ids)
        case _:
            command = checkpoints.verify_checkpoints(chosen)
    return asyncio.run(command)


def _rules(options: argparse.Namespace) -> int:
    from handrail.headless.commands import rules
    from handrail.headless.commands.stage import Options

    chosen = Options(workspace=options.workspace, as_json=options.json)
    is_list = options.action == "list"
    return asyncio.run(rules.list_rules(chosen) if is_list else rules.remove_rules(chosen, options.ids))


def _uri(file: Path) -> str:
    """The URI of a file that is named relative to the workspace, or absolutely."""
    return Path(os.path.abspath(file)).as_uri()


def _doctor() -> int:
    from handrail.adapters.doctor import report
    from handrail.adapters.state.home import state_folder
    from handrail.cli.serve import SANDBOX
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


def _contained_here() -> tuple[str, str]:
    """What contains commands in the folder that one is in, and why there is no more."""
    from handrail.cli.serve import containment_of

    with tempfile.TemporaryDirectory() as state:
        here = containment_of(lambda: (Path.cwd(),), lambda: Path(state))
        found = asyncio.run(here.available())
        here.close()
    return found.by, found.why_not
