"""What clients pass on of other language servers."""

from __future__ import annotations

from dataclasses import dataclass

from handrail.lsp.protocol.values import Range


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionedDocument:
    """
    An open document at a certain version.

    Attributes:
        uri: URI of the document.
        version: The version of the document as the server knows it.
    """

    uri: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosticsParams:
    """
    Asks for the diagnostics that other language servers have published. Leave out those of source `handrail`.

    Attributes:
        documents: The documents to report on; null for all that have diagnostics, as the client knows them
            now.
        wait_ms: How many milliseconds to wait for reports on these versions or later ones. After that, leave
            out the documents without such a report.
    """

    documents: list[VersionedDocument] | None
    wait_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientDiagnostic:
    """
    A diagnostic of another language server.

    Attributes:
        range: The place in the document.
        message: What the server says.
        severity: As in LSP: 1 error, 2 warning, 3 information, 4 hint.
        source: Name of the program that reports it.
        code: The program's code for this kind of problem.
    """

    range: Range
    message: str
    severity: int = 1
    source: str | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentDiagnostics:
    """
    All diagnostics of a document.

    Attributes:
        uri: URI of the document.
        diagnostics: Its diagnostics. A report with more than 1,000 on a requested document is ignored.
        version: The version on which they were reported. For a requested document, the report counts only if
            this is still its version when the answer arrives.
    """

    uri: str
    diagnostics: list[ClientDiagnostic]
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosticsResult:
    """
    What other language servers report.

    Attributes:
        documents: The documents on which there is a report.
        unwatched: URIs of the requested documents on which no language server reports.
    """

    documents: list[DocumentDiagnostics]
    unwatched: list[str] | None = None
