"""The questions that wait for the person, one after the other."""

import asyncio
from collections import deque
from collections.abc import Callable

from handrail.headless.question import Question


class QuestionQueue:
    """
    Questions in the order in which they came; the first one can be answered.

    Args:
        changed: Called when there is another first one, or none.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._open: deque[tuple[Question, asyncio.Future[str]]] = deque()

    @property
    def first(self) -> Question | None:
        """The one that can be answered."""
        return self._open[0][0] if self._open else None

    async def ask(self, question: Question) -> str:
        """Wait for the choice; when cancelled, the question is asked no longer."""
        answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        entry = (question, answered)
        self._open.append(entry)
        if len(self._open) == 1:
            self._changed()
        try:
            return await answered
        finally:
            was_first = self._open[0] is entry
            self._open.remove(entry)
            if was_first:
                self._changed()

    def answer(self, typed: str) -> bool:
        """Answer the first question; False if what was typed is not an answer to it."""
        question, answered = self._open[0]
        if not question.is_clear(typed):
            return False
        if not answered.done():
            answered.set_result(question.meant_choice(typed))
        return True
