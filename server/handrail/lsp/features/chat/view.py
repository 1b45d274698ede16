"""Conversations in a view of the client's: read one, say something in it, choose its mode and model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from itertools import product

from handrail.agent.chat import slash
from handrail.agent.chat.transcript import Call
from handrail.agent.compacting import fill_share
from handrail.core import surfaces
from handrail.core.conversation.prompt import Mode
from handrail.core.policy.place import Place
from handrail.core.results.redact import redact
from handrail.lsp import model_settings, protocol, wire
from handrail.lsp.chat.feed import Feed
from handrail.lsp.chat.items import Items, LiveState
from handrail.lsp.chat.page import ChatPage
from handrail.lsp.features import configuration
from handrail.lsp.features.chat import begin, commands, mentioned, own_commands, requests
from handrail.lsp.features.chat.at_lines import PLAN
from handrail.lsp.questions import words
from handrail.lsp.state import State
from handrail.lsp.wire import InvalidParams, Refused

SERVICE = "chat"
LIMIT_HUNKS = 200  # that are shown at their calls; all of them are in the review document
DIFF_CHARS = 4_000


async def read(state: State, params: protocol.ChatReadParams) -> protocol.ChatTranscript:
    """All of a conversation; its changes are told from then on."""
    await configuration.wait_for_settings(state)
    await state.chats.settle()
    page = await requests.latest(state, params.session)
    feed = page.feed or _feed(state, page)
    if SERVICE in state.client.services:
        page.feed = feed
        state.chats.follow()
    return feed.read()


async def say(state: State, params: protocol.ChatSayParams) -> protocol.ChatSaid:
    """Say something in a conversation, and leave its document's draft alone."""
    page = await requests.latest(state, params.session)
    text = params.text.strip("\n")
    if surfaces.is_blank(text):
        raise InvalidParams("params.text must not be empty.")
    async with page.sending:
        page.drop_unread()
        command = slash.parse(text)
        if isinstance(command, slash.Command):
            return await _run(state, page, command)
        if command is not None:
            await own_commands.expect(state, text)
        begun = await _begin(state, page, text, params)
    page.on_change()
    return protocol.ChatSaid(session=page.session, turn=begun.turn)


async def _run(state: State, page: ChatPage, command: slash.Command) -> protocol.ChatSaid:
    if command.name == "new":
        return protocol.ChatSaid(session=(await requests.begin_conversation(state)).session, turn=None)
    page.told = await commands.run(state, page, command)
    page.on_change()
    return protocol.ChatSaid(session=page.session, turn=None)


async def _begin(
    state: State, page: ChatPage, text: str, params: protocol.ChatSayParams
) -> protocol.TurnStartResult:
    if page.transcript.running is None:
        return await requests.say(state, page, text, params.mode, params.images)
    if not params.queue:
        if params.images:
            raise Refused("Pictures cannot be added to a running turn. Queue the message instead.")
        return await requests.say(state, page, text, params.mode)
    wanted = protocol.TurnStartParams(
        prompt=text, session=page.session, mode=params.mode, images=params.images
    )
    begun = await begin.queue(state, wanted)
    page.queued[begun.turn] = (text, True)
    return begun


async def choose(state: State, params: protocol.ChatChooseParams) -> None:
    """Choose the mode of a conversation, or the model of all."""
    if params.session is None:
        if params.mode is not None:
            raise InvalidParams("params.mode needs a session: a mode is chosen for one conversation.")
        if params.model is not None:
            await configuration.wait_for_settings(state)
            commands.choose_model(state, params.model)
        return
    page = await requests.latest(state, params.session)
    for name, value in (("mode", params.mode), ("model", params.model)):
        if value is not None:
            await commands.run(state, page, slash.Command(name=name, argument=value))
    page.on_change()


async def complete(state: State, params: protocol.ChatCompleteParams) -> protocol.ChatOffers:
    """Returns completions for the end of a message that is being written."""
    first, _, rest = params.before.rpartition("\n")
    completions = await mentioned.complete_mention(state, rest, is_first=not first.strip())
    if completions is None:
        return protocol.ChatOffers(typed="", offers=[])
    names = [protocol.ChatOffer(name=name, does=does) for name, does in completions.names]
    paths = [protocol.ChatOffer(name=path) for path in completions.paths]
    return protocol.ChatOffers(typed=completions.typed, offers=[*names, *paths])


