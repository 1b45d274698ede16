"""Conversations as documents: open one, write in it, send; what can be done at its lines."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from handrail.agent.archive import UnknownSession
from handrail.agent.chat import slash
from handrail.agent.chat.transcript import TranscriptTurn
from handrail.agent.chat.view import YOU
from handrail.agent.turn.session import Session
from handrail.agent.turns import UnknownId
from handrail.core import surfaces
from handrail.core.conversation.label import label_of
from handrail.core.conversation.prompt import Mode
from handrail.core.documents.page import Line
from handrail.lsp import protocol
from handrail.lsp.chat import draft as drafts
from handrail.lsp.chat import messages
from handrail.lsp.chat.page import ChatPage
from handrail.lsp.features import actions, configuration
from handrail.lsp.features.chat import begin, commands, own_commands
from handrail.lsp.state import State
from handrail.lsp.wire import Refused

logger = logging.getLogger(__name__)

MESSAGE_CHARS = 60
CHANGED = (
    "You changed an earlier message, which began with {message!r}. Send it again or restore it with the code "
    "action there. Then send your new message."
)
AGAIN, RESTORE = "Send it again, in a new conversation", "Restore the message"


async def open_(state: State, params: protocol.ChatOpenParams) -> protocol.ChatDocument:
    """Write the document of a conversation."""
    await configuration.wait_for_settings(state)
    await state.chats.settle()
    return await _document(await latest(state, params.session))


async def latest(state: State, session: str | None) -> ChatPage:
    """The conversation of a session, by default of the latest one, or else of a new one."""
    session = session or state.chats.latest or next(reversed(state.host.sessions), None)
    if session is None:
        return await begin_conversation(state)
    await ensure_known(state, session)
    return await state.chats.of_session(session)


async def ensure_known(state: State, session: str) -> None:
    """
    Resume a session that this server does not know yet, or that another server has continued.

    One that has no turn yet is begun.
    """
    if session in state.host.sessions:
        await state.host.catch_up(session)
        return
    try:
        await state.host.resume(session)
    except UnknownSession:
        if not state.chats.has(session):
            raise
        state.host.sessions[session] = Session(id=session)


async def on_open(state: State, uri: str) -> None:
    """Bring a document up to date that was opened, if it is a conversation."""
    await state.chats.on_open(uri)


async def new(state: State, params: protocol.ChatNewParams) -> protocol.ChatDocument:
    """Begin a conversation."""
    return await _document(await begin_conversation(state))


async def begin_conversation(state: State) -> ChatPage:
    """A new conversation."""
    session = state.host.new_id("s")
    state.host.sessions[session] = Session(id=session)
    return await state.chats.of_session(session)


async def _document(page: ChatPage) -> protocol.ChatDocument:
    uri = await page.refresh()
    return protocol.ChatDocument(session=page.session, uri=uri, text=page.page.text, line=page.draft_line)


async def send(state: State, params: protocol.ChatSendParams) -> protocol.ChatSent:
    """Send what is written at the end of a conversation."""
    page = await _page(state, params.uri, params.session)
    async with page.sending:
        await page.ready()
        sent = page.draft
        text = drafts.message(page.page, sent)
        command = None if surfaces.is_blank(text) else slash.parse(text)
        if isinstance(command, slash.Command):
            return await _ran(state, page, command, sent)
        if command is not None:
            await own_commands.expect(state, text)
        if (changed := page.changed_message()) is not None:
            raise _offered_changes(state, page, changed)
        if surfaces.is_blank(text):
            raise Refused(f"The message is empty. Write below the last `{YOU}` of the document, then send.")
        async with page.send(sent):
            begun = await say(state, page, text, params.mode)
        await page.refresh()
    return protocol.ChatSent(session=page.session, turn=begun.turn)


def _offered_changes(state: State, page: ChatPage, changed: TranscriptTurn) -> actions.Offered:
    """An earlier message has other words by now: what may be done about that."""
    uri = page.uri or ""

    async def resent() -> None:
        show(state, await resend(state, protocol.ChatResendParams(uri=uri, turn=changed.turn)))

    restored = partial(restore, state, protocol.ChatTurnParams(uri=uri, turn=changed.turn))
    handlers: dict[str, actions.Handler] = {AGAIN: resent, RESTORE: restored}
    return actions.Offered(
        CHANGED.format(message=surfaces.line(label_of(changed.prompt), MESSAGE_CHARS)), handlers
    )


async def restore(state: State, params: protocol.ChatTurnParams) -> protocol.ChatDocument:
    """Show an earlier message again as it was sent."""
    page = await _page(state, params.uri, params.session)
    async with page.sending:
        await page.ready()
        part = page.shown_now.messages.get(params.turn)
        if part is None:
            raise UnknownId(f"The conversation has no turn {params.turn!r}.")
        await page.refresh(lambda now: messages.restore_part(now, part))
    return await _document(page)


async def _ran(
    state: State, page: ChatPage, command: slash.Command, sent: Sequence[Line]
) -> protocol.ChatSent:
    """Do what a command says, and tell in the conversation what came of it."""
    async with page.send(sent):
        if command.name == "new":
            show(state, await new(state, protocol.ChatNewParams()))
        else:
            page.told = await commands.run(state, page, command)
    await page.refresh()
    return protocol.ChatSent(session=page.session, turn=None)


async def say(
    state: State,
    page: ChatPage,
    text: str,
    mode: protocol.Mode | None = None,
    images: list[protocol.TurnImage] | None = None,
) -> protocol.TurnStartResult:
    """Say something in a conversation: to the turn that runs, or as a new one."""
    state.chats.latest = page.session
    running, page.told = page.transcript.running, []
    if running is None:
        wanted = protocol.TurnStartParams(prompt=text, session=page.session, mode=mode, images=images)
        return await _begin(state, wanted)
    await begin.steer(state, protocol.TurnSteerParams(turn=running.turn, text=text))
    return protocol.TurnStartResult(session=page.session, turn=running.turn)


async def _begin(state: State, wanted: protocol.TurnStartParams) -> protocol.TurnStartResult:
    session = wanted.session or ""
    await ensure_known(state, session)
    over = {each.turn for each in (await state.chats.of_session(session)).transcript.turns if each.state}
    ending = [each.task for each in state.host.turns.running_turns(session) if each.id in over]
    if ending:  # it has said that it is over, and is about to be
        await asyncio.wait(ending)
    return await begin.start(state, wanted)


async def resend(state: State, params: protocol.ChatResendParams) -> protocol.ChatDocument:
    """Send an earlier message again with its current text, in a new session with what was before it."""
    page = await _page(state, params.uri, params.session)
    async with page.sending:
        if params.text is None:  # not brought up to date: what the user has removed of a message would return
            await page.ready()
        turns = page.transcript.turns
        ids = [each.turn for each in turns]
        if params.turn not in ids:
            raise UnknownId(f"The conversation has no turn {params.turn!r}.")
        text = page.message(params.turn) if params.text is None else params.text
        if surfaces.is_blank(text):
            raise Refused("The message is empty. Write the new message in its place, then send it again.")
        at = ids.index(params.turn)
        if turns[at].copied:
            raise Refused("This message was copied from another conversation. Send it again there.")
        if at:
            last = turns[at - 1]
            session = await state.host.fork(page.session, last.copied or last.turn)
        else:
            session = state.host.new_id("s")
            state.host.sessions[session] = Session(id=session)
            state.host.archive.learn_mode(session, state.host.archive.modes.get(page.session, ""))
        other = await state.chats.of_session(session)
        await _begin(state, protocol.TurnStartParams(prompt=text, session=session))
        if params.text is None:
            await page.refresh(lambda now: messages.restore_part(now, page.shown_now.messages[params.turn]))
    return await _document(other)


async def fork(state: State, params: protocol.ChatTurnParams) -> protocol.ChatDocument:
    """Begin a conversation that holds this one up to the end of a turn."""
    page = await _page(state, params.uri, params.session)
    one = _turn(page, params.turn)
    if one.copied:
        raise Refused("This turn was copied from another conversation. Fork that one.")
    if one.is_running:
        raise Refused("This turn is still running. Stop it, or fork the conversation when it has ended.")
    return await _document(await state.chats.of_session(await state.host.fork(page.session, one.turn)))


async def retry(state: State, params: protocol.ChatTurnParams) -> protocol.ChatSent:
    """Send the message of the last turn once more."""
    page = await _page(state, params.uri, params.session)
    async with page.sending:
        one = _turn(page, params.turn)
        if page.transcript.running is not None:
            raise Refused(
                "A turn is running in this conversation. Stop it or wait until it ends, then try again."
            )
        if one.copied:
            raise Refused("This turn was copied from another conversation. Send its message again there.")
        if one is not page.transcript.turns[-1]:
            raise Refused(
                "Only the last turn can be retried. To repeat this one, send its message again, in a new "
                "conversation."
            )
        begun = await say(state, page, one.prompt, Mode(one.mode).value if one.mode else None)
        await page.refresh()
    return protocol.ChatSent(session=page.session, turn=begun.turn)


def _turn(page: ChatPage, turn: str) -> TranscriptTurn:
    found = next((each for each in page.transcript.turns if each.turn == turn), None)
    if found is None:
        raise UnknownId(f"The conversation has no turn {turn!r}.")
    return found


async def _page(state: State, uri: str | None, session: str | None) -> ChatPage:
    await state.chats.settle()
    found = state.chats.of_uri(uri) if uri is not None else None
    if uri is not None and found is None:
        raise Refused(
            state.chats.second(uri) or f"{state.show_path(uri)} is not the document of a conversation."
        )
    session = session or state.chats.latest
    if found is None and session is None:
        raise Refused("No conversation is open. Open one with handrail.chat.open, write in it, then send.")
    if found is None and session is not None:
        await ensure_known(state, session)
        found = await state.chats.of_session(session)
    assert found is not None
    return found


def show(state: State, document: protocol.ChatDocument) -> None:
    """Have the editor open the document where the user writes: it drops the result of a command."""
    state.begin(state.open_document(document.uri, document.line))
