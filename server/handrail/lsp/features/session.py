"""List sessions, take one up again, fork, summarise, rename or delete one."""

from __future__ import annotations

import asyncio

from handrail.agent import compacting
from handrail.lsp import convert, protocol
from handrail.lsp.features import configuration
from handrail.lsp.state import State
from handrail.lsp.wire import InvalidParams
from handrail.ports import HandrailError
from handrail.values import replace


async def list_(state: State, params: protocol.SessionListParams) -> list[protocol.SessionInfo]:
    """All sessions, or so many of them, newest first."""
    sessions = await state.host.archive.journals.list(params.limit)
    return [
        protocol.SessionInfo(session=each.id, title=each.title, time=each.time, turns=each.turns)
        for each in sessions
    ]


async def resume(state: State, params: protocol.SessionResumeParams) -> protocol.SessionResumeResult:
    """Take a session up again."""
    await configuration.wait_for_settings(state)
    turns = await state.host.resume(params.session)
    mode, spent = state.host.mode_in(params.session), state.host.sessions[params.session].spent
    return replace(convert.session(params.session, turns), mode=mode.value, usage=convert.usage(spent))


async def fork(state: State, params: protocol.SessionForkParams) -> protocol.SessionForkResult:
    """Begin a new session with the conversation up to the end of a turn."""
    await configuration.wait_for_settings(state)
    return protocol.SessionForkResult(session=await state.host.fork(params.session, params.turn))


async def compact(state: State, params: protocol.SessionCompactParams) -> protocol.SessionCompacted:
    """Summarise all but the latest part of a conversation."""
    await configuration.wait_for_settings(state)
    if params.session in state.host.sessions:
        await state.host.catch_up(params.session)
    else:
        await state.host.resume(params.session)
    before, after = await compact_session(state, params.session) or (None, None)
    return protocol.SessionCompacted(before=before, after=after)


async def compact_session(state: State, session: str) -> tuple[int, int] | None:
    """As `compacting.compact`, shown as progress that the user can stop. Raises HandrailError."""
    with state.show_slow_work("Summarising the conversation") as slow:
        work = asyncio.ensure_future(compacting.compact(state.host, session))
        slow.work = work
        try:
            return await work
        except asyncio.CancelledError:
            if slow.is_stopped:
                raise HandrailError("Stopped. The conversation was not summarised.") from None
            raise


async def rename(state: State, params: protocol.SessionRenameParams) -> None:
    """Give a session another title."""
    if not params.title.strip():
        raise InvalidParams("params.title is empty. Give the session a title.")
    await state.host.archive.rename(params.session, params.title)


async def delete(state: State, params: protocol.SessionDeleteParams) -> None:
    """Permanently remove a session."""
    await state.host.delete(params.session)
    await state.chats.forget(params.session)
