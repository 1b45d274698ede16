"""
Keep a session within the model's context: thin it, and if that is not enough, have its middle summarised.

If the summary fails, nothing is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from handrail import prompts
from handrail.agent.turn.session import Session
from handrail.core.conversation import compact
from handrail.core.conversation.compact import Facts, Gauge
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
from handrail.ports import Ports, ProviderError

READ_CHARS = 6_000  # of one message, as the summary's reader sees it


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A session that was made smaller; tokens are estimates. Its usage counts the summary's."""

    session: Session
    before: int
    after: int


async def fit(session: Session, ports: Ports, facts: Facts, *, full: bool) -> Fitted | None:
    """
    Make *session* smaller.

    Args:
        session: Well-formed.
        ports: Of them the provider, which is asked for the summary.
        facts: What the summary must not lose.
        full: Whether the provider has said that its context is full; else nothing is done before it is due.

    Returns:
        None if nothing was done, because it is not due or because nothing can be left out.
    """
    context, gauge = ports.provider.context_tokens, session.gauge
    before = gauge.tokens(session.messages, session.offered)
    if not full and not compact.due(session.messages, session.offered, gauge, context):
        return None
    if full:  # whatever the estimate said, the conversation is at least as large as the context
        gauge = Gauge(factor=gauge.factor * max(1.0, context / max(before, 1)))
        before = gauge.tokens(session.messages, session.offered)
    messages = compact.thin(session.messages, gauge, context)
    usage = Usage()
    if gauge.tokens(messages, session.offered) > compact.TARGET * context:
        messages, usage = await _summarised(messages, gauge, ports, facts)
    if full and gauge.tokens(messages, session.offered) > compact.TRIGGER * context:
        messages = compact.squeezed(messages)
    if messages == session.messages:
        return None
    after = gauge.tokens(messages, session.offered)
    smaller = replace(session, messages=messages, gauge=gauge, usage=session.usage.plus(usage))
    return Fitted(session=smaller, before=before, after=after)


async def _summarised(
    messages: tuple[Message, ...], gauge: Gauge, ports: Ports, facts: Facts
) -> tuple[tuple[Message, ...], Usage]:
    """*messages* with a summary of their middle, and what that has used."""
    cut = compact.cut(messages, gauge, ports.provider.context_tokens)
    if cut is None:
        return messages, Usage()
    told = "\n\n".join(_told(message) for message in cut.middle)
    room = int(compact.TARGET * ports.provider.context_tokens * compact.CHARS_PER_TOKEN / gauge.factor)
    asked = UserMessage(text=f"{prompts.text('summary')}\n\nThe conversation:\n\n{told[-room:]}")
    try:
        async for piece in ports.provider.complete([asked], []):
            if isinstance(piece, Response):
                sound = piece.stop is StopReason.FINISH and piece.text.strip()
                return (cut.with_summary(piece.text, facts) if sound else messages), piece.usage
    except ProviderError:
        pass  # nothing is dropped then
    return messages, Usage()


def _told(message: Message) -> str:
    match message:
        case SystemMessage(text=text) | UserMessage(text=text):
            said = f"User: {text}"
        case AssistantMessage(text=text, calls=calls):
            made = "".join(f"\nCall of {call.name}: {_short(call.arguments)}" for call in calls)
            said = f"Assistant: {text}{made}"
        case ToolMessage(results=results):
            said = "\n".join(f"Result: {_short(result.text)}" for result in results)
    return said


def _short(text: str) -> str:
    if len(text) <= READ_CHARS:
        return text
    return f"{text[: READ_CHARS // 2]} (… more, left out here …) {text[-READ_CHARS // 2 :]}"
