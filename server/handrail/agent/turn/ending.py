"""The end of a turn: how it ended, and its report."""

from __future__ import annotations

from handrail.agent.turn.executor import Executor
from handrail.agent.turn.session import Session
from handrail.core.ledger.report import State, TurnReport
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The end of a turn: its state, the reason, and the model's answer."""

    state: State
    reason: str | None
    answer: str


async def report(executor: Executor | None, session: Session, turn: str, end: End) -> TurnReport:
    """
    Returns the report of a turn that ends. If the turn changed nothing, its checkpoint is removed first.
    """
    if executor is not None:
        await executor.feedback.close()
        await executor.end(asks=False)
        await executor.withdraw()
        await executor.ports.review.settle()
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
