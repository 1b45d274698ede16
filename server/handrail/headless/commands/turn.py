"""Run one turn, and report its result with the exit code."""

import asyncio
from typing import Any

from handrail.headless import terminal, values
from handrail.headless.client import Client
from handrail.headless.commands.stage import (
    ALL_LANDED,
    ANSWER_TIMEOUT_S,
    COULD_NOT_RUN,
    SOMETHING_FAILED,
    STORE_TIMEOUT_S,
    UNSTORED,
    Options,
    Stage,
    client_of,
    on_stage,
)
from handrail.headless.errors import (
    REQUEST_FAILED,
    HeadlessError,
    InterruptedByUserError,
    RequestRefusedError,
    ServerSilentError,
)
from handrail.headless.values import TurnReport
from handrail.values import dataclass

CANCEL_TIMEOUT_S = 30.0  # for a cancelled turn to end


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(Options):
    """
    One turn.

    Attributes:
        prompt: The prompt; `-` reads it from standard input.
        session: The session to continue; None begins a new one.
        mode: What the turn may do; None for what was chosen for the session, or else for the settings' mode.
        again: Options of the command line that hold for the next turn of the session, too.
    """

    prompt: str
    session: str | None = None
    mode: str | None = None
    again: tuple[str, ...] = ()


async def run(options: RunOptions) -> int:
    """Run one turn and show its result; returns the exit code."""
    return await on_stage(options, lambda stage: _run(options, stage))


async def _run(options: RunOptions, stage: Stage) -> int:
    prompt = await stage.interrupts.guard(terminal.read_prompt(options.prompt))
    async with client_of(options, stage) as client:
        asked = {"prompt": prompt} if options.session is None else await _resume(client, options, prompt)
        if options.mode is not None:
            asked["mode"] = options.mode
        json = await _take_turn(client, asked, stage)
        report = values.turn_report(json)
    stage.show.report(report)
    if report.state == "failed" and client.logged_error:
        stage.show.note(client.logged_error)
    if report.is_unstored:
        stage.show.line(UNSTORED.format(session=report.session))
    else:
        stage.show.session(report.session, options.again)
    if options.as_json:
        stage.show.json(json)
    return SOMETHING_FAILED if client.workspace.is_dirty else exit_code(report, stage.show.superseded)


def exit_code(report: TurnReport, superseded: set[str]) -> int:
    """
    Return the result of a turn as one number.

    Args:
        report: As the server gave it.
        superseded: Ids of failures that a later step of the turn corrected.
    """
    for outcome in report.outcomes:
        good = outcome.failure is not None and outcome.failure.id in superseded
        if outcome.status not in ("landed", "already") and not good:
            return SOMETHING_FAILED
    return ALL_LANDED if report.state == "finished" else COULD_NOT_RUN


async def _resume(client: Client, options: RunOptions, prompt: str) -> dict[str, Any]:
    """Resume a session; return the params of a turn that continues it."""
    session = {"session": options.session}
    try:
        await client.request("handrail/session/resume", session, timeout_s=STORE_TIMEOUT_S)
    except RequestRefusedError as refusal:
        if refusal.code != REQUEST_FAILED:
            raise
        raise HeadlessError(f"{refusal.reason} `handrail session list` lists the sessions.") from refusal
    return {"prompt": prompt, **session}


async def _take_turn(client: Client, asked: dict[str, Any], stage: Stage) -> Any:
    """Start a turn and wait for its report; an interrupt cancels the turn, a second one stops waiting."""
    guard = stage.interrupts.guard
    start = client.request("handrail/turn/start", asked, timeout_s=ANSWER_TIMEOUT_S)
    turn = {"turn": values.turn_id(await guard(start))}
    waiting = asyncio.create_task(client.request("handrail/turn/wait", turn, timeout_s=None))
    try:
        return await guard(asyncio.shield(waiting))
    except InterruptedByUserError:
        stage.show.note("stopping the turn; press Ctrl-C again to quit at once")
        await guard(client.request("handrail/turn/cancel", turn, timeout_s=CANCEL_TIMEOUT_S))
        ended, _ = await guard(asyncio.wait((waiting,), timeout=CANCEL_TIMEOUT_S))
        if not ended:
            raise ServerSilentError(f"The turn did not stop within {CANCEL_TIMEOUT_S:g} seconds.") from None
        return waiting.result()
    finally:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
