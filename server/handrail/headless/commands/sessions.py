"""List, show, fork, rename and delete sessions."""

from typing import Any

from handrail.headless import terminal, values
from handrail.headless.client import Client
from handrail.headless.commands.stage import (
    ALL_LANDED,
    STORE_TIMEOUT_S,
    Options,
    Stage,
    client_of,
    on_stage,
    read_line,
)
from handrail.headless.errors import REQUEST_FAILED, HeadlessError, RequestRefusedError


async def list_sessions(options: Options, limit: int | None) -> int:
    """Show the newest *limit* sessions, or all; returns the exit code."""
    return await on_stage(options, lambda stage: _list(options, limit, stage))


async def show_session(options: Options, session: str) -> int:
    """Show show the turns of a session; returns the exit code."""
    return await on_stage(options, lambda stage: _show(options, session, stage))


async def fork_session(options: Options, session: str, turn: str | None) -> int:
    """Begin a session with another one's conversation up to *turn*, or all; returns the exit code."""
    return await on_stage(options, lambda stage: _fork(options, (session, turn), stage))


async def rename_session(options: Options, session: str, title: str) -> int:
    """Give a session another title; returns the exit code."""
    return await on_stage(options, lambda stage: _rename(options, (session, title), stage))


async def delete_sessions(options: Options, sessions: list[str]) -> int:
    """Permanently remove sessions; returns the exit code."""
    return await on_stage(options, lambda stage: _delete(options, sessions, stage))


async def _list(options: Options, limit: int | None, stage: Stage) -> int:
    wanted = {} if limit is None else {"limit": limit + 1}  # one more tells whether there are more
    async with client_of(options, stage) as client:
        answer = await stage.interrupts.guard(_ask(client, "list", wanted))
    json = answer[:limit] if isinstance(answer, list) else []
    stage.show.sessions(values.sessions(json), has_more=len(json) < len(answer or ()))
    if options.as_json:
        stage.show.json(json)
    return ALL_LANDED


async def _show(options: Options, session: str, stage: Stage) -> int:
    async with client_of(options, stage) as client:
        json = await stage.interrupts.guard(_ask(client, "resume", {"session": session}))
    stage.show.turns(values.turns(json))
    stage.show.session(session, ())
    if options.as_json:
        stage.show.json(json)
    return ALL_LANDED


async def _fork(options: Options, wanted: tuple[str, str | None], stage: Stage) -> int:
    session, turn = wanted
    async with client_of(options, stage) as client:
        if turn is None:
            known = await stage.interrupts.guard(_ask(client, "resume", {"session": session}))
            *_, last = values.turns(known) or [None]
            if last is None:
                raise HeadlessError(f"Session {session} has no turns yet, so it cannot be forked.")
            turn = last.turn
        json = await stage.interrupts.guard(_ask(client, "fork", {"session": session, "turn": turn}))
    stage.show.session(values.session_id(json), ())
    if options.as_json:
        stage.show.json(json)
    return ALL_LANDED


async def _rename(options: Options, wanted: tuple[str, str], stage: Stage) -> int:
    if not wanted[1].strip():
        raise HeadlessError("The title is empty. Give the session a title.")
    async with client_of(options, stage) as client:
        await stage.interrupts.guard(_ask(client, "rename", {"session": wanted[0], "title": wanted[1]}))
    if options.as_json:
        stage.show.json(None)
    return ALL_LANDED


async def _delete(options: Options, sessions: list[str], stage: Stage) -> int:
    async with client_of(options, stage) as client:
        await stage.interrupts.guard(_check_known(client, sessions))
        if not options.yes:
            question = f"Delete {', '.join(sessions)} permanently? [y/N]"
            answer = await read_line(question, stage) if terminal.can_ask() else None
            if answer is None or answer.strip().lower() not in ("y", "yes"):
                raise HeadlessError("Nothing was deleted. To delete, answer y or give --yes.")
        for session in sessions:
            await stage.interrupts.guard(_ask(client, "delete", {"session": session}))
    if options.as_json:
        stage.show.json(sessions)
    return ALL_LANDED


async def _check_known(client: Client, sessions: list[str]) -> None:
    """Raise HeadlessError if one of the *sessions* does not exist."""
    listed = await client.request("handrail/session/list", {}, timeout_s=STORE_TIMEOUT_S)
    known = {each.session for each in values.sessions(listed)}
    for session in sessions:
        if session not in known:
            raise HeadlessError(
                f"This workspace has no conversation with the session ID {session!r}. "
                "`handrail session list` lists the sessions."
            )


async def _ask(client: Client, about: str, params: dict[str, Any]) -> Any:
    try:
        return await client.request(f"handrail/session/{about}", params, timeout_s=STORE_TIMEOUT_S)
    except RequestRefusedError as refusal:
        if refusal.code != REQUEST_FAILED:
            raise
        raise HeadlessError(f"{refusal.reason}{await _hint(client, about, params)}") from refusal


async def _hint(client: Client, about: str, params: dict[str, Any]) -> str:
    """Returns where to look up the id that a refused request names, if that is not known."""
    session = params.get("session")
    listed = await client.request("handrail/session/list", {}, timeout_s=STORE_TIMEOUT_S)
    if session not in {each.session for each in values.sessions(listed)}:
        return " `handrail session list` lists the sessions."
    if about != "fork":
        return ""
    resumed = await client.request("handrail/session/resume", {"session": session}, timeout_s=STORE_TIMEOUT_S)
    if params.get("turn") in {each.turn for each in values.turns(resumed)}:
        return ""
    return f" `handrail session show {session}` lists its turns."
