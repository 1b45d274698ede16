"""
The agent's loop: ask the model, decide what its answer means, run its tools, until the turn has ended.

Every decision is a pure function of the core; this module only does what they say.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import assert_never

from handrail.agent import compaction
from handrail.agent.executor import Executor
from handrail.agent.session import Session
from handrail.agent.tools import TOOLS
from handrail.core import guard, recover
from handrail.core.compact import Facts
from handrail.core.message import Response, Thought, named
from handrail.core.recover import Compact, Continue, Finish, GiveUp, RunTools
from handrail.core.report import Compacted, Retried, TextDelta, ThoughtDelta
from handrail.ports import ALLOW, ProviderDown, ProviderError, Question

LIMIT_STEPS = 100

OFFERS = tuple(tool.offer for tool in TOOLS.values())


async def run_turn(
    session: Session, executor: Executor, keep: Callable[[Session], None], facts: Callable[[], Facts]
) -> Finish | GiveUp:
    """
    Run a turn to its end.

    Args:
        session: With the user's message as its last one.
        executor: Runs the calls of this turn.
        keep: Told the session after every step, so that nothing is lost if the turn is cancelled.
        facts: What a summary of the conversation must not lose.

    Returns:
        How it ended. Raises HandrailError, CancelledError.
    """
    for number in range(1, LIMIT_STEPS + 1):
        session = await _fitted(session, executor, facts(), full=False) or session
        response = await _complete(session, executor)
        offered = frozenset(offer.name for offer in session.offered)
        decision = recover.decide(response, session.streak, session.text, offered)
        session = session.after(response, decision, OFFERS)
        keep(session)
        executor.observe(session.usage)
        match decision:
            case Finish() | GiveUp():
                return decision
            case RunTools(calls=calls):
                results = await executor.execute(calls, number)
                session = session.with_results(calls, results, executor.touched)
                keep(session)
                if (circle := guard.check(session.trail)) is not None:
                    if not await _may_go_on(session, executor, circle):
                        return GiveUp(reason=circle.detail, answer=session.text)
                    session = replace(session, trail=session.trail.lifted())
            case Compact():
                fitted = await _fitted(session, executor, facts(), full=True)
                if fitted is None:
                    return GiveUp(reason=_FULL, answer=session.text)
                session = fitted
                keep(session)
            case Continue():
                pass
            case _:
                assert_never(decision)
    return GiveUp(reason=f"The turn reached its limit of {LIMIT_STEPS} steps.", answer=session.text)


_FULL = "The conversation does not fit into the model's context, and nothing in it can be left out."


async def _complete(session: Session, executor: Executor) -> Response:
    """The model's answer; a step whose provider fails is begun anew, and the user sees that."""
    attempt = 0
    while True:
        try:
            response = await _asked(session, executor)
        except ProviderDown as error:
            attempt += 1
            again = recover.retry(attempt, error.wait_s)
            if again is None:
                raise
            executor.observe(Retried(reason=str(error), in_s=again.in_s))
            await executor.ports.pause(again.in_s)
        else:
            return replace(response, calls=named(response.calls, session.call_ids))


async def _asked(session: Session, executor: Executor) -> Response:
    async with aclosing(executor.ports.provider.complete(session.messages, session.offered)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Response):
                return piece
            thought = isinstance(piece, Thought)
            executor.observe(ThoughtDelta(delta=piece.text) if thought else TextDelta(delta=piece.text))
    raise ProviderError("The model's answer ended before it was complete. Nothing of it was run.")


async def _may_go_on(session: Session, executor: Executor, circle: guard.Circle) -> bool:
    """Whether the user lets a turn go on that seems to go in circles."""
    if session.trail.asked >= guard.LIMIT_QUESTIONS:
        return False
    question = Question(
        turn=executor.step.turn, call="", tool="handrail", subject=circle.subject, detail=circle.detail
    )
    return await executor.ports.approver.ask(question) == ALLOW


async def _fitted(session: Session, executor: Executor, facts: Facts, *, full: bool) -> Session | None:
    fitted = await compaction.fit(session, executor.ports, facts, full=full)
    if fitted is None:
        return None
    executor.observe(Compacted(before=fitted.before, after=fitted.after))
    return fitted.session
