"""Keep the mirror true to the editor, and the ledger to the mirror."""

from __future__ import annotations

from dataclasses import replace

from lsprotocol import types as lsp

from handrail.agent import renaming
from handrail.core.documents.text import Text
from handrail.core.failure import Failure
from handrail.core.policy.place import Place
from handrail.lsp.features.chat import requests
from handrail.lsp.prompts import typed
from handrail.lsp.review.page import NAME as REVIEW
from handrail.lsp.state import State
from handrail.ports.renames import path_below


def did_open(state: State, params: lsp.DidOpenTextDocumentParams) -> None:
    """The editor holds a document from now on."""
    document = state.documents.on_open(params.text_document)
    typed.on_open(state, document)
    state.editor.on_change(document)  # it may be a renamed one that shows an edit
    state.editor.in_step(document)
    state.host.observe_text(document.identity, document.text)
    _show_anew(state, document.identity)
    if state.host.ledger.mutations:
        state.begin(_find_renamed(state, document.uri, document.text))
    state.renames.on_open(document.identity)
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
        document.is_removed = False
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
        state.renames.on_close(document.identity)
        _show_anew(state, document.identity)
        state.begin(state.chats.on_close(document.uri))
        state.recheck_file(document.uri)
        state.begin(state.host.reviews.on_close(document.identity))


async def _find_renamed(state: State, uri: str, text: Text) -> None:
    """Find out whether a document that was opened is one that has failures, under another name."""
    place = state.workspace.resolve(uri)
    if isinstance(place, Place) and await renaming.find_renamed(state.host, place, text):
        document = state.documents.find(uri)
        state.host.observe_text(place.identity, text if document is None else document.text)
        state.publish()


def did_rename(state: State, params: lsp.RenameFilesParams) -> None:
    """The user has renamed files or folders: failures and restores go with their documents."""
    renamed = dict[str, Place]()
    for file in params.files:
        old = state.workspace.resolve(file.old_uri)
        if isinstance(old, Failure):
            continue
        state.renames.on_rename(old.identity, file.new_uri)
        for mutation in state.host.ledger.mutations:
            below = path_below(mutation.identity, old.identity)
            new = None if below is None else state.workspace.resolve(file.new_uri.rstrip("/") + below)
            if isinstance(new, Place):
                renamed[mutation.identity] = new
    if renamed:
        renaming.follow(state.host, renamed)
        state.begin(_show_renamed(state, [place.uri for place in renamed.values()]))


async def _show_renamed(state: State, uris: list[str]) -> None:
    for uri in uris:
        await recheck_file(state, uri)
    state.publish()


def _show_anew(state: State, identity: str) -> None:
    """Show the failures of a document by the URI that the client has for it now."""
    if state.is_watched(identity):
        state.publish()


async def recheck_file(state: State, uri: str) -> None:
    """Look at a document whose file has changed: its failures may be corrected by other means."""
    place = state.workspace.resolve(uri)
    if isinstance(place, Failure) or not state.is_watched(place.identity):
        return
    document = await state.editor.read(uri)
    state.host.observe_text(place.identity, None if isinstance(document, Failure) else document.text)
