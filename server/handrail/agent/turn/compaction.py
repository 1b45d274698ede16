"""
Keep a session within the model's context: summarise its oldest part, and shorten the rest if necessary.

The summary is made from the messages that are about to be removed, unabridged. Its size is limited, and it is
requested at most twice; if that fails, the oldest messages are removed without a summary, so that a session
never ends here.
"""

from __future__ import annotations

from collections.abc import Sequence

from handrail import prompts
from handrail.agent.turn.session import Session
from handrail.core.conversation import compact, recover, thinking
from handrail.core.conversation.compact import ContextBudget, Cut, Facts
from handrail.core.conversation.message import (
    AssistantMessage,
    Message,
    Response,
    StopReason,
    SystemMessage,
    ToolMessage,
    Usage,
    UserMessage,
)
from handrail.core.conversation.prompt import user_text
from handrail.core.results import sanitize
from handrail.ports import Ports, ProviderDown, ProviderError
from handrail.values import dataclass, replace

LEAST_SUMMARY_CHARS = 400
LEAST_READ_CHARS = 400  # of one text in the request for a summary
MOST_PARTS = 4  # that a summary is made of
INCOMPLETE = "(The rest could not be summarised.)"
SHORTER = "\n\nThe summary must have fewer than {limit:,} characters."


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """A session that was made smaller; tokens are estimates. Its usage includes that of the summary."""

    session: Session
    before: int
    after: int
    left_out: int = 0


def context_window(ports: Ports) -> int:
    """Returns the size of the context that the user set or the server reports."""
    return ports.terms.window_tokens or ports.provider.context_tokens


def context_budget(session: Session, ports: Ports) -> ContextBudget:
    """Returns how much of a conversation the model can read; what its server has shown takes precedence."""
    window = context_window(ports)
    has_shown = session.window and session.believed == window
    return ContextBudget(window=session.window if has_shown else window, reserve=ports.terms.reserve_tokens)


def is_too_large(session: Session, ports: Ports) -> str:
    """
    Returns why the turn's request cannot be answered, if it alone is larger than the context; otherwise
    empty.
    """
    room = context_budget(session, ports)
    size = session.gauge.tokens([session.asked] if session.asked else []) + session.least_tokens
    if size <= room.window * SURELY:
        return ""
    return (
        f"The prompt, with everything that it mentions, has about {size:,} tokens, but the model reads at "
        f"most {room.window:,}. {WAY_OUT}"
    )


SURELY = 1.2  # our count may be too high
SAFELY = 0.9  # share of the window, by our count, that leaves room for an answer
WAY_OUT = (
    "Ask for less in one message, mention fewer files or lines, start a new conversation, or choose a model "
    "with a larger context. If this model's context is larger than handrail assumes, set "
    "handrail.context.window."
)


async def shrink(session: Session, ports: Ports, facts: Facts, *, full: bool) -> Compaction | None:
    """
    Makes *session* smaller.

    Args:
        session: Well-formed.
        ports: The provider among them is asked for the summary.
        facts: Facts that the summary must keep.
        full: Whether the provider reported that its context is full. Otherwise nothing is done until it is
            due.

    Returns:
        None if nothing was done, because it is not due or because nothing can be left out.
    """
    room, gauge, was = context_budget(session, ports), session.gauge, session.messages
    before = session.tokens
    if not full and before <= room.trigger:
        return None
    if full:  # whatever the estimate was, the conversation is at least as large as the context
        gauge = replace(gauge, factor=gauge.factor * max(1.0, room.window / max(before, 1)))
        session = replace(session, gauge=gauge)
        before = session.tokens
    target, spare = room.target - session.least_tokens, int(room.window * SAFELY) - session.least_tokens
    must = target if full else spare
    messages, usage, left_out = await _without_oldest(session, ports, facts, target, full=full)
    if gauge.tokens(messages) > target:
        messages = compact.thin(messages, gauge, room.window, target)
    if gauge.tokens(messages) > must:
        messages = compact.shorten_results(messages, gauge, target)
    if gauge.tokens(messages) > must:
        messages = compact.shorten_requests(messages, session.asked, gauge, target)
    if messages == was:
        return None
    smaller = replace(session, messages=messages, usage=session.usage.plus(usage))
    return Compaction(session=smaller, before=before, after=smaller.tokens, left_out=left_out)


async def summarise(session: Session, ports: Ports, facts: Facts) -> Compaction | None:
    """
    Summarises all but the latest part of a conversation, however much room there is.

    Returns:
        None if there is too little to summarise. Raises ProviderError if the model makes no summary.
    """
    room, gauge = context_budget(session, ports), session.gauge
    cut = compact.cut(session.messages, gauge, gauge.tokens(session.messages), 1)
    if cut is None or not cut.summarised:
        return None
    size = min(room.window * compact.SUMMARY_SHARE, gauge.tokens(cut.summarised) / 2)
    limit = max(gauge.chars(size), LEAST_SUMMARY_CHARS)
    text, usage = await _summary(cut, ports, gauge.chars(room.trigger * 0.9), limit)
    if not text:
        raise ProviderError("The model returned no summary, so the conversation was left as it is.")
    messages = cut.with_summary(text, facts, session.asked)
    if gauge.tokens(messages) >= gauge.tokens(session.messages):
        return None
    smaller = replace(session, messages=messages, usage=session.usage.plus(usage))
    return Compaction(session=smaller, before=session.tokens, after=smaller.tokens)


