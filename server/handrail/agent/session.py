"""
A session: all turns of one conversation, as values.

Nothing here acts; the loop makes a new session from an old one with every step.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from handrail.core.message import (
    AssistantMessage,
    Message,
    Response,
    ToolMessage,
    ToolOffer,
    Usage,
    UserMessage,
)
from handrail.core.recover import Continue, Decision, Finish, RunTools, Streak


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """
    A conversation, and where its current turn stands.

    Attributes:
        id: Names the session.
        messages: The whole history, well-formed between steps.
        streak: What went wrong in a row in this turn.
        offered: The tools for the next call; none while they are withheld.
        text: What the model has said in this turn so far.
        usage: Of this turn.
    """

    id: str
    messages: tuple[Message, ...] = ()
    streak: Streak = field(default_factory=Streak)
    offered: tuple[ToolOffer, ...] = ()
    text: str = ""
    usage: Usage = field(default_factory=Usage)

    def begun(self, message: UserMessage, tools: tuple[ToolOffer, ...]) -> Session:
        """The session as a turn begins."""
        return Session(id=self.id, messages=(*self.messages, message), offered=tools)

    def after(self, response: Response, decision: Decision, tools: tuple[ToolOffer, ...]) -> Session:
        """The session once the model has answered and it is decided what that means."""
        calls = decision.calls if isinstance(decision, RunTools) else ()
        messages: list[Message] = [*self.messages]
        if response.text.strip() or calls:
            messages.append(AssistantMessage(text=response.text, calls=calls))
        if isinstance(decision, Continue):
            messages.append(UserMessage(text=decision.nudge))
        withheld = isinstance(decision, Continue) and decision.without_tools
        return replace(
            self,
            messages=tuple(messages),
            streak=decision.streak if isinstance(decision, Continue) else Streak(),
            offered=() if withheld else tools,
            text=decision.answer if isinstance(decision, Finish) else self.text or response.text,
            usage=self.usage.plus(response.usage),
        )

    def with_results(self, results: ToolMessage) -> Session:
        """The session once the calls of the last message have run."""
        return replace(self, messages=(*self.messages, results))
