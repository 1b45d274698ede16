"""
Turns that wait for earlier turns of their session.

A waiting turn has an id and a task like any other: it can be awaited, sent messages and stopped. It starts
when the turn before it has finished. If that turn was stopped or failed, the next request may no longer make
sense: then the waiting turn does not start, and its report says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import ExitStack

from handrail.agent.turns import Turn, Turns
from handrail.core.conversation.message import Usage
from handrail.core.ledger.report import STATE_WORDS, Ended, Event, State, TurnReport
from handrail.ports import HandrailError
from handrail.ports.errors import INTERNAL_ERROR
from handrail.ports.sessions import Release
from handrail.values import dataclass

logger = logging.getLogger(__name__)

LIMIT_WAITING = 20  # turns of a session


def previous_turn(turns: Turns, session: str | None) -> Turn | None:
    """
    Returns the turn that a new turn of *session* waits for. Raises HandrailError if too many are waiting.
    """
    running = turns.running_turns(session)
    if len(running) > LIMIT_WAITING:
        raise HandrailError(
            f"{LIMIT_WAITING} turns of this conversation are already waiting. Stop one, or wait."
        )
    return running[-1] if running else None


def run_and_release(run: Coroutine[object, object, TurnReport], release: Release) -> asyncio.Task[TurnReport]:
    """
    Runs a turn, and releases its session before the task is done, because the next turn may start at once.
    """
    stack = ExitStack()
    stack.callback(release)
    stack.callback(run.close)

    async def run_holding() -> TurnReport:
        with stack:
            return await run

    task = asyncio.create_task(run_holding())
    task.add_done_callback(lambda _: stack.close())  # a task that was stopped before it began runs nothing
    return task


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """
    A waiting turn.

    Attributes:
        before: The turn that it waits for.
        begin: Runs it.
        spent: The usage of its session.
    """

    id: str
    before: Turn
    begin: Callable[[], Awaitable[TurnReport]]
    spent: Callable[[], Usage]

    async def run(self, observe: Callable[[Event], None]) -> TurnReport:
        """
        Runs it once the turn before it has finished; never raises. If it does not start, its end is reported.
        """
        try:
            ended = await self.before.report()
            if ended.state is State.FINISHED:
                return await self.begin()
            stopped = ended.state is State.CANCELLED
            how = "was stopped" if stopped else STATE_WORDS.get(ended.state, ended.state)
            reason = (
                f"The previous turn {how}, so this one did not start. Send the message of this turn again."
            )
        except asyncio.CancelledError:
            reason = "It was stopped before it started."
        except HandrailError as error:  # another process has the session, or it cannot be written
            reason = f"It did not start: {error}"
        except Exception:  # our fault, which the log tells of
            logger.exception("Turn %s did not start.", self.id)
            reason = f"It did not start: {INTERNAL_ERROR}"
        observe(Ended(state=State.CANCELLED, reason=reason))
        return TurnReport(
            session=self.before.session,
            turn=self.id,
            state=State.CANCELLED,
            reason=reason,
            answer="",
            outcomes=(),
            checkpoint=None,
            usage=Usage(),
            session_usage=self.spent(),
        )
