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
from handrail.core.failure import Failure
from handrail.core.ledger.outcome import Mutation
from handrail.core.policy.place import Place, PlaceKind
from handrail.ports import Ports


async def recheck(
    batch: Sequence[Ready],
    approvals: Approvals,
    offered: frozenset[str] | None,
    stop: asyncio.Event,
    mutation: Callable[[ToolCall], Mutation],
) -> list[Ready | Refused]:
    """
    Returns the calls of a batch as they may run now.

    A call whose paths lead elsewhere, or whose workspace folder was removed, is refused. The user is asked
    again about an edit that would write something other than was shown. If *stop* is set, the rest of the
    batch is left out.
    """
    still = list[Ready | Refused]()
    for each in batch:
        if stop.is_set():  # the user is waiting; the rest is reported as stopped
            break
        again = await resolve(each.call, approvals.ports, offered)
        ready = confirm(each, again, await approvals.rights())
        still.append(ready or Refused(call=each.call, failure=_why_not(each, approvals.ports), ready=each))
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


def _why_not(ready: Ready, ports: Ports) -> Failure:
    """Returns why a call is refused that can no longer run as it was judged."""
    for place in ready.request.places:
        now = ports.workspace.resolve(place.uri)
        if isinstance(now, Failure) or (now.identity == place.identity and _is_removed(place, now)):
            return output.folder_removed(place)
        if now.identity != place.identity:
            return output.MOVED
    if any(_has_changed(place, ports.workspace.resolve(place.uri)) for place in ready.request.places):
        return output.FOLDERS_CHANGED
    return output.MOVED


def _has_changed(place: Place, now: Place | Failure) -> bool:
    """Whether a place is of another kind, or is shown in another way, than when it was judged."""
    return isinstance(now, Failure) or (now.kind, now.path, now.why) != (place.kind, place.path, place.why)


def _is_removed(place: Place, now: Place) -> bool:
    """Whether a place was in a workspace folder, and *now* is in none."""
    return now.kind is PlaceKind.OUTSIDE and place.kind is not PlaceKind.OUTSIDE
