"""
The agent's loop: ask the model, decide what its answer means, run its tools, until the turn has ended.

Every decision is a pure function of the core; this module only carries them out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import assert_never

from handrail.agent.tools import TOOLS
from handrail.agent.turn import compaction
from handrail.agent.turn.executor import Executor
from handrail.agent.turn.folder_instructions import FolderInstructions
from handrail.agent.turn.session import Said, Session
from handrail.core.conversation import as_text, guard, pictures, recover, thinking
from handrail.core.conversation.as_text import Written
from handrail.core.conversation.compact import Facts
from handrail.core.conversation.message import (
    Delta,
    Response,
    StopReason,
    Thought,
    ToolCall,
    ToolOffer,
    name_calls,
)
from handrail.core.conversation.prompt import Mode
from handrail.core.conversation.recover import Compact, Continue, Finish, GiveUp, RunTools
from handrail.core.documents.change import Status
from handrail.core.ledger.report import Compacted, Notice, Retried, TextDelta, ThoughtDelta, Used
from handrail.ports import Ports, Prepared, ProviderDown, ProviderError
from handrail.values import dataclass, replace

LIMIT_STEPS = 100
QUOTED = (
    "The answer repeats a tool call or an edit from one of your messages. handrail does not run it, because "
    "it may only be a quotation. If it should be run, ask the model for a real tool call."
)
NO_ENDS = "If you answer no, the turn ends."


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnParameters:
    """
    The parameters of a turn.

    Attributes:
        system: The text before the conversation.
        offers: The tools that it may call.
        keep: Stores the session after every step, so that nothing is lost; the turn waits for it.
        facts: Facts that a summary of the conversation must keep.
        steered: Takes the user's messages since its last call.
        folders: Finds the instructions of folders in which the model works.
    """

    system: str
    offers: tuple[ToolOffer, ...]
    keep: Callable[[Session], Awaitable[None]]
    facts: Callable[[], Facts]
    steered: Callable[[], Sequence[Said]]
    folders: FolderInstructions


def offers(mode: Mode, ports: Ports) -> tuple[ToolOffer, ...]:
    """Returns the tools that a model may call in *mode*, given what the editor offers."""
    there = (tool for tool in TOOLS.values() if tool.needs in ("", *ports.languages.offers))
    return tuple(tool.offer for tool in there if mode is Mode.EDIT or not tool.kind.changes)


async def run_turn(session: Session, executor: Executor, parameters: TurnParameters) -> Finish | GiveUp:
    """
    Runs a turn to its end.

    Args:
        session: The session; its last message is the user's.
        executor: Runs the calls of this turn.
        parameters: The parameters of the turn.

    Returns:
        How it ended. Raises HandrailError, CancelledError.
    """
    session = replace(session, system=parameters.system)
    for number in range(1, LIMIT_STEPS + 1):
        ready = await _ready(session, executor, parameters)
        if isinstance(ready, GiveUp):
            return ready
        session = ready
        response = await _complete(session, executor)
        decision = recover.decide(response, session.streak, session.since, session.offered_names)
        session = _measure(response, session, executor).add_response(response, decision, parameters.offers)
        await parameters.keep(session)
        executor.observe(Used(step=response.usage, turn=session.usage))
        next_one: Session | Finish | GiveUp
        match decision:
            case Finish():
                next_one = await _finish(decision, session, executor, parameters)
            case GiveUp():
                is_full = response.stop is StopReason.CONTEXT_FULL
                next_one = await _full(response, session, executor, parameters) if is_full else decision
            case RunTools(calls=calls):
                next_one = await _ran(calls, number, session, executor, parameters)
            case Compact():
                next_one = await _make_room(response, session, executor, parameters)
            case Continue():
                next_one = session
            case _:
                assert_never(decision)
        if not isinstance(next_one, Session):
            return next_one
        session = next_one
    return GiveUp(
        reason=f"The turn reached its limit of {LIMIT_STEPS} steps. Send another message to continue.",
        answer=session.text,
    )


async def _ready(session: Session, executor: Executor, parameters: TurnParameters) -> Session | GiveUp:
    """
    Prepares the session for the next request; returns the end of the turn if its request alone is too large.
    """
    if isinstance(executor.ports.provider, Prepared):
        await executor.ports.provider.prepare()
    if session.is_new and (why := compaction.is_too_large(session, executor.ports)):
        await parameters.keep(session.withdrawn())
        return GiveUp(reason=why, answer="")
    said = parameters.steered()
    parameters.folders.point_at(
        said if session.asked is None or not session.is_new else [session.asked, *said]
    )
    parameters.folders.touch(executor.seen.take_touched())
    session = session.steer([*said, *await executor.seen.changes()])
    window = compaction.context_budget(session, executor.ports).window
    session = session.steer(await parameters.folders.news(session.messages, window))
    return await _shrink(session, executor, parameters.facts(), full=False) or session


async def _ran(
    calls: Sequence[ToolCall], number: int, session: Session, executor: Executor, parameters: TurnParameters
) -> Session | GiveUp:
    """Runs the calls of step *number*; returns the session, or the end of a turn that goes in circles."""
    results = await executor.execute(calls, number)
    session = session.with_results(calls, results, executor.touched)
    await parameters.keep(session)
    if (concern := guard.check(session.recent)) is None:
        return session
    if not await _may_go_on(session, executor, concern):
        return GiveUp(reason=concern.detail, answer=session.text)
    return replace(session, recent=session.recent.allow_more())


def _measure(response: Response, session: Session, executor: Executor) -> Session:
    """Notes how much of the session the server has read; tells the user if it did not read all of it."""
    tokens, reported = session.tokens, response.usage.input_tokens
    read = session.gauge.cut_to(tokens, response.usage)
    if read is None:
        return replace(session, gauge=session.gauge.correct(tokens, reported)).widen_window(reported)
    if not session.was_told:
        text = (
            f"The model's server read only about {read:,} of about {tokens:,} tokens: it silently "
            f"dropped the rest. Give the model a larger context on that server; for `ollama:NAME`, set "
            f"handrail.context.window."
        )
        executor.observe(Notice(call="", text=text, is_warning=False))
    session = replace(session, was_told=True)
    known = compaction.context_window(executor.ports)
    return session.narrow_window(read, known) if read > LEAST_SHARE * session.least_tokens else session


LEAST_SHARE = 1.25  # of the size of rules and tools; with less, no conversation is possible


async def _make_room(
    response: Response, session: Session, executor: Executor, parameters: TurnParameters
) -> Session | GiveUp:
    """Makes room in the session after the model's server has said that it is full."""
    believed = compaction.context_window(executor.ports)
    window = recover.window_in(response.reason) or 0
    if window > LEAST_SHARE * session.least_tokens:  # else the number is of something else
        session = session.narrow_window(window, believed)
    smaller = await _shrink(session, executor, parameters.facts(), full=True)
    if smaller is None:
        return await _full(response, session, executor, parameters)
    await parameters.keep(smaller)
    return smaller


