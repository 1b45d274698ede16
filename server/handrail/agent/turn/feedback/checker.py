"""
One of the user's checks, as a reporter: it runs on the text that documents have when a report is requested.

A run that does not finish in time continues. Its result counts only for the text that it was given: for the
current text if that is the same, or as the baseline for a later one. Of several unfinished runs of a
document, only the first and the last are useful; the others are stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

from handrail.agent.turn.feedback.running import Target, run
from handrail.core.ledger.problems import Problem
from handrail.core.policy.checks import Check
from handrail.core.policy.place import Place
from handrail.core.policy.verdict import is_read_unasked
from handrail.ports import Document, Ports
from handrail.ports.languages import LATE, Report, Unknown, Unwatched
from handrail.values import dataclass, field

LIMIT_RUNNING = 6  # runs at once; then the oldest are stopped
LIMIT_KEPT = 50  # remembered runs, each with its texts


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A run of the check, which may not have finished."""

    texts: Mapping[str, str]
    stop: asyncio.Event
    task: asyncio.Task[Mapping[str, tuple[Problem, ...] | Unknown]]

    def is_of(self, uri: str, text: str) -> bool:
        """Whether it reports, or will report, the problems of this text of a document."""
        if self.texts.get(uri) != text:
            return False
        if not self.task.done():
            return not self.stop.is_set()
        report = self.task.result()[uri]
        return not (isinstance(report, Unknown) and report.is_passing)


