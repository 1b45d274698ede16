"""
The open questions of one server: asked by turns, shown on surfaces, answered once.

A question waits until one of its choices arrives from any surface, until it times out (a request for
permission then counts as a no), or until it is withdrawn. Anything other than a choice leaves it open,
because a question that could not be shown must not count as answered. Every surface is notified of the end,
so that no button remains.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from handrail.core.conversation.journal import Decided
from handrail.core.ledger.report import Asked, QuestionEnd
from handrail.ports import DENY, Clock, HandrailError, Question
from handrail.ports.questions import title_of
from handrail.values import dataclass, field

REMIND_S = 60.0  # how often surfaces are told the remaining time
KEPT = 1_000  # ended questions whose result is remembered


class NotOpenError(HandrailError):
    """A client named a question that is not open, or a choice that it does not offer."""


def how_it_ended(end: QuestionEnd, asked: Asked | Decided) -> str:
    """Returns how a question ended, as words that follow its subject."""
    choice = asked.choice or DENY
    match end:
        case QuestionEnd.ANSWERED if choice == DENY and not asked.asks_permission:
            return "was not answered"
        case QuestionEnd.ANSWERED:
            return f"was answered: {title_of(choice, could_last=asked.could_last)}"
        case QuestionEnd.TIMED_OUT if asked.asks_permission:
            return "was not answered in time, so the answer is no"
        case QuestionEnd.TIMED_OUT:
            return "was not answered in time, so the turn continued without an answer"
        case QuestionEnd.WITHDRAWN:
            return "was withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion:
    """An open question; both times are in seconds since 1970."""

    question: Question
    asked_at: float
    until: float

    @property
    def id(self) -> str:
        """The question's."""
        return self.question.id


class Surface(Protocol):
    """Shows questions."""

    def begin(self, asked: OpenQuestion) -> None:
        """Called when a question is asked."""
        ...

    def remind(self, asked: OpenQuestion) -> None:
        """Called regularly while it is open."""
        ...

    def end(self, asked: OpenQuestion, end: QuestionEnd, choice: str | None) -> None:
        """Called when it is no longer open."""
        ...


@dataclass(kw_only=True)
class Questions:
    """
    All questions; Approver port.

    Attributes:
        clock: The clock by which questions time out.
        timeout_s: Returns the time limit of a question, when it is asked.
        surface: Shows the questions.
    """

    clock: Clock
    timeout_s: Callable[[], float]
    surface: Surface
    _open: dict[str, OpenQuestion] = field(default_factory=dict)
    _answers: dict[str, asyncio.Future[str | None]] = field(default_factory=dict)
    _ended: dict[str, QuestionEnd] = field(default_factory=dict)

    @property
    def open(self) -> tuple[OpenQuestion, ...]:
        """Returns the open questions, oldest first."""
        return tuple(self._open.values())

    def seconds_left(self, asked: OpenQuestion) -> float:
        """Returns the remaining time of a question."""
        return max(asked.until - self.clock.now(), 0.0)

    def find(self, question: str) -> OpenQuestion:
        """Returns the open question with that id. Raises NotOpenError."""
        if question in self._open:
            return self._open[question]
        raise NotOpenError(_not_open(question, self._ended.get(question)))

    def answer(self, question: str, choice: str) -> None:
        """Answers an open question. Raises NotOpenError."""
        asked = self.find(question).question
        if not asked.takes(choice):
            choices = ", ".join(map(repr, asked.choices))
            raise NotOpenError(
                f"Question {question!r} cannot be answered with {choice!r}. Choose one of {choices}."
            )
        answer = self._answers[question]
        if answer.done():
            raise NotOpenError(_not_open(question, QuestionEnd.ANSWERED))
        answer.set_result(choice)

    def expire(self, question: str) -> None:
        """Lets a question time out, if it is still open, because no one can answer it."""
        answer = self._answers.get(question)
        if answer is not None and not answer.done():
            answer.set_result(None)

    async def ask(self, question: Question) -> str | None:
        """Asks and waits for the answer; None if there is none in time."""
        now = self.clock.now()
        asked = OpenQuestion(question=question, asked_at=now, until=now + self.timeout_s())
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._open[question.id], self._answers[question.id] = asked, answer
        timer = asyncio.create_task(self._count_down(asked, answer))
        end, choice = QuestionEnd.WITHDRAWN, None
        try:
            self.surface.begin(asked)
            choice = await answer
            end = QuestionEnd.ANSWERED if choice is not None else QuestionEnd.TIMED_OUT
            return choice
        finally:
            timer.cancel()
            del self._open[question.id], self._answers[question.id]
            self._ended[question.id] = end
            for oldest in list(self._ended)[:-KEPT]:
                del self._ended[oldest]
            self.surface.end(asked, end, choice)

    async def _count_down(self, asked: OpenQuestion, answer: asyncio.Future[str | None]) -> None:
        while (left := self.seconds_left(asked)) > 0:
            await self.clock.sleep(min(left, REMIND_S))
            self.surface.remind(asked)
        if not answer.done():
            answer.set_result(None)


def _not_open(question: str, end: QuestionEnd | None) -> str:
    match end:
        case None:
            return f"Question {question!r} is not open."
        case QuestionEnd.ANSWERED:
            return f"Question {question!r} has already been answered."
        case QuestionEnd.TIMED_OUT:
            return f"Question {question!r} has timed out."
        case QuestionEnd.WITHDRAWN:
            return f"Question {question!r} was withdrawn."
