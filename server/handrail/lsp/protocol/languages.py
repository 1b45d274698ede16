"""What clients pass on of other language servers."""

from __future__ import annotations

from dataclasses import dataclass

from handrail.lsp.protocol.values import Range


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionedDocument:
    """Names an open document and the version that it has."""

    uri: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosticsParams:
    """
    Asks for the diagnostics that other servers have published. Leave out those of source `handrail`.

    Attributes:
        documents: Those that are meant; null for all that have diagnostics, as they are known at this moment.
        wait_ms: How long to wait for reports on these versions, or on later ones. Then answer with what there
            is: leave out documents on which nothing was reported in time.
    """

    documents: list[VersionedDocument] | None
    wait_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientDiagnostic:
    """What another server says of a place; `severity` is LSP's, from 1 (error) to 4 (hint)."""

    range: Range
    message: str
    severity: int = 1
    source: str | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentDiagnostics:
    """All diagnostics of a document, and the version that they were reported on; no more than 1,000 count."""

    uri: str
    diagnostics: list[ClientDiagnostic]
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosticsResult:
    """What is known of the documents; `unwatched` are those on which no server reports."""

    documents: list[DocumentDiagnostics]
    unwatched: list[str] | None = None
