"""
The agent's loop: ask the model, decide what its answer means, run its tools, until the turn has ended.

Every decision is a pure function of the core; this module only does what they say.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import assert_never

from handrail.agent.tools import CHANGING, TOOLS
from handrail.agent.turn import compaction
from handrail.agent.turn.executor import Executor
from handrail.agent.turn.session import Session
from handrail.core.conversation import as_text, guard, recover
from handrail.core.conversation.as_text import Written
from handrail.core.conversation.compact import Facts
from handrail.core.conversation.message import Response, SystemMessage, Thought, ToolOffer, named
from handrail.core.conversation.prompt import Mode
from handrail.core.conversation.recover import Compact, Continue, Finish, GiveUp, RunTools
from handrail.core.documents.change import Status
from handrail.core.ledger.report import Compacted, Notice, Retried, TextDelta, ThoughtDelta, Used
from handrail.ports import ProviderDown, ProviderError

LIMIT_STEPS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """
    What a turn is to keep to.

    Attributes:
        system: What the model is told before the conversation.
        offers: The tools that it may call.
        keep: Told the session after every step, so that nothing is lost; what follows waits for it.
        facts: What a summary of the conversation must not lose.
        steered: Takes what the user has said since it was last asked.
    """

    system: str
    offers: tuple[ToolOffer, ...]
    keep: Callable[[Session], Awaitable[None]]
    facts: Callable[[], Facts]
    steered: Callable[[], Sequence[str]]


def offers(mode: Mode) -> tuple[ToolOffer, ...]:
    """The tools that a model may call in *mode*."""
    names = [name for name in TOOLS if mode is Mode.EDIT or name not in CHANGING]
    return tuple(TOOLS[name].offer for name in names)


async def run_turn(session: Session, executor: Executor, wishes: Wishes) -> Finish | GiveUp:
    """
    Run a turn to its end.

    Args:
        session: With the user's message as its last one.
        executor: Runs the calls of this turn.
        wishes: What it is to keep to.

    Returns:
        How it ended. Raises HandrailError, CancelledError.
    """
    for number in range(1, LIMIT_STEPS + 1):
        session = session.steered(wishes.steered())
        session = await _fitted(session, executor, wishes.facts(), full=False) or session
        response = await _complete(session, executor, wishes.system)
        offered = frozenset(offer.name for offer in session.offered)
        decision = recover.decide(response, session.streak, session.since, offered)
        session = session.after(response, decision, wishes.offers)
        await wishes.keep(session)
        executor.observe(Used(step=response.usage, turn=session.usage))
        match decision:
            case Finish() | GiveUp():
                if isinstance(decision, GiveUp) or not (said := wishes.steered()):
                    return _ended(decision, session, executor)
                session = session.steered(said)
            case RunTools(calls=calls):
                results = await executor.execute(calls, number)
                session = session.with_results(calls, results, executor.touched)
                await wishes.keep(session)
                if (circle := guard.check(session.trail)) is not None:
                    if not await _may_go_on(session, executor, circle):
                        return GiveUp(reason=circle.detail, answer=session.text)
                    session = replace(session, trail=session.trail.lifted())
            case Compact():
                fitted = await _fitted(session, executor, wishes.facts(), full=True)
                if fitted is None:
                    return GiveUp(reason=_FULL, answer=session.text)
                session = fitted
                await wishes.keep(session)
            case Continue():
                pass
            case _:
                assert_never(decision)
    return GiveUp(reason=f"The turn reached its limit of {LIMIT_STEPS} steps.", answer=session.text)


_FULL = "The conversation does not fit into the model's context, and nothing in it can be left out."


async def _complete(session: Session, executor: Executor, system: str) -> Response:
    """The model's answer; a step whose provider fails is begun anew, and the user sees that."""
    attempt = 0
    while True:
        try:
            response = await _asked(session, executor, system)
        except ProviderDown as error:
            attempt += 1
            again = recover.retry(attempt, error.wait_s)
            if again is None:
                raise ProviderError(recover.given_up(str(error), attempt, error.wait_s)) from error
            executor.observe(Retried(reason=str(error), in_s=again.in_s))
            await executor.ports.pause(again.in_s)
        else:
            return _readable(response, session, executor)


def _readable(response: Response, session: Session, executor: Executor) -> Response:
    """*response* with the calls that it has as text, and with sound ids; the user is told of the former."""
    has_edited = any(not call.startswith(as_text.PREFIX) for call in _made(executor))
    before = Written(calls=session.calls, has_edited=has_edited)
    offered = frozenset(offer.name for offer in session.offered)
    read = as_text.with_calls(response, offered, before)
    calls = named(read.calls, session.call_ids)
    if read is not response:
        count = "a call" if len(calls) == 1 else f"{len(calls)} calls"
        executor.observe(Notice(call=calls[0].id, text=f"The model wrote {count} as text.", is_warning=False))
    return replace(read, calls=calls)


def _ended(decision: Finish | GiveUp, session: Session, executor: Executor) -> Finish | GiveUp:
    """*decision*; the user is told if the turn has finished, but has changed nothing that it was to change."""
    if isinstance(decision, Finish):
        vain = session.tried if not (session.done or _made(executor)) else 0
        count = "the call that was" if vain == 1 else f"the {vain} calls that were"
        nothing = f"Nothing was changed in this turn: {count} to do so failed or did not run." if vain else ""
        for remark in filter(None, (decision.remark, nothing)):
            executor.observe(Notice(call="", text=remark, is_warning=False))
    return decision


def _made(executor: Executor) -> list[str]:
    """The calls of this turn by which documents were changed, or which they were ahead of."""
    is_there = (Status.LANDED, Status.ALREADY)
    return [each.mutation.call for each in executor.outcomes if each.status in is_there]


async def _asked(session: Session, executor: Executor, system: str) -> Response:
    messages = (SystemMessage(text=system), *session.messages)
    async with aclosing(executor.ports.provider.complete(messages, session.offered)) as pieces:
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
    return await executor.approvals.goes_on(circle.subject, circle.detail)


async def _fitted(session: Session, executor: Executor, facts: Facts, *, full: bool) -> Session | None:
    fitted = await compaction.fit(session, executor.ports, facts, full=full)
    if fitted is None:
        return None
    executor.observe(Compacted(before=fitted.before, after=fitted.after))
    return fitted.session
