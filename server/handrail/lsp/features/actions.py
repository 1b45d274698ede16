"""Code actions that run a command of ours; all of them are quick fixes, which every editor offers."""

from __future__ import annotations

from collections.abc import Mapping

from lsprotocol import types as lsp

from handrail.lsp import protocol


def wanted(params: lsp.CodeActionParams) -> bool:
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


def lens(line: int, title: str, request: protocol.Request, argument: Mapping[str, object]) -> lsp.CodeLens:
    """A code lens above a line, counted from 0, that runs the command of a request."""
    place = lsp.Position(line=line, character=0)
    command = lsp.Command(title=title, command=request.command, arguments=[dict(argument)])
    return lsp.CodeLens(range=lsp.Range(start=place, end=place), command=command)
