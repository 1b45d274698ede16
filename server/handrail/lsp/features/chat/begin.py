"""Begin turns with what their prompts point at."""

from __future__ import annotations

from dataclasses import replace

from handrail.agent.chat import slash
from handrail.lsp import protocol, settings
from handrail.lsp.features import configuration, review_page, turn
from handrail.lsp.features.chat import mentioned, own_commands
from handrail.lsp.state import State
from handrail.lsp.wire import InvalidParams, Refused

LIMIT_TOLD = 10  # of what is wrong with a message, each in a message of its own


async def start(state: State, params: protocol.TurnStartParams) -> protocol.TurnStartResult:
    """
    As `turn.start`, with all that the prompt names with an `@`; the user is told about names that match
    nothing.
    """
    wanted, pointed = await _with_mentions(state, params)
    begun = await turn.start(state, wanted, tuple(pointed.excerpts))
    _tell(state, pointed)
    return begun


async def queue(state: State, params: protocol.TurnStartParams) -> protocol.TurnStartResult:
    """As `turn.queue`, with the same."""
    wanted, pointed = await _with_mentions(state, params)
    begun = await turn.queue(state, wanted, tuple(pointed.excerpts))
    _tell(state, pointed)
    return begun


async def steer(state: State, params: protocol.TurnSteerParams) -> None:
    """Say something to a running turn, with all that it names with an `@`. Raises UnknownId."""
    if not params.text.strip():
        raise InvalidParams("params.text must not be empty.")
    session = state.host.turns.find(params.turn).session
    await _refuse_commands(state, params.text)
    pointed = await mentioned.resolve_mentions(state, params.text, session)
    await state.host.steer(
        params.turn, await turn.make_message(state, params.text, pointed.context, pointed.excerpts)
    )
    _tell(state, pointed)


async def _with_mentions(
    state: State, params: protocol.TurnStartParams
) -> tuple[protocol.TurnStartParams, mentioned.ResolvedMentions]:
    if "@" in params.prompt or params.prompt.lstrip().startswith("/"):
        await configuration.wait_for_settings(state)
    chosen = state.settings.text(settings.MODEL)
    if not params.pasted:
        await _refuse_commands(state, params.prompt)
    if params.pasted or chosen == review_page.PASTE:  # the prompt is a reply, with code in it
        return params, mentioned.ResolvedMentions()
    pointed = await mentioned.resolve_mentions(state, params.prompt, params.session)
    there = list(params.context or ())
    there += [each for each in pointed.context if each not in there]
    return replace(params, context=there or None), pointed


async def _refuse_commands(state: State, prompt: str) -> None:
    """Keep commands from the model, except those of the project. Raises Refused."""
    command = slash.parse(prompt)
    if command is None or (isinstance(command, str) and await own_commands.find_command(state, prompt)):
        return
    raise Refused(slash.why_not_prompt(prompt, [name for name, _ in await own_commands.names(state)]))


def _tell(state: State, pointed: mentioned.ResolvedMentions) -> None:
    for problem in pointed.problems[:LIMIT_TOLD]:
        state.say(problem)
    if more := len(pointed.problems[LIMIT_TOLD:]):
        them = "mention matches nothing, or is" if more == 1 else "mentions match nothing, or are"
        state.say(f"{more} more {them} not shown to the model.")
