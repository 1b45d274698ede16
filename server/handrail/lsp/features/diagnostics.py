"""
Publish the open failures, and offer quick fixes for them.

Each publish carries the whole set of a document; a document without failures gets an empty one, once.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from lsprotocol import types as lsp

from handrail.core import surfaces
from handrail.core.failure import Code, Failure
from handrail.core.ledger import offer, report
from handrail.core.ledger.outcome import OpenFailure
from handrail.lsp import protocol
from handrail.lsp.features import actions, review
from handrail.lsp.state import State

TITLE_CHARS = 200
LABELLED = "handrail: "  # how the labels of edits begin


def publish(state: State) -> None:
    """Show the open failures; nothing is shown while the setting is off."""
    _follow_closed(state)
    shown = _by_uri(state) if state.shows_diagnostics() else {}
    marks = review.marks(state)
    uris = {uri for uri in (*shown, *marks) if uri}
    for uri in state.published - uris:
        _send(state, uri, (), ())
    for uri in sorted(uris):
        _send(state, uri, shown.get(uri, ()), marks.get(uri, ()))
    state.published = uris
    state.chats.on_change()


def _follow_closed(state: State) -> None:
    """Watch the files of documents with failures that the editor does not hold."""
    uris = {each.uri for each in state.host.ledger.mutations if state.documents.find(each.uri) is None}
    state.backend.watch.follow(sorted(uri for uri in uris if uri), state.recheck_file)


def _by_uri(state: State) -> dict[str, tuple[report.Diagnostic, ...]]:
    """The open failures by the URI by which the client knows their document now."""
    result: dict[str, tuple[report.Diagnostic, ...]] = {}
    for uri, known in report.diagnostics(state.host.ledger).items():
        spelled = state.client_uri(uri)
        result[spelled] = (*result.get(spelled, ()), *known)
    return result


def _send(
    state: State, uri: str, known: tuple[report.Diagnostic, ...], marks: Sequence[lsp.Diagnostic]
) -> None:
    document = state.documents.find(uri)
    state.server.text_document_publish_diagnostics(
        lsp.PublishDiagnosticsParams(
            uri=uri,
            version=document.version if document is not None else None,
            diagnostics=[*(state.converter.diagnostic(each) for each in known), *marks],
        )
    )


def code_actions(state: State, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """The quick fixes for the failures that are shown in the range that the client asks about."""
    if not actions.wants_fixes(params) or not state.shows_diagnostics():
        return []
    uri = state.client_uri(params.text_document.uri)
    shown = {each.failure: each for each in _by_uri(state).get(uri, ())}
    result: list[lsp.CodeAction] = []
    for known in state.host.ledger.open:
        if known.id in shown:
            diagnostic = state.converter.diagnostic(shown[known.id])
            if _meets(diagnostic.range, params.range):
                result += _fixes(state, known, diagnostic)
    return [*_offered_edits(state, uri, params.range), *result]


def _offered_edits(state: State, uri: str, range_: lsp.Range) -> list[lsp.CodeAction]:
    """The edits that wait for the user of a client that takes none from us, where they are made."""
    document = state.documents.find(uri)
    if document is None:
        return []
    return [
        lsp.CodeAction(
            title=surfaces.line(f"Make this edit: {label.removeprefix(LABELLED)}", TITLE_CHARS),
            kind=lsp.CodeActionKind.QuickFix,
            edit=edit,
        )
        for label, edit in state.editor.offers(document)
        if any(_meets(each, range_) for each in _ranges(edit))
    ]


def _ranges(edit: lsp.WorkspaceEdit) -> list[lsp.Range]:
    made = [each.edits for each in edit.document_changes or () if isinstance(each, lsp.TextDocumentEdit)]
    return [each.range for edits in (*made, *(edit.changes or {}).values()) for each in edits]


def _fix_edit(state: State, known: OpenFailure, candidate: int) -> lsp.WorkspaceEdit | None:
    """Returns the edit of a fix, for a client that does not take edits from us."""
    document, planned = state.documents.find(known.mutation.uri), offer.plan_at(known, candidate)
    if document is None or known.seen is None or isinstance(planned, Failure):
        return None
    if known.seen.content != document.text.content:
        return None
    return state.editor.workspace_edit(document, planned.edits)


def _meets(one: lsp.Range, other: lsp.Range) -> bool:
    return one.start.line <= other.end.line and other.start.line <= one.end.line


def _fixes(state: State, known: OpenFailure, diagnostic: lsp.Diagnostic) -> list[lsp.CodeAction]:
    """One action for each place, one that shows what they would write, and one that closes the failure."""
    waits = known.failure.code is Code.EDIT_REJECTED and not state.client.apply_edit
    offers = () if waits else offer.offers(known)  # else there are two ways to the same
    failure = {"failure": known.id}
    fixes = [
        actions.action(
            surfaces.line(each.title, TITLE_CHARS),
            protocol.FAILURE_APPLY,
            {**failure, "candidate": each.candidate},
            diagnostic,
        )
        for each in offers
    ]
    if not state.client.apply_edit:
        edits = [_fix_edit(state, known, each.candidate) for each in offers]
        both = zip(fixes, edits, strict=True)
        fixes = [attrs.evolve(fix, command=None, edit=edit) if edit else fix for fix, edit in both]
    if len(offers) == 1 and offers[0].is_sure:
        fixes[0].is_preferred = True  # editors make the preferred one without showing the others
    if offers:
        fixes.append(actions.action("Show the change", protocol.FAILURE_DIFF, failure, diagnostic))
    return [*fixes, actions.action("Dismiss", protocol.FAILURE_DISMISS, failure, diagnostic)]
