"""
The commands of the headless client: run one turn; list, show, compare, restore, remove, check checkpoints;
list and remove rules.

Each starts a server process, lets it work on the workspace folder, and ends it. Whatever happens, documents
with unsaved text are written to disk at the end. Exit codes:

- 0: the turn gave its answer, and all that it wanted to change has landed; or it had nothing to change.
- 1: something did not land, was denied, could not be saved or could not be restored, and is named. It does
  not matter how the turn ended then: what is half done is what one must look at first.
- 2: nothing of that kind, but the turn did not come to its end (stopped by a guard, cancelled, provider
  lost); or there is no report at all, since it could not run or the server was lost.

With `as_json`, stdout holds one JSON value, and nothing if there is none to give.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handrail.headless import terminal, values
from handrail.headless.client import Client, Reactions
from handrail.headless.errors import (
    HeadlessError,
    InterruptedByUserError,
    RequestRefusedError,
    ServerSilentError,
)
from handrail.headless.question import Question
from handrail.headless.show import Show, visible
from handrail.headless.terminal import Interrupts
from handrail.headless.values import TurnReport

ALL_LANDED, SOMETHING_FAILED, COULD_NOT_RUN = 0, 1, 2

SCRIPTED = "scripted:"  # the one model whose name holds a path
ANSWER_TIMEOUT_S = 30.0  # for what the server answers at once
CANCEL_TIMEOUT_S = 30.0  # for a cancelled turn to end
STORE_TIMEOUT_S = 300.0  # for what reads or writes many files
REQUEST_FAILED = -32803  # LSP's code for an unknown id, among others

SERVER = (sys.executable, "-P", "-m", "handrail", "serve")  # -P: a workspace must not shadow our modules


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """
    One turn.

    Attributes:
        workspace: The folder to work on.
        prompt: What is asked; `-` reads it from standard input.
        model: Setting `handrail.model`; None is the default of the server; a relative FILE in
            `scripted:FILE` is the caller's.
        session: The session to go on with; None begins a new one.
        as_json: Print the TurnReport as one JSON object.
        yes: Answer every approval with yes.
        server: The server's command line.
    """

    workspace: Path
    prompt: str
    model: str | None = None
    session: str | None = None
    as_json: bool = False
    yes: bool = False
    server: tuple[str, ...] = SERVER


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceOptions:
    """What the commands have in common that run no turn; attributes as in `RunOptions`."""

    workspace: Path
    as_json: bool = False
    yes: bool = False
    server: tuple[str, ...] = SERVER


async def run(options: RunOptions) -> int:
    """Run one turn and show what became of it; returns the exit code."""
    return await _command(options, lambda stage: _run(options, stage))


async def list_checkpoints(options: WorkspaceOptions) -> int:
    """Show what can be taken back, newest turn first; returns the exit code."""
    return await _command(options, lambda stage: _list(options, stage))


async def restore_checkpoint(options: WorkspaceOptions, wish: dict[str, Any]) -> int:
    """Take a turn back; *wish* is the request's params; returns the exit code."""
    return await _command(options, lambda stage: _restore(options, wish, stage))


async def show_checkpoint(options: WorkspaceOptions, checkpoint: str) -> int:
    """Show one checkpoint and what its turn changed; returns the exit code."""
    return await _command(options, lambda stage: _show(options, checkpoint, stage))


async def diff_checkpoint(options: WorkspaceOptions, wish: dict[str, str]) -> int:
    """Show a checkpoint as a unified diff; *wish* is the request's params; returns the exit code."""
    return await _command(options, lambda stage: _diff(options, wish, stage))


async def prune_checkpoints(options: WorkspaceOptions, checkpoints: list[str]) -> int:
    """Remove checkpoints, or what the limits do not allow; returns the exit code."""
    return await _command(options, lambda stage: _prune(options, checkpoints, stage))


async def verify_checkpoints(options: WorkspaceOptions) -> int:
    """Say whether all that is kept can be read; returns the exit code."""
    return await _command(options, lambda stage: _verify(options, stage))


async def list_rules(options: WorkspaceOptions) -> int:
    """Show the rules that answers have added for good; returns the exit code."""
    return await _command(options, lambda stage: _list_rules(options, stage))


async def remove_rules(options: WorkspaceOptions, rules: list[str]) -> int:
    """Remove rules that answers have added; returns the exit code."""
    return await _command(options, lambda stage: _remove_rules(options, rules, stage))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stage:
    """What every command has: the resolved workspace folder, the person, and their Ctrl-C."""

    root: Path
    show: Show
    interrupts: Interrupts


