"""Lists what the user's checks find, for the tool `problems`, if the editor does not pass on diagnostics."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from handrail.agent.turn.feedback.checker import Checker
from handrail.core.ledger.problems import Problem
from handrail.ports.languages import PROBLEMS, Languages, Report, Spots, Target, Unknown, Unwatched
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Languages port that gets problems from checks, and everything else from another port."""

    inner: Languages
    checkers: Sequence[Checker]

    @property
    def offers(self) -> frozenset[str]:
        """Returns what the other port offers, and problems."""
        return self.inner.offers | {PROBLEMS}

    async def problems(
        self, uris: Sequence[str], wait_s: float, others: Sequence[str] = ()
    ) -> Mapping[str, Report | Unwatched | Unknown]:
        """Returns the problems that all checks find in the current documents."""
        answers = await asyncio.gather(*(each.problems(uris, wait_s) for each in self.checkers))
        return {uri: _join([each[uri] for each in answers]) for uri in uris}

    async def known_problems(self) -> Mapping[str, tuple[Problem, ...]]:
        """Returns the latest problems that checks found in each document of this turn."""
        result: dict[str, tuple[Problem, ...]] = {}
        for checker in self.checkers:
            for uri, problems in checker.latest().items():
                result[uri] = (*result.get(uri, ()), *problems)
        return result

    async def spots(self, tool: str, target: Target, wait_s: float) -> Spots | Unwatched | None:
        """Returns where a name is defined or used."""
        return await self.inner.spots(tool, target, wait_s)

    async def symbols(self, uri: str, query: str, wait_s: float) -> Spots | Unwatched | None:
        """Lists what a document defines, or what all define."""
        return await self.inner.symbols(uri, query, wait_s)


def _join(answers: Sequence[Report | Unwatched | Unknown]) -> Report | Unwatched:
    """Joins the reports of several checks on a document."""
    reports = [each for each in answers if isinstance(each, Report)]
    missing = tuple(f"Unknown: {each.why}" for each in answers if isinstance(each, Unknown))
    if not reports and not missing:
        return Unwatched()
    text = reports[0].text if reports else ""
    found = tuple(problem for each in reports for problem in each.problems)
    return Report(text=text, problems=found, missing=missing)
