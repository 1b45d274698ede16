"""Prompts in code: send comments that begin with `handrail:`; have diagnostics of other programs fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lsprotocol import types as lsp

from handrail.core import surfaces
from handrail.core.conversation.message import Excerpt
from handrail.core.documents.in_code.prompts import Prompt, prompts, prompts_at
from handrail.core.documents.in_code.removal import SentPrompt
from handrail.core.failure import Code, Failure
from handrail.core.policy import rules
from handrail.core.policy.place import Place, PlaceKind
from handrail.core.policy.rules import STRICT
from handrail.core.policy.tool_kind import ToolKind
from handrail.core.results.redact import redact
from handrail.lsp import convert, protocol, settings
from handrail.lsp.documents import OpenDocument
from handrail.lsp.features import actions, configuration, review_page, turn
from handrail.lsp.features.actions import action, lens
from handrail.lsp.prompts import typed, words
from handrail.lsp.state import State
from handrail.lsp.wire import InvalidParams, Refused
from handrail.ports import HandrailError

ABOUT = "Ask handrail about this…"
SEND, FIX = "Send to handrail", "Fix this with handrail"
SENT_FROM = (PlaceKind.INSIDE, PlaceKind.RUNS_LATER)  # nothing of other files is sent without a question
LIMIT_LENSES = 200
TITLE_CHARS = 60


async def send(state: State, params: protocol.PromptSendParams) -> protocol.TurnStartResult:
    """Send the comment at a line."""
    place = source_place(state, params.uri)
    content, language = await _text(state, params.uri, place)
    here = prompts_at(prompts(content, language, place.uri), params.line, params.line)
    if not here:
        where = f"line {params.line + 1} of {surfaces.line(place.path)}"
        raise Refused(
            f"No comment at {where} begins with `handrail:`. You may have changed or removed it. Choose a "
            "line of such a comment, or write one there."
        )
    return await _send(state, place, content, here[0])


async def is_missing(state: State, uri: str, problem: Failure) -> bool:
    """Returns whether a document cannot be read because nothing is there, not even a link to no file."""
    image = await state.editor.read_image(uri) if problem.code is Code.NO_SUCH_FILE else None
    return image is not None and image.raw is None


async def _send(state: State, place: Place, content: str, prompt: Prompt) -> protocol.TurnStartResult:
    if state.host.turns.removals.has(place.identity, prompt.text):
        raise Refused(f"This comment was already sent: {surfaces.line(prompt.text, TITLE_CHARS)}")
    document = state.documents.find(place.uri)
    if document is not None and document.typed is not None:
        document.typed.send(prompt.text)
    excerpt = words.around(place.path, content, prompt.first, prompt.last)
    begun = await _begin(state, words.of_comment(place.path, prompt), excerpt)
    language = document.language if document is not None else ""
    sent = SentPrompt(
        identity=place.identity, content=content, prompt=prompt, language=language, path=place.uri
    )
    state.host.turns.removals.expect(begun.turn, sent)
    await state.host.archive.journals.wait_until_written()
    return begun


async def fix(state: State, params: protocol.PromptFixParams) -> protocol.TurnStartResult:
    """Ask for a fix of what other programs say of a place."""
    if not params.diagnostics:
        raise InvalidParams("params.diagnostics must not be empty: name the problems to fix.")
    place = source_place(state, params.uri)
    content, _ = await _text(state, params.uri, place)
    excerpt = words.around(place.path, content, params.range.start.line, params.range.end.line)
    begun = await _begin(state, words.of_diagnostics(place.path, params.diagnostics), excerpt)
    await state.host.archive.journals.wait_until_written()
    return begun


async def _begin(state: State, prompt: str, excerpt: Excerpt) -> protocol.TurnStartResult:
    """Begin a turn of the latest session, once those that run have finished."""
    await configuration.wait_for_settings(state)
    if state.settings.text(settings.MODEL) == review_page.PASTE:
        raise Refused(
            "The chosen model is `paste`, which cannot answer. Choose another one with `/model` in a "
            "conversation or in the setting handrail.model, then send again."
        )
    secrets = state.secrets()
    excerpt = replace(excerpt, text=redact(excerpt.text, secrets))
    latest = next(reversed(state.host.sessions), None)
    return await turn.queue_with(state, redact(prompt, secrets), latest, (excerpt,))


def source_place(state: State, uri: str) -> Place:
    """Returns the place of a document. Raises Refused if its text must not be sent."""
    place = state.workspace.resolve(uri)
    if isinstance(place, Failure):
        raise Refused(f"{surfaces.line(uri)}: {place.message}")
    if (why := why_not_sent(state, place)) is not None:
        raise Refused(
            f"{surfaces.line(place.path)} {why}, so its text is not sent. Ask in a conversation instead."
        )
    return place


def why_not_sent(state: State, place: Place) -> str | None:
    """Returns why no text of a file is sent without a question, as the end of a sentence; None if it is."""
    if place.kind not in SENT_FROM:
        return "is protected or outside the workspace"
    said = rules.decision_for_path(state.rules(), "read_file", ToolKind.READ, place.paths, place.named)
    return "is blocked or asked about by handrail.approvals" if said in STRICT else None


def why_unreadable(place: Place, failure: Failure) -> Refused:
    """Returns the error for a document that cannot be read, which names it once."""
    name = surfaces.line(place.path)
    is_named = failure.message.startswith((f"{name} ", f"The file {name} "))
    return Refused(failure.message if is_named else f"{name} cannot be read: {failure.message}")


async def _text(state: State, uri: str, place: Place) -> tuple[str, str]:
    """Returns the current text of a document, unsaved changes included, and its language. Raises Refused."""
    read = await state.editor.read(uri)
    if isinstance(read, Failure):
        raise why_unreadable(place, read)
    document = state.documents.find(uri)
    return read.text.content, document.language if document is not None else ""


# ---- On save --------------------------------------------------------------------------------------------


def on_save(state: State, uri: str) -> None:
    """The editor has saved a document: send what the user has typed, if the user wants that."""
    document = state.documents.find(uri)
    if document is None or document.typed is None or document.uri in state.editor.saving:
        return
    if not state.settings.flag(settings.PROMPTS_ON_SAVE):
        return
    place = state.workspace.resolve(uri)
    if isinstance(place, Failure) or why_not_sent(state, place) is not None:
        return
    if waiting := document.typed.unsent_prompts(typed.find_prompts(document)):
        for each in waiting:
            document.typed.send(each.text)
        state.begin(_send_all(state, place, document.text.content, waiting))


async def _send_all(state: State, place: Place, content: str, waiting: Sequence[Prompt]) -> None:
    try:
        for each in waiting:
            await _send(state, place, content, each)
    except (InvalidParams, HandrailError) as error:
        state.say(f"A comment was not sent: {error}")


# ---- At the place ---------------------------------------------------------------------------------------


def lenses(state: State, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    """Above each comment that can be sent."""
    uri = params.text_document.uri
    return [
        lens(each.first, SEND, protocol.PROMPT_SEND, {"uri": uri, "line": each.first})
        for each in _known_prompts(state, uri)[:LIMIT_LENSES]
    ]


def code_actions(state: State, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """Send the comments that the selection touches; have what other programs say there fixed."""
    if not actions.wants_fixes(params):
        return []
    uri = params.text_document.uri
    here = prompts_at(_known_prompts(state, uri), params.range.start.line, params.range.end.line)[
        :LIMIT_LENSES
    ]
    result = []
    for each in here:
        title = SEND if len(here) == 1 else f"{SEND}: {surfaces.line(each.text, TITLE_CHARS)}"
        result.append(action(title, protocol.PROMPT_SEND, {"uri": uri, "line": each.first}))
    return [*result, *_fixes(state, params)]


def _fixes(state: State, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    foreign = [each for each in params.context.diagnostics if not convert.is_own_source(each.source)]
    if not foreign or not is_sent_from(state, params.text_document.uri):
        return []
    told = foreign[: words.LIMIT_DIAGNOSTICS]
    fix = action(
        FIX,
        protocol.PROMPT_FIX,
        {
            "uri": params.text_document.uri,
            "range": actions.span(
                min((each.range.start for each in told), key=_order),
                max((each.range.end for each in told), key=_order),
            ),
            "diagnostics": [_to_request(each) for each in told],
        },
    )
    fix.diagnostics = foreign
    return [fix]


def _to_request(diagnostic: lsp.Diagnostic) -> dict[str, object]:
    """A diagnostic as our request takes it."""
    told: dict[str, object] = {
        "range": actions.span(diagnostic.range.start, diagnostic.range.end),
        "message": str(diagnostic.message)[: words.LIMIT_MESSAGE_CHARS],
    }
    if diagnostic.source is not None:
        told["source"] = diagnostic.source[: words.NAME_CHARS]
    if diagnostic.code is not None:
        told["code"] = str(diagnostic.code)[: words.NAME_CHARS]
    return told


def _order(position: lsp.Position) -> tuple[int, int]:
    return position.line, position.character


def _known_prompts(state: State, uri: str) -> tuple[Prompt, ...]:
    """The prompts of an open document that can be sent."""
    document: OpenDocument | None = state.documents.find(uri)
    if document is None:
        return ()
    found = typed.find_prompts(document)
    return found if found and is_sent_from(state, uri) else ()


def is_sent_from(state: State, uri: str) -> bool:
    """Whether text of a document is sent without a question."""
    place = state.workspace.resolve(uri)
    return not isinstance(place, Failure) and why_not_sent(state, place) is None
