"""
The calls of one step that wait for the user. Each has a question of its own, and continues when it is
answered.
"""

from __future__ import annotations

import asyncio
from asyncio import FIRST_COMPLETED
from collections.abc import Callable, Collection, Sequence

from handrail.agent.tools.call import UserQuestion
from handrail.agent.turn.approvals import Approvals
from handrail.agent.turn.resolve import Ready
from handrail.core.conversation.message import ToolCall
from handrail.core.failure import Failure
from handrail.core.ledger.outcome import Mutation
from handrail.core.policy import verdict
from handrail.core.policy.verdict import Allow, Ask
from handrail.values import dataclass, field

Answer = str | Failure | None  # the answer to the model's own question; why a call may not run; it may


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCall:
    """A call that may run if the user allows it."""

    ready: Ready
    ask: Ask


GRACE_S = 0.5  # so soon only programs answer; people are not waited for before what only reads goes on


@dataclass(kw_only=True)
class Asking:
    """
    The questions of one step, by the index of their call.

    Of several identical questions only one is asked at a time: a no, or a lasting yes, answers the others
    too.

    Attributes:
        mutation: Returns the pattern of a call's mutations.
    """

    approvals: Approvals
    mutation: Callable[[ToolCall], Mutation]
    _asked: dict[int, AskedCall] = field(default_factory=dict)
    _tasks: dict[int, asyncio.Task[Answer]] = field(default_factory=dict)

    @property
    def open(self) -> Collection[int]:
        """The calls that wait for an answer."""
        return self._asked.keys() | self._tasks.keys()

    def ask(self, index: int, asked: AskedCall) -> None:
        """Asks whether a call may run."""
        self._asked[index] = asked
        self._go_on()

    def inquire(self, index: int, ready: Ready, inquiry: UserQuestion) -> None:
        """Asks the model's own question."""

        async def ask_user() -> Answer:
            return await self.approvals.inquire(ready, inquiry)

        self._tasks[index] = asyncio.create_task(ask_user())

    async def is_answered(self, batch: Sequence[int]) -> bool:
        """Whether the answer comes so soon that a *batch* of later calls need not run before it."""
        if not any(index < max(batch) for index in self.open):
            return False
        done, _ = await asyncio.wait(self._tasks.values(), timeout=GRACE_S, return_when=FIRST_COMPLETED)
        return bool(done)

    async def next(self) -> tuple[int, Answer]:
        """Waits until a question is answered; withdraws questions that are no longer needed."""
        await asyncio.wait(self._tasks.values(), return_when=FIRST_COMPLETED)
        index = next(index for index, task in self._tasks.items() if task.done())
        answer = self._tasks.pop(index).result()
        asked = self._asked.pop(index, None)
        if answer is None:
            await self._reconsider()
        elif asked is not None:
            self._answer_alike(asked, answer)
        self._go_on()
        return index, answer

    async def withdraw(self) -> None:
        """Withdraws all questions."""
        for index in list(self.open):
            await self._withdraw(index)

    def _answer_alike(self, asked: AskedCall, answer: Answer) -> None:
        """Gives a no to the identical questions of this step that have not been asked yet."""

        async def repeat() -> Answer:
            return answer

        for index, each in self._asked.items():
            if index not in self._tasks and each.ask.grants == asked.ask.grants:
                self._tasks[index] = asyncio.create_task(repeat())

    async def _reconsider(self) -> None:
        """Withdraws questions that are no longer needed after the answer to another one."""
        rights = await self.approvals.rights()
        for index, asked in list(self._asked.items()):
            is_answered = index in self._tasks and self._tasks[index].done()
            if isinstance(verdict.verdict(asked.ready.request, rights), Allow) and not is_answered:
                await self._withdraw(index)

    def _go_on(self) -> None:
        """Asks each question that has not been asked yet, unless an identical one is open."""
        about = {self._asked[index].ask.grants for index in self._tasks if index in self._asked}
        for index, asked in self._asked.items():
            if index not in self._tasks and asked.ask.grants not in about:
                about.add(asked.ask.grants)
                self._tasks[index] = asyncio.create_task(self._refuses(asked))

    async def _refuses(self, asked: AskedCall) -> Answer:
        return await self.approvals.refuses(asked.ready, asked.ask, self.mutation(asked.ready.call))

    async def _withdraw(self, index: int) -> None:
        self._asked.pop(index, None)
        task = self._tasks.pop(index, None)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
