"""
Publish the open failures, and offer quick fixes for them.

Each publish carries the whole set of a document; a document without failures gets an empty one, once.
"""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types as lsp

from handrail.core import surfaces
from handrail.core.ledger import offer, report
from handrail.core.ledger.ledger import Ledger
from handrail.core.ledger.outcome import OpenFailure
from handrail.lsp import protocol
from handrail.lsp.features import actions, review
from handrail.lsp.state import State

TITLE_CHARS = 200


def publish(state: State, ledger: Ledger) -> None:
    """Show *ledger*; nothing is shown while the setting is off."""
    state.follow_closed(ledger)
    shown = _by_uri(state, ledger) if state.shows_diagnostics() else {}
    marks = review.marks(state)
    uris = {uri for uri in (*shown, *marks) if uri}
    for uri in state.published - uris:
        _send(state, uri, (), ())
    for uri in sorted(uris):
        _send(state, uri, shown.get(uri, ()), marks.get(uri, ()))
    state.published = uris


def _by_uri(state: State, ledger: Ledger) -> dict[str, tuple[report.Diagnostic, ...]]:
    """The open failures by the URI by which the client knows their document now."""
    found: dict[str, tuple[report.Diagnostic, ...]] = {}
    for uri, known in report.diagnostics(ledger).items():
        spelled = state.spelled(uri)
        found[spelled] = (*found.get(spelled, ()), *known)
    return found


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
    if not actions.wanted(params) or not state.shows_diagnostics():
        return []
    uri = state.spelled(params.text_document.uri)
    shown = {each.failure: each for each in _by_uri(state, state.host.ledger).get(uri, ())}
    found: list[lsp.CodeAction] = []
    for known in state.host.ledger.open:
        if known.id in shown:
            diagnostic = state.converter.diagnostic(shown[known.id])
            if _meets(diagnostic.range, params.range):
                found += _fixes(known, diagnostic)
    return found


def _meets(one: lsp.Range, other: lsp.Range) -> bool:
    return one.start.line <= other.end.line and other.start.line <= one.end.line


def _fixes(known: OpenFailure, diagnostic: lsp.Diagnostic) -> list[lsp.CodeAction]:
    """One action for each place, one that shows what they would write, and one that closes the failure."""
    offers = offer.offers(known)
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
    if len(offers) == 1 and offers[0].is_sure:
        fixes[0].is_preferred = True  # editors make the preferred one without showing the others
    if offers:
        fixes.append(
            actions.action("Show what this would change", protocol.FAILURE_DIFF, failure, diagnostic)
        )
    return [*fixes, actions.action("Dismiss", protocol.FAILURE_DISMISS, failure, diagnostic)]
