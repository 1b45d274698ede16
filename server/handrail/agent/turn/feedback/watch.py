"""
Compares the reports of one reporter during a turn: a baseline for each document, and what is new since.

A change of one document can cause problems in others, such as where a function that was renamed is called. So
other open documents are compared too, if the reporter covers them. Late reports on them are passed on after
the next edit, or at the end of the turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from handrail.core.ledger import problems
from handrail.core.ledger.outcome import Mutation
from handrail.core.ledger.problems import Problem
from handrail.ports import Document
from handrail.ports.languages import Report, Unknown, Unwatched
from handrail.values import dataclass, field

LIMIT_DOCUMENTS = 20  # that are asked about at once
OTHERS = "other open documents"


class Reporter(Protocol):
    """Knows the problems of documents."""

    async def problems(
        self, uris: Sequence[str], wait_s: float, others: Sequence[str] = ()
    ) -> Mapping[str, Report | Unwatched | Unknown]:
        """
        Returns the current problems of each of *uris*; waits at most *wait_s*.

        Args:
            others: Documents to include if something is known about them.
        """
        ...

    def earlier(self, uri: str, text: str) -> tuple[Problem, ...] | None:
        """Returns the problems of an earlier *text* of a document, if they have become known since."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """
    The new problems that a reporter found after an edit.

    Attributes:
        ranked: The new problems by path, each with its distance to what changed.
        elsewhere: The new problems in documents that were not just edited, nearest documents first.
        unknown: Why problems are unknown, by path.
    """

    ranked: Mapping[str, tuple[tuple[int, Problem], ...]]
    elsewhere: Mapping[str, tuple[tuple[int, Problem], ...]]
    unknown: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """An open document that was not edited, with its identity and display name."""

    uri: str
    identity: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Baseline:
    """A document's earlier text and its problems; None if they are unknown."""

    uri: str
    text: str
    problems: tuple[Problem, ...] | None


async def _no_others() -> Sequence[Other]:
    return ()


@dataclass(kw_only=True)
class Watch:
    """
    Compares one reporter's problems in the documents that a turn edits.

    Attributes:
        others: The other open documents to compare, nearest first.
    """

    reporter: Reporter
    others: Callable[[], Awaitable[Sequence[Other]]] = _no_others
    _before: dict[str, _Baseline] = field(default_factory=dict)  # by identity
    _edited: dict[str, Mutation] = field(default_factory=dict)  # by identity, those to be asked about
    _is_over: bool = False
    _asks_others: bool = False  # others were reported, and may be reported again

    def is_new(self, identity: str) -> bool:
        """Whether a document has no baseline yet, and needs one."""
        return not self._is_over and identity not in self._before

    @property
    def waits(self) -> bool:
        """Whether there may still be news about an edit."""
        return bool(self._edited) or self._asks_others

    async def begin_edit(self, documents: Mapping[str, Document | None], wait_s: float) -> None:
        """Called before these documents, by identity, change; None for one that does not exist."""
        new = {name: each for name, each in documents.items() if self.is_new(name)}
        uris = [each.uri for each in new.values() if each is not None]
        others = [each for each in await self.others() if self.is_new(each.identity)]
        others = [each for each in others if each.identity not in documents]
        names = [each.uri for each in others]
        asks = bool(uris or names)
        reports = await self.reporter.problems(uris[:LIMIT_DOCUMENTS], wait_s, names) if asks else {}
        for name, document in new.items():
            report = reports.get(document.uri) if document is not None else None
            if document is None:
                self._before[name] = _Baseline(uri="", text="", problems=())
            elif isinstance(report, Report):
                self._before[name] = _baseline(document.uri, report)
            else:
                text = document.text.content
                self._before[name] = _Baseline(uri=document.uri, text=text, problems=None)
        for each in others:
            if isinstance(report := reports.get(each.uri), Report):
                self._before[each.identity] = _baseline(each.uri, report)

    def note(self, mutation: Mutation) -> None:
        """Called when a document has been edited."""
        if not self._is_over:
            self._edited[mutation.identity] = mutation

    async def news(self, wait_s: float) -> News:
        """Returns what is new after the noted edits."""
        asked = list(self._edited.values())[-LIMIT_DOCUMENTS:]
        others = [each for each in await self.others() if each.identity not in self._edited]
        uris, names = [each.uri for each in asked], [each.uri for each in others]
        asks = bool(asked or (names and self._asks_others))
        reports = await self.reporter.problems(uris, wait_s, names) if asks else {}
        ranked, unknown = dict[str, tuple[tuple[int, Problem], ...]](), dict[str, str]()
        for mutation in asked:
            match reports.get(mutation.uri):
                case Report() as report:
                    ranked[mutation.path] = await self._new(mutation, report)
                case Unknown(why=why, is_final=is_final):
                    unknown[mutation.path] = why
                    self._is_over = self._is_over or is_final
                case Unwatched() | None:
                    del self._edited[mutation.identity]
        if self._is_over:
            self._edited.clear()
        elsewhere = await self._compare_others(others, reports, unknown)
        return News(
            ranked={path: each_ranked for path, each_ranked in ranked.items() if each_ranked},
            elsewhere={path: each_ranked for path, each_ranked in elsewhere.items() if each_ranked},
            unknown=unknown,
        )

    async def _compare_others(
        self,
        others: Sequence[Other],
        reports: Mapping[str, Report | Unwatched | Unknown],
        unknown: dict[str, str],
    ) -> dict[str, tuple[tuple[int, Problem], ...]]:
        """Returns what is new in *others*; if that is unknown, *unknown* says why."""
        result = dict[str, tuple[tuple[int, Problem], ...]]()
        for each in others:
            match reports.get(each.uri):
                case Report() as report:
                    self._asks_others = True
                    was = self._before.get(each.identity)
                    self._before[each.identity] = _baseline(each.uri, report)
                    if was is not None and was.problems is not None and was.problems != report.problems:
                        result[each.path] = await asyncio.to_thread(_rank_other, was, report)
                case Unknown(why=why):
                    self._asks_others = True
                    unknown[OTHERS] = why
                case _:
                    pass
        return result

    async def _new(self, mutation: Mutation, report: Report) -> tuple[tuple[int, Problem], ...]:
        del self._edited[mutation.identity]
        was = self._before.get(mutation.identity)
        self._before[mutation.identity] = _baseline(mutation.uri, report)
        if was is None:
            was = _Baseline(uri="", text=report.text, problems=None)
        known = self.reporter.earlier(was.uri, was.text) if was.problems is None else was.problems
        return await asyncio.to_thread(problems.rank, known, was.text, report.problems, report.text)


def _baseline(uri: str, report: Report) -> _Baseline:
    return _Baseline(uri=uri, text=report.text, problems=report.problems)


def _rank_other(was: _Baseline, report: Report) -> tuple[tuple[int, Problem], ...]:
    """
    Ranks the new problems of a document that was not edited; leaves out those in lines that the user changed.
    """
    ranked = problems.rank(was.problems, was.text, report.problems, report.text)
    return ranked if was.text == report.text else tuple(each for each in ranked if each[0])
