"""List sessions, take one up again, fork one."""

from __future__ import annotations

from handrail.lsp import convert, protocol
from handrail.lsp.features import configuration
from handrail.lsp.state import State


async def list_(state: State, params: protocol.SessionListParams) -> list[protocol.SessionInfo]:
    """All sessions, newest first."""
    found = await state.host.archive.journals.list()
    return [
        protocol.SessionInfo(session=each.id, title=each.title, time=each.time, turns=each.turns)
        for each in found
    ]


async def resume(state: State, params: protocol.SessionResumeParams) -> protocol.SessionResumeResult:
    """Take a session up again."""
    await configuration.settled(state)
    return convert.session(params.session, await state.host.resume(params.session))


async def fork(state: State, params: protocol.SessionForkParams) -> protocol.SessionForkResult:
    """Begin a new session with the conversation up to the end of a turn."""
    await configuration.settled(state)
    return protocol.SessionForkResult(session=await state.host.fork(params.session, params.turn))
