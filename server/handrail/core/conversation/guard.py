"""
Notice that a turn goes in circles: the same calls with the same results, or one failure after another.

A call whose result changes is not a loop, however often it is made. The guard only decides that the user
should be asked; if the user lets the turn continue, counting starts again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from handrail.core.conversation.message import ToolCall, ToolMessage
from handrail.values import dataclass, replace

REPEATS = 3  # as often the same, and the next time would be the same as well (roo-comparison: three)
LONGEST_PERIOD = 4  # A/B/A/B and longer cycles, up to four different steps
LIMIT_FAILURES = 5  # steps in a row of which every call failed or was denied
LIMIT_QUESTIONS = 3  # as often a turn may be let go on; `--yes` must not mean for ever

Call = tuple[str, str, str]  # the tool, its arguments without regard to their order, and the result


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentSteps:
    """
    The last steps of a turn.

    Attributes:
        steps: The calls of each of the last steps.
        failures: How many steps in a row had nothing but calls that failed or were denied.
        asked: How often the user was asked in this turn.
    """

    steps: tuple[tuple[Call, ...], ...] = ()
    failures: int = 0
    asked: int = 0

    def add_calls(self, calls: Sequence[ToolCall], results: ToolMessage) -> RecentSteps:
        """The trail once these calls have run."""
        step = tuple(
            (call.name, _canonical(call.arguments), result.text)
            for call, result in zip(calls, results.results, strict=True)
        )
        failed = all(result.failure is not None for result in results.results)
        return replace(
            self,
            steps=(*self.steps, step)[-REPEATS * LONGEST_PERIOD :],
            failures=self.failures + 1 if failed else 0,
        )

    def allow_more(self) -> RecentSteps:
        """The trail once the user has said that the turn may go on."""
        return RecentSteps(asked=self.asked + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """A reason why the turn should not simply continue; `subject` in few words, `detail` as a sentence."""

    subject: str
    detail: str


def check(recent: RecentSteps) -> Concern | None:
    """Returns why the turn should not simply continue; None if it may."""
    for period in range(1, LONGEST_PERIOD + 1):
        if _repeats(recent.steps, period):
            names = ", ".join(dict.fromkeys(name for step in recent.steps[-period:] for name, _, _ in step))
            same = "the same step" if period == 1 else f"the same {period} steps"
            return Concern(
                subject=f"The model repeats itself: {names}",
                detail=f"The model took {same} {REPEATS} times with the same results.",
            )
    if recent.failures >= LIMIT_FAILURES:
        return Concern(
            subject="None of the model's calls succeeds",
            detail=f"No call of the last {recent.failures} steps succeeded. They failed or were denied.",
        )
    return None


def _repeats(steps: Sequence[tuple[Call, ...]], period: int) -> bool:
    wanted = period * REPEATS
    last = steps[-wanted:]
    return len(last) == wanted and all(last[at] == last[at - period] for at in range(period, wanted))


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments
