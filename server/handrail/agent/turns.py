"""
Running and ended turns, and corrections of their outcomes.

An editor may show an edit after the turn has reported that it did not land. The turn's report then has the
later outcome, and the model is told about it before its next step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from handrail.core.documents.change import Status
from handrail.core.documents.reading_back.agent_text import AgentText
from handrail.core.ledger.outcome import COPIES, Outcome
from handrail.core.ledger.report import TurnReport
from handrail.ports import HandrailError, Ports, Provider
from handrail.ports.removals import Removals
from handrail.values import dataclass, field, replace

KEPT_TURNS = 100  # ended turns whose report is kept; a report has whole documents


class UnknownId(HandrailError):
    """A client named an unknown session, turn or failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """
    A running or ended turn.

    Attributes:
        task: Ends with its report and never raises.
        began: The order of the last step of any turn before it.
        late: Outcomes that replace those of the report, by id.
    """

    session: str
    id: str
    task: asyncio.Task[TurnReport]
    began: int = 0
    late: dict[str, Outcome] = field(default_factory=dict)

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The outcomes of its edits, as known now; empty until the turn has ended."""
        if not self.task.done() or self.task.cancelled():
            return ()
        return tuple(self.late.get(each.mutation.id, each) for each in self.task.result().outcomes)

    async def report(self) -> TurnReport:
        """Returns the turn's current report, once the turn has ended."""
        report = await asyncio.shield(self.task)
        outcomes = self.outcomes
        landed = any(each.status is Status.LANDED for each in self.late.values())
        return replace(
            report, outcomes=outcomes, checkpoint=report.checkpoint or (self.id if landed else None)
        )


class Turns(dict[str, Turn]):
    """
    The running, waiting and ended turns of one server, by id.

    Attributes:
        removals: The prompts in documents that turns answer.
        agent_texts: What edits have made of open documents since their last save, by URI.
        providers: The provider for a turn that has not started yet, if not the chosen model.
    """

    def __init__(self) -> None:
        super().__init__()
        self.removals = Removals()
        self.agent_texts: dict[str, AgentText] = {}
        self.providers: dict[str, Provider] = {}

    def share(self, ports: Ports) -> Ports:
        """Returns the ports with what all turns share."""
        return replace(ports, removals=self.removals, agent_texts=self.agent_texts)

    def ports_of(self, turn: str, ports: Ports) -> Ports:
        """Returns the ports with which a turn starts."""
        own = self.providers.pop(turn, None)
        return ports if own is None else replace(ports, provider=own)

    def find(self, turn: str) -> Turn:
        """Returns the turn with that id. Raises UnknownId."""
        if turn not in self:
            kept = f"of the turns that ended, only the last {KEPT_TURNS} are kept"
            raise UnknownId(f"This server has no turn {turn!r}; {kept}.")
        return self[turn]

    @property
    def running(self) -> list[Turn]:
        """The turns that have not ended, in the order in which they start."""
        return [turn for turn in self.values() if not turn.task.done()]

    def running_turns(self, session: str | None) -> list[Turn]:
        """Returns those of a session."""
        return [turn for turn in self.running if turn.session == session]

    def keep(self, turn: Turn) -> Turn:
        """Keeps a turn and, once it has ended, its report, until it is too old."""
        turn.task.add_done_callback(lambda _: self._forget(turn.id))
        self[turn.id] = turn
        return turn

    def _forget(self, ended: str) -> None:
        """Keeps the report of the turn that has just *ended*, and a limited number of earlier ones."""
        self.removals.on_end(ended)
        self[ended] = self.pop(ended)
        done = [turn.id for turn in self.values() if turn.task.done()]
        for turn in done[:-KEPT_TURNS]:
            del self[turn]


def corrections(outcomes: Sequence[Outcome]) -> list[str]:
    """Returns the text for the model about outcomes that replace earlier ones."""
    texts = []
    for each in outcomes:
        if copies := COPIES.intersection(each.notes):
            texts += [f"About the edit of {each.name}: {note}" for note in copies]
            continue
        has_landed = each.status is Status.LANDED
        now = "did land after all" if has_landed else "is not in the document after all"
        texts.append(f"Correction: the edit of {each.name} was reported wrongly: it {now}.")
    return texts


async def stop(turns: Sequence[Turn]) -> None:
    """Stops turns at once, and waits until nothing is being edited."""
    await asyncio.sleep(0)  # a task that has not begun would be cancelled without its end
    running = [turn.task for turn in turns if not turn.task.done()]
    for task in running:
        if not task.cancelling():  # a second one would interrupt what the first one waits for
            task.cancel()
    if running:
        await asyncio.wait(running)
