"""
Find the problems that the edits of a turn caused, by comparing reports before and after.

The editor's language servers report them if its client passes that on; otherwise the user's own checks do.
The problems of a document are noted before its first edit, and requested again after edits. The model is told
about new ones with the result of the edit. If there is no report on a document in time, its problems are
unknown; they are requested again with the next edit, and at the end of the turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile

from handrail.agent.turn.feedback.checker import Checker
from handrail.agent.turn.feedback.listing import Listing
from handrail.agent.turn.feedback.watch import News, Other, Watch
from handrail.core.documents.change import Status
from handrail.core.ledger import problems
from handrail.core.ledger.outcome import Mutation, Outcome
from handrail.core.ledger.problems import DocumentProblems, Problem
from handrail.core.ledger.report import Event, Notice
from handrail.core.policy.place import Place
from handrail.core.policy.verdict import is_read_unasked
from handrail.core.results import redact
from handrail.ports import Document, Ports
from handrail.ports.languages import LATE, PROBLEMS, Languages, Report, Unknown, Unwatched
from handrail.values import dataclass, field

LIMIT_S = 2.0  # total waiting time for one answer of the model
BEFORE_S = 0.5  # of that, before an edit
LIMIT_CHECKED = 100  # open documents that are considered
LIMIT_OTHERS = 40  # of them, those that are asked about
LIMIT_NEAR = 20  # folders of edited documents, the latest
LIMIT_CONTINUATIONS = 3  # how often a turn continues because of what is reported at its end


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """Reports the diagnostics of the editor's language servers."""

    ports: Ports

    async def problems(
        self, uris: Sequence[str], wait_s: float, others: Sequence[str] = ()
    ) -> Mapping[str, Report | Unwatched | Unknown]:
        """Returns the current problems of documents."""
        found = await self.ports.languages.problems(uris, wait_s, others)
        return dict.fromkeys(uris, LATE) | dict(found)

    def earlier(self, uri: str, text: str) -> tuple[Problem, ...] | None:
        """Returns nothing: language servers report only on the current text."""
        return None


