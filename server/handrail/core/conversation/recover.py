"""
Decide what to do with a model's answer: finish, run its tools, continue with a hint, make room, or give up.

`TABLE` has the whole logic: every class of trouble, how often in a row it is tolerated, and what happens
then. A call that was cut off by the token limit is never run. Calls that cannot be read or that name an
unknown tool go to the executor, which gives each its own failure as a result; here they are only counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Set
from enum import StrEnum

from handrail.core.conversation import as_text, promise
from handrail.core.conversation.message import Response, StopReason, ToolCall
from handrail.counts import count_of, duration_of
from handrail.values import dataclass


class Trouble(StrEnum):
    """The kinds of faulty answers."""

    CUT_CALLS = "cut-calls"
    CUT_TEXT = "cut-text"
    EMPTY = "empty"
    MALFORMED = "malformed-arguments"
    UNKNOWN_TOOL = "unknown-tool"
    NOT_OFFERED = "tools-not-offered"
    NO_CALL = "no-call"
    PROSE_CALL = "call-as-prose"
    LOST_EDIT = "edit-without-file"
    PROMISE = "promise"
    REFUSED = "refused"
    CONTEXT_FULL = "context-full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """
    The limits for one kind of faulty answer, and what the model is told.

    Attributes:
        bound: This many in a row are allowed; the next one ends the turn.
        reason: Why the turn then ends. Empty if the text that there is is then the answer.
        nudge: The message to the model.
        withhold: From this many in a row on, the next call is made without tools; 0 is never.
        remark: The message to the user if the text is then the answer.
    """

    bound: int
    reason: str
    nudge: str = ""
    withhold: int = 0
    remark: str = ""


NO_CALL = "The model said that it would call a tool, but did not."
CUT = (
    "The model's answers were cut off by its output limit {count} times in a row. Ask for less at once, or "
    "raise handrail.output.maxTokens if you have set it."
)
WAY_ON = "Send your message again, or choose another model."
TABLE: Mapping[Trouble, Rule] = {
    Trouble.CUT_CALLS: Rule(
        bound=5,
        withhold=3,  # agent-resilience 1
        nudge="Your answer was cut off by the output limit. "
        "Calls that were incomplete and were not run: {calls}. {smaller}",
        reason=CUT,
    ),
    Trouble.CUT_TEXT: Rule(
        bound=5,
        withhold=3,
        nudge="Your answer was cut off by the output limit. Continue exactly where you stopped.",
        reason=CUT,
    ),
    Trouble.EMPTY: Rule(
        bound=1,  # agent-resilience 2
        nudge="Your last answer was empty. Say what you found or did, or call a tool.",
        reason=f"The model's answer was empty twice in a row. {WAY_ON}",
    ),
    Trouble.MALFORMED: Rule(
        bound=3,
        reason=f"The arguments of the tool calls were not valid JSON, {{count}} times in a row. {WAY_ON}",
    ),
    Trouble.UNKNOWN_TOOL: Rule(
        bound=3,
        reason=f"The model called only tools that it does not have, {{count}} times in a row. {WAY_ON}",
    ),
    Trouble.NOT_OFFERED: Rule(
        bound=1,
        nudge="No tools are available for this answer, so nothing was run. Answer briefly, in words.",
        reason=f"The model kept calling tools that were not available. {WAY_ON}",
    ),
    Trouble.NO_CALL: Rule(
        bound=2,
        nudge="You ended your answer to call a tool, but no call arrived. Make the call, or give your "
        "answer.",
        reason="",
        remark=NO_CALL,
    ),
    Trouble.PROSE_CALL: Rule(
        bound=2,
        nudge=(
            "You wrote a tool call as text, so it was not run. Make a real call of {tool}, or give your "
            "answer in words."
        ),
        reason="",
    ),
    Trouble.LOST_EDIT: Rule(
        bound=1,
        nudge=(
            "You wrote an edit as text without naming a file, so it was not made. Call patch and name the "
            "file."
        ),
        reason="",
        remark="The model wrote an edit as text without naming a file, so it was not made.",
    ),
    Trouble.PROMISE: Rule(
        bound=1,
        nudge=(
            "You said what you are going to do, but made no call. Do it now, with tool calls. If everything "
            "is done, give your answer."
        ),
        reason="",
        remark=NO_CALL,
    ),
    Trouble.REFUSED: Rule(
        bound=0,
        reason="The model declined to answer. Write your message in other words, or choose another model.",
    ),
    Trouble.CONTEXT_FULL: Rule(
        bound=1,
        reason="The conversation does not fit into the model's context, even when it is summarised. Start a "
        "new one.",
    ),
}
LIMIT_TROUBLES = 8  # of all classes in a row: two classes that alternate must end as well
SMALLER = (
    "Continue in smaller steps: one small edit in each call.",
    "Smaller still: one call at a time, with no more than 20 lines of new text.",
    "You have no tools in your next answer: say in a few sentences what is done and what is left.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Streak:
    """
    Repeated trouble in the latest answers.

    Attributes:
        trouble, count: The class of the last answer, and how many answers in a row were of it.
        total: How many in a row had any trouble.
        partial: The text of an answer that is being continued.
    """

    trouble: Trouble | None = None
    count: int = 0
    total: int = 0
    partial: str = ""

    def extend(self, trouble: Trouble, partial: str = "") -> Streak:
        """The streak with one more."""
        count = self.count + 1 if trouble is self.trouble else 1
        return Streak(trouble=trouble, count=count, total=self.total + 1, partial=partial)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """The turn has its answer; `remark` is what the user should know of it."""

    answer: str
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTools:
    """Run these calls, then go on."""

    calls: tuple[ToolCall, ...]
    streak: Streak = Streak()


@dataclass(frozen=True, slots=True, kw_only=True)
class Continue:
    """Ask again with *nudge*; with tools withheld if `without_tools`."""

    nudge: str
    streak: Streak
    without_tools: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact:
    """Make room in the conversation, then ask again."""

    streak: Streak


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """End the turn as stopped; `answer` is what text there is."""

    reason: str
    answer: str


Decision = Finish | RunTools | Continue | Compact | GiveUp


def decide(response: Response, streak: Streak, earlier_text: str, tools: Set[str]) -> Decision:
    """
    Decide what a response means.

    Args:
        response: The model's answer.
        streak: What went wrong before it, in a row.
        earlier_text: Text that the model gave since the last result; the answer if nothing follows.
        tools: The names that were offered.
    """
    trouble = classify(response, tools)
    text = streak.partial + response.text
    if trouble is None:
        return RunTools(calls=response.calls) if response.calls else Finish(answer=text)
    if trouble is Trouble.EMPTY and (text or earlier_text).strip():
        return Finish(answer=text if text.strip() else earlier_text)
    now = streak.extend(trouble, partial=text if trouble is Trouble.CUT_TEXT else "")
    rule = TABLE[trouble]
    if now.count > rule.bound or now.total > LIMIT_TROUBLES:
        return _end(response, rule, now, text if text.strip() else earlier_text)
    if trouble in (Trouble.MALFORMED, Trouble.UNKNOWN_TOOL):
        return RunTools(calls=response.calls, streak=now)
    if trouble is Trouble.CONTEXT_FULL:
        return Compact(streak=now)
    withheld = 0 < rule.withhold <= now.count
    return Continue(nudge=_nudge(rule, now, response, tools), streak=now, without_tools=withheld)


def classify(response: Response, tools: Set[str]) -> Trouble | None:
    """Returns the kind of trouble with a response; None if there is none. The first matching row decides."""
    calls, said = response.calls, bool(response.text.strip())
    is_free = not calls and not response.is_literal
    rows: tuple[tuple[Trouble, bool], ...] = (
        (Trouble.REFUSED, response.stop is StopReason.REFUSED),
        (Trouble.CONTEXT_FULL, response.stop is StopReason.CONTEXT_FULL),
        (Trouble.CUT_CALLS, response.stop is StopReason.LENGTH and bool(calls)),
        (Trouble.CUT_TEXT, response.stop is StopReason.LENGTH),
        (Trouble.NOT_OFFERED, bool(calls) and not tools),
        (Trouble.UNKNOWN_TOOL, bool(calls) and not any(call.name in tools for call in calls)),
        (Trouble.MALFORMED, bool(calls) and not any(_is_object(call.arguments) for call in calls)),
        (Trouble.NO_CALL, not calls and response.stop is StopReason.TOOL_CALLS),
        (Trouble.PROSE_CALL, is_free and bool(_prose_call(response.text, tools))),
        (Trouble.LOST_EDIT, is_free and as_text.has_lost_edit(response.text, tools)),
        (Trouble.PROMISE, is_free and promise.is_promise(response.text, tools)),
        (Trouble.EMPTY, not calls and not said),
    )
    return next((trouble for trouble, applies in rows if applies), None)


def _end(response: Response, rule: Rule, streak: Streak, text: str) -> Finish | GiveUp:
    if not rule.reason and text.strip():
        return Finish(answer=text, remark=rule.remark)
    if response.reason:
        return GiveUp(reason=response.reason, answer=text)
    reason = rule.reason or f"The model wanted to call a tool, but no call arrived. {WAY_ON}"
    if streak.count <= rule.bound:
        reason = f"{streak.total} answers of the model in a row could not be used. {WAY_ON}"
    return GiveUp(reason=reason.format(count=streak.count), answer=text)


def _nudge(rule: Rule, streak: Streak, response: Response, tools: Set[str]) -> str:
    if streak.trouble is Trouble.CUT_TEXT and not response.text.strip():
        return "Your whole output limit was used before any answer arrived. Think less, and answer briefly."
    sizes = [f"{each.name} ({count_of(len(each.arguments), 'character')} arrived)" for each in response.calls]
    return rule.nudge.format(
        calls=", ".join(sizes),
        smaller=SMALLER[min(streak.count, len(SMALLER)) - 1],
        tool=_prose_call(response.text, tools),
    )


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments or "{}"), dict)
    except (ValueError, RecursionError):
        return False


# ---- Calls that are written as text -----------------------------------------------------------------

MARKUP = re.compile(
    r"<(?:tool_calls?|function_calls?|tool_use|invoke|function)\b[^>]*>|\[TOOL_CALLS\]|<\|python_tag\|>"
    r"|<function=",
    re.IGNORECASE,
)
NAMED = re.compile(r"""["']?(?:name|tool|function)["']?\s*[:=]\s*["']?([\w.-]+)""")
FENCED = re.compile(r"^```(?:json|tool_call|tool)?\s*\n(.*?)\n?```$", re.DOTALL)
LIMIT_READ_CHARS = 20_000


def _prose_call(text: str, tools: Set[str]) -> str:
    """The tool that *text* calls in words, or nothing: by markup, or as a JSON object and nothing else."""
    text = text.strip()[:LIMIT_READ_CHARS]
    if (markup := MARKUP.search(text)) is not None:
        after = text[markup.start() : markup.start() + 400]
        words = {found[1] for found in NAMED.finditer(after)} | set(re.findall(r"[\w.-]+", after))
        return next((tool for tool in sorted(tools) if tool in words), "")
    body = found[1] if (found := FENCED.match(text)) else text
    try:
        value = json.loads(body) if body.startswith(("{", "[")) else None
    except (ValueError, RecursionError):
        return ""
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict) or not {"arguments", "parameters", "input"} & first.keys():
        return ""
    name = first.get("name") or first.get("tool") or first.get("function")
    return name if isinstance(name, str) and name in tools else ""


# ---- What a provider says of an error ---------------------------------------------------------------

FULL = re.compile(
    r"context.{0,20}(?:length|window|size|limit)|(?:prompt|input|request).{0,20}too (?:long|large)"
    r"|maximum.{0,20}tokens",
    re.IGNORECASE,
)


def is_context_full(error: str) -> bool:
    """Whether an error says that the conversation is longer than the model can read; no code tells it."""
    return FULL.search(error) is not None


COUNT = r"(\d{1,3}(?:,\d{3}){1,3}|\d{3,9})(?![\d,]*\d|[-/:.]\d)"  # not the beginning of a date
WINDOW = re.compile(
    rf"(?i)(?:(?:maximum|available) (?:context|input)|max_model_len)[^0-9.]{{0,40}}?{COUNT}"
    rf"|> ?{COUNT} maximum|n_ctx\D{{0,10}}{COUNT}"
)


def window_in(error: str) -> int | None:
    """Returns the size of the model's context in tokens, if an error about a full context contains it."""
    found = WINDOW.search(error)
    return int(next(filter(None, found.groups())).replace(",", "")) if found else None


