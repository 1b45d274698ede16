"""
Ask the user: whether a call may run, or what the model wants to know.

Everything but one of the choices is no answer, and no answer allows nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from handrail.agent.tools.call import Inquiry
from handrail.core.message import ToolCall
from handrail.core.policy import Ask
from handrail.core.report import Asked, Event
from handrail.ports import ALLOW, DENY, Approver, Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where the questions of one turn are asked; `observe` is told of question and answer."""

    turn: str
    approver: Approver
    observe: Callable[[Event], None]

    async def allows(self, call: ToolCall, ask: Ask) -> bool:
        """Whether the user lets *call* run."""
        answer = await self._ask(self._question(call, ask.subject, ask.detail))
        return answer == ALLOW

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
        answer = await self.approver.ask(question)
        answer = answer if answer in question.choices else None
        self.observe(Asked(call=question.call, subject=question.subject, choice=answer or DENY))
        return answer