async def _without_oldest(
    session: Session, ports: Ports, facts: Facts, target: int, *, full: bool
) -> tuple[tuple[Message, ...], Usage, int]:
    """
    Replaces the oldest part of the conversation with a summary, if that is worthwhile.

    Returns:
        The messages, the usage of the summary, and how many messages were left out without one.
    """
    room, gauge = context_budget(session, ports), session.gauge
    summary = int(room.window * compact.SUMMARY_SHARE)
    cut = compact.cut(session.messages, gauge, room.window, max(target - summary, 1))
    if cut is None or not cut.summarised:
        return session.messages, Usage(), 0
    size = gauge.tokens(cut.summarised)
    if not full and size < room.window * compact.WORTH_SHARE:
        return session.messages, Usage(), 0
    limit = max(gauge.chars(min(summary, size / 2)), LEAST_SUMMARY_CHARS)
    text, usage = await _summary(cut, ports, gauge.chars(room.trigger * 0.9), limit)
    if not text:
        return cut.without_middle(facts, session.asked), usage, len(cut.summarised)
    return cut.with_summary(text, facts, session.asked), usage, 0


async def _summary(cut: Cut, ports: Ports, read_chars: int, limit: int) -> tuple[str, Usage]:
    """
    Returns a summary of at most *limit* characters, made part by part, and its usage; empty if it failed.
    """
    usage, text = Usage(), ""
    for part in _parts(cut.summarised, read_chars):
        before = f"The part before this is already summarised; keep this summary:\n{text}\n\n" if text else ""
        summary, used = await _ask_for_summary(
            part, ports, f"{SHORTER.format(limit=limit)}\n\n{before}", read_chars, limit
        )
        usage = usage.plus(used)
        if not summary:
            return f"{text}\n{INCOMPLETE}" if text else "", usage
        text = summary
    return text, usage


async def _ask_for_summary(
    part: Sequence[Message], ports: Ports, terms: str, read_chars: int, limit: int
) -> tuple[str, Usage]:
    """Requests a summary of *part* at most twice; empty if it failed."""
    usage, summary = Usage(), ""
    for attempt in (1, 2):
        told = _as_text(part, read_chars // attempt)
        asked = UserMessage(text=f"{prompts.text('summary')}{terms}The conversation:\n\n{told}")
        try:
            async for piece in ports.provider.complete([asked], []):
                if isinstance(piece, Response):
                    usage = usage.plus(piece.usage)
                    text = sanitize.clean(thinking.answer_of(piece.text), max(len(piece.text), 1))
                    if text and piece.stop is StopReason.FINISH and len(text) <= limit:
                        return text, usage
                    is_usable = piece.stop not in (StopReason.REFUSED, StopReason.CONTEXT_FULL)
                    summary = text if is_usable and text else summary
        except ProviderDown as error:
            pause = recover.retry(attempt, error.wait_s)
            if attempt == 1 and pause is not None:
                await ports.pause(pause.in_s)
        except ProviderError:
            pass  # the next attempt asks for a shorter one
    return summary[:limit], usage


def _parts(messages: Sequence[Message], room: int) -> list[list[Message]]:
    """Splits the messages into parts of about *room* characters, but not too many."""
    sizes = [sum(map(len, _texts(message))) for message in messages]
    room = max(room, sum(sizes) // MOST_PARTS)
    parts: list[list[Message]] = [[]]
    filled = 0
    for message, size in zip(messages, sizes, strict=True):
        if parts[-1] and filled + size > room:
            parts.append([])
            filled = 0
        parts[-1].append(message)
        filled += size
    return parts


def _as_text(messages: Sequence[Message], room: int) -> str:
    """Renders the messages as a text of at most about *room* characters; shortens the longest of them."""
    longest = max((len(text) for message in messages for text in _texts(message)), default=0)
    told = _write(messages, longest)
    while len(told) > room and longest > LEAST_READ_CHARS:
        longest = max(longest // 2, LEAST_READ_CHARS)
        told = _write(messages, longest)
    return told[-room:]


def _texts(message: Message) -> list[str]:
    match message:
        case SystemMessage(text=text):
            return [text]
        case UserMessage():
            return [user_text(message)]
        case AssistantMessage(text=text, calls=calls):
            return [text, *(call.arguments for call in calls)]
        case ToolMessage(results=results):
            return [result.text for result in results]


def _write(messages: Sequence[Message], longest: int) -> str:
    return "\n\n".join(_line(message, longest) for message in messages)


def _line(message: Message, longest: int) -> str:
    match message:
        case SystemMessage(text=text):
            said = f"User: {_short(text, longest)}"
        case UserMessage():
            said = f"User: {_short(user_text(message), longest)}"
        case AssistantMessage(text=text, calls=calls):
            made = "".join(f"\nCall of {call.name}: {_short(call.arguments, longest)}" for call in calls)
            said = f"Assistant: {_short(text, longest)}{made}"
        case ToolMessage(results=results):
            said = "\n".join(f"Result: {_short(result.text, longest)}" for result in results)
    return said


def _short(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    return f"{text[: longest // 2]} (… more, left out here …) {text[-longest // 2 :]}"