QUOTA = re.compile(
    r"insufficient[_ ](?:quota|funds|balance|credits?)|billing[_ ](?:hard|not)|exceeded your current quota"
    r"|credit balance is too low|out of credits|payment required",
    re.IGNORECASE,
)


def is_out_of_quota(error: str) -> bool:
    """Whether an error says that the user has to pay first: waiting does not help, whatever the code says."""
    return QUOTA.search(error) is not None


# ---- A provider that cannot be reached --------------------------------------------------------------

LIMIT_RETRIES = 5
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 8.0
PATIENCE_S = 120.0  # a provider that wants a longer pause is as good as gone


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Ask again in `in_s` seconds."""

    in_s: float


def retry(attempt: int, wanted_s: float | None) -> Retry | None:
    """
    Decides whether a step whose provider failed is repeated.

    Args:
        attempt: How often it has failed, from 1.
        wanted_s: The pause that the provider asks for, if it says.

    Returns:
        The pause before it; None if the turn ends instead. Nothing is lost then, and the session can
        continue.
    """
    if attempt > LIMIT_RETRIES or (wanted_s or 0) > PATIENCE_S:
        return None  # `reason_to_give_up` says which
    if wanted_s is not None:
        return Retry(in_s=max(wanted_s, 0.0))
    return Retry(in_s=min(FIRST_PAUSE_S * 2 ** (attempt - 1), LONGEST_PAUSE_S))


def reason_to_give_up(reason: str, attempts: int, wanted_s: float | None) -> str:
    """Returns why a turn ends whose provider failed for *reason*; arguments as for `retry`."""
    said = reason if reason.endswith((".", "!", "?")) else f"{reason}."
    if wanted_s is not None and wanted_s > PATIENCE_S:
        asks = f"The model's server asks handrail to wait {duration_of(wanted_s)}."
        return f"{said} {asks} Send your message again after that."
    return f"{said} handrail tried {attempts} times."
