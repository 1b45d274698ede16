"""A language's own server, beside which ours runs: it finds fault with the word BAD."""

from __future__ import annotations

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

server = LanguageServer("other", "1")


def units_before(row: str) -> int:
    """How many units of UTF-16 are before the word; eglot never comes back from the middle of a character."""
    return len(row.partition("BAD")[0].encode("utf-16-le")) // 2


def look(uri: str) -> None:
    """Publish what is wrong with a document."""
    rows = server.workspace.get_text_document(uri).source.splitlines()
    found = [
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
    ]
    server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri=uri, diagnostics=found))


@server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
def did_open(params: lsp.DidOpenTextDocumentParams) -> None:
    """A document is open."""
    look(params.text_document.uri)


@server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
def did_change(params: lsp.DidChangeTextDocumentParams) -> None:
    """A document has changed."""
    look(params.text_document.uri)


if __name__ == "__main__":
    server.start_io()
