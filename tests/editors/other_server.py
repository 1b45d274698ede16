"""
A language's own server, beside which ours runs: it finds fault with the word BAD, and knows where the words
of Python files are defined and used. It answers only for documents that are open, as many servers do.

With `--versions` it says which version a report is of, and after each one it sends an empty one of the text
before. On a text that has the word STALE it only reports the text before. With `--pull` it reports when it is
asked, with `--silent` never. A document that is opened twice it does not know, as strict servers do. A line
that ends with "NEEDS word" is at fault while no other open document has that word.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

server = LanguageServer("other", "1")
opened = Counter[str]()  # how often documents are open
HAS_VERSIONS = "--versions" in sys.argv
IS_ASKED = "--pull" in sys.argv
IS_SILENT = "--silent" in sys.argv


def units_before(row: str) -> int:
    """How many units of UTF-16 are before the word; eglot never comes back from the middle of a character."""
    return len(row.partition("BAD")[0].encode("utf-16-le")) // 2


def faults(uri: str) -> list[lsp.Diagnostic]:
    """What is wrong with a document."""
    rows = server.workspace.get_text_document(uri).source.splitlines()
    return [
        lsp.Diagnostic(
            range=lsp.Range(
                start=lsp.Position(line=at, character=units_before(row)),
                end=lsp.Position(line=at, character=units_before(row) + len("BAD")),
            ),
            message="This is bad.",
            source="other",
            severity=lsp.DiagnosticSeverity.Error,
        )
        for at, row in enumerate(rows)
        if "BAD" in row
    ] + missing(uri, rows)


def missing(uri: str, rows: list[str]) -> list[lsp.Diagnostic]:
    """The lines of a document that need a word that no other open document has."""
    others = [each for each, count in opened.items() if count and each != uri]
    texts = [server.workspace.get_text_document(each).source for each in others]
    return [
        lsp.Diagnostic(
            range=lsp.Range(start=lsp.Position(line=at, character=0), end=lsp.Position(line=at, character=1)),
            message="A name is missing.",
            source="other",
            severity=lsp.DiagnosticSeverity.Error,
        )
        for at, row in enumerate(rows)
        if "NEEDS " in row and not any(row.partition("NEEDS ")[2].strip() in text for text in texts)
    ]


def look_at_dependents(uri: str) -> None:
    """Publish what is wrong with other documents, now that this one has changed."""
    for each, count in list(opened.items()):
        if count and each != uri and "NEEDS " in server.workspace.get_text_document(each).source:
            look(each)


def look(uri: str) -> None:
    """Publish what is wrong with a document."""
    if IS_ASKED or IS_SILENT:
        return
    document = server.workspace.get_text_document(uri)
    report = lsp.PublishDiagnosticsParams(uri=uri, diagnostics=faults(uri))
    is_stale = "STALE" in document.source
    if HAS_VERSIONS and document.version is not None:
        report.version = document.version - is_stale
    server.text_document_publish_diagnostics(report)
    if HAS_VERSIONS and document.version and not is_stale:
        late = lsp.PublishDiagnosticsParams(uri=uri, diagnostics=[], version=document.version - 1)
        server.text_document_publish_diagnostics(late)


@server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
def did_open(params: lsp.DidOpenTextDocumentParams) -> None:
    """A document is open."""
    opened[params.text_document.uri] += 1
    look(params.text_document.uri)
    look_at_dependents(params.text_document.uri)


@server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
def did_close(params: lsp.DidCloseTextDocumentParams) -> None:
    """A document is open no longer."""
    opened[params.text_document.uri] -= 1


@server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
def did_change(params: lsp.DidChangeTextDocumentParams) -> None:
    """A document has changed."""
    look(params.text_document.uri)
    look_at_dependents(params.text_document.uri)


if IS_ASKED:

    @server.feature(lsp.TEXT_DOCUMENT_DIAGNOSTIC)
    def diagnostic(params: lsp.DocumentDiagnosticParams) -> lsp.RelatedFullDocumentDiagnosticReport:
        """Say what is wrong with a document."""
        return lsp.RelatedFullDocumentDiagnosticReport(items=faults(params.text_document.uri))


def places(pattern: str) -> Iterator[tuple[lsp.Location, str]]:
    """Where the files of the workspace have a pattern, and what it takes."""
    for path in sorted(
        Path(server.workspace.root_path or "").glob("[!.]*.py")
    ):  # Emacs locks files by others
        document = server.workspace.get_text_document(path.as_uri())
        for at, row in enumerate(document.lines):
            for found in re.finditer(pattern, row):
                start, end = (document.position_codec.client_num_units(row[:n]) for n in found.span())
                span = lsp.Range(lsp.Position(at, start), lsp.Position(at, end))
                yield lsp.Location(document.uri, span), found[0]


def word_at(params: lsp.TextDocumentPositionParams) -> str | None:
    """The word at a position of an open document."""
    if opened[params.text_document.uri] != 1:
        return None
    return server.workspace.get_text_document(params.text_document.uri).word_at_position(params.position)


@server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
def definition(params: lsp.DefinitionParams) -> list[lsp.LocationLink] | None:
    """Where a function is defined, as links."""
    word = word_at(params)
    return word and [
        lsp.LocationLink(target_uri=place.uri, target_range=place.range, target_selection_range=place.range)
        for place, _ in places(rf"(?<=def ){word}\b")
    ]


@server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
def references(params: lsp.ReferenceParams) -> list[lsp.Location] | None:
    """Where a word stands."""
    word = word_at(params)
    return word and [place for place, _ in places(rf"\b{word}\b")]


@server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
def document_symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol] | None:
    """The functions of an open document, in a tree."""
    uri = params.text_document.uri
    if opened[uri] != 1:
        return None
    kind = lsp.SymbolKind.Function
    inner = [
        lsp.DocumentSymbol(name, kind, place.range, place.range)
        for place, name in places(r"(?<=def )\w+")
        if place.uri == uri
    ]
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
    return [lsp.DocumentSymbol("module", lsp.SymbolKind.Module, whole, whole, children=inner)]


@server.feature(lsp.WORKSPACE_SYMBOL)
def workspace_symbols(params: lsp.WorkspaceSymbolParams) -> list[lsp.SymbolInformation]:
    """The functions of all files whose names have the query in them."""
    found = places(rf"(?<=def )\w*{re.escape(params.query)}\w*")
    return [lsp.SymbolInformation(place, name, lsp.SymbolKind.Function) for place, name in found]


if __name__ == "__main__":
    server.start_io()
