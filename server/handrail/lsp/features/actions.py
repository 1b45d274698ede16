"""Code actions that run a command of ours; all of them are quick fixes, which every editor offers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from handrail.core import surfaces
from handrail.lsp import protocol
from handrail.lsp.state import State
from handrail.lsp.wire import InvalidParams, Refused
from handrail.ports import HandrailError

LEAVE = "Leave it as it is"
Handler = Callable[[], Awaitable[object]]


class Offered(Refused):
    """An error with actions that the user may choose from; *handlers* has them by their titles."""

    def __init__(self, message: str, handlers: Mapping[str, Handler]) -> None:
        super().__init__(message)
        self.handlers = handlers


async def offer(state: State, offered: Offered) -> None:
    """Says what is wrong and offers its commands; without an answer nothing happens."""
    titles = [lsp.MessageActionItem(title=title) for title in (LEAVE, *offered.handlers)]
    text = surfaces.message(f"handrail: {offered}")
    params = lsp.ShowMessageRequestParams(type=lsp.MessageType.Info, message=text, actions=titles)
    try:
        answer = await state.server.window_show_message_request_async(params)
        handler = offered.handlers.get(answer.title) if answer is not None else None
        if handler is not None:
            await handler()
    except (InvalidParams, HandrailError, JsonRpcException) as error:
        state.say(str(error))


def is_ours(state: State, uri: str) -> bool:
    """Whether a document is one that handrail writes."""
    return state.review_page.has_uri(uri) or state.chats.of_uri(uri) is not None


def wants_fixes(params: lsp.CodeActionParams) -> bool:
    """Whether the client asks for quick fixes, among others or alone."""
    kinds = params.context.only
    own = lsp.CodeActionKind.QuickFix.value
    return not kinds or any(own.startswith(str(getattr(kind, "value", kind))) for kind in kinds)


def action(
    title: str,
    request: protocol.Request,
    argument: Mapping[str, object],
    diagnostic: lsp.Diagnostic | None = None,
) -> lsp.CodeAction:
    """A code action that runs the command of a request; *diagnostic* is what it is a fix for."""
    return lsp.CodeAction(
        title=title,
        kind=lsp.CodeActionKind.QuickFix,
        diagnostics=None if diagnostic is None else [diagnostic],
        command=lsp.Command(title=title, command=request.command, arguments=[dict(argument)]),
    )


def span(start: lsp.Position, end: lsp.Position) -> dict[str, object]:
    """A range as an argument of a command."""
    return {
        "start": {"line": start.line, "character": start.character},
        "end": {"line": end.line, "character": end.character},
    }


def lens(line: int, title: str, request: protocol.Request, argument: Mapping[str, object]) -> lsp.CodeLens:
    """A code lens above a line, counted from 0, that runs the command of a request."""
    start = lsp.Position(line=line, character=0)
    command = lsp.Command(title=title, command=request.command, arguments=[dict(argument)])
    return lsp.CodeLens(range=lsp.Range(start=start, end=start), command=command)
