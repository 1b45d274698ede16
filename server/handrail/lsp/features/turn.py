"""Begin, await and stop turns."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.core.conversation.message import Excerpt
from handrail.core.conversation.prompt import Mode
from handrail.core.failure import Failure
from handrail.lsp import convert, protocol
from handrail.lsp.features import checkpoint
from handrail.lsp.state import State, Wrong


async def start(state: State, params: protocol.TurnStartParams) -> protocol.TurnStartResult:
    """Begin a turn and answer at once."""
    if not params.prompt.strip():
        raise Wrong("params.prompt must not be empty: say what is to be done, or paste a reply with edits.")
    excerpts = await _excerpts(state, params.context or ())
    mode = Mode(params.mode) if params.mode is not None else None
    if params.session is not None:
        await state.host.catch_up(params.session)
    turn = state.host.start(params.prompt, params.session, excerpts, mode)
    state.follow(turn.task)
    turn.task.add_done_callback(lambda _: checkpoint.tidy_later(state))
    return protocol.TurnStartResult(session=turn.session, turn=turn.id)


async def wait(state: State, params: protocol.TurnWaitParams) -> protocol.TurnReport:
    """Answer when the turn has ended; giving up the wait does not stop the turn."""
    return state.converter.turn_report(await state.host.wait(params.turn))


async def steer(state: State, params: protocol.TurnSteerParams) -> None:
    """Say something to a running turn."""
    if not params.text.strip():
        raise Wrong("params.text must not be empty.")
    state.host.steer(params.turn, params.text)


async def cancel(state: State, params: protocol.TurnCancelParams) -> None:
    """Stop a turn; nothing is edited after the answer."""
    await state.host.cancel(params.turn)


async def _excerpts(state: State, context: Sequence[protocol.TurnContext]) -> tuple[Excerpt, ...]:
    """What the user points at; a document that cannot be read is left out."""
    found = []
    for each in context:
        place = state.workspace.resolve(each.uri)
        document = await state.editor.read(each.uri)
        if isinstance(document, Failure) or isinstance(place, Failure):
            continue
        text, start, end = document.text, 0, len(document.text.content)
        if each.range is not None:
            start = convert.offset(text, each.range.start, state.converter.encoding)
            end = max(start, convert.offset(text, each.range.end, state.converter.encoding))
        found.append(
            Excerpt(path=place.path, first_line=text.line_at(start) + 1, text=text.content[start:end])
        )
    return tuple(found)
