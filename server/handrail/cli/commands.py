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
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from handrail.adapters.standard_streams import standard_streams
from handrail.adapters.state.config_edit import OWN
from handrail.adapters.state.config_file import ConfigError, config_file, read
from handrail.cli.parser import parser

if TYPE_CHECKING:
    from handrail.core.policy.containment import Available
    from handrail.headless.commands.stage import Options
    from handrail.headless.server.running import Start

ONE_PROCESS = "HANDRAIL_ONE_PROCESS"  # in the environment: 0 runs the server as a process of its own


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is the process's."""
    with standard_streams():
        try:
            return _command(parser().parse_args(argv))
        except ConfigError as error:
            print(f"handrail: error: {_plain(str(error))}", file=sys.stderr)
            return 2


def _command(options: argparse.Namespace) -> int:
    match options.command:
        case "serve":
            from handrail.cli.serve import serve

            return serve(options.answer_timeout, options.command_timeout, options.clock)
        case "config":
            from handrail.cli.config import config

            return config(options)
        case "doctor":
            return _doctor()
        case "layer":
            from handrail.cli.layers import layer

            options.workspace = options.workspace or _current_folder()
            return layer(options)
        case "apply" if options.jsonl:
            return _apply_lines()
        case _:
            options.workspace = options.workspace or _current_folder()
            return _on_workspace(options)


def _on_workspace(options: argparse.Namespace) -> int:
    match options.command:
        case "chat":
            return _chat(options)
        case "apply":
            return _apply(options)
        case "checkpoint":
            return _with_server(lambda server: _checkpoint(options, _options(options, server)))
        case "review":
            return _with_server(lambda server: _review(options, _options(options, server)))
        case "rules":
            return _with_server(lambda server: _rules(options, _options(options, server)))
        case "session" if options.action != "resume":
            return _with_server(lambda server: _session(options, _options(options, server)))
        case _:
            return _run(options)


def _current_folder() -> Path:
    from handrail.cli.folder import workspace_here

    try:
        here, home = Path.cwd(), Path(os.path.expanduser("~"))
    except OSError as error:
        raise ConfigError("The current folder no longer exists: give --workspace DIR.") from error
    return workspace_here(here, home)


def _plain(text: str) -> str:
    """*text* as a terminal shows it, whatever a file or an argument held."""
    from handrail.headless.terminal import visible

    return visible(text)


def _settings(options: argparse.Namespace) -> dict[str, object]:
    """
    Return the settings for the command's server: the options over the user's file; fast if there are neither.
    """
    given, approved = getattr(options, "settings", ()), getattr(options, "approved", ())
    file = config_file()
    if not given and not approved and not os.path.lexists(file):
        return {}
    from handrail.cli.settings import in_force

    return in_force(file, given, approved)


def _with_server(command: Callable[[Start], Coroutine[object, object, int]]) -> int:
    """Run a command whose server is started as it is given; returns the exit code."""
    from handrail.headless.commands.stage import SERVER

    if os.name != "posix" or os.environ.get(ONE_PROCESS, "").strip() == "0":
        return asyncio.run(command(SERVER))
    from handrail.cli.one_process import with_server

    return with_server(command)


def _run(options: argparse.Namespace) -> int:
    from handrail.headless.commands.turn import RunOptions, run

    settings, again = _settings(options), _resume_options(options)
    return _with_server(
        lambda server: run(
            RunOptions(
                workspace=options.workspace,
                prompt=options.prompt,
                settings=settings,
                session=options.session,
                mode=_stated_mode(options, settings),
                again=again,
                as_json=options.json,
                yes=options.yes,
                server=server,
            )
        )
    )


def _stated_mode(options: argparse.Namespace, settings: Mapping[str, object]) -> str | None:
    """The mode that the command line names, as in *settings*: it also holds if a session has another one."""
    is_stated = any(name.removeprefix(OWN) == "mode" for name, _ in options.settings)
    return str(settings["mode"]) if is_stated else None


def _resume_options(options: argparse.Namespace) -> tuple[str, ...]:
    """The options that hold for the next turn of a session, too."""
    if not options.settings and not options.approved:
        return ()
    from handrail.cli.settings import options_of

    return options_of(options.settings, options.approved)


def _chat(options: argparse.Namespace) -> int:
    from handrail.adapters.state.home import state_folder, workspace_folder
    from handrail.cli.folder import readable_files
    from handrail.headless.chat.command import ChatOptions, chat

    settings = _settings(options)
    return asyncio.run(
        chat(
            ChatOptions(
                workspace=options.workspace,
                settings=settings,
                yes=options.yes,
                session=options.session,
                mode=_stated_mode(options, settings),
                again=_resume_options(options),
                files=lambda: readable_files(options.workspace),
                model_problem=_model_problem,
                history=workspace_folder(state_folder(), (options.workspace,)) / "chat-history",
            )
        )
    )


def _model_problem(model: str) -> str:
    from handrail.adapters.models.providers import unknown_model
    from handrail.cli.settings import check

    try:
        check("model", model)
    except ConfigError as error:
        return str(error)
    return unknown_model(model)


