"""The end of a turn: how it ended, and its report."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress

from handrail.agent.turn.executor import Executor
from handrail.agent.turn.session import Session
from handrail.core.ledger.report import Notice, State, TurnReport
from handrail.ports import HandrailError
from handrail.ports.errors import INTERNAL_ERROR
from handrail.ports.sessions import Sessions
from handrail.values import dataclass

NOT_STORED = (
    "This conversation could not be stored completely. Check the free space and the permissions of {folder}. "
)
IN_EDITOR = (
    "Then send another message in this conversation: that stores the rest too. If handrail ends before that, "
    "the rest is lost."
)
IN_TERMINAL = (
    "In `handrail chat`, your next message stores the rest too. `handrail run` ends now, so the rest is lost."
)
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The end of a turn: its state, the reason, and the model's answer."""

    state: State
    reason: str | None
    answer: str


def close(executor: Executor | None, session: Session, end: End) -> Session:
    """Returns the session of a turn that ends, well-formed and with what the turn has left unfinished."""
    if executor is None:
        return session.close(None)
    return session.close(executor.interrupted, executor.spoken if end.state is State.CANCELLED else "")


async def finish(executor: Executor, journals: Sessions) -> None:
    """Ends the work of a turn that has its answer; tells the user if the conversation is not stored."""
    await executor.end(asks=True)
    await journals.wait_until_written()
    if journals.lacks_entries(executor.step.session):
        way_on = IN_TERMINAL if executor.ports.terms.is_headless else IN_EDITOR
        told = NOT_STORED.format(folder=journals.folder) + way_on
        executor.observe(Notice(call="", text=told, is_warning=False))


async def report(executor: Executor | None, session: Session, turn: str, end: End) -> TurnReport:
    """
    Returns the report of a turn that ends. If the turn changed nothing, its checkpoint is removed first.
    """
    if executor is not None:
        await _to_its_end(_tidy(executor))
    return TurnReport(
        session=session.id,
        turn=turn,
        state=end.state,
        reason=end.reason,
        answer=end.answer or session.text,
        outcomes=tuple(executor.outcomes) if executor is not None else (),
        checkpoint=executor.checkpoint if executor is not None else None,
        usage=session.usage,
        session_usage=session.spent,
    )


async def _tidy(executor: Executor) -> None:
    await executor.feedback.close()
    await executor.end(asks=False)
    await executor.withdraw()
    await executor.ports.review.settle()


async def _to_its_end(work: Coroutine[None, None, None]) -> None:
    """Awaits *work*, even if the turn is stopped: it has ended already, and others wait for its report."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    task.result()


async def report_always(
    run: Callable[[], Awaitable[TurnReport]], now: Callable[[], Session], turn: str
) -> TurnReport:
    """
    Runs a turn and returns its report. If something raises, even while the turn ends, the report says that
    the turn failed: other turns wait for it, and its outcomes are asked for later.

    Args:
        now: Returns the session as it is when the turn has ended.
    """
    try:
        return await run()
    except HandrailError as error:
        reason = str(error)
    except Exception:  # our fault, which the log tells of
        logger.exception("Turn %s of session %s failed while it ended.", turn, now().id)
        reason = INTERNAL_ERROR
    return await report(None, now(), turn, End(state=State.FAILED, reason=reason, answer=""))
