"""
Check calls again just before they run.

Between the judgement, or the user's answer, and the call, other calls may run, and people type. So paths must
still lead where they led, and an edit must still be what its question showed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from handrail.agent.tools.stoppable import unless_stopped
from handrail.agent.turn import output
from handrail.agent.turn.approvals import Approvals
from handrail.agent.turn.resolve import Ready, Refused, confirm, resolve
from handrail.core.conversation.message import ToolCall
from handrail.core.ledger.outcome import Mutation


async def recheck(
    batch: Sequence[Ready],
    approvals: Approvals,
    offered: frozenset[str] | None,
    stop: asyncio.Event,
    mutation: Callable[[ToolCall], Mutation],
) -> list[Ready | Refused]:
    """
    Returns the calls of a batch as they may run now.

    A call whose paths lead elsewhere is refused. The user is asked again about an edit that would write
    something other than was shown. If *stop* is set, the rest of the batch is left out.
    """
    still = list[Ready | Refused]()
    for each in batch:
        if stop.is_set():  # the user is waiting; the rest is reported as stopped
            break
        again = await resolve(each.call, approvals.ports, offered)
        ready = confirm(each, again, await approvals.rights())
        still.append(ready or Refused(call=each.call, failure=output.MOVED, ready=each))
    asked = approvals.ask_again([each for each in still if isinstance(each, Ready)], mutation)
    denied = await unless_stopped(asked, stop)
    if denied is None:
        return []
    return [
        Refused(call=each.call, failure=denied[each.call.id], ready=each)
        if isinstance(each, Ready) and each.call.id in denied
        else each
        for each in still
    ]
