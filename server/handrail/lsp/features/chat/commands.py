"""Commands that the user writes in a conversation: `/mode ask`, `/compact` and the like."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import get_args

from handrail.agent.chat import mentions, slash
from handrail.agent.chat.slash import Command
from handrail.agent.chat.view import Answer
from handrail.core import surfaces
from handrail.core.checkpoint import Checkpoint
from handrail.core.conversation.prompt import Mode
from handrail.counts import count_of
from handrail.lsp import model_settings, protocol, settings
from handrail.lsp.chat.page import ChatPage
from handrail.lsp.features import checkpoint, review_page, session, turn
from handrail.lsp.features import model as models
from handrail.lsp.features.chat import own_commands
from handrail.lsp.state import EDITOR, State
from handrail.lsp.wire import Refused, half_pair
from handrail.ports import ProviderError

NEXT = "From the next turn on"
HOW = Answer(
    text="The code actions at a line show what was changed then, and undo it; your own changes stay.",
    in_view="The button at a line undoes what was changed then; your own changes stay.",
)
CHOOSE = (
    "Below are other models of its server: the code action at a line selects the model of that line from the "
    "next turn on. `/model PROVIDER:NAME` selects any other one."
)
CHOOSE_IN_VIEW = (
    "To use one of these models, or another one, from the next turn on, send `/model PROVIDER:NAME`."
)
NOT_LISTED = "No others are listed: {reason} To use another one, send `/model PROVIDER:NAME`."
ALL_CHECKPOINTS = (
    "the view Checkpoints (VS Code), `:HandrailRestore` (Neovim), `M-x handrail-restore` (Emacs) and "
    "`handrail checkpoint list` (in a terminal) show all"
)
ALL_SESSIONS = (
    "“Handrail: Conversations…” (VS Code), `:HandrailSessions` (Neovim), `M-x handrail-sessions` (Emacs) and "
    "`handrail session list --all` (in a terminal) show all"
)
COPIED = "These turns were copied from another conversation. Undo them there: `/sessions` lists it."
GO_ON = Answer(
    text="The code action at a line opens that conversation.",
    in_view="The button at a line opens that conversation.",
)
LIMIT_SESSIONS = 20
LIMIT_MODELS = 40
LIMIT_OWN = 100
LIMIT_CHECKPOINTS = 20  # of this conversation, and of all others
LABEL_CHARS = 80
REASON_CHARS = 600


async def run(state: State, page: ChatPage, command: Command) -> list[Answer]:
    """Do what a command says; what the conversation tells of it. Raises HandrailError."""
    answer = await COMMANDS[command.name](state, page, command.argument)
    return [each if isinstance(each, Answer) else Answer(text=each) for each in answer]


async def _help(state: State, page: ChatPage, argument: str) -> list[str]:
    own = [(name, f"sends the text of {path}") for name, path in await own_commands.names(state)]
    names = [f"- `/{name}`: {does}" for name, does in (*slash.NAMES.items(), *own[:LIMIT_OWN])]
    return [
        *names,
        "- `@path`, `@path:10-20`: shows the model a file, or lines of it",
        *(f"- `@{name}`: shows the model {what}" for name, what in mentions.NAMES.items()),
    ]


async def _compact(state: State, page: ChatPage, argument: str) -> list[str]:
    sizes = await session.compact_session(state, page.session)
    if sizes is None:
        return ["The conversation is still too short to summarise."]
    before, after = sizes
    return [f"The conversation was summarised for the model: from about {before:,} tokens to {after:,}."]


async def _mode(state: State, page: ChatPage, argument: str) -> list[str]:
    modes: tuple[protocol.Mode, ...] = get_args(protocol.Mode)
    if not argument:
        return [f"The mode is {state.host.mode_in(page.session)}."]
    wanted = next((each for each in modes if each == argument.lower()), None)
    if wanted is None:
        raise Refused(f"`{argument}` is not a mode. Modes are {', '.join(modes)}.")
    await state.host.archive.choose(page.session, Mode(wanted))
    return [f"{NEXT}, the mode is {wanted}."]


async def _model(state: State, page: ChatPage, argument: str) -> list[str | Answer]:
    if not argument:
        return await _show_model(state)
    choose_model(state, argument)
    return [
        f"{NEXT}, the model is {argument}, in all conversations, until handrail ends or you change the "
        "setting handrail.model."
    ]


async def _show_model(state: State) -> list[str | Answer]:
    """Shows the model, and the others of its server if that lists them."""
    try:
        listed = await models.list_(state, protocol.ModelListParams())
    except ProviderError as error:
        reason = surfaces.message(str(error), REASON_CHARS)
        return [f"{_name_model(state)} {NOT_LISTED.format(reason=reason)}"]
    others = [each for each in listed if not each.current]
    if not others:
        return [_name_model(state)]
    first = f"{_name_model(state)} "
    return [
        Answer(text=first + CHOOSE, in_view=first + CHOOSE_IN_VIEW),
        *(Answer(text=f"- {surfaces.code(each.model)}", model=each.model) for each in others[:LIMIT_MODELS]),
    ]


def _name_model(state: State) -> str:
    return f"The model is {state.settings.text(settings.MODEL)}."


def choose_model(state: State, model: str) -> None:
    """Have a model answer all next turns, until the setting changes. Raises HandrailError if it cannot."""
    if half := half_pair(model):
        raise Refused(f"The name of a model must not contain {half}.")
    wanted = model_settings.with_model(state.stated, model)
    if model.partition(":")[0] not in (EDITOR, review_page.PASTE):
        state.backend.providers(model_settings.model(wanted))  # raises if no such model or key exists
    state.model, state.settings = model, wanted


async def _restore(state: State, page: ChatPage, argument: str) -> list[Answer]:
    """Shows what can be restored, this conversation first."""
    found = await state.checkpoints.list()
    groups = {
        "This conversation:": [each for each in found if each.session == page.session],
        "Other conversations:": [each for each in found if each.session not in ("", page.session)],
        "Not in a conversation (quick fixes, undos in a review):": [
            each for each in found if not each.session
        ],
    }
    answers = [HOW if found else Answer(text="No turn has changed anything yet.")]
    for title, checkpoints in groups.items():
        if checkpoints:
            answers += [Answer(text=""), Answer(text=title), Answer(text="")]
        answers += [Answer(text=_row(each), checkpoint=each.id) for each in checkpoints[:LIMIT_CHECKPOINTS]]
        if more := len(checkpoints[LIMIT_CHECKPOINTS:]):
            answers.append(Answer(text=f"- … and {more} older: {ALL_CHECKPOINTS}"))
    return answers


def _row(checkpoint: Checkpoint) -> str:
    """A checkpoint as a line."""
    count = len(checkpoint.paths)
    documents = surfaces.code(checkpoint.paths[0].path) if count == 1 else count_of(count, "document")
    return f"- {_local(checkpoint.time)}: {surfaces.code(checkpoint.name, LABEL_CHARS)} ({documents})"


def _local(time: str) -> str:
    """A time as people here read it on a clock."""
    return datetime.fromisoformat(time).astimezone().strftime("%d %b %Y, %H:%M")


async def _sessions(state: State, page: ChatPage, argument: str) -> list[Answer]:
    """Other conversations, newest first."""
    sessions = await state.host.archive.journals.list(LIMIT_SESSIONS + 2)  # one may be this one
    others = [each for each in sessions if each.id != page.session]
    if not others:
        return [Answer(text="There are no other conversations.")]
    answers = [GO_ON, Answer(text="")]
    for each in others[:LIMIT_SESSIONS]:
        turns = count_of(each.turns, "turn")
        row = f"- {_local(each.time)}: {surfaces.code(each.title, LABEL_CHARS)} ({turns})"
        answers.append(Answer(text=row, session=each.id))
    if others[LIMIT_SESSIONS:]:
        answers.append(Answer(text=f"- … and older ones: {ALL_SESSIONS}"))
    return answers


async def _review(state: State, page: ChatPage, argument: str) -> list[str]:
    review_page.show(state, await review_page.open_(state, protocol.ReviewOpenParams()))
    return []


async def _stop(state: State, page: ChatPage, argument: str) -> list[str]:
    running = page.transcript.running
    if running is None:
        return ["No turn is running."]
    await turn.cancel(state, protocol.TurnCancelParams(turn=running.turn))
    return []


async def _undo(state: State, page: ChatPage, argument: str) -> list[str]:
    turns = [each for each in page.transcript.turns if not each.copied]
    if not turns:
        return [COPIED if page.transcript.turns else "There is nothing to undo."]
    request = protocol.CheckpointRestoreParams(checkpoint=turns[-1].turn, conversation=True)
    report = await checkpoint.restore(state, request)
    checkpoint.tell(state, replace(report, conversation=None))  # the document itself shows that
    came_to = _count_restored(len(report.restored), len(report.deleted))
    if report.conflicts or report.partial:
        return [
            "The last turn was removed from the conversation, but not all of its changes could be undone "
            f"({came_to})."
        ]
    if not report.restored and not report.deleted:
        return ["The last turn was undone. No document had to be changed."]
    return [f"The last turn was undone: {came_to}."]


def _count_restored(restored: int, deleted: int) -> str:
    """Returns what a restore did, such as `1 document restored, 2 deleted`."""
    if deleted and not restored:
        return f"{count_of(deleted, 'document')} deleted"
    return f"{count_of(restored, 'document')} restored" + (f", {deleted:,} deleted" if deleted else "")


COMMANDS: Mapping[str, Callable[[State, ChatPage, str], Awaitable[Sequence[str | Answer]]]] = {
    "compact": _compact,
    "help": _help,
    "mode": _mode,
    "model": _model,
    "restore": _restore,
    "review": _review,
    "sessions": _sessions,
    "stop": _stop,
    "undo": _undo,
}
