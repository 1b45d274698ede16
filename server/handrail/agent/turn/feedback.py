"""
What the edits of a turn broke, as other programs see it: asked for before and after, told when it is new.

Before the first edit of a document its problems are noted, and after edits they are asked for again. What was
not there before is told to the model with the result of the edit. A document on which nothing was reported in
time is not known to be sound; it is asked about again with the next edit, and at the end of the turn.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from handrail.core.documents.change import Status
from handrail.core.ledger import problems
from handrail.core.ledger.outcome import Mutation, Outcome
from handrail.core.ledger.problems import Found, Problem
from handrail.core.policy.place import Place, is_asked
from handrail.ports import Document, Ports
from handrail.ports.languages import PROBLEMS, Report, Unwatched

LIMIT_S = 2.0  # of one answer of the model, all waiting together
BEFORE_S = 0.5  # of that, before an edit
LIMIT_DOCUMENTS = 20  # that are asked about at once
LIMIT_ROUNDS = 3  # so often a turn goes on because of what is told at its end


@dataclass(frozen=True, slots=True, kw_only=True)
class _Baseline:
    """A document's text, and its problems then; None if they are not known."""

    text: str
    problems: tuple[Problem, ...] | None


@dataclass(kw_only=True)
class Feedback:
    """
    The problems of the documents that a turn edits.

    Attributes:
        clock: Seconds, for limits.
    """

    ports: Ports
    clock: Callable[[], float] = time.monotonic
    _before: dict[str, _Baseline] = field(default_factory=dict)  # by identity
    _edited: dict[str, Mutation] = field(default_factory=dict)  # by identity, those to be asked about
    _deadline: float = 0.0
    _rounds: int = 0

    @property
    def _is_on(self) -> bool:
        return PROBLEMS in self.ports.languages.offers

    def begin_answer(self) -> None:
        """Another answer of the model is dealt with, for which there is time anew."""
        self._deadline = self.clock() + LIMIT_S

    @property
    def _left_s(self) -> float:
        return max(0.0, self._deadline - self.clock())

    async def before(self, places: Iterable[Place]) -> None:
        """The documents at these places are about to change."""
        new = {each.identity: each for each in places if each.identity not in self._before}
        if not new or not self._is_on:
            return
        found = await asyncio.gather(*(self.ports.editor.read(each.uri) for each in new.values()))
        documents = dict(zip(new, found, strict=True))
        there = {name: each.uri for name, each in documents.items() if isinstance(each, Document)}
        reports = await self._reports(list(there.values()), BEFORE_S)
        for identity, document in documents.items():
            report = reports.get(there.get(identity, ""))
            if isinstance(report, Report):
                self._before[identity] = _Baseline(text=report.text, problems=report.problems)
            elif isinstance(document, Document):
                self._before[identity] = _Baseline(text=document.text.content, problems=None)
            else:
                self._before[identity] = _Baseline(text="", problems=())

    async def after(self, outcomes: Sequence[Outcome]) -> str:
        """What the model is told of new problems, once edits have been made; empty if there is none."""
        self.note(outcomes)
        return await self._told()

    def note(self, outcomes: Sequence[Outcome]) -> None:
        """Edits have been made, and others follow at once."""
        for each in outcomes if self._is_on else ():
            if each.status is Status.LANDED and self._may_tell(each.mutation):
                self._edited[each.mutation.identity] = each.mutation

    def _may_tell(self, mutation: Mutation) -> bool:
        """Whether the model may read the document without a question: problems quote what is in it."""
        place = self.ports.workspace.resolve(mutation.uri)
        return isinstance(place, Place) and not is_asked(place, is_written=False)

    async def at_end(self) -> str:
        """What the model is told of edits that nothing was known of before; empty if there is nothing new."""
        if not self._edited or self._rounds >= LIMIT_ROUNDS:
            return ""
        self.begin_answer()
        text = await self._told(ends=True)
        self._rounds += bool(text)
        return text

    async def _told(self, *, ends: bool = False) -> str:
        asked = list(self._edited.values())[-LIMIT_DOCUMENTS:]
        reports = await self._reports([each.uri for each in asked], LIMIT_S)
        found, unknown = list[Found](), list[str]()
        for mutation in asked:
            match reports.get(mutation.uri):
                case Report() as report:
                    found.append(await self._new(mutation, report))
                case Unwatched():
                    del self._edited[mutation.identity]
                case None:
                    unknown.append(mutation.path)
        return problems.told([each for each in found if each.problems], () if ends else unknown)

    async def _new(self, mutation: Mutation, report: Report) -> Found:
        del self._edited[mutation.identity]
        was = self._before.get(mutation.identity) or _Baseline(text=report.text, problems=None)
        self._before[mutation.identity] = _Baseline(text=report.text, problems=report.problems)
        new = await asyncio.to_thread(problems.caused, was.problems, was.text, report.problems, report.text)
        return Found(path=mutation.path, problems=new)

    async def _reports(self, uris: Sequence[str], wait_s: float) -> Mapping[str, Report | Unwatched]:
        wait_s = min(wait_s, self._left_s)
        return await self.ports.languages.problems(uris[:LIMIT_DOCUMENTS], wait_s) if uris else {}
