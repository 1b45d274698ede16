"""What an answer to a question that has ended is told."""

from __future__ import annotations

import pytest

from handrail.agent.questions import NotOpenError, OpenQuestion, Questions
from handrail.core.ledger.report import QuestionEnd
from handrail.ports import ALLOW, DENY, Kind, Question


class Late:
    """A clock by which every question has timed out at once."""

    def now(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("no time is left")


class Unseen:
    """A surface that shows nothing."""

    def begin(self, asked: OpenQuestion) -> None: ...

    def remind(self, asked: OpenQuestion) -> None: ...

    def end(self, asked: OpenQuestion, end: QuestionEnd, choice: str | None) -> None: ...


@pytest.mark.parametrize(("kind", "choices"), [(Kind.TOOL, (DENY, ALLOW)), (Kind.QUESTION, (DENY, "red"))])
async def test_of_a_question_that_timed_out_no_answer_is_claimed(
    kind: Kind, choices: tuple[str, ...]
) -> None:
    """The model's own question has then no answer, and not a no."""
    questions = Questions(clock=Late(), timeout_s=lambda: 0.0, surface=Unseen())
    question = Question(id="q-1", turn="t-1", call="c", tool="x", subject="y", kind=kind, choices=choices)
    assert await questions.ask(question) is None
    with pytest.raises(NotOpenError, match=r"^Question 'q-1' has timed out\.$"):
        questions.answer("q-1", choices[1])