async def _full(
    response: Response, session: Session, executor: Executor, parameters: TurnParameters
) -> GiveUp:
    """Ends a turn that does not fit; removes what made it so large, so that the session stays usable."""
    room = compaction.context_budget(session, executor.ports)
    if session.asked is not None and session.gauge.tokens([session.asked]) > room.target // 2:
        session = session.withdrawn()
    await parameters.keep(session)
    said = f" The model's server says: {response.reason}" if response.reason else ""
    reason = f"The conversation does not fit into the model's context. {compaction.WAY_OUT}{said}"
    return GiveUp(reason=reason, answer=session.text)


async def _complete(session: Session, executor: Executor) -> Response:
    """Requests the model's answer; repeats the request if the provider fails, and shows that to the user."""
    attempt = 0
    while True:
        try:
            response = await _ask_model(session, executor)
        except ProviderDown as error:
            attempt += 1
            again = recover.retry(attempt, error.wait_s)
            if again is None:
                raise ProviderError(recover.reason_to_give_up(str(error), attempt, error.wait_s)) from error
            executor.observe(Retried(reason=str(error), in_s=again.in_s))
            await executor.ports.pause(again.in_s)
        else:
            return _readable(response, session, executor)


def _readable(response: Response, session: Session, executor: Executor) -> Response:
    """
    Returns *response* with calls that it wrote as text, and with valid ids; tells the user about the former,
    and about calls that only repeat what the user wrote.
    """
    if response.calls:
        return replace(response, calls=name_calls(response.calls, session.call_ids))
    has_edited = any(not call.startswith(as_text.PREFIX) for call in _changing_calls(executor))
    given = session.read_texts
    before = Written(calls=session.calls, has_edited=has_edited, texts=(*given, *session.said_texts))
    found = as_text.with_calls(response, session.offered_names, before)
    calls = name_calls(found.calls, session.call_ids)
    if calls:
        one = len(calls) == 1
        text = (
            f"The model wrote {'a tool call' if one else f'{len(calls)} tool calls'} as plain text. "
            f"handrail runs {'it' if one else 'them'} all the same."
        )
        executor.observe(Notice(call=calls[0].id, text=text, is_warning=False))
    elif found is not response:
        without = as_text.with_calls(response, session.offered_names, replace(before, texts=given))
        if (
            without.calls
        ):  # what the user has written may have been meant; what a file or a command has is not
            executor.observe(Notice(call="", text=QUOTED, is_warning=False))
    return replace(found, calls=calls)


