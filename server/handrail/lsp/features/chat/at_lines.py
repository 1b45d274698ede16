"""Code actions, lenses, symbols and folds at the lines of a conversation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lsprotocol import types as lsp

from handrail.agent.chat.transcript import Call, TranscriptTurn
from handrail.agent.chat.view import ASK, TITLE, heading, may_have_changed
from handrail.core import surfaces
from handrail.core.conversation.prompt import Mode
from handrail.core.documents.page import Page
from handrail.lsp import protocol
from handrail.lsp.chat.page import ChatPage
from handrail.lsp.features import actions
from handrail.lsp.features.actions import action, lens
from handrail.lsp.questions import words
from handrail.lsp.state import State

RETRY, FORK = "Retry this turn", "Fork the conversation here"
CARRY_OUT, PLAN = "Carry out this plan", "Carry out this plan."


def code_actions(state: State, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """Returns the code actions at a line of a conversation."""
    page = state.chats.of_uri(params.text_document.uri)
    if page is None or not actions.wants_fixes(params):
        return []
    page.observe()
    key, _ = page.page.part_at(params.range.start.line)
    offered = [*_answers(state, page, key)]
    running = page.transcript.running
    if not all(surfaces.is_blank(line.text) for line in page.draft):
        title = "Send" if running is None else "Send to the running turn"
        offered.append(action(title, protocol.CHAT_SEND, {"uri": params.text_document.uri}))
    if running is not None:
        offered.append(action("Stop this turn", protocol.TURN_CANCEL, {"turn": running.turn}))
    if running is None and (plan := _plan(page)) is not None:
        offered.append(action(CARRY_OUT, *plan))
    if key in (TITLE, ASK):
        offered += (action(*each) for each in _of_conversation(state, page))
    offered += _of_part(state, page, key, params.text_document.uri)
    return [*offered, action("New conversation", protocol.CHAT_NEW, {})]


def _answers(state: State, page: ChatPage, key: str) -> Iterator[lsp.CodeAction]:
    """The choices of a question, where all of it stands as we wrote it."""
    asked = next(
        (each for each in state.questions.open if each.id == page.shown_now.questions.get(key)), None
    )
    if asked is not None and _is_whole(page, key):
        for choice in asked.question.choices:
            title = words.choice_title(asked.question, choice)
            yield action(title, protocol.APPROVAL_ANSWER, {"approval": asked.id, "choice": choice})


def _is_whole(page: ChatPage, key: str) -> bool:
    """Whether a part is in the document exactly as we wrote it, with nothing else in it."""
    part = next((each for each in page.parts if each.key == key), None)
    lines = page.page.lines
    own = [at for at, line in enumerate(lines) if line.part == key]
    if part is None or not own:
        return False
    there = [line.text.rstrip() for line in lines[own[0] : own[-1] + 1]]
    return there == [row.rstrip() for row in part.rows]


def _of_part(state: State, page: ChatPage, key: str, uri: str) -> Iterator[lsp.CodeAction]:
    one, call = page.shown_now.turns.get(key), page.shown_now.calls.get(key)
    if (checkpoint := page.shown_now.checkpoints.get(key)) is not None:
        yield action("Show these changes", protocol.CHECKPOINT_DIFF, {"checkpoint": checkpoint})
        yield action("Undo these changes", protocol.CHECKPOINT_RESTORE, {"checkpoint": checkpoint})
    if call is not None and call.tool == "terminal":
        yield action("Show this command's full output", protocol.OUTPUT_SHOW, {"call": call.id})
        yield from _stops(state, page, call)
    if (model := page.shown_now.models.get(key)) is not None:
        yield action("Use this model", protocol.CHAT_CHOOSE, {"session": page.session, "model": model})
    if (session := page.shown_now.sessions.get(key)) is not None:
        yield action("Open this conversation", protocol.CHAT_OPEN, {"session": session})
    if one is None or one.is_running or one.copied:
        return
    if page.is_changed(one.turn):
        yield action("Restore this message", protocol.CHAT_RESTORE, {"uri": uri, "turn": one.turn})
    if page.transcript.running is None:
        if _may_retry(page, one):
            yield action(RETRY, protocol.CHAT_RETRY, {"uri": uri, "turn": one.turn})
        yield action("Send this message again, in a new conversation", *_retry_request(one, uri))
    yield action(FORK, protocol.CHAT_FORK, {"uri": uri, "turn": one.turn})
    if may_have_changed(one):
        wanted = {"checkpoint": one.turn}
        yield action("Undo this turn's changes", protocol.CHECKPOINT_RESTORE, wanted)
        yield action("Show pending changes", protocol.REVIEW_OPEN, {})


def _stops(state: State, page: ChatPage, call: Call) -> Iterator[lsp.CodeAction]:
    """Yields the actions that stop the command of a call, but not its turn."""
    if state.host.background.is_awaited(page.session, call.id):
        wanted = {"session": page.session, "call": call.id}
        yield action("Stop this command", protocol.COMMAND_INTERRUPT, wanted)
    for each in state.host.background.list_commands(page.session):
        if each.call == call.id and each.is_running:
            yield action("Stop this command", protocol.COMMAND_STOP, {"command": each.id})


def _plan(page: ChatPage) -> tuple[protocol.Request, dict[str, object]] | None:
    """Returns the request that carries out the plan of the latest turn."""
    turns = page.transcript.turns
    if not turns or turns[-1].mode != Mode.PLAN or turns[-1].state != "finished":
        return None
    said = {"session": page.session, "text": PLAN, "mode": Mode.EDIT.value, "send": True}
    return protocol.CHAT_ASK, said


def _retry_request(one: TranscriptTurn, uri: str) -> tuple[protocol.Request, dict[str, object]]:
    return protocol.CHAT_RESEND, {"uri": uri, "turn": one.turn}


def _may_retry(page: ChatPage, one: TranscriptTurn) -> bool:
    """Whether a turn is the last one, and has not finished."""
    return one is page.transcript.turns[-1] and one.state != "finished"


def _of_conversation(
    state: State, page: ChatPage
) -> Iterator[tuple[str, protocol.Request, dict[str, object]]]:
    """Yields the actions for a whole conversation: each a title, a request and its argument."""
    session = page.session
    mode = state.host.mode_in(session)
    for other in (each.value for each in Mode if each is not mode):
        yield f"Switch to the mode {other}", protocol.CHAT_CHOOSE, {"session": session, "mode": other}
    yield "Choose the model…", protocol.CHAT_SAY, {"session": session, "text": "/model"}
    if page.transcript.turns and page.transcript.running is None:
        yield "Summarise this conversation", protocol.CHAT_SAY, {"session": session, "text": "/compact"}


def lenses(state: State, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    """Above the place where the user writes *Send* or *Stop*; above a question its answers."""
    uri = params.text_document.uri
    page = state.chats.of_uri(uri)
    if page is None:
        return []
    page.observe()
    lenses = list[lsp.CodeLens]()
    for at, line in enumerate(page.page.lines):
        if line.part is not None and not line.number:
            lenses += _lenses(state, page, line.part, at, uri)
    return lenses


def _lenses(state: State, page: ChatPage, key: str, at: int, uri: str) -> Iterator[lsp.CodeLens]:
    """Those above a part."""
    running = page.transcript.running
    if key == TITLE:
        yield from (lens(at, *each) for each in _of_conversation(state, page))
    elif key == ASK:
        title = "Send" if running is None else "Send to the running turn"
        yield lens(at, title, protocol.CHAT_SEND, {"uri": uri})
        if running is not None:
            yield lens(at, "Stop", protocol.TURN_CANCEL, {"turn": running.turn})
        if running is None and (found := _plan(page)) is not None:
            yield lens(at, CARRY_OUT, *found)
        yield lens(at, "New conversation", protocol.CHAT_NEW, {})
    elif key in page.shown_now.questions:
        yield from _lenses_above(at, _answers(state, page, key))
    elif (call := page.shown_now.calls.get(key)) is not None:
        yield from _lenses_above(at, _stops(state, page, call))
    elif key.startswith("you:") and running is None:
        one = page.shown_now.turns[key]
        if not one.copied and _may_retry(page, one):
            yield lens(at, RETRY, protocol.CHAT_RETRY, {"uri": uri, "turn": one.turn})
        if not one.copied:
            yield lens(at, "Send again in a new conversation", *_retry_request(one, uri))


def _lenses_above(at: int, actions: Iterable[lsp.CodeAction]) -> Iterator[lsp.CodeLens]:
    """Code actions as lenses above a line."""
    start = lsp.Position(line=at, character=0)
    for each in actions:
        yield lsp.CodeLens(range=lsp.Range(start=start, end=start), command=each.command)


def symbols(state: State, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol] | None:
    """The turns of a conversation, by what the user said."""
    page = state.chats.of_uri(params.text_document.uri)
    if page is None:
        return None
    page.observe()
    starts = _starts(page.page)
    keys = [key for key in starts if key.startswith("you:")]
    result, last = [], len(page.page.lines)
    for key, following in zip(keys, [*keys[1:], ASK], strict=False):  # of none there is none that follows
        begin, end = starts[key], max(starts.get(following, last) - 1, starts[key])
        whole = lsp.Range(
            start=lsp.Position(line=begin, character=0), end=lsp.Position(line=end, character=0)
        )
        first = lsp.Range(
            start=lsp.Position(line=begin, character=0), end=lsp.Position(line=begin, character=0)
        )
        name = heading(page.parts, key) or "You"
        result.append(
            lsp.DocumentSymbol(name=name, kind=lsp.SymbolKind.Event, range=whole, selection_range=first)
        )
    return result


def _starts(page: Page) -> dict[str, int]:
    """The first line of each part, by its key."""
    result = dict[str, int]()
    for at, line in enumerate(page.lines):
        if line.part is not None:
            result.setdefault(line.part, at)
    return result


def folds(state: State, params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange] | None:
    """Turns, and what calls have printed."""
    page = state.chats.of_uri(params.text_document.uri)
    if page is None:
        return None
    page.observe()
    result, starts = [], _starts(page.page)
    for key in page.shown_now.folds:
        rows = [at for at, line in enumerate(page.page.lines) if line.part == key and line.text.strip()]
        if key in starts and rows[-1] > starts[key]:
            result.append(lsp.FoldingRange(start_line=starts[key], end_line=rows[-1]))
    for each in symbols(state, lsp.DocumentSymbolParams(text_document=params.text_document)) or ():
        if each.range.end.line > each.range.start.line:
            result.append(lsp.FoldingRange(start_line=each.range.start.line, end_line=each.range.end.line))
    return result
