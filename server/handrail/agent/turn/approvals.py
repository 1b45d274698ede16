"""
Ask the user: whether a call may run, or what the model wants to know.

Everything but one of the choices is no answer, and no answer allows nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from handrail.agent.tools.call import Inquiry
from handrail.core.conversation.message import ToolCall
from handrail.core.failure import Failure
from handrail.core.ledger.report import Asked, Event
from handrail.core.policy import verdict
from handrail.core.policy.verdict import Ask, Grant, Rights
from handrail.ports import ALLOW, ALWAYS, DENY, FOR_SESSION, Ports, Question

YES = (ALLOW, FOR_SESSION, ALWAYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """
    Where the questions of one turn are asked.

    Attributes:
        ports: The approver, what was allowed before, and the rules.
        granted: What the user has allowed in this session; grows with each such answer.
        observe: Told of question and answer.
    """

    turn: str
    ports: Ports
    granted: set[Grant]
    observe: Callable[[Event], None]

    async def rights(self) -> Rights:
        """What the user has set and allowed up to now."""
        return Rights(rules=self.ports.terms.rules, grants=await self.ports.grants.load() | self.granted)

    async def refuses(self, call: ToolCall, ask: Ask) -> Failure | None:
        """Why *call* may not run; None if the user lets it."""
        answer = await self._ask(self._question(call, ask.subject, ask.detail))
        if answer not in YES:
            return verdict.denied(ask, answered=answer is not None)
        if answer != ALLOW:
            self.granted.update(ask.grants)
        if answer == ALWAYS:
            await self.ports.grants.add(ask.grants)
        return None

    async def inquire(self, call: ToolCall, inquiry: Inquiry) -> str:
        """What the user answers, as the model reads it."""
        question = replace(self._question(call, inquiry.question, ""), choices=inquiry.choices)
        answer = await self._ask(question)
        if answer is None:
            return "The user did not answer. Take the most careful way, or end the turn with your question."
        return f"The user chose: {answer}"

    def _question(self, call: ToolCall, subject: str, detail: str) -> Question:
        return Question(turn=self.turn, call=call.id, tool=call.name, subject=subject, detail=detail)

    async def _ask(self, question: Question) -> str | None:
        self.observe(Asked(call=question.call, subject=question.subject))
        answer = await self.ports.approver.ask(question)
        answer = answer if answer in question.choices else None
        self.observe(Asked(call=question.call, subject=question.subject, choice=answer or DENY))
        return answer
