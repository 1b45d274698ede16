"""
Make a conversation fit: summarise its oldest part, remove results, shorten the rest, but no more than needed.

A message with tool calls and all its results stay together, so history is cut only between such groups. The
first request, the latest groups and unfinished calls are never removed. Facts that a summary must not lose
(the request of the turn, the project's instructions for folders, open failures, todos, changed documents) are
added to it verbatim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

from handrail.core.conversation.message import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    ToolOffer,
    ToolResult,
    Usage,
    UserMessage,
)
from handrail.core.conversation.pictures import MAKES_ROOM, result_unshown
from handrail.values import dataclass, replace

TRIGGER = 0.75  # of the context: room is left for the answer
TARGET_SHARE = 2 / 3  # of what may be used is left, so that it does not have to be done again at once
SUMMARY_SHARE = 0.1  # of the context, at most, for a summary
WORTH_SHARE = 0.05  # of the context; a smaller part is not worth a summary
TAIL_SHARE = 0.2  # of the context, for the latest groups, whose texts stay as they are
TAIL_GROUPS = 3
THIN_CHARS = 400  # shorter results are not worth a second call
CHARS_PER_TOKEN = 4.0  # of English and code; other scripts take more, which the reported usage corrects
MESSAGE_TOKENS = 6
LEAST_READ = 512  # tokens; no server has a smaller window
CUT_SHARE = 0.5  # of what we count; texts differ in how many characters make a token, but not as much
GROWN_SHARE = 0.2  # a conversation that has grown by more must be seen to have
SHOWN_SHARE = 0.2  # by this much of it at least
SAME = 1.02  # servers that cut do so at the beginning of a message
THINNED = (
    "(This result was removed to make room, but its call was carried out. If you need what it read, read it "
    "again, and less of it in one call.)"
)
PICTURE_TOKENS = 1_600  # of about a megapixel, at the dearest; the reported usage corrects it
SUMMARY_HEAD = "The earlier conversation was summarised to make room. The summary:"
NO_SUMMARY = "The earlier conversation was removed to make room, without a summary."
SHORTENED = "\n(… Text was removed here to make room …)\n"  # how much is not known: some may have gone before
WITHDRAWN = "\n(This message had {size:,} characters, more than the model can read, and was not answered.)"
STUB_CHARS = 400  # that are left of such a message
MOST_RESERVED = 0.75  # of the context


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextBudget:
    """
    The size of a model's context.

    Attributes:
        window: All of it, in tokens, with the answer.
        reserve: What of it is kept for the answer; 0 for a quarter.
    """

    window: int
    reserve: int = 0

    @property
    def trigger(self) -> int:
        """A conversation that is larger is made smaller."""
        return int(
            self.window - min(self.reserve or self.window * (1 - TRIGGER), self.window * MOST_RESERVED)
        )

    @property
    def target(self) -> int:
        """The size to which it is reduced."""
        return int(self.trigger * TARGET_SHARE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """
    Estimates the tokens of a conversation, corrected by what the provider reported.

    Attributes:
        factor: What the provider last reported, divided by our estimate.
        own, read: An earlier estimate, without the factor, and what was reported then; 0 for none.
    """

    factor: float = 1.0
    own: float = 0.0
    read: int = 0

    def tokens(self, messages: Sequence[Message], offers: Sequence[ToolOffer] = ()) -> int:
        """The estimate for *messages* and the tools offered with them."""
        return int(self.factor * (sum(map(_size, messages)) + sum(map(_offer_size, offers))))

    def chars(self, tokens: float) -> int:
        """Returns the number of characters that make so many tokens."""
        return int(tokens * CHARS_PER_TOKEN / self.factor)

    def correct(self, estimated: int, reported: int) -> Gauge:
        """The gauge, given what the provider reports for a conversation that this one put at *estimated*."""
        if reported <= 0 or estimated <= 0:
            return self
        own, factor = estimated / self.factor, min(max(self.factor * reported / estimated, 0.25), 8.0)
        if self.own <= own and reported <= self.read * SAME:  # what it grows by adds up until that shows
            return replace(self, factor=factor)
        return Gauge(factor=factor, own=own, read=reported)

    def cut_to(self, estimated: int, usage: Usage) -> int | None:
        """
        Returns how many tokens were read by a server that silently truncates conversations; None if it read
        everything.

        Args:
            estimated: By this gauge.
            usage: Of the answer. Servers that do not count report nothing, or next to nothing.
        """
        read = max(usage.input_tokens, usage.cached_tokens)
        if read < LEAST_READ:
            return None
        more = estimated / self.factor - self.own
        has_grown = self.read > 0 and more > max(GROWN_SHARE * self.own, LEAST_READ)
        unread = has_grown and read - self.read < SHOWN_SHARE * more * self.factor
        return read if unread or read < CUT_SHARE * estimated else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Lines that a summary must contain, word for word."""

    failures: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """
    A conversation in three parts: `middle` is to be summarised, `head` and `tail` stay.

    The three are the whole conversation, in order.
    """

    head: tuple[Message, ...]
    middle: tuple[Message, ...]
    tail: tuple[Message, ...]

    @property
    def instructions(self) -> tuple[UserMessage, ...]:
        """The project's instructions in the middle that still hold: the latest of each file."""
        told = (*instructions_in(self.middle), *instructions_in(self.tail))
        latest = {each.instructions: id(each) for each in told}
        return tuple(
            each
            for each in instructions_in(self.middle)
            if each.context and latest[each.instructions] == id(each)
        )

    @property
    def summarised(self) -> tuple[Message, ...]:
        """The messages that a summary replaces: the middle without the project's instructions."""
        return tuple(e for e in self.middle if not (isinstance(e, UserMessage) and e.instructions))

    def with_summary(
        self, summary: str | None, facts: Facts, request: UserMessage | None = None
    ) -> tuple[Message, ...]:
        """
        The conversation with the middle replaced by its summary and the facts.

        Args:
            request: What the turn is about; it stays word for word if it is in the middle.
        """
        parts = [NO_SUMMARY if summary is None else f"{SUMMARY_HEAD}\n\n{summary.strip()}"]
        for title, lines in (
            ("Failed edits that are still open", facts.failures),
            ("The current todo list", facts.todos),
            ("Documents changed so far", facts.documents),
        ):
            if lines:
                parts.append(f"{title}:\n" + "\n".join(lines))
        stays = {id(request), *map(id, self.instructions)}
        kept = [message for message in self.middle if id(message) in stays]
        return (*self.head, UserMessage(text="\n\n".join(parts), is_nudge=True), *kept, *self.tail)

    def without_middle(self, facts: Facts, request: UserMessage | None = None) -> tuple[Message, ...]:
        """The conversation without the middle, where that cannot be summarised."""
        return self.with_summary(None, facts, request)


