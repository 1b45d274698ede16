"""Earlier conversations that a message names: `@session`, or `@session:` with an ID or a title."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from handrail.agent.chat import earlier
from handrail.agent.chat.mentions import SESSION
from handrail.core import surfaces
from handrail.core.conversation.message import Excerpt
from handrail.core.results.redact import redact
from handrail.lsp.state import State
from handrail.ports.sessions import SessionInfo

LIMIT_NAMED = 3  # of those that may be meant
LIMIT_OFFERED = 20
LIMIT_SEARCHED = 1_000  # the newest
TITLE_CHARS = 80
ID_CHARS = 3  # the least of an ID that names its conversation; all begin with `s-`


def is_named(name: str) -> bool:
    """Whether the text behind an `@` means a conversation."""
    return name == SESSION or name.startswith(f"{SESSION}:")


async def show_session(state: State, name: str, current: str | None) -> Excerpt | str:
    """
    Finds the conversation that a message names, and shows it to the model.

    Args:
        name: The text behind the `@`.
        current: The conversation that the message is part of; it is never meant.

    Returns:
        The excerpt; or why there is none, as the end of a sentence.
    """
    wanted = name.removeprefix(SESSION).removeprefix(":").strip()
    others = await _others(state, current)
    matching = _matching_sessions(others, wanted) if wanted else others[:1]
    if not matching:
        if not wanted:
            return "was not sent: there is no other conversation."
        lists = "`/sessions` lists them."
        if state.client.is_headless:
            lists = "To list them: `handrail session list`, or `/sessions` in `handrail chat`."
        return f"was not sent: no other conversation has this ID or title. {lists}"
    if len(matching) > 1:
        return f"was not sent: it may mean {_list_sessions(matching)}. Write @{SESSION}:ID for one of them."
    (one,) = matching
    title = _title(state, one)
    text = earlier.tell_turns(
        await state.host.archive.journals.load(one.id) or (), partial(redact, secrets=state.secrets())
    )
    if not text:
        return f"was not sent: the conversation {one.id} has no turns."
    return Excerpt(path=f"Earlier conversation {one.id} ({title})", first_line=0, text=text)


async def complete_session(state: State, typed: str) -> list[tuple[str, str]]:
    """Conversations that may be meant by an unfinished `@session:…`, newest first, each with its title."""
    wanted = typed.removeprefix(f"{SESSION}:").casefold()
    found = [
        each
        for each in await _others(state, None)
        if each.id.startswith(wanted) or wanted in each.title.casefold()
    ]
    return [(f"@{SESSION}:{each.id}", _title(state, each)) for each in found[:LIMIT_OFFERED]]


async def _others(state: State, current: str | None) -> list[SessionInfo]:
    await state.host.archive.journals.wait_until_written()
    return [each for each in await state.host.archive.journals.list(LIMIT_SEARCHED) if each.id != current]


def _matching_sessions(known: Sequence[SessionInfo], wanted: str) -> list[SessionInfo]:
    """
    Returns the sessions that a name may mean: the one with this ID; otherwise those whose ID begins with it,
    those with this title, or those whose title begins with it.
    """
    title = wanted.casefold()
    ways = (
        [each for each in known if each.id == wanted],
        [each for each in known if len(wanted) >= ID_CHARS and each.id.startswith(wanted)],
        [each for each in known if each.title.casefold() == title],
        [each for each in known if each.title.casefold().startswith(title)],
    )
    return next((found for found in ways if found), [])


def _list_sessions(sessions: Sequence[SessionInfo]) -> str:
    named = [each.id for each in sessions[:LIMIT_NAMED]]
    if more := len(sessions) - len(named):
        named.append(f"{more} more")
    return " or ".join(named)


def _title(state: State, one: SessionInfo) -> str:
    return surfaces.line(redact(one.title, state.secrets()), TITLE_CHARS)