@dataclass(kw_only=True)
class Checker:
    """
    Runs a check for one turn.

    Attributes:
        stopped: Set when the turn is stopped.
        notice: Shows a message to the user.
    """

    check: Check
    ports: Ports
    stopped: asyncio.Event
    notice: Callable[[str], None]
    _runs: list[_Run] = field(default_factory=list)
    _out: Unknown | None = None
    _noticed: set[str] = field(default_factory=set)

    async def problems(
        self, uris: Sequence[str], wait_s: float, others: Sequence[str] = ()
    ) -> Mapping[str, Report | Unwatched | Unknown]:
        """Runs the check on the current texts of documents, but not on *others*; returns its reports."""
        targets = {uri: await self._target(uri) for uri in uris}
        wanted = [each for each in targets.values() if each is not None]
        if self._out is None:
            self._begin([each for each in wanted if self._run_of(each.uri, each.text) is None])
            begun = [self._latest_run(each) for each in wanted]
            await self._wait([each for each in begun if each is not None], wait_s)
        now = {uri: await self._target(uri) for uri, was in targets.items() if was is not None}
        return {
            uri: Unwatched() if was is None else self._report(was, now[uri]) for uri, was in targets.items()
        }

    def earlier(self, uri: str, text: str) -> tuple[Problem, ...] | None:
        """Returns the problems that the check found in an earlier text of a document, if they are known."""
        return self._known_problems(uri, text)

    def latest(self) -> Mapping[str, tuple[Problem, ...]]:
        """Returns the latest problems that the check found in each document."""
        done = (each.task.result() for each in self._runs if each.task.done())
        return {
            uri: result for results in done for uri, result in results.items() if isinstance(result, tuple)
        }

    async def close(self) -> None:
        """Ends what runs."""
        going_on = [each for each in self._runs if not each.task.done()]
        for each in going_on:
            each.stop.set()
        if going_on:
            await asyncio.wait([each.task for each in going_on])

    async def _target(self, uri: str) -> Target | None:
        """A document, if the check is for it and the model may read it: problems quote what is in it."""
        document = await self.ports.editor.read(uri)
        place = self.ports.workspace.resolve(uri)
        if not isinstance(document, Document) or not document.has_file or document.is_notebook:
            return None
        if not isinstance(place, Place) or not is_read_unasked(place, self.ports.rules()):
            return None
        root = next((each for each in self._roots() if place.uri.startswith(f"{each.uri}/")), None)
        if root is None:
            return None
        target = Target.of(document, place, root)
        return target if target is not None and self.check.is_for(target.path) else None

    def _roots(self) -> list[Place]:
        """The workspace folders, inner ones first."""
        resolved = (self.ports.workspace.resolve(each) for each in self.ports.terms.roots)
        return sorted((each for each in resolved if isinstance(each, Place)), key=lambda each: -len(each.uri))

    def _begin(self, targets: Iterable[Target]) -> None:
        """Begins to check documents, those of each workspace folder together."""
        ordered = sorted(targets, key=lambda each: each.root.uri)
        for _, group in groupby(ordered, key=lambda each: each.root.uri):
            members, stop = list(group), asyncio.Event()
            self._runs.append(
                _Run(
                    texts={each.uri: each.text for each in members},
                    stop=stop,
                    task=asyncio.create_task(run(self.check, members, self.ports, stop)),
                )
            )
        going_on = [each for each in self._runs if not each.task.done()]
        for each in going_on:
            if self._is_superseded(each) or each in going_on[:-LIMIT_RUNNING]:
                each.stop.set()
        done = [each for each in self._runs if each.task.done()]
        for each in done[: max(0, len(self._runs) - LIMIT_KEPT)]:
            self._runs.remove(each)

    def _is_superseded(self, run_: _Run) -> bool:
        """Whether each document of a run has been checked before, and again since."""
        of_each = [[each for each in self._runs if uri in each.texts] for uri in run_.texts]
        return all(runs[0] is not run_ and runs[-1] is not run_ for runs in of_each)

    async def _wait(self, runs: Sequence[_Run], wait_s: float) -> None:
        """Waits for runs, unless that takes too long or the turn is stopped."""
        tasks = {each.task for each in runs if not each.task.done()}
        if not tasks or wait_s <= 0 or self.stopped.is_set():
            return
        all_done = asyncio.ensure_future(asyncio.wait(tasks))
        ends = [
            asyncio.ensure_future(self.stopped.wait()),
            asyncio.ensure_future(self.ports.clock.sleep(wait_s)),
        ]
        try:
            await asyncio.wait([all_done, *ends], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (all_done, *ends):
                each.cancel()

    def _run_of(self, uri: str, text: str) -> _Run | None:
        return next((each for each in reversed(self._runs) if each.is_of(uri, text)), None)

    def _latest_run(self, target: Target) -> _Run | None:
        """The last run of a text, whatever it came to."""
        runs = (each for each in reversed(self._runs) if each.texts.get(target.uri) == target.text)
        return next(runs, None)

    def _known_problems(self, uri: str, text: str) -> tuple[Problem, ...] | None:
        """Returns the problems that the check found in a text of a document; None if they are unknown."""
        known = self._run_of(uri, text)
        report = known.task.result()[uri] if known is not None and known.task.done() else None
        return report if isinstance(report, tuple) else None

    def _report(self, was: Target, now: Target | None) -> Report | Unwatched | Unknown:
        """
        Returns the report on a document that had one text when it was requested, and may have another now.
        """
        if now is None:
            return Unwatched()
        if self._out is not None:
            return self._out
        if now.text != was.text:
            return LATE
        if (problems := self._known_problems(was.uri, was.text)) is not None:
            return Report(text=was.text, problems=problems)
        last = self._latest_run(was)
        why = last.task.result()[was.uri] if last is not None and last.task.done() else None
        if not isinstance(why, Unknown):
            return Unknown(why=f"The check `{self.check.program}` did not finish in time.")
        self._note(why)
        return why

    def _note(self, unknown: Unknown) -> None:
        """Tells the user once why a check says nothing; one that cannot be run is not tried again."""
        if unknown.is_final:
            self._out = unknown
        if unknown.why not in self._noticed:
            self._noticed.add(unknown.why)
            self.notice(f"handrail.checks: {unknown.why}")
