"""
What to do with a model's response: finish, run its tools, go on with a nudge, or give up.

One pure decision; the streak counts what went wrong in a row. A tool call that was cut off by the token
limit is never run.
"""

from __future__ import annotations

from dataclasses import dataclass

from handrail.core.message import Response, StopReason, ToolCall

CUT_LIMIT = 3  # as many cut answers in a row, and tools are withheld for the next call (agent-resilience)
EMPTY_LIMIT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Streak:
    """What went wrong in a row: answers cut off, and answers without text or calls."""

    cut: int = 0
    empty: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """The turn has its answer."""

    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTools:
    """Run these calls, then go on."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Continue:
    """Ask again with *nudge*; with tools withheld if `without_tools`."""

    nudge: str
    streak: Streak
    without_tools: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """End the turn as stopped; `answer` is what text there is."""

    reason: str
    answer: str


Decision = Finish | RunTools | Continue | GiveUp


def decide(response: Response, streak: Streak, earlier_text: str) -> Decision:
    """
    Decide what a response means.

    Args:
        response: The model's answer.
        streak: What went wrong before it, in a row.
        earlier_text: Text that the model gave earlier in this turn; the answer if nothing follows.
    """
    if response.stop is StopReason.REFUSED:
        return GiveUp(reason=response.reason or "The model declined to answer.", answer=response.text)
    if response.stop is StopReason.LENGTH:
        return _cut(response, streak)
    if response.calls:
        return RunTools(calls=response.calls)
    if response.text.strip():
        return Finish(answer=response.text)
    if earlier_text.strip():
        return Finish(answer=earlier_text)
    if streak.empty + 1 >= EMPTY_LIMIT:
        return GiveUp(reason="The model answered with nothing twice in a row.", answer="")
    return Continue(
        nudge="Your last answer was empty. Say what you found or did, or call a tool.",
        streak=Streak(cut=0, empty=streak.empty + 1),
    )


def _cut(response: Response, streak: Streak) -> Continue:
    cut = streak.cut + 1
    if not response.calls:
        nudge = "Your answer was cut off by the output limit. Go on exactly where it stopped."
    else:
        calls = ", ".join(
            f"{call.name} ({len(call.arguments):,} characters arrived)" for call in response.calls
        )
        nudge = (
            f"Your answer was cut off by the output limit. Not run, because incomplete: {calls}. "
            "Go on in smaller steps: one small edit in each call."
        )
    return Continue(nudge=nudge, streak=Streak(cut=cut), without_tools=cut >= CUT_LIMIT)
