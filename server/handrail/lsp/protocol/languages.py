"""The requests by which clients pass on what other language servers know."""

from __future__ import annotations

from handrail.lsp.protocol.values import Position, Range
from handrail.values import dataclass


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
    Asks for the diagnostics that other language servers have published. Leave out those of the sources
    `handrail` and `handrail review`, which are handrail's own.

    Attributes:
        documents: The documents to report on; null for all that have diagnostics, as the client knows them
            now.
        wait_ms: How many milliseconds to wait for reports on these versions or later ones. After that, leave
            out the documents without such a report.
        others: Other open documents, in which a change of the requested ones may have caused problems. When
            servers have reported on the requested documents, keep waiting until no server has reported
            anything for a moment (such as 200 ms), but no longer than `waitMs` in all. Then answer with
            `others`.
    """

    documents: list[VersionedDocument] | None
    wait_ms: int
    others: list[VersionedDocument] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientDiagnostic:
    """
    A diagnostic of another language server.

    Attributes:
        range: The place in the document.
        message: What the server says.
        severity: As in LSP: 1 error, 2 warning, 3 information, 4 hint; by default 1.
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
        version: The version on which they were reported. The report counts only if this is still the
            document's version when the answer arrives. (If the request named no documents, a report without a
            version counts too.)
    """

    uri: str
    diagnostics: list[ClientDiagnostic]
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosticsResult:
    """
    The reports of other language servers.

    Attributes:
        documents: The documents on which there is a report. Only 200 are read, here and in `others`.
        unwatched: URIs of the requested documents on which no language server reports.
        others: The errors and warnings that you know of in the request's `others`, for each document with a
            report on its current version; an empty list of diagnostics says that there are none. A report
            with more than 100 is ignored. Leave the field out if servers were still reporting when the time
            was over.
    """

    documents: list[DocumentDiagnostics]
    unwatched: list[str] | None = None
    others: list[DocumentDiagnostics] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NameParams:
    """
    Asks what a language server knows about a name in a document.

    Attributes:
        uri: URI of the document; it need not be open.
        position: Where the name begins.
        wait_ms: How many milliseconds the answer may take. A later one is ignored.
        version: The version of the document as the server knows it; null if it is not open.
    """

    uri: str
    position: Position
    wait_ms: int
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NameLocation:
    """
    A place in a document, as LSP's `Location` has it.

    Attributes:
        uri: URI of the document.
        range: The place; the server uses the line in which it begins.
    """

    uri: str
    range: Range


@dataclass(frozen=True, slots=True, kw_only=True)
class NameResult:
    """
    The places where a name is defined or used.

    Attributes:
        locations: The places; no more than the first 1,000 are read. Null if no language server of the
            document answers such requests.
    """

    locations: list[NameLocation] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolsParams:
    """
    Asks what is defined in a document, or which names of the workspace resemble a query.

    Attributes:
        query: The name that is looked for in the workspace; empty for all symbols of a document.
        wait_ms: How many milliseconds the answer may take. A later one is ignored.
        uri: URI of the document; null for the whole workspace.
    """

    query: str
    wait_ms: int
    uri: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSymbol:
    """
    A name that is defined somewhere, as LSP's `SymbolInformation` has it.

    Attributes:
        name: The name.
        location: Where it is defined.
        kind: What it is, as in LSP's `SymbolKind`.
        container_name: The name of what it is in, such as a class.
    """

    name: str
    location: NameLocation
    kind: int = 0
    container_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolsResult:
    """
    The names that are defined, in one list; those of a document in the order of its lines.

    Attributes:
        symbols: The names; no more than the first 1,000 are read. Null if no language server answers such
            requests.
    """

    symbols: list[ClientSymbol] | None = None