# ---- What is told ---------------------------------------------------------------------------------


def _feed(state: State, page: ChatPage) -> Feed:
    keys = tuple[str, ...]()
    items = Items(redact=lambda text: redact(text, keys), openable_uri=partial(_openable_uri, state))
    asked = dict[str, tuple[protocol.Approval, str]]()

    def current_state() -> LiveState:
        nonlocal keys
        keys = state.secrets()  # once for all items: to look through the environment takes its time
        _learn(state, asked)
        return LiveState(
            questions=asked,
            commands={
                each.call: each.id
                for each in state.host.background.list_commands(page.session)
                if each.is_running
            },
            awaited=[
                each.id
                for each in _calls(page)
                if each.is_running and state.host.background.is_awaited(page.session, each.id)
            ],
            failures=_failures(state),
            hunks=_hunks(state),
            queued=page.queued,
            told=page.told,
        )

    def tell(change: protocol.ChatChanged) -> None:
        state.server.protocol.notify(protocol.CHAT_CHANGED, wire.write(change))

    return Feed(
        session=page.session,
        items=lambda: items.make_items(page.transcript, current_state()),
        status=lambda: _status(state, page),
        tell=tell,
    )


def _calls(page: ChatPage) -> Iterator[Call]:
    """The calls of the turn that runs."""
    running = page.transcript.running
    yield from (each for each in (running.items if running is not None else ()) if isinstance(each, Call))


def _learn(state: State, asked: dict[str, tuple[protocol.Approval, str]]) -> None:
    """Keep *asked* to the open questions, each as it was when it was first told."""
    known = {each.id: each for each in state.questions.open}
    for name in [name for name in asked if name not in known]:
        del asked[name]
    for name, each in known.items():
        if name not in asked:
            left = state.questions.seconds_left(each)
            until = datetime.fromtimestamp(state.backend.clock.now() + left, UTC)
            asked[name] = (words.approval(each, left), until.isoformat(timespec="seconds"))


def _failures(state: State) -> Mapping[tuple[str, str], list[protocol.Failure]]:
    result = dict[tuple[str, str], list[protocol.Failure]]()
    for each in state.host.ledger.open:
        key = (each.mutation.turn, each.mutation.call)
        result.setdefault(key, []).append(state.converter.failure(each))
    return result


def _hunks(state: State) -> Mapping[tuple[str, str], list[protocol.ChatHunk]]:
    result = dict[tuple[str, str], list[protocol.ChatHunk]]()
    for each in state.discussion.pending_subjects()[:LIMIT_HUNKS]:
        hunk = protocol.ChatHunk(
            id=each.hunk,
            uri=each.uri,
            path=each.path,
            line=each.start,
            diff=redact(each.diff, state.secrets())[:DIFF_CHARS] if each.has_text else "",
            kind=each.kind.value,
        )
        for key in product(each.turns, each.calls):
            result.setdefault(key, []).append(hunk)
    return result


def _openable_uri(state: State, path: str) -> str | None:
    place = state.workspace.resolve(path)
    return state.client_uri(place.uri) if isinstance(place, Place) else None


def _status(state: State, page: ChatPage) -> protocol.ChatStatus:
    transcript, used = page.transcript, page.transcript.usage
    share, running = fill_share(state.host, page.session), transcript.running
    last = transcript.turns[-1] if transcript.turns else None
    is_planned = last is not None and last.mode == Mode.PLAN and last.state == "finished" and running is None
    mode = state.host.mode_in(page.session).value
    return protocol.ChatStatus(
        title=redact(transcript.title, state.secrets()),
        model=model_settings.model_name(state),
        mode=mode,  # type: ignore[arg-type]  # one of them
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        running=None if running is None else running.turn,
        context_percent=None if share is None else round(share * 100),
        cost_usd=used.cost_usd,
        plan=PLAN if is_planned else None,
    )
