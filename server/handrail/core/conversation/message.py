"""
The messages between user, model and tools.

A tool call carries its arguments as the raw JSON text that the model sent, so that truncated or malformed
arguments reach the executor unchanged. Every tool call gets exactly one tool result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from enum import StrEnum
from itertools import count

from handrail.core.failure import Failure
from handrail.values import dataclass, field, replace


class StopReason(StrEnum):
    """The reasons for which a model stops."""

    FINISH = "finish"
    TOOL_CALLS = "tool-calls"
    LENGTH = "length"
    REFUSED = "refused"
    CONTEXT_FULL = "context-full"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """
    One thing that the model asks for.

    Attributes:
        id: Names the call in its session.
        name: The tool.
        arguments: JSON text as the model sent it.
        item: A second name for it, where a provider gives two; results may come by either.
    """

    id: str
    name: str
    arguments: str
    item: str = ""


LIMIT_PICTURE_BYTES = 3_500_000  # in base64 what all servers take


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """
    A picture that a model is shown.

    Attributes:
        path: What it is called, for people and the model.
        media: Its media type, such as `image/png`.
        data: Its bytes, in base64.
    """

    path: str
    media: str
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """
    The result of a call, as the model reads it.

    Attributes:
        call: The id of the call.
        text: The result, or the account of the failure.
        failure: Set if the call as a whole failed.
        pictures: What the model is shown besides.
        line: Where the call's document was changed, counted from 0; the model is not told.
    """

    call: str
    text: str
    failure: Failure | None = None
    pictures: tuple[Picture, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """
    A text that is shown to the model: part of a document, or another text.

    Attributes:
        path: Of the document; for another text, its title.
        first_line: Counted from 1; 0 for another text.
    """

    path: str
    first_line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """
    A message of the user's, or a nudge in the user's place, with what it points at and shows.

    Attributes:
        instructions: The path of the project's instructions that the message brings to the model, which are
            its context; empty for any other message.
        is_nudge: Whether handrail says it by itself, in the user's place.
    """

    text: str
    context: tuple[Excerpt, ...] = ()
    pictures: tuple[Picture, ...] = ()
    instructions: str = ""
    is_nudge: bool = False

    @property
    def is_ours(self) -> bool:
        """Whether it is from handrail and not from the user."""
        return self.is_nudge or bool(self.instructions)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage:
    """
    A message of the model's, with the calls that it makes.

    Attributes:
        private: What the provider wants to have back with the results of the calls, such as reasoning that it
            has signed; the same once more, in words that only its adapter reads. Empty if there is nothing.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    private: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMessage:
    """All results of one assistant message, in call order."""

    results: tuple[ToolResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemMessage:
    """The instructions to a model before the conversation; not kept with it."""

    text: str


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage


ID_CHARS = 40  # OpenAI takes no more; others take 64


def name_calls(calls: Sequence[ToolCall], taken: Iterable[str]) -> tuple[ToolCall, ...]:
    """*calls* with ids that every server takes and that occur only once, also among *taken*."""
    used, result = set(taken), list[ToolCall]()
    names: dict[str, Iterator[str]] = {}  # what was tried is not tried again
    for call in calls:
        wanted = re.sub(r"[^A-Za-z0-9_-]", "_", call.id.strip())[:ID_CHARS] or "call"
        name = next(name for name in names.setdefault(wanted, _number_names(wanted)) if name not in used)
        used.add(name)
        result.append(call if name == call.id else replace(call, id=name))
    return tuple(result)


def _number_names(name: str) -> Iterator[str]:
    yield name
    for number in count(2):
        end = f"-{number}"
        yield name[: ID_CHARS - len(end)] + end


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and price, summed over `steps` model calls; `cost_usd` is None if that of any is unknown."""

    steps: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None

    def plus(self, other: Usage) -> Usage:
        """Both together."""
        if not (self.steps and other.steps):
            return self if self.steps else other
        unknown = self.cost_usd is None or other.cost_usd is None
        return Usage(
            steps=self.steps + other.steps,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cost_usd=None if unknown else (self.cost_usd or 0) + (other.cost_usd or 0),
        )


LIMIT_TOKENS = 10**12  # what is reported beyond that is not a count


def read_tokens(reported: object) -> int:
    """Returns a number of tokens as a server reports it; 0, which is unknown, for what cannot be one."""
    if not isinstance(reported, int | float) or isinstance(reported, bool):
        return 0
    return int(reported) if 0 <= reported <= LIMIT_TOKENS else 0


def read_price(reported: object) -> float | None:
    """Returns a price in dollars; None for what cannot be one."""
    if not isinstance(reported, int | float | Decimal) or isinstance(reported, bool):
        return None
    return float(reported) if 0 <= reported <= LIMIT_TOKENS else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """A piece of the model's text as it arrives."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """A piece of the model's reasoning as it arrives; it is shown, and not part of the text."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """
    A whole answer of the model.

    Attributes:
        reason: Says why, if it refused.
        private: As in AssistantMessage.
        is_literal: Whether the text is the answer, whatever it looks like: no call is looked for in it.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    stop: StopReason = StopReason.FINISH
    reason: str = ""
    usage: Usage = field(default_factory=lambda: Usage(steps=1))
    private: str = ""
    is_literal: bool = False


Piece = Delta | Thought | Response


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOffer:
    """
    A tool as the model sees it.

    Attributes:
        name: What a call names.
        description: When and how to use it.
        schema: JSON Schema of the arguments, as JSON text.
    """

    name: str
    description: str
    schema: str
