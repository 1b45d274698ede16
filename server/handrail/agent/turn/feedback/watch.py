"""
What one reporter says of a turn's edits: a baseline for each document, and what is new against it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from handrail.core.ledger import problems
from handrail.core.ledger.outcome import Mutation
from handrail.core.ledger.problems import Problem
from handrail.ports import Document
from handrail.ports.languages import Report, Unknown, Unwatched

LIMIT_DOCUMENTS = 20  # that are asked about at once


class Reporter(Protocol):
    """Knows the problems of documents."""

    async def problems(
        self, uris: Sequence[str], wait_s: float
    ) -> Mapping[str, Report | Unwatched | Unknown]:
        """The problems of documents as they are now, by URI, for each of them; waits *wait_s* at most."""
        ...

    def earlier(self, uri: str, text: str) -> tuple[Problem, ...] | None:
        """The problems that a document had when it held *text*, if they have become known since."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """
    What a reporter has to say after an edit.

    Attributes:
        ranked: The new problems by path, each with its distance to what changed.
        unknown: Why nothing is known, by path.
    """

    ranked: Mapping[str, tuple[tuple[int, Problem], ...]]
    unknown: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Baseline:
    """A document's text, and its problems then; None if they are not known."""

    uri: str
    text: str
    problems: tuple[Problem, ...] | None


@dataclass(kw_only=True)
class Watch:
    """What one reporter says of the documents that a turn edits."""

    reporter: Reporter
    _before: dict[str, _Baseline] = field(default_factory=dict)  # by identity
    _edited: dict[str, Mutation] = field(default_factory=dict)  # by identity, those to be asked about
    _is_over: bool = False

    def is_new(self, identity: str) -> bool:
        """Whether a document has no baseline yet, and needs one."""
        return not self._is_over and identity not in self._before

    @property
    def waits(self) -> bool:
        """Whether something may still be told of an edit."""
        return bool(self._edited)

    async def begin_edit(self, documents: Mapping[str, Document | None], wait_s: float) -> None:
        """These documents, by identity, are about to change; None for one that is not there."""
        new = {name: each for name, each in documents.items() if self.is_new(name)}
        uris = [each.uri for each in new.values() if each is not None]
        reports = await self.reporter.problems(uris[:LIMIT_DOCUMENTS], wait_s) if uris else {}
        for name, document in new.items():
            report = reports.get(document.uri) if document is not None else None
            if document is None:
                self._before[name] = _Baseline(uri="", text="", problems=())
            elif isinstance(report, Report):
                self._before[name] = _baseline(document.uri, report)
            else:
                text = document.text.content
                self._before[name] = _Baseline(uri=document.uri, text=text, problems=None)

    def note(self, mutation: Mutation) -> None:
        """A document has been edited."""
        if not self._is_over:
            self._edited[mutation.identity] = mutation

    async def news(self, wait_s: float) -> News:
        """What is new after the edits that were noted."""
        asked = list(self._edited.values())[-LIMIT_DOCUMENTS:]
        reports = await self.reporter.problems([each.uri for each in asked], wait_s) if asked else {}
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
        return News(ranked={path: found for path, found in ranked.items() if found}, unknown=unknown)

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