@dataclass
class Feedback:
    """
    The problems of the documents that a turn edits.

    Attributes:
        stopped: Set when the turn is stopped; then nothing waits any longer.
        observe: Called with notices for the user.
    """

    ports: Ports
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    observe: Callable[[Event], None] = lambda event: None
    _deadline: float = 0.0
    _continuations: int = 0
    _paths: dict[str, None] = field(default_factory=dict)  # of what was edited

    def __post_init__(self) -> None:
        self._has_bridge = PROBLEMS in self.ports.languages.offers
        self._checkers = (
            ()
            if self._has_bridge
            else tuple(
                Checker(check=each, ports=self.ports, stopped=self.stopped, notice=self._notice)
                for each in self.ports.terms.checks
            )
        )
        if self._has_bridge:
            self._watches = [Watch(reporter=Bridge(ports=self.ports), others=self._others)]
        else:
            self._watches = [Watch(reporter=each) for each in self._checkers]

    @property
    def languages(self) -> Languages:
        """The port that the tools of the turn use: the editor's language servers, or the user's checks."""
        inner = self.ports.languages
        return Listing(inner=inner, checkers=self._checkers) if self._checkers else inner

    def begin_answer(self) -> None:
        """Called for each answer of the model: resets the waiting time."""
        self._deadline = self.ports.clock.now() + LIMIT_S

    @property
    def _left_s(self) -> float:
        return min(LIMIT_S, max(0.0, self._deadline - self.ports.clock.now()))

    async def begin_edit(self, places: Iterable[Place]) -> None:
        """Called before the documents at these places change."""
        new = {each.identity: each for each in places}
        self._paths |= dict.fromkeys(each.path for each in new.values())
        new = {name: each for name, each in new.items() if any(w.is_new(name) for w in self._watches)}
        if not new:
            return
        documents = await asyncio.gather(*(self.ports.editor.read(each.uri) for each in new.values()))
        there = {
            name: each if isinstance(each, Document) else None
            for name, each in zip(new, documents, strict=True)
        }
        wait_s = min(BEFORE_S, self._left_s)
        await asyncio.gather(*(each.begin_edit(there, wait_s) for each in self._watches))

    async def report_new(self, outcomes: Sequence[Outcome]) -> str:
        """Returns the text about new problems for the model after edits; empty if there are none."""
        self.note(outcomes)
        return await self._report()

    def note(self, outcomes: Sequence[Outcome]) -> None:
        """Called when edits have been made and others follow at once."""
        for each in outcomes if self._watches else ():
            if each.status is Status.LANDED and self._may_tell(each.mutation):
                for watch in self._watches:
                    watch.note(each.mutation)

    def _may_tell(self, mutation: Mutation) -> bool:
        """Whether the model may read the document without a question, since problems quote its text."""
        place = self.ports.workspace.resolve(mutation.uri)
        return isinstance(place, Place) and is_read_unasked(place, self.ports.rules())

    async def _others(self) -> Sequence[Other]:
        """Returns the open documents that the model may read, those nearest to the edits first."""
        result = dict[str, Other]()
        for document in (await self.ports.editor.open_documents())[:LIMIT_CHECKED]:
            place = self.ports.workspace.resolve(document.uri)
            if isinstance(place, Place) and is_read_unasked(place, self.ports.rules()):
                other = Other(uri=document.uri, identity=place.identity, path=place.path)
                result.setdefault(place.identity, other)
        near = [each.rpartition("/")[0] for each in self._paths]
        nearest = sorted(result.values(), key=lambda each: (_steps(each.path, near), each.path))
        return nearest[:LIMIT_OTHERS]

    async def at_end(self) -> str:
        """Returns the text about edits whose problems were unknown before; empty if there is nothing new."""
        if self._continuations >= LIMIT_CONTINUATIONS or not any(each.waits for each in self._watches):
            return ""
        self.begin_answer()
        text = await self._report(ends=True)
        self._continuations += bool(text)
        return text

    def _notice(self, text: str) -> None:
        self.observe(Notice(call="", text=redact.redact(text, self.ports.secrets()), is_warning=False))

    async def close(self) -> None:
        """Called when the turn has ended: stops everything that runs for it."""
        await asyncio.gather(*(each.close() for each in self._checkers))

    async def _report(self, *, ends: bool = False) -> str:
        wait_s = self._left_s
        news = await asyncio.gather(*(each.news(wait_s) for each in self._watches))
        text = problems.report_new(_merge_news(news), {} if ends else _unknown(news))
        return redact.redact(text, self.ports.secrets())


def _merge_news(news: Sequence[News]) -> list[DocumentProblems]:
    """Merges the new problems of all reporters by document, nearest to the edit first."""
    return [*_merge([each.ranked for each in news]), *_merge([each.elsewhere for each in news])]


def _merge(news: Sequence[Mapping[str, tuple[tuple[int, Problem], ...]]]) -> list[DocumentProblems]:
    ranked: dict[str, list[tuple[int, Problem]]] = {}
    for each in news:
        for path, listed in each.items():
            ranked.setdefault(path, []).extend(listed)
    return [
        DocumentProblems(path=path, problems=tuple(problem for _, problem in sorted(problems, key=_nearness)))
        for path, problems in ranked.items()
    ]


def _steps(path: str, folders: Sequence[str]) -> int:
    """Counts the folders between a document and the nearest of *folders*."""
    own = path.split("/")[:-1]
    steps = []
    for folder in folders[-LIMIT_NEAR:]:
        other = folder.split("/") if folder else []
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(own, other, strict=False)))
        steps.append(len(own) + len(other) - 2 * shared)
    return min(steps, default=0)


def _nearness(ranked: tuple[int, Problem]) -> tuple[int, int]:
    distance, problem = ranked
    return distance, problem.line


def _unknown(news: Sequence[News]) -> dict[str, list[str]]:
    """Groups documents with unknown problems by the reason."""
    result: dict[str, list[str]] = {}
    for each in news:
        for path, why in each.unknown.items():
            result.setdefault(why, []).append(path)
    return result
