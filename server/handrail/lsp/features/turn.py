"""Begin, await and stop turns."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from handrail.agent.review.selection import HunkSelection
from handrail.agent.turns import Turn
from handrail.core.conversation.message import LIMIT_PICTURE_BYTES, Excerpt, Picture, ToolMessage, UserMessage
from handrail.core.conversation.prompt import Mode
from handrail.core.documents import binary
from handrail.core.failure import Failure
from handrail.core.patches import reply
from handrail.core.results.redact import redact
from handrail.counts import count_hidden
from handrail.lsp import convert, model_settings, protocol
from handrail.lsp.features import checkpoint, configuration
from handrail.lsp.state import State
from handrail.lsp.wire import InvalidParams, Refused
from handrail.ports import ModelChoice

LIMIT_IMAGES = 20
LIMIT_EXCERPTS_CHARS = 100_000  # of all that one prompt points at, as of what `read_file` gives
PASTE = "paste"  # the model that makes the edits of its prompt
READABLE = (
    "a V4A patch (*** Begin Patch), SEARCH/REPLACE blocks below the path of their file, a unified diff, or "
    "whole files, each in a code fence with its path on the line above"
)


async def start(
    state: State, params: protocol.TurnStartParams, excerpts: tuple[Excerpt, ...] = ()
) -> protocol.TurnStartResult:
    """
    Begin a turn and answer at once; *excerpts* are shown to the model in addition to the context in the
    params.
    """
    return await _begin(state, params, state.host.start, excerpts)


async def queue(
    state: State, params: protocol.TurnStartParams, excerpts: tuple[Excerpt, ...] = ()
) -> protocol.TurnStartResult:
    """Have a turn begin once those of its session have finished; as `start`."""
    return await _begin(state, params, state.host.queue, excerpts)


async def _begin(
    state: State,
    params: protocol.TurnStartParams,
    begin: Callable[[str, str | None, tuple[Excerpt, ...], Mode | None, tuple[Picture, ...]], Turn],
    more: tuple[Excerpt, ...] = (),
) -> protocol.TurnStartResult:
    if not params.prompt.strip():
        raise InvalidParams("params.prompt must not be empty: say what to do, or paste a reply with edits.")
    if params.pasted and not reply.read(params.prompt).blocks:
        raise Refused(f"The pasted text has no edits. Paste a reply with {READABLE}.")
    excerpts = _redact_excerpts(state, (*await _excerpts(state, params.context or ()), *more))
    pictures = (
        *await _pictures(state, params.images or ()),
        *await _pointed_pictures(state, params.context or ()),
    )
    mode = Mode(params.mode) if params.mode is not None else None
    if params.session is not None:
        await state.host.catch_up(params.session)
    turn = begin(params.prompt, params.session, excerpts, mode, pictures)
    if params.pasted:
        _apply_prompt(state, turn)
    return await _began(state, turn)


async def queue_with(
    state: State, prompt: str, session: str | None, excerpts: tuple[Excerpt, ...]
) -> protocol.TurnStartResult:
    """As `queue`, with excerpts that have been read; does not wait until the prompt is recorded."""
    if session is not None:
        await state.host.catch_up(session)
    turn = state.host.queue(prompt, session, excerpts)
    _follow(state, turn)
    return protocol.TurnStartResult(session=turn.session, turn=turn.id)


def _apply_prompt(state: State, turn: Turn) -> None:
    """Has the turn make the edits of its prompt, whatever model is chosen."""
    state.host.turns.providers[turn.id] = state.backend.providers(ModelChoice(model=PASTE))


async def _began(state: State, turn: Turn) -> protocol.TurnStartResult:
    """Answers once the prompt is recorded: until then, a client still has it as unsent."""
    _follow(state, turn)
    await state.host.archive.journals.wait_until_written()
    return protocol.TurnStartResult(session=turn.session, turn=turn.id)


def _follow(state: State, turn: Turn) -> None:
    state.follow(turn.task)
    turn.task.add_done_callback(lambda _: checkpoint.tidy_later(state))


async def wait(state: State, params: protocol.TurnWaitParams) -> protocol.TurnReport:
    """Answer when the turn has ended; giving up the wait does not stop the turn."""
    report = await state.host.wait(params.turn)
    pending = state.host.reviews.hunks(HunkSelection(turn=report.turn))
    ids = [hunk.id for hunks in pending.values() for hunk in hunks]
    unstored = await state.host.archive.is_unstored(report.session)
    return replace(state.converter.turn_report(report), pending=ids or None, unstored=unstored or None)


async def apply(state: State, params: protocol.TurnApplyParams) -> protocol.TurnApplied:
    """Make edits that another program wrote; cancelling the request stops the turn."""
    if not reply.read(params.edits).blocks:
        raise InvalidParams(f"params.edits holds no edit. Write {READABLE}.")
    turn = state.host.start(f"{params.title}\n\n{params.edits}", None, mode=Mode.EDIT)
    _apply_prompt(state, turn)
    _follow(state, turn)
    try:
        report = await wait(state, protocol.TurnWaitParams(turn=turn.id))
    except asyncio.CancelledError:
        await state.host.cancel(turn.id)
        raise
    made = [each for each in state.host.sessions[turn.session].messages if isinstance(each, ToolMessage)]
    texts = [result.text for message in made for result in message.results]
    return protocol.TurnApplied(text="\n\n".join(texts) or report.reason or report.answer, report=report)


async def make_message(
    state: State, text: str, context: Sequence[protocol.TurnContext], excerpts: Sequence[Excerpt]
) -> UserMessage:
    """Returns a message for a running turn, with what it points at."""
    shown = _redact_excerpts(state, (*await _excerpts(state, context), *excerpts))
    return UserMessage(text=text, context=shown, pictures=await _pointed_pictures(state, context))


async def cancel(state: State, params: protocol.TurnCancelParams) -> None:
    """Stop a turn; nothing is edited after the answer."""
    await state.host.cancel(params.turn)


async def _pictures(state: State, images: Sequence[protocol.TurnImage]) -> tuple[Picture, ...]:
    """Returns the pictures that the user shows. Raises InvalidParams, Refused."""
    if not images:
        return ()
    await configuration.wait_for_settings(state)
    if not model_settings.takes_pictures(state.settings):
        raise Refused(model_settings.why_no_pictures(state.settings))
    if len(images) > LIMIT_IMAGES:
        raise Refused(f"{len(images)} pictures are too many; a turn may have at most {LIMIT_IMAGES}.")
    return tuple([await _picture(state, image, f"params.images[{at}]") for at, image in enumerate(images)])


async def _pointed_pictures(state: State, context: Sequence[protocol.TurnContext]) -> tuple[Picture, ...]:
    """The pictures among what the user points at, for a model that sees."""
    result = []
    for each in context:
        if model_settings.takes_pictures(state.settings) and isinstance(
            await state.editor.read(each.uri), Failure
        ):
            with suppress(Refused):  # what else cannot be read is left out
                result.append(await _picture(state, protocol.TurnImage(uri=each.uri), "params.context"))
    return tuple(result[:LIMIT_IMAGES])


async def _picture(state: State, image: protocol.TurnImage, where: str) -> Picture:
    if (image.uri is None) == (image.data is None):
        raise InvalidParams(f"{where}: give either uri or data.")
    if image.uri is not None:
        name, raw = state.show_path(image.uri), await state.editor.read_bytes(image.uri)
        if raw is None:
            raise Refused(f"The picture {name} does not exist or cannot be read.")
    else:
        name = image.name or "picture"
        try:
            raw = await asyncio.to_thread(b64decode, image.data or "", validate=True)
        except ValueError as error:
            raise InvalidParams(f"{where}.data is not valid base64.") from error
    media = binary.media_of(raw)
    if not media:
        raise Refused(f"{name} is not a PNG, JPEG, GIF or WebP picture.")
    if len(raw) > LIMIT_PICTURE_BYTES:
        raise Refused(f"{name} has {len(raw):,} bytes; the limit for pictures is {LIMIT_PICTURE_BYTES:,}.")
    return Picture(path=name, media=media, data=(await asyncio.to_thread(b64encode, raw)).decode("ascii"))


def _redact_excerpts(state: State, excerpts: Sequence[Excerpt]) -> tuple[Excerpt, ...]:
    """Excerpts without keys, and no longer than a prompt can take; of each, what is left out is counted."""
    room, shown, secrets = LIMIT_EXCERPTS_CHARS, list[Excerpt](), state.secrets()
    for each in excerpts:
        text = redact(each.text, secrets)
        if (missing := len(text) - room) > 0:
            text = f"{text[:room].rstrip()}\n({count_hidden(missing, 'character')}.)\n".lstrip("\n")
        room = max(0, room - len(text))
        shown.append(replace(each, text=text))
    return tuple(shown)


async def _excerpts(state: State, context: Sequence[protocol.TurnContext]) -> tuple[Excerpt, ...]:
    """Returns excerpts of what the user points at; a document that cannot be read is left out."""
    result = []
    for each in context:
        place = state.workspace.resolve(each.uri)
        document = await state.editor.read(each.uri)
        if isinstance(document, Failure) or isinstance(place, Failure):
            continue
        text, start, end = document.text, 0, len(document.text.content)
        if each.range is not None:
            start = convert.offset(text, each.range.start, state.converter.encoding)
            end = max(start, convert.offset(text, each.range.end, state.converter.encoding))
        result.append(
            Excerpt(path=place.path, first_line=text.line_at(start) + 1, text=text.content[start:end])
        )
    return tuple(result)
