"""Ask about what is selected in any document, or say something in a conversation from elsewhere."""

from __future__ import annotations

from lsprotocol import types as lsp

from handrail.agent.chat import mentions
from handrail.core import surfaces
from handrail.core.failure import Failure
from handrail.core.results.redact import redact
from handrail.lsp import convert, protocol
from handrail.lsp.chat import draft as drafts
from handrail.lsp.features import actions, configuration, prompts
from handrail.lsp.features.actions import action
from handrail.lsp.features.chat import requests
from handrail.lsp.state import State
from handrail.lsp.wire import InvalidParams

CHANGE = "Change this with handrail…"
LIMIT_QUOTE_CHARS = 20_000  # of what is quoted; more is named instead, and read by the model as it needs it


async def ask(state: State, params: protocol.ChatAskParams) -> protocol.ChatAsked:
    """Write at the end of a conversation, or say something in it."""
    if params.uri is None and surfaces.is_blank(params.text or ""):
        raise InvalidParams("give `text`, or the `uri` of the document that it is about.")
    await configuration.wait_for_settings(state)
    await state.chats.settle()
    said = [await _quote(state, params)] if params.uri is not None else []
    said += [params.text.strip("\n")] if params.text and not surfaces.is_blank(params.text) else []
    text = "\n\n".join(said)
    page = await requests.latest(state, params.session)
    turn: str | None = None
    if params.send:
        async with page.sending:
            await page.refresh()
            turn = (await requests.say(state, page, text, params.mode)).turn
        uri = await page.refresh()
    else:
        uri = await page.refresh(lambda now: drafts.with_draft(now, text if params.text else f"{text}\n"))
    line = page.draft_line if params.text else max(len(page.page.lines) - 1, 0)
    return protocol.ChatAsked(session=page.session, uri=uri, text=page.page.text, line=line, turn=turn)


async def _quote(state: State, params: protocol.ChatAskParams) -> str:
    """
    Returns the text that names what a message is about: a document, or a selection as the editor holds it.
    Raises Refused.
    """
    uri = params.uri or ""
    place = prompts.source_place(state, uri)
    document = await state.editor.read(uri)
    if isinstance(document, Failure):
        raise prompts.why_unreadable(place, document)
    opening = "Change this in" if params.change else "About this in" if params.range else "About"
    if params.range is None:
        return f"{opening} {mentions.write_mention(place.path)}:"
    text = document.text
    start = convert.offset(text, params.range.start, state.converter.encoding)
    end = max(start, convert.offset(text, params.range.end, state.converter.encoding))
    first, last = text.line_at(start) + 1, text.line_at(max(start, end - 1)) + 1
    lines = f"{first}" if first == last else f"{first}-{last}"
    quoted = redact(text.content[start:end], state.secrets()).rstrip("\r\n")
    if not quoted.strip() or len(quoted) > LIMIT_QUOTE_CHARS:
        return f"{opening} {mentions.write_mention(place.path)}:{lines}:"
    where = f"line {lines}" if first == last else f"lines {lines}"
    return f"{opening} `{surfaces.line(place.path)}`, {where}:\n\n{surfaces.block(quoted)}"


def show(state: State, asked: protocol.ChatAsked) -> None:
    """Have the editor open the conversation where the user continues."""
    state.begin(state.open_document(asked.uri, asked.line))


def code_actions(state: State, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """Ask about what is selected, or have it changed."""
    uri, selected = params.text_document.uri, params.range
    if not actions.wants_fixes(params) or selected.start == selected.end or actions.is_ours(state, uri):
        return []
    if not prompts.is_sent_from(state, uri):
        return []
    about = {"uri": uri, "range": actions.span(selected.start, selected.end)}
    return [
        action(prompts.ABOUT, protocol.CHAT_ASK, about),
        action(CHANGE, protocol.CHAT_ASK, {**about, "change": True}),
    ]