def groups(messages: Sequence[Message]) -> tuple[tuple[Message, ...], ...]:
    """
    The units that are kept or cut as wholes, in order.

    A message with calls and everything up to the last of its results is one; any other message is one alone.
    """
    runs: list[list[Message]] = []
    waiting, waiting_items = set[str](), dict[str, str]()
    for message in messages:
        if waiting and not isinstance(message, AssistantMessage):
            runs[-1].append(message)
        elif isinstance(message, ToolMessage) and runs and isinstance(runs[-1][0], AssistantMessage):
            runs[-1].append(message)  # a result too many stays where it is
        else:
            runs.append([message])
            waiting = set()
        if isinstance(message, AssistantMessage):
            waiting = {call.id.strip() for call in message.calls}
            waiting_items = {call.item.strip(): call.id.strip() for call in message.calls if call.item}
        elif isinstance(message, ToolMessage) and waiting:
            for result in message.results:
                name = result.call.strip()
                waiting.discard(waiting_items.get(name, name))
    return tuple(tuple(group) for group in runs)


def instructions_in(messages: Sequence[Message]) -> list[UserMessage]:
    """The messages that bring instructions of the project, in order."""
    return [each for each in messages if isinstance(each, UserMessage) and each.instructions]


def in_flight(group: Sequence[Message]) -> bool:
    """Whether some call of the group has no result yet."""
    first = group[0]
    if not isinstance(first, AssistantMessage):
        return False
    answered = sum(len(each.results) for each in group if isinstance(each, ToolMessage))
    return answered < len(first.calls)


def is_due(messages: Sequence[Message], offers: Sequence[ToolOffer], gauge: Gauge, context: int) -> bool:
    """Whether the conversation has grown past the trigger; *context* is the model's, in tokens."""
    return gauge.tokens(messages, offers) > ContextBudget(window=context).trigger


def thin(messages: Sequence[Message], gauge: Gauge, context: int, enough: int = 0) -> tuple[Message, ...]:
    """
    *messages* with long results before the protected tail replaced by a sentence that says so.

    What only the provider reads of those messages goes: it wants it back for the latest steps alone.

    Args:
        enough: The oldest are thinned until no more tokens than this are left.
    """
    parts = groups(messages)
    end = _tail_start(parts, gauge, context)
    old = _flat(parts[:end])
    return _until(enough, gauge, [*messages], range(len(old)), lambda each: _without_private(_thin(each)))


