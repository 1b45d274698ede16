"""Keep the mirror true to the editor, and the ledger to the mirror."""

from __future__ import annotations

from dataclasses import replace

from lsprotocol import types as lsp

from handrail.core.failure import Failure
from handrail.lsp.features.chat import requests
from handrail.lsp.prompts import typed
from handrail.lsp.review.page import NAME as REVIEW
from handrail.lsp.state import State


def did_open(state: State, params: lsp.DidOpenTextDocumentParams) -> None:
    """The editor holds a document from now on."""
    document = state.documents.on_open(params.text_document)
    typed.on_open(state, document)
    state.editor.on_change(document)  # it may be a renamed one that shows an edit
    state.editor.in_step(document)
    state.host.observe_text(document.identity, document.text)
    _show_anew(state, document.identity)
    state.host.reviews.on_open(document.identity)
    if document.uri.endswith(REVIEW):
        state.begin(state.review_page.on_open(document.uri))
    state.begin(requests.on_open(state, document.uri))
    if state.host.reviews.pending:
        state.review.on_edit(document.identity)
        state.begin(state.host.reviews.refresh())  # it may be one of them by another name


def did_change(state: State, params: lsp.DidChangeTextDocumentParams) -> None:
    """The user, or an edit of ours, has changed a document."""
    identifier = params.text_document
    document = state.documents.on_change(identifier.uri, identifier.version, params.content_changes)
    if document is not None:
        typed.on_change(state, document)
        state.editor.on_change(document)
        state.review.on_edit(document.identity)
        if state.review_page.has_uri(document.uri):
            state.review_page.observe()
        if (page := state.chats.of_uri(document.uri)) is not None:
            page.observe()
    if document is not None and state.is_watched(document.identity):
        state.host.observe_text(document.identity, document.text)


def did_save(state: State, params: lsp.DidSaveTextDocumentParams) -> None:
    """The user has saved a document, or the editor has for us."""
    document = state.documents.find(params.text_document.uri)
    if document is not None:
        document.saved = replace(document.text)  # a value of its own: the same text may be saved twice
        state.editor.in_step(document)
        typed.on_save(state, document)
        if state.review_page.has_uri(document.uri):
            state.review_page.on_save()
        if (page := state.chats.of_uri(document.uri)) is not None:
            page.on_save()


def did_close(state: State, params: lsp.DidCloseTextDocumentParams) -> None:
    """The editor holds a document no longer: the disk counts."""
    document = state.documents.on_close(params.text_document.uri)
    if document is not None:
        _show_anew(state, document.identity)
        state.begin(state.chats.on_close(document.uri))
        state.recheck_file(document.uri)
        state.begin(state.host.reviews.on_close(document.identity))


def _show_anew(state: State, identity: str) -> None:
    """Show the failures of a document by the URI that the client has for it now."""
    if state.is_watched(identity):
        state.publish(state.host.ledger)


async def recheck_file(state: State, uri: str) -> None:
    """Look at a document whose file has changed: its failures may be corrected by other means."""
    place = state.workspace.resolve(uri)
    if isinstance(place, Failure) or not state.is_watched(place.identity):
        return
    document = await state.editor.read(uri)
    state.host.observe_text(place.identity, None if isinstance(document, Failure) else document.text)
