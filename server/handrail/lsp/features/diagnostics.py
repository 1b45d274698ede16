"""
Publish the open failures, and offer quick fixes for them.

Each publish carries the whole set of a document; a document without failures gets an empty one, once.
"""

from __future__ import annotations

from lsprotocol import types as lsp

from handrail.core.ledger import report
from handrail.core.verify import Ledger, OpenFailure
from handrail.lsp import protocol
from handrail.lsp.state import State


def publish(state: State, ledger: Ledger) -> None:
    """Show *ledger*; nothing is shown while the setting is off."""
    shown = report.diagnostics(ledger) if state.shows_diagnostics() else {}
    for uri in state.published - shown.keys():
        _send(state, uri, ())
    for uri, known in shown.items():
        if uri:
            _send(state, uri, known)
    state.published = {uri for uri in shown if uri}
    state.follow_closed(ledger)


def _send(state: State, uri: str, known: tuple[report.Diagnostic, ...]) -> None:
    document = state.documents.find(uri)
    state.server.text_document_publish_diagnostics(
        lsp.PublishDiagnosticsParams(
            uri=uri,
            version=document.version if document is not None else None,
            diagnostics=[state.converter.diagnostic(each) for each in known],
        )
    )


def code_actions(state: State, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """The quick fixes for the failures that are shown in the range that the client asks about."""
    if params.context.only and not any(_wants(kind) for kind in params.context.only):
        return []
    if not state.shows_diagnostics():
        return []
    document = state.documents.find(params.text_document.uri)
    uri = document.uri if document is not None else params.text_document.uri
    shown = {each.failure: each for each in report.diagnostics(state.host.ledger).get(uri, ())}
    actions: list[lsp.CodeAction] = []
    for known in state.host.ledger.open:
        if known.id in shown:
            diagnostic = state.converter.diagnostic(shown[known.id])
            if _meets(diagnostic.range, params.range):
                actions += _fixes(known, shown[known.id], diagnostic)
    return actions


def _wants(kind: lsp.CodeActionKind | str) -> bool:
    return lsp.CodeActionKind.QuickFix.value.startswith(str(getattr(kind, "value", kind)))


def _meets(one: lsp.Range, other: lsp.Range) -> bool:
    return one.start.line <= other.end.line and other.start.line <= one.end.line


def _fixes(known: OpenFailure, shown: report.Diagnostic, diagnostic: lsp.Diagnostic) -> list[lsp.CodeAction]:
    actions = [
        _action(
            f"Apply at line {near.line + 1}",
            protocol.FAILURE_APPLY,
            {"failure": known.id, "candidate": index},
            diagnostic,
        )
        for index, near in enumerate(shown.choices)
    ]
    if actions:
        actions[0].is_preferred = True
    dismiss = _action("Dismiss", protocol.FAILURE_DISMISS, {"failure": known.id}, diagnostic)
    return [*actions, dismiss]


def _action(
    title: str, request: protocol.Request, argument: dict[str, object], diagnostic: lsp.Diagnostic
) -> lsp.CodeAction:
    return lsp.CodeAction(
        title=title,
        kind=lsp.CodeActionKind.QuickFix,
        diagnostics=[diagnostic],
        command=lsp.Command(title=title, command=request.command, arguments=[argument]),
    )