def shorten_results(messages: Sequence[Message], gauge: Gauge, enough: int = 0) -> tuple[Message, ...]:
    """*messages* with long results shortened, also the latest, until *enough* tokens are left at most."""
    last = max((at for at, each in enumerate(messages) if isinstance(each, ToolMessage)), default=-1)
    shorter = _until(enough, gauge, [*messages], range(last), _thin)
    rest = enough - gauge.tokens(shorter[:last]) - gauge.tokens(shorter[last + 1 :])
    latest = shorter[last] if last >= 0 else None
    if not isinstance(latest, ToolMessage) or gauge.tokens([latest]) <= rest:
        return shorter
    room = max(gauge.chars(rest) // max(len(latest.results), 1), THIN_CHARS)
    shown = (result_unshown(each, MAKES_ROOM) for each in latest.results)
    results = tuple(replace(each, text=_cut_out(each.text, room)) for each in shown)
    return (*shorter[:last], replace(latest, results=results), *shorter[last + 1 :])


def shorten_requests(
    messages: Sequence[Message], request: UserMessage | None, gauge: Gauge, enough: int
) -> tuple[Message, ...]:
    """*messages* with what users said shortened, but for the *request* of the turn: the last resort."""

    def shorter(message: Message) -> Message:
        if not isinstance(message, UserMessage) or message is request:
            return message
        return withdrawn(message, note=SHORTENED)

    return _until(enough, gauge, [*messages], range(len(messages)), shorter)


def withdrawn(message: UserMessage, note: str = WITHDRAWN) -> UserMessage:
    """The beginning of a message that is too long for the model, and a *note* that says so."""
    size = len(message.text) + sum(len(each.text) for each in message.context)
    if message.pictures:
        message = replace(message, text=f"{message.text}\n{MAKES_ROOM}", pictures=())
    if size <= 2 * STUB_CHARS:
        return message
    text = message.text[:STUB_CHARS] + note.format(size=size)
    return UserMessage(text=text, is_nudge=message.is_ours)


def cut(messages: Sequence[Message], gauge: Gauge, context: int, enough: int = 0) -> Cut | None:
    """
    Returns where to cut; None if nothing is between the first request and the protected tail.

    Args:
        enough: The cut is made so early that this many tokens are left, if possible.
    """
    parts = groups(messages)
    end = _tail_start(parts, gauge, context)
    start = _head_end(parts)
    if end - start < 2:  # one group alone is not worth a summary
        return None
    left = gauge.tokens(messages)
    for at in range(start, end):
        left -= gauge.tokens(parts[at])
        if left <= enough and at - start >= 1:
            end = at + 1
            break
    head, middle, tail = parts[:start], parts[start:end], parts[end:]
    return Cut(head=_flat(head), middle=_flat(middle), tail=_flat(tail))


def _until(
    enough: int,
    gauge: Gauge,
    messages: list[Message],
    order: Iterable[int],
    smaller: Callable[[Message], Message],
) -> tuple[Message, ...]:
    """*messages*, made *smaller* one after the other, until *enough* tokens are left at most."""
    left = gauge.tokens(messages)
    for at in order:
        if left <= enough:
            break
        before, messages[at] = messages[at], smaller(messages[at])
        left -= gauge.tokens([before]) - gauge.tokens([messages[at]])
    return tuple(messages)


def _cut_out(text: str, room: int) -> str:
    """*text* with its middle taken out, if it has more than *room* characters."""
    if len(text) <= room:
        return text
    head, tail = room * 2 // 5, room * 3 // 5
    return text[:head] + SHORTENED + text[len(text) - tail :]


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


def _thin(message: Message) -> Message:
    if not isinstance(message, ToolMessage):
        return message
    return replace(message, results=tuple(map(_thinned_result, message.results)))


def _thinned_result(result: ToolResult) -> ToolResult:
    result = result_unshown(result, MAKES_ROOM)
    if len(result.text) <= THIN_CHARS or result.failure is not None:
        return result
    return replace(result, text=THINNED)


def _size(message: Message) -> float:
    tokens = 0
    match message:
        case SystemMessage():
            chars = len(message.text)
        case UserMessage():
            chars = len(message.text) + sum(len(each.text) + len(each.path) for each in message.context)
            tokens = PICTURE_TOKENS * len(message.pictures)
        case AssistantMessage():
            chars = len(message.text)
            if message.calls:
                chars += sum(len(call.arguments) + len(call.name) + 16 for call in message.calls)
            chars = max(chars, len(message.private))  # which says the same once more
        case ToolMessage(results=results):
            chars = sum(len(result.text) + 16 for result in results)
            tokens = PICTURE_TOKENS * sum(len(result.pictures) for result in results)
    return chars / CHARS_PER_TOKEN + MESSAGE_TOKENS + tokens


def _offer_size(offer: ToolOffer) -> float:
    return (len(offer.schema) + len(offer.description) + len(offer.name)) / CHARS_PER_TOKEN