async def _finish(
    decision: Finish, session: Session, executor: Executor, parameters: TurnParameters
) -> Session | Finish:
    """
    Ends the turn, unless the user has sent a message or edits have caused problems; reports if nothing
    changed.
    """
    if said := [*parameters.steered(), *filter(None, [await executor.feedback.at_end()])]:
        return session.steer(said)
    vain = session.tried if not (session.done or _changing_calls(executor)) else 0
    nothing = "Nothing was changed in this turn: no edit or command succeeded." if vain else ""
    for remark in filter(None, (decision.remark, nothing)):
        executor.observe(Notice(call="", text=remark, is_warning=False))
    return decision


def _changing_calls(executor: Executor) -> list[str]:
    """Returns the calls of this turn that changed documents, or whose changes the documents already had."""
    is_there = (Status.LANDED, Status.ALREADY)
    return [each.mutation.call for each in executor.outcomes if each.status in is_there]


async def _ask_model(session: Session, executor: Executor) -> Response:
    stream, executor.spoken = thinking.Stream(), ""
    ports = executor.ports
    told = session.told if ports.terms.sees else pictures.describe_pictures(session.told)
    async with aclosing(ports.provider.complete(told, session.offered)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Response):
                _tell(stream.end(), executor)
                executor.spoken = ""
                return piece if piece.is_literal else replace(piece, text=thinking.answer_of(piece.text))
            _tell([piece] if isinstance(piece, Thought) else stream.add(piece.text), executor)
    raise ProviderError("The model's answer ended before it was complete, so none of its calls were run.")


def _tell(pieces: Sequence[Delta | Thought], executor: Executor) -> None:
    for piece in pieces:
        thought = isinstance(piece, Thought)
        executor.spoken += "" if thought else piece.text
        executor.observe(ThoughtDelta(delta=piece.text) if thought else TextDelta(delta=piece.text))


async def _may_go_on(session: Session, executor: Executor, concern: guard.Concern) -> bool:
    """Asks whether a turn that seems to go in circles may continue."""
    if session.recent.asked >= guard.LIMIT_QUESTIONS:
        return False
    return await executor.approvals.goes_on(concern.subject, f"{concern.detail} {NO_ENDS}")


async def _shrink(session: Session, executor: Executor, facts: Facts, *, full: bool) -> Session | None:
    smaller = await compaction.shrink(session, executor.ports, facts, full=full)
    if smaller is None:
        return None
    executor.observe(Compacted(before=smaller.before, after=smaller.after))
    if smaller.left_out:
        many = smaller.left_out
        which = f"The {many:,} oldest messages were" if many > 1 else "The oldest message was"
        text = f"{which} left out, because the model returned no summary of {'them' if many > 1 else 'it'}."
        executor.observe(Notice(call="", text=text, is_warning=False))
    return smaller.session