def _session(options: argparse.Namespace, chosen: Options) -> Coroutine[object, object, int]:
    from handrail.headless.commands import sessions

    match options.action:
        case "list":
            return sessions.list_sessions(chosen, options.limit)
        case "show":
            return sessions.show_session(chosen, options.session)
        case "fork":
            return sessions.fork_session(chosen, options.session, options.turn)
        case "rename":
            return sessions.rename_session(chosen, options.session, options.title)
        case _:
            return sessions.delete_sessions(chosen, options.sessions)


def _options(options: argparse.Namespace, server: Start) -> Options:
    """Return the options that all commands have in common that work on a folder and do not run a turn."""
    from handrail.headless.commands.stage import Options

    return Options(
        workspace=options.workspace,
        settings=_settings(options),
        as_json=options.json,
        yes=getattr(options, "yes", False),
        server=server,
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


def _checkpoint(options: argparse.Namespace, chosen: Options) -> Coroutine[object, object, int]:
    from handrail.headless.commands import checkpoints

    match options.action:
        case "list":
            return checkpoints.list_checkpoints(chosen)
        case "show":
            return checkpoints.show_checkpoint(chosen, options.id)
        case "diff":
            uri = options.file and _uri(options.workspace / options.file)
            asked = {"against": options.against, "uri": uri}
            params = {"checkpoint": options.id, **{name: value for name, value in asked.items() if value}}
            return checkpoints.diff_checkpoint(chosen, params)
        case "restore":
            _check_restore(options)
            uris = {"uris": [_uri(options.workspace / file) for file in options.file]} if options.file else {}
            params = {
                "checkpoint": options.id,
                "following": options.following,
                "conversation": options.conversation,
                "files": options.files,
                "range": options.lines,
                **uris,
            }
            return checkpoints.restore_checkpoint(chosen, params)
        case "prune":
            return checkpoints.prune_checkpoints(chosen, options.ids)
        case _:
            return checkpoints.verify_checkpoints(chosen)


def _check_restore(options: argparse.Namespace) -> None:
    if options.lines is not None and len(options.file or ()) != 1:
        raise ConfigError("--lines needs exactly one --file.")
    if not options.files and (options.file or not options.conversation):
        raise ConfigError("--no-files needs --conversation, and cannot be given with --file.")


def _review(options: argparse.Namespace, chosen: Options) -> Coroutine[object, object, int]:
    from handrail.headless.commands import review

    uri = _uri(options.workspace / options.file) if options.file else None
    asked = {
        "hunks": getattr(options, "hunks", None) or None,
        "uri": uri,
        "turn": options.turn,
        "all": getattr(options, "all", None) or None,
        "typed": getattr(options, "typed", None) or None,
    }
    params = {name: value for name, value in asked.items() if value is not None}
    if options.action in ("keep", "undo") and not params.keys() - {"typed"}:
        raise ConfigError("Say which changes: give ids from `handrail review list`, --file, --turn or --all.")
    actions = {
        "list": review.list_changes,
        "show": review.show_changes,
        "keep": review.keep_changes,
        "undo": review.undo_changes,
    }
    return actions[options.action](chosen, params)


def _rules(options: argparse.Namespace, chosen: Options) -> Coroutine[object, object, int]:
    from handrail.headless.commands import rules

    is_list = options.action == "list"
    return rules.list_rules(chosen) if is_list else rules.remove_rules(chosen, options.ids)


def _uri(file: Path) -> str:
    """The URI of a file that is named relative to the workspace, or absolutely."""
    return Path(os.path.abspath(file)).as_uri()


def _doctor() -> int:
    from handrail.adapters.doctor import report
    from handrail.adapters.state.home import own_folder, state_folder
    from handrail.cli.config import describe
    from handrail.cli.serve import SANDBOX
    from handrail.headless.summary import VERIFIER

    settings, is_valid = describe(config_file())
    lines, sound = report(
        lambda: own_folder(state_folder()),
        settings,
        {name: os.environ.get(name) for name in (VERIFIER, SANDBOX)},
        _containment_here(),
    )
    with contextlib.suppress(BrokenPipeError):
        print("\n".join(lines))
    return 0 if sound and is_valid else 1


def _containment_here() -> Available:
    """Returns what contains commands that are run in the current folder, in a terminal."""
    from handrail.cli.serve import containment_of
    from handrail.core.policy.containment import Available

    if why_not := _why_sandbox_is_off():
        return Available(why_not=why_not)
    with tempfile.TemporaryDirectory() as state:
        here = containment_of(lambda: (Path.cwd(),), lambda: Path(state))
        available = asyncio.run(here.available())
        here.close()
    return available


def _why_sandbox_is_off() -> str:
    """Returns what switches the sandbox off in a terminal; empty if nothing does."""
    from handrail.cli.serve import SANDBOX, sandbox_of
    from handrail.core.policy.containment import Sandbox

    if (stated := sandbox_of(os.environ.get(SANDBOX))) is not None:
        return f"{SANDBOX} is off" if stated is Sandbox.OFF else ""
    with contextlib.suppress(ConfigError):  # which is shown with the settings
        return "the setting `sandbox` is off" if read(config_file()).get("sandbox") == Sandbox.OFF else ""
    return ""
