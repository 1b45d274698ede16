"""Resolves the mentions of a message (`@`) to what the model is shown, and completes them."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Mapping, Sequence

from lsprotocol import types as lsp

from handrail.agent.chat import mentions, slash
from handrail.agent.chat.mentions import DIFF, PROBLEMS, SELECTION, SESSION, Mention
from handrail.core import surfaces
from handrail.core.conversation.message import LIMIT_PICTURE_BYTES, Excerpt
from handrail.core.documents import binary
from handrail.core.failure import Code, Failure
from handrail.core.policy.place import Place, PlaceKind
from handrail.counts import count_hidden
from handrail.lsp import convert, model_settings, protocol
from handrail.lsp.documents import from_units, to_units
from handrail.lsp.features import actions, prompts, turn
from handrail.lsp.features.chat import changed, earlier, own_commands
from handrail.lsp.state import State
from handrail.values import dataclass, field

LIMIT_PROBLEMS = 50
LIMIT_UNKNOWN = 5  # names that are listed
LIKE = 0.8  # of difflib: worth being named
LIMIT_OFFERED = 100
MISSING = "was not sent: the file does not exist."
TRIGGERS = ("@", "/", '"')


@dataclass(kw_only=True)
class ResolvedMentions:
    """
    The documents and texts that a message points at.

    Attributes:
        context: Documents, and parts of them.
        excerpts: Other texts.
        problems: Messages to the user about names that match nothing.
        pictures: How many documents of the context are pictures.
    """

    context: list[protocol.TurnContext] = field(default_factory=list)
    excerpts: list[Excerpt] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    pictures: int = 0


async def resolve_mentions(state: State, text: str, session: str | None = None) -> ResolvedMentions:
    """
    Resolves the names with an `@` in *text*, and the command of the project with which it begins. Raises
    Refused.

    Args:
        session: The conversation that the text is part of, if it has begun.
    """
    pointed, body = ResolvedMentions(), ""
    if (command := await own_commands.find_command(state, text)) is not None:
        pointed.excerpts.append(command.excerpt)
        body = command.text
    elif why := slash.why_sent(text, in_terminal=state.client.is_headless):
        pointed.problems.append(why)
    unknown = list[str]()
    for each in dict.fromkeys((*mentions.mentions(text), *mentions.mentions(body))):
        if (other := OTHERS.get(each.full)) is not None:
            why = await other(state, pointed)
        elif earlier.is_named(each.full):
            why = await _session(state, each.full, session, pointed)
        else:
            why = await _document(state, each, pointed)
            if why == MISSING and not each.is_path:
                unknown.append(each.full)
                continue
        if why:
            pointed.problems.append(f"@{surfaces.line(each.full)} {why}")
    if unknown:
        pointed.problems.append(_unknown(unknown))
    return pointed


def _unknown(names: Sequence[str]) -> str:
    """Returns the message about words with an `@` that may be names of people, or in code."""
    near = (difflib.get_close_matches(each.lower(), mentions.NAMES, 1, LIKE) for each in names)
    meant = [f"@{each}" for each in dict.fromkeys(each for found in near for each in found)]
    listed = ", ".join(f"@{surfaces.line(each)}" for each in names[:LIMIT_UNKNOWN])
    if more := len(names[LIMIT_UNKNOWN:]):
        listed += f" and {more} more"
    hint = f" Did you mean {' or '.join(meant)}?" if meant else ""
    one = not names[1:]
    why = (
        "the file does not exist, so only its name was"
        if one
        else "no such files exist, so only their names were"
    )
    return f"{listed}: {why} sent to the model.{hint}"


async def _document(state: State, named: Mention, pointed: ResolvedMentions) -> str:
    """Adds a document that is named; returns why not, if it cannot be read."""
    lines = protocol.Range(
        start=protocol.Position(line=named.first - 1, character=0),
        end=protocol.Position(line=named.last, character=0),
    )
    for path, range_ in ((named.name, lines if named.first else None), (named.full, None)):
        place = state.workspace.resolve(path)
        if not isinstance(place, Place) or prompts.why_not_sent(state, place) is not None:
            continue
        document = await state.editor.read(place.uri)
        if not isinstance(document, Failure):
            pointed.context.append(protocol.TurnContext(uri=place.uri, range=range_))
            return ""
        raw = await state.editor.read_bytes(place.uri) if document.code is Code.BAD_ENCODING else None
        if raw is not None and binary.media_of(raw):
            return _picture(state, place, raw, pointed)
    return await _why(state, named.name)


def _picture(state: State, place: Place, raw: bytes, pointed: ResolvedMentions) -> str:
    """Add a picture that is named; why not, if the model cannot be shown it."""
    why = ""
    if not model_settings.takes_pictures(state.settings):
        why = f"it is {binary.kind_of(raw)}, and {model_settings.why_no_pictures(state.settings)}"
    elif len(raw) > LIMIT_PICTURE_BYTES:
        why = f"it has {len(raw):,} bytes; the limit is {LIMIT_PICTURE_BYTES:,}. Mention a smaller copy."
    elif pointed.pictures >= turn.LIMIT_IMAGES:
        why = f"a message can show at most {turn.LIMIT_IMAGES} pictures."
    if why:
        return f"is not shown to the model: {why}"
    pointed.pictures += 1
    pointed.context.append(protocol.TurnContext(uri=place.uri))
    return ""


_HIDDEN = {
    PlaceKind.OUTSIDE: "it is outside the workspace.",
    PlaceKind.VERSION_CONTROL: "it belongs to version control.",
    PlaceKind.OWN: "it belongs to handrail.",
}


async def _why(state: State, path: str) -> str:
    place = state.workspace.resolve(path)
    if not isinstance(place, Place):
        return f"is not shown to the model: {place.message}"
    if place.kind not in prompts.SENT_FROM:
        return f"is not shown to the model: {_HIDDEN.get(place.kind, 'it is protected.')}"
    if (why := prompts.why_not_sent(state, place)) is not None:
        return f"is not shown to the model: it {why}."
    problem = await state.editor.read(place.uri)
    if not isinstance(problem, Failure):
        return ""
    if await prompts.is_missing(state, place.uri, problem):
        return MISSING
    return f"is not shown to the model: {problem.message}"


async def _selection(state: State, pointed: ResolvedMentions) -> str:
    selected = state.documents.selected
    if selected is None and state.client.is_headless:
        return "was not sent: there is no editor. Name the lines of a file: @path:10-20."
    if selected is None:
        return (
            "was not sent: the editor has not reported a selection. Select the lines and choose the code "
            f"action “{prompts.ABOUT}” instead."
        )
    uri, range_ = selected
    if not prompts.is_sent_from(state, uri):
        return "is not shown to the model: it is in a protected file, or outside the workspace."
    pointed.context.append(protocol.TurnContext(uri=uri, range=convert.range_of(range_)))
    return ""


async def _problems(state: State, pointed: ResolvedMentions) -> str:
    known = list(state.host.ledger.open)
    if not known:
        return (
            "was not sent: no edit of handrail's is reported as a problem. Problems that other programs "
            "report are not included."
        )
    rows = []
    for each in known[:LIMIT_PROBLEMS]:
        line = each.failure.near[0].span.start if each.failure.near and each.seen is not None else None
        where = "" if line is None or each.seen is None else f":{each.seen.line_at(line) + 1}"
        rows.append(f"{each.mutation.path}{where}: {each.failure.code.value}: {each.failure.message}\n")
    if more := len(known[LIMIT_PROBLEMS:]):
        rows.append(f"{count_hidden(more)}.\n")
    pointed.excerpts.append(Excerpt(path="Problems that handrail shows", first_line=0, text="".join(rows)))
    return ""


async def _diff(state: State, pointed: ResolvedMentions) -> str:
    excerpt, why = await changed.show_changes(state)
    pointed.excerpts += () if excerpt is None else (excerpt,)
    return why


async def _session(state: State, name: str, current: str | None, pointed: ResolvedMentions) -> str:
    excerpt = await earlier.show_session(state, name, current)
    if isinstance(excerpt, str):
        return excerpt
    pointed.excerpts.append(excerpt)
    return ""


OTHERS: Mapping[str, Callable[[State, ResolvedMentions], Awaitable[str]]] = {
    SELECTION: _selection,
    PROBLEMS: _problems,
    DIFF: _diff,
}


def note_selection(state: State, params: lsp.CodeActionParams) -> None:
    """The editor asks what can be done at a selection: keep it as the latest one."""
    uri, range_ = params.text_document.uri, params.range
    if range_.start != range_.end and not actions.is_ours(state, uri):
        state.documents.selected = (uri, range_)


# ---- While a message is typed -----------------------------------------------------------------------------


async def completion(state: State, params: lsp.CompletionParams) -> lsp.CompletionList | None:
    """Returns completions of an unfinished `@name` or `/command` in a draft."""
    page, position = state.chats.of_uri(params.text_document.uri), params.position
    document = state.documents.find(params.text_document.uri)
    if page is None or document is None or position.line >= len(document.lines):
        return None
    page.observe()
    row = document.lines[position.line]
    before = row[: from_units(row.rstrip("\r\n"), position.character, state.documents.encoding)]
    if page.is_ours(position.line):
        return None
    offers = await complete_mention(state, before, is_first=page.begins_at(position.line))
    if offers is None:
        return None
    start = to_units(row, len(before) - len(offers.typed), state.documents.encoding)
    return _completion_list(offers, start, params)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """
    The completions of the end of a message.

    Attributes:
        typed: That end.
        name: The same, as names are compared with it.
        names: Names with what they stand for.
        paths: Paths as they are written in a message.
    """

    typed: str
    name: str
    names: Sequence[tuple[str, str]]
    paths: Sequence[str] = ()


async def complete_mention(state: State, before: str, *, is_first: bool) -> Offers | None:
    """Returns completions at the end of a line of a message, which may be its first one."""
    if before.startswith("/") and is_first:
        own = [each for each in await own_commands.names(state) if each[0] not in slash.NAMES]
        known = dict([*slash.NAMES.items(), *own])
        return Offers(typed=before, name=before, names=_matching_names("/", known, before)[:LIMIT_OFFERED])
    typing = mentions.unfinished_mention(before)
    if typing is None:
        return None
    typed, size = typing
    found = (await state.chats.paths.index()).matches(typed, LIMIT_OFFERED)
    sessions = await earlier.complete_session(state, typed) if typed.startswith(f"{SESSION}:") else []
    return Offers(
        typed=before[len(before) - size :],
        name=f"@{typed}",
        names=[*_matching_names("@", mentions.NAMES, f"@{typed}"), *sessions],
        paths=[mentions.write_mention(path) for path in found],
    )


def _matching_names(sign: str, names: Mapping[str, str], typed: str) -> list[tuple[str, str]]:
    """The names that begin as *typed*, with what they stand for."""
    return [(f"{sign}{name}", does) for name, does in names.items() if f"{sign}{name}".startswith(typed)]


def _completion_list(offers: Offers, start: int, params: lsp.CompletionParams) -> lsp.CompletionList:
    """Returns a completion list, in which each item replaces the text from *start* on."""
    end = params.position
    here = lsp.Range(start=lsp.Position(line=end.line, character=start), end=end)
    items = [
        lsp.CompletionItem(
            label=name,
            detail=does or None,
            kind=lsp.CompletionItemKind.File if not does else lsp.CompletionItemKind.Keyword,
            sort_text=f"{number:04}",
            # What matches a path in its middle, or the title of a conversation, is offered as well.
            filter_text=name if does and name.startswith(offers.name) else offers.name,
            text_edit=lsp.TextEdit(range=here, new_text=name),
        )
        for number, (name, does) in enumerate([*offers.names, *((path, "") for path in offers.paths)])
    ]
    return lsp.CompletionList(
        is_incomplete=bool(offers.paths) or earlier.is_named(offers.name[1:]), items=items
    )