async def _command(
    options: RunOptions | WorkspaceOptions, command: Callable[[_Stage], Awaitable[int]]
) -> int:
    """Set the stage; every error that ends a command is shown here, once."""
    show = Show(options.workspace, as_json=options.as_json)
    try:
        root = workspace_folder(options.workspace)
        show = Show(root, as_json=options.as_json)
        with Interrupts() as interrupts:
            return await command(_Stage(root=root, show=show, interrupts=interrupts))
    except HeadlessError as error:
        show.note(f"error: {error}")
        return COULD_NOT_RUN


async def _run(options: RunOptions, stage: _Stage) -> int:
    prompt = await stage.interrupts.guard(terminal.read_prompt(options.prompt))
    settings = {} if options.model is None else {"model": _absolute(options.model)}
    async with _client(options, stage, settings) as client:
        asked = {"prompt": prompt} if options.session is None else await _resume(client, options, prompt)
        json = await _take_turn(client, asked, stage)
        report = values.turn_report(json)
    stage.show.report(report)
    if report.state in ("failed", "cancelled"):
        stage.show.session(report.session)
    if options.as_json:
        stage.show.json(json)
    return SOMETHING_FAILED if client.workspace.is_dirty else exit_code(report, stage.show.superseded)


async def _list(options: WorkspaceOptions, stage: _Stage) -> int:
    async with _client(options, stage, {}) as client:
        json = await stage.interrupts.guard(_checkpoints(client))
    if options.as_json:
        stage.show.json(json)
    else:
        stage.show.checkpoints([values.checkpoint(checkpoint) for checkpoint in json])
    return ALL_LANDED


async def _show(options: WorkspaceOptions, checkpoint: str, stage: _Stage) -> int:
    async with _client(options, stage, {}) as client:
        found = await stage.interrupts.guard(_ask(client, "diff", {"checkpoint": checkpoint}))
        known = await stage.interrupts.guard(_checkpoints(client))
    one = next(each for each in known if checkpoint in values.checkpoint(each).ids)
    if options.as_json:
        stage.show.json({**one, "diff": values.diff(found)})
    else:
        stage.show.checkpoints([values.checkpoint(one)])
        stage.show.diff(values.diff(found))
    return ALL_LANDED


async def _diff(options: WorkspaceOptions, wish: dict[str, str], stage: _Stage) -> int:
    async with _client(options, stage, {}) as client:
        json = await stage.interrupts.guard(_ask(client, "diff", wish))
    if options.as_json:
        stage.show.json(json)
    else:
        stage.show.diff(values.diff(json))
    return ALL_LANDED


async def _prune(options: WorkspaceOptions, checkpoints: list[str], stage: _Stage) -> int:
    if checkpoints and not options.yes:
        question = f"Remove {', '.join(checkpoints)} for ever? [y/N]"
        typed = await _typed(question, stage) if terminal.can_ask() else None
        if typed is None or typed.strip().lower() not in ("y", "yes"):
            raise HeadlessError("Nothing was removed: say yes, or give --yes.")
    async with _client(options, stage, {}) as client:
        json = await stage.interrupts.guard(_ask(client, "prune", {"checkpoints": checkpoints}))
    stage.show.pruned(*values.pruned(json))
    if options.as_json:
        stage.show.json(json)
    return ALL_LANDED


async def _list_rules(options: WorkspaceOptions, stage: _Stage) -> int:
    async with _client(options, stage, {}) as client:
        json = await stage.interrupts.guard(_rules(client, "list", {}))
    if options.as_json:
        stage.show.json(json)
    else:
        stage.show.rules(values.rules(json))
    return ALL_LANDED


async def _remove_rules(options: WorkspaceOptions, rules: list[str], stage: _Stage) -> int:
    async with _client(options, stage, {}) as client:
        for rule in rules:
            await stage.interrupts.guard(_rules(client, "remove", {"rule": rule}))
        json = await stage.interrupts.guard(_rules(client, "list", {}))
    stage.show.rules(values.rules(json))
    if options.as_json:
        stage.show.json(json)
    return ALL_LANDED


async def _verify(options: WorkspaceOptions, stage: _Stage) -> int:
    async with _client(options, stage, {}) as client:
        json = await stage.interrupts.guard(_ask(client, "verify", {}))
    count, problems = values.soundness(json)
    stage.show.soundness(count, problems)
    if options.as_json:
        stage.show.json(json)
    return SOMETHING_FAILED if problems else ALL_LANDED


async def _restore(options: WorkspaceOptions, wish: dict[str, Any], stage: _Stage) -> int:
    async with _client(options, stage, {}) as client:
        json = await stage.interrupts.guard(_take_back(client, wish))
        report = values.restore_report(json)
    stage.show.restored(report)
    if options.as_json:
        stage.show.json(json)
    is_whole = not (client.workspace.is_dirty or report.partial or report.conflicts)
    return ALL_LANDED if is_whole else SOMETHING_FAILED


