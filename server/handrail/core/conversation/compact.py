"""
Make a conversation fit: thin old results first, then put its middle into a summary.

A message with tool calls and all its results share one fate, so history is cut only between such groups.
The first request, the latest groups and whatever is in flight are never touched. What must not be lost in
a summary (open failures, todos, touched documents) stands beside it, word for word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from handrail.core.conversation.message import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    ToolOffer,
    ToolResult,
    UserMessage,
)

TRIGGER = 0.75  # of the context: room is left for the answer
TARGET = 0.5  # what it is brought down to, so that it does not have to be done again at once
TAIL_SHARE = 0.2  # of the context, for the latest groups, whose texts stay as they are
TAIL_GROUPS = 3
THIN_CHARS = 400  # shorter results are not worth a second call
CHARS_PER_TOKEN = 4.0  # of English and code; other scripts take more, which the reported usage corrects
MESSAGE_TOKENS = 6
THINNED = "(This result, {size:,} characters, was taken out to make room; call again, for less at once.)"
SUMMARY_HEAD = "What came before was summarised to make room. The summary:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """
    How many tokens a conversation has.

    Attributes:
        factor: What the provider last reported, divided by our estimate.
    """

    factor: float = 1.0

    def tokens(self, messages: Sequence[Message], offers: Sequence[ToolOffer] = ()) -> int:
        """The estimate for *messages* and the tools offered with them."""
        return int(self.factor * (sum(map(_size, messages)) + sum(map(_offer_size, offers))))

    def corrected(self, estimated: int, reported: int) -> Gauge:
        """The gauge, given what the provider reports for a conversation that this one put at *estimated*."""
        if reported <= 0 or estimated <= 0:
            return self
        return Gauge(factor=min(max(self.factor * reported / estimated, 0.25), 8.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a summary must not lose: one line each, word for word."""

    failures: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """
    Where a conversation may be cut: `middle` is to be summarised, `head` and `tail` stay.

    The three are the whole conversation, in order.
    """

    head: tuple[Message, ...]
    middle: tuple[Message, ...]
    tail: tuple[Message, ...]

    def with_summary(self, summary: str, facts: Facts) -> tuple[Message, ...]:
        """The conversation with the middle replaced by its summary and the facts."""
        parts = [f"{SUMMARY_HEAD}\n\n{summary.strip()}"]
        for title, lines in (
            ("Edits that did not land and are still open", facts.failures),
            ("The todo list as it stands", facts.todos),
            ("Documents changed so far", facts.documents),
        ):
            if lines:
                parts.append(f"{title}:\n" + "\n".join(lines))
        return (*self.head, UserMessage(text="\n\n".join(parts)), *self.tail)


def groups(messages: Sequence[Message]) -> tuple[tuple[Message, ...], ...]:
    """
    The units that are kept or cut as wholes, in order.

    A message with calls and everything up to the last of its results is one; any other message is one alone.
    """
    found: list[list[Message]] = []
    waiting, waiting_items = set[str](), dict[str, str]()
    for message in messages:
        if waiting and not isinstance(message, AssistantMessage):
            found[-1].append(message)
        elif isinstance(message, ToolMessage) and found and isinstance(found[-1][0], AssistantMessage):
            found[-1].append(message)  # a result too many stays where it is
        else:
            found.append([message])
            waiting = set()
        if isinstance(message, AssistantMessage):
            waiting = {call.id.strip() for call in message.calls}
            waiting_items = {call.item.strip(): call.id.strip() for call in message.calls if call.item}
        elif isinstance(message, ToolMessage) and waiting:
            for result in message.results:
                name = result.call.strip()
                waiting.discard(waiting_items.get(name, name))
    return tuple(tuple(group) for group in found)


def in_flight(group: Sequence[Message]) -> bool:
    """Whether some call of the group has no result yet."""
    first = group[0]
    if not isinstance(first, AssistantMessage):
        return False
    answered = sum(len(each.results) for each in group if isinstance(each, ToolMessage))
    return answered < len(first.calls)


