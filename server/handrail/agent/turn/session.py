"""
A session: all turns of one conversation, as values.

Nothing here acts; the loop makes a new session from an old one with every step.
"""

from __future__ import annotations

from collections.abc import Sequence

from handrail.agent import tools
from handrail.agent.turn.seen import Known
from handrail.core.conversation import compact, todo
from handrail.core.conversation.compact import Gauge
from handrail.core.conversation.guard import RecentSteps
from handrail.core.conversation.message import (
    AssistantMessage,
    Message,
    Response,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolOffer,
    Usage,
    UserMessage,
)
from handrail.core.conversation.pair import pair_results
from handrail.core.conversation.recover import Compact, Continue, Decision, Finish, RunTools, Streak
from handrail.core.conversation.todo import Item
from handrail.core.failure import Code, Failure
from handrail.values import dataclass, field, replace

Said = str | UserMessage  # what a running turn is told: by the user, or of what has happened
CUT = Failure(code=Code.CUT_SHORT, message="The turn ended before this call had a result.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """
    A conversation, and the state of its current turn.

    Attributes:
        id: The session's id.
        messages: The whole history, well-formed between steps.
        streak: The consecutive troubles of this turn.
        recent: The latest steps of this turn.
        offered: The tools for the next call; none while they are withheld.
        text: The model's last text in this turn; `since` is its text since the last result.
        tried, done: The number of calls of this turn that should change something, and of those that did.
        touched: The paths of all documents that the session has changed, in order.
        todos: The model's latest todo list.
        usage: The usage of this turn.
        earlier: The usage of the session's earlier turns.
        gauge: How large the conversation is.
        seen: The documents that the model has read, as it last saw them.
        window: The number of tokens that the model's server has been observed to read, if fewer than
            `context_window`; otherwise 0.
        asked: The user's request for this turn.
        system: The text before the conversation.
        was_told: Whether the user has been told in this turn that the server does not read all of it.
    """

    id: str
    messages: tuple[Message, ...] = ()
    streak: Streak = field(default_factory=Streak)
    recent: RecentSteps = field(default_factory=RecentSteps)
    offered: tuple[ToolOffer, ...] = ()
    text: str = ""
    since: str = ""
    tried: int = 0
    done: int = 0
    touched: tuple[str, ...] = ()
    todos: tuple[Item, ...] = ()
    usage: Usage = field(default_factory=Usage)
    earlier: Usage = field(default_factory=Usage)
    gauge: Gauge = field(default_factory=Gauge)
    seen: Known = field(default_factory=dict)
    window: int = 0
    believed: int = 0
    asked: UserMessage | None = None
    system: str = ""
    was_told: bool = False

    @property
    def is_new(self) -> bool:
        """Whether this turn has no message yet except the user's request."""
        return bool(self.messages) and self.messages[-1] is self.asked

    @property
    def offered_names(self) -> frozenset[str]:
        """The names of the tools for the next call."""
        return frozenset(offer.name for offer in self.offered)

    @property
    def told(self) -> tuple[Message, ...]:
        """Everything that the model is sent."""
        return (SystemMessage(text=self.system), *self.messages)

    @property
    def spent(self) -> Usage:
        """The usage of all its turns."""
        return self.earlier.plus(self.usage)

    @property
    def tokens(self) -> int:
        """The estimated size of everything that is sent, including the tools."""
        return self.gauge.tokens(self.told, self.offered)

    @property
    def least_tokens(self) -> int:
        """The estimated size without any messages."""
        return self.gauge.tokens([SystemMessage(text=self.system)], self.offered)

    @property
    def calls(self) -> frozenset[tuple[str, str]]:
        """The tools and arguments of all calls of the conversation."""
        made = (message.calls for message in self.messages if isinstance(message, AssistantMessage))
        return frozenset((call.name, call.arguments) for calls in made for call in calls)

    @property
    def read_texts(self) -> tuple[str, ...]:
        """The texts of all results, and of all that the user has attached to a message."""
        results = (message.results for message in self.messages if isinstance(message, ToolMessage))
        contexts = (message.context for message in self.messages if isinstance(message, UserMessage))
        return (
            *(result.text for each in results for result in each),
            *(excerpt.text for each in contexts for excerpt in each),
        )

    @property
    def said_texts(self) -> tuple[str, ...]:
        """The texts of all messages of the user."""
        return tuple(message.text for message in self.messages if isinstance(message, UserMessage))

    @property
    def call_ids(self) -> frozenset[str]:
        """The ids of all calls of the conversation."""
        made = (message.calls for message in self.messages if isinstance(message, AssistantMessage))
        return frozenset(call.id for calls in made for call in calls)

    def begin(self, message: UserMessage, tools: tuple[ToolOffer, ...]) -> Session:
        """Returns the session at the beginning of a turn."""
        return Session(
            id=self.id,
            messages=(*self.messages, message),
            offered=tools,
            touched=self.touched,
            todos=self.todos,
            earlier=self.earlier.plus(self.usage),
            gauge=self.gauge,
            seen=self.seen,
            window=self.window,
            believed=self.believed,
            asked=message,
        )

    def narrow_window(self, window: int | None, believed: int) -> Session:
        """Returns the session after the model's server was observed to read only *window* tokens."""
        if window is None or window >= believed:
            return self
        return replace(self, window=window, believed=believed)

    def widen_window(self, read: int) -> Session:
        """Returns the session after the server has read more than was observed before."""
        return replace(self, window=0) if read > 1.1 * self.window > 0 else self

    def withdrawn(self) -> Session:
        """
        Returns the session with the turn's request replaced by a note, because it is too long to be sent
        again.
        """
        if self.asked is None:
            return self
        note = compact.withdrawn(self.asked)
        return replace(self, messages=tuple(note if each is self.asked else each for each in self.messages))

    def add_response(self, response: Response, decision: Decision, tools: tuple[ToolOffer, ...]) -> Session:
        """Returns the session after the model's answer and the decision about it."""
        calls = decision.calls if isinstance(decision, RunTools) else ()
        messages: list[Message] = [*self.messages]
        if response.text.strip() or calls:
            private = response.private if calls else ""
            messages.append(AssistantMessage(text=response.text, calls=calls, private=private))
        if isinstance(decision, Continue):
            messages.append(UserMessage(text=decision.nudge, is_nudge=True))
        withheld = isinstance(decision, Continue) and decision.without_tools
        return replace(
            self,
            messages=tuple(messages),
            streak=decision.streak if isinstance(decision, Continue | Compact | RunTools) else Streak(),
            offered=() if withheld else tools,
            text=_answer_text(self.text, response, decision),
            since="" if calls else _answer_text(self.since, response, decision),
            usage=self.usage.plus(response.usage),
        )

    def steer(self, said: Sequence[Said]) -> Session:
        """Returns the session with messages that came during the turn: the user's, and handrail's texts."""
        if not said:
            return self
        new = (
            each if isinstance(each, UserMessage) else UserMessage(text=each, is_nudge=True) for each in said
        )
        return replace(self, messages=(*self.messages, *new))

    def with_results(
        self, calls: Sequence[ToolCall], results: ToolMessage, touched: Sequence[str]
    ) -> Session:
        """Returns the session after the calls of the last message have run and changed these documents."""
        came = [
            result.failure is None
            for call, result in zip(calls, results.results, strict=True)
            if tools.changes(call.name) or call.name not in tools.TOOLS
        ]
        return replace(
            self,
            tried=self.tried + len(came),
            done=self.done + sum(came),
            messages=(*self.messages, results),
            recent=self.recent.add_calls(calls, results),
            touched=tuple(dict.fromkeys((*self.touched, *touched))),
            todos=todo.latest([AssistantMessage(text="", calls=tuple(calls))]) or self.todos,
        )

    def close(self, interrupted: ToolMessage | None, spoken: str = "") -> Session:
        """
        Returns the session with a well-formed history.

        Args:
            interrupted: Its last results, if the turn was stopped while they arrived.
            spoken: The beginning of an answer that was stopped.
        """
        messages = (*self.messages, interrupted) if interrupted is not None else self.messages
        closed = replace(self, messages=pair_results(messages, CUT))
        if not spoken.strip():
            return closed
        return replace(closed, messages=(*closed.messages, AssistantMessage(text=spoken)), text=spoken)


def _answer_text(before: str, response: Response, decision: Decision) -> str:
    if isinstance(decision, Finish):
        return decision.answer
    return response.text if response.text.strip() else before