def exit_code(report: TurnReport, superseded: set[str]) -> int:
    """
    Say in one number what became of a turn.

    Args:
        report: As the server gave it.
        superseded: Ids of failures that a later step of the turn made good.
    """
    for outcome in report.outcomes:
        good = outcome.failure is not None and outcome.failure.id in superseded
        if outcome.status not in ("landed", "already") and not good:
            return SOMETHING_FAILED
    return ALL_LANDED if report.state == "finished" else COULD_NOT_RUN


async def _resume(client: Client, options: RunOptions, prompt: str) -> dict[str, Any]:
    """Take a session up again; the params of a turn that goes on with it."""
    session = {"session": options.session}
    await client.request("handrail/session/resume", session, timeout_s=STORE_TIMEOUT_S)
    return {"prompt": prompt, **session}


async def _take_turn(client: Client, asked: dict[str, Any], stage: _Stage) -> Any:
    """Start a turn and wait for its report; an interrupt cancels the turn, a second one stops waiting."""
    guard = stage.interrupts.guard
    start = client.request("handrail/turn/start", asked, timeout_s=ANSWER_TIMEOUT_S)
    turn = {"turn": values.turn_id(await guard(start))}
    waiting = asyncio.create_task(client.request("handrail/turn/wait", turn, timeout_s=None))
    try:
        return await guard(asyncio.shield(waiting))
    except InterruptedByUserError:
        stage.show.note("cancelling the turn; interrupt again to stop waiting for it")
        await guard(client.request("handrail/turn/cancel", turn, timeout_s=CANCEL_TIMEOUT_S))
        return await guard(asyncio.wait_for(waiting, CANCEL_TIMEOUT_S))
    except TimeoutError as error:
        raise ServerSilentError(
            f"The cancelled turn did not end within {CANCEL_TIMEOUT_S:g} seconds."
        ) from error
    finally:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


async def _checkpoints(client: Client) -> list[Any]:
    found = await client.request("handrail/checkpoint/list", {}, timeout_s=STORE_TIMEOUT_S)
    return found if isinstance(found, list) else []


async def _ask(client: Client, about: str, params: dict[str, Any]) -> Any:
    return await client.request(f"handrail/checkpoint/{about}", params, timeout_s=STORE_TIMEOUT_S)


async def _rules(client: Client, about: str, params: dict[str, str]) -> Any:
    return await client.request(f"handrail/rules/{about}", params, timeout_s=STORE_TIMEOUT_S)


async def _take_back(client: Client, wish: dict[str, Any]) -> Any:
    """Restore; an unknown id is answered with those that exist."""
    checkpoint = wish["checkpoint"]
    try:
        return await _ask(client, "restore", wish)
    except RequestRefusedError as refusal:
        if refusal.code != REQUEST_FAILED:
            raise
        known = [values.checkpoint(found) for found in await _checkpoints(client)]
        if any(checkpoint in found.ids for found in known):
            raise
        exist = ", ".join(found.id for found in known) or "none yet"
        raise HeadlessError(f"There is no checkpoint `{checkpoint}`. Those that exist: {exist}.") from refusal


@contextlib.asynccontextmanager
async def _client(
    options: RunOptions | WorkspaceOptions, stage: _Stage, settings: dict[str, Any]
) -> AsyncIterator[Client]:
    """Run a server for the block; at its end everything that can be saved is, and the rest is named."""
    asking = asyncio.Lock()

    async def approve(params: dict[str, Any]) -> str | None:
        question = Question.of(params)
        if options.yes and question.asks_leave:
            return "allow"
        if not terminal.can_ask():
            stage.show.note(question.unanswered)
            return None
        async with asking:
            typed = await _typed(question.prompt, stage)
            return None if typed is None else question.meant(typed)

    reactions = Reactions(
        update=lambda params: stage.show.update(params, client.workspace.line_text),
        message=stage.show.message,
        approve=approve,
    )
    client = await stage.interrupts.guard(Client.start(options.server, stage.root, settings, reactions))
    try:
        yield client
    finally:
        stage.show.unsaved(await client.workspace.save_all())
        await client.stop()


async def _typed(prompt: str, stage: _Stage) -> str | None:
    """What the person types; an interrupt is None, and cancels the turn as well."""
    stage.show.pause()
    try:
        return await stage.interrupts.guard(terminal.ask(visible(prompt)))
    except InterruptedByUserError:
        return None


def workspace_folder(path: Path) -> Path:
    """Resolve the workspace folder; raises HeadlessError."""
    try:
        root = path.resolve(strict=True)
    except OSError as error:
        raise HeadlessError(f"The workspace {path} cannot be used: {error.strerror}.") from error
    if not root.is_dir():
        raise HeadlessError(f"The workspace {path} is no folder: give the folder that holds the files.")
    return root


def _absolute(model: str) -> str:
    """Make the path in `scripted:FILE` independent of where the server runs."""
    if not model.startswith(SCRIPTED):
        return model
    return SCRIPTED + str(Path(model.removeprefix(SCRIPTED)).absolute())