def due(messages: Sequence[Message], offers: Sequence[ToolOffer], gauge: Gauge, context: int) -> bool:
    """Whether the conversation has grown past the trigger; *context* is the model's, in tokens."""
    return gauge.tokens(messages, offers) > TRIGGER * context


def thin(messages: Sequence[Message], gauge: Gauge, context: int) -> tuple[Message, ...]:
    """
    *messages* with long results before the protected tail replaced by a sentence that says so.

    What only the provider reads of those messages goes: it wants it back for the latest steps alone.
    """
    parts = groups(messages)
    end = _tail_start(parts, gauge, context)
    old = [message for part in parts[:end] for message in part]
    kept = [message for part in parts[end:] for message in part]
    return (*(_without_private(_thinned(message)) for message in old), *kept)


def squeezed(messages: Sequence[Message]) -> tuple[Message, ...]:
    """*messages* with every long result taken out, also the latest: the last resort."""
    return tuple(map(_thinned, messages))


def cut(messages: Sequence[Message], gauge: Gauge, context: int) -> Cut | None:
    """Where to cut; None if nothing lies between the first request and the protected tail."""
    parts = groups(messages)
    end = _tail_start(parts, gauge, context)
    start = _head_end(parts)
    if end - start < 2:  # one group alone is not worth a summary
        return None
    head, middle, tail = parts[:start], parts[start:end], parts[end:]
    return Cut(head=_flat(head), middle=_flat(middle), tail=_flat(tail))


def _head_end(parts: Sequence[tuple[Message, ...]]) -> int:
    """Past the first request, which says what all this is about."""
    for at, part in enumerate(parts):
        if isinstance(part[0], UserMessage):
            return at + 1
        if isinstance(part[0], AssistantMessage):
            return at
    return 0


def _tail_start(parts: Sequence[tuple[Message, ...]], gauge: Gauge, context: int) -> int:
    """The first group of the protected tail: by tokens, but some groups at least, and all in flight."""
    sizes = [gauge.tokens(part) for part in reversed(parts)]
    within = sum(total <= TAIL_SHARE * context for total in accumulate(sizes))
    start = len(parts) - max(within, min(TAIL_GROUPS, len(parts)))
    flying = next((at for at, part in enumerate(parts) if in_flight(part)), len(parts))
    return min(start, flying)


def _flat(parts: Sequence[tuple[Message, ...]]) -> tuple[Message, ...]:
    return tuple(message for part in parts for message in part)


def _without_private(message: Message) -> Message:
    if isinstance(message, AssistantMessage) and message.private:
        return replace(message, private="")
    return message


def _thinned(message: Message) -> Message:
    if not isinstance(message, ToolMessage):
        return message
    return replace(message, results=tuple(map(_thinned_result, message.results)))


def _thinned_result(result: ToolResult) -> ToolResult:
    if len(result.text) <= THIN_CHARS or result.failure is not None:
        return result
    return replace(result, text=THINNED.format(size=len(result.text)))


def _size(message: Message) -> float:
    match message:
        case SystemMessage(text=text):
            chars = len(text)
        case UserMessage(text=text, context=context):
            chars = len(text) + sum(len(each.text) + len(each.path) for each in context)
        case AssistantMessage(text=text, calls=calls, private=private):
            chars = len(text) + sum(len(call.arguments) + len(call.name) + 16 for call in calls)
            chars = max(chars, len(private))  # which says the same once more
        case ToolMessage(results=results):
            chars = sum(len(result.text) + 16 for result in results)
    return chars / CHARS_PER_TOKEN + MESSAGE_TOKENS


def _offer_size(offer: ToolOffer) -> float:
    return (len(offer.schema) + len(offer.description) + len(offer.name)) / CHARS_PER_TOKEN
