"""Shorten a session's conversation at the user's request, not only when the context is full."""

from __future__ import annotations

from handrail.agent.host import Host
from handrail.agent.turn import compaction
from handrail.ports import HandrailError


def fill_share(host: Host, session: str) -> float | None:
    """Returns how full the model's context is, from 0 to 1; None before the first turn."""
    known = host.sessions.get(session)
    if known is None or not known.messages:
        return None
    try:
        room = compaction.context_budget(known, host.ports())
    except HandrailError:
        return None  # the model does not exist, or has no key
    return min(known.tokens / max(room.window, 1), 1)


def share(host: Host, session: str) -> str:
    """Returns the same as text; empty before the first turn."""
    share_ = fill_share(host, session)
    return "" if share_ is None else f"{share_:.0%} of the context"


async def compact(host: Host, session: str) -> tuple[int, int] | None:
    """
    Summarises all but the latest part of a session's conversation.

    Returns:
        Its estimated tokens before and after; None if there is too little to summarise. Raises UnknownId if a
        turn runs, Busy, ProviderError.
    """
    host.at_rest(session)
    release = host.archive.claim(session)
    host.rewinding.add(session)
    try:
        ports, now = host.ports(), host.sessions[session]
        smaller = await compaction.summarise(now, ports, host.facts(session))
        if smaller is None:
            return None
        host.sessions[session] = smaller.session
        await host.archive.save(smaller.session)
        return smaller.before, smaller.after
    finally:
        host.rewinding.discard(session)
        release()
