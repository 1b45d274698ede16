"""The frame of every command: a server on the workspace folder, the person at the terminal, their Ctrl-C."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from handrail.headless import terminal
from handrail.headless.client import Client, Reactions
from handrail.headless.errors import HeadlessError, InterruptedByUserError
from handrail.headless.question import Question
from handrail.headless.server.running import Start
from handrail.headless.show import Show
from handrail.headless.terminal import Interrupts, visible
from handrail.values import dataclass, field

ALL_LANDED, SOMETHING_FAILED, COULD_NOT_RUN = 0, 1, 2

ANSWER_TIMEOUT_S = 30.0  # for what the server answers at once
UNSTORED = "session {session} could not be stored, so it cannot be continued"
STORE_TIMEOUT_S = 300.0  # for what reads or writes many files

SERVER = (sys.executable, "-P", "-m", "handrail", "serve")  # -P: a workspace must not shadow our modules
SCRIPTED = "scripted:"  # the one model whose name holds a path


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """
    The options that all commands have.

    Attributes:
        workspace: The folder to work on.
        settings: By name without `handrail.`; what is missing is as the client or the server has it. A
            relative FILE in the model `scripted:FILE` is the caller's.
        as_json: Print one JSON value.
        yes: Answer every approval with yes.
        server: How to start the server.
    """

    workspace: Path
    settings: Mapping[str, object] = field(default_factory=dict)
    as_json: bool = False
    yes: bool = False
    server: Start = SERVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The resolved workspace folder, what the person sees, and their Ctrl-C."""

    root: Path
    show: Show
    interrupts: Interrupts


async def on_stage(options: Options, command: Callable[[Stage], Awaitable[int]]) -> int:
    """Set the stage; every error that ends a command is shown here, once."""
    show = Show(options.workspace, as_json=options.as_json)
    try:
        root = workspace_folder(options.workspace)
        show = Show(root, as_json=options.as_json)
        with Interrupts() as interrupts:
            return await command(Stage(root=root, show=show, interrupts=interrupts))
    except HeadlessError as error:
        show.note(f"error: {error}")
        return COULD_NOT_RUN


@contextlib.asynccontextmanager
async def client_of(options: Options, stage: Stage) -> AsyncIterator[Client]:
    """Run a server for the block; at its end everything that can be saved is, and the rest is named."""
    asking = asyncio.Lock()

    async def approve(params: dict[str, Any]) -> str | None:
        question = Question.of(params)
        if options.yes and question.asks_permission:
            return "allow"
        if not terminal.can_ask():
            stage.show.note(question.unanswered)
            return None
        async with asking:
            answer = await read_line(question.prompt, stage)
            return None if answer is None else question.meant_choice(answer)

    reactions = Reactions(
        update=lambda params: stage.show.update(params, client.workspace.line_text),
        message=stage.show.message,
        approve=approve,
        is_attended=terminal.can_ask(),
    )
    client = await stage.interrupts.guard(
        Client.start(options.server, stage.root, server_settings(options.settings), reactions)
    )
    try:
        yield client
    finally:
        stage.show.unsaved_documents(await client.workspace.save_all())
        await client.stop()


async def read_line(prompt: str, stage: Stage) -> str | None:
    """Read a line from the user; an interrupt returns None, and cancels the turn too."""
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
        raise HeadlessError(f"The workspace {path} is not a folder: give the folder that holds the files.")
    return root


def server_settings(settings: Mapping[str, object]) -> dict[str, Any]:
    """The settings as a server anywhere understands them."""
    model = settings.get("model")
    own = {"model": _absolute(model)} if isinstance(model, str) else {}
    return {**settings, **own}


def _absolute(model: str) -> str:
    """Make the path in `scripted:FILE` independent of where the server runs."""
    if not model.startswith(SCRIPTED):
        return model
    return SCRIPTED + str(Path(model.removeprefix(SCRIPTED)).absolute())
