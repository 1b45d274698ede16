"""List sessions, take one up again, fork, rename or delete one."""

from __future__ import annotations

from handrail.lsp import convert, protocol
from handrail.lsp.features import configuration
from handrail.lsp.state import State, Wrong


async def list_(state: State, params: protocol.SessionListParams) -> list[protocol.SessionInfo]:
    """All sessions, or so many of them, newest first."""
    found = await state.host.archive.journals.list(params.limit)
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


async def rename(state: State, params: protocol.SessionRenameParams) -> None:
    """Give a session another title."""
    if not params.title.strip():
        raise Wrong("params.title: it is empty; give the session a title.")
    await state.host.archive.renamed(params.session, params.title)


async def delete(state: State, params: protocol.SessionDeleteParams) -> None:
    """Remove a session for good."""
    await state.host.delete(params.session)
