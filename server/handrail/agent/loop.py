"""
The agent's loop: ask the model, decide what its answer means, run its tools, until the turn has ended.

Every decision is a pure function of the core; this module only does what they say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from handrail.agent.executor import Executor
from handrail.agent.session import Session
from handrail.agent.tools import TOOLS
from handrail.core import recover
from handrail.core.message import Delta, Response
from handrail.core.recover import Continue, Finish, GiveUp, RunTools
from handrail.core.report import Event, TextDelta
from handrail.ports import Ports, ProviderError

LIMIT_STEPS = 100

OFFERS = tuple(tool.offer for tool in TOOLS.values())


async def run_turn(session: Session, executor: Executor, keep: Callable[[Session], None]) -> Finish | GiveUp:
    """
    Run a turn to its end.

    Args:
        session: With the user's message as its last one.
        executor: Runs the calls of this turn.
        keep: Told the session after every step, so that nothing is lost if the turn is cancelled.

    Returns:
        How it ended. Raises HandrailError, CancelledError.
    """
    for number in range(1, LIMIT_STEPS + 1):
        response = await _complete(session, executor.ports, executor.observe)
        decision = recover.decide(response, session.streak, session.text)
        session = session.after(response, decision, OFFERS)
        keep(session)
        match decision:
            case Finish() | GiveUp():
                return decision
            case RunTools(calls=calls):
                session = session.with_results(await executor.execute(calls, number))
                keep(session)
            case Continue():
                pass
            case _:
                assert_never(decision)
    return GiveUp(reason=f"The turn reached its limit of {LIMIT_STEPS} steps.", answer=session.text)


async def _complete(session: Session, ports: Ports, observe: Callable[[Event], None]) -> Response:
    async for piece in ports.provider.complete(session.messages, session.offered):
        if isinstance(piece, Response):
            return piece
        assert isinstance(piece, Delta)
        observe(TextDelta(delta=piece.text))
    raise ProviderError("The model's answer ended before it was complete. Nothing of it was run.")
