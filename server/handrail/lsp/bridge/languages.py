"""
Asks the other language servers of the same editor: the requests `handrail/client/diagnostics`, `definition`,
`references` and `symbols`.

An answer counts only if it is of the version that the document has when the answer arrives: its lines are
then those of a text that is known. An answer that comes too late, is malformed or has too many diagnostics
counts as not known.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import urlsplit

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from handrail.core.ledger.problems import Problem, Severity
from handrail.lsp import convert, protocol, wire
from handrail.lsp.client import Client
from handrail.lsp.documents import Documents, OpenDocument
from handrail.ports.languages import (
    DEFINITION,
    PROBLEMS,
    REFERENCES,
    SYMBOLS,
    UNFINISHED,
    Report,
    Spot,
    Spots,
    Target,
    Unknown,
    Unwatched,
)

T = TypeVar("T")

logger = logging.getLogger(__name__)

# What a client offers, and which tool that makes possible.
SERVICES = {
    "diagnostics": PROBLEMS,
    "definition": DEFINITION,
    "references": REFERENCES,
    "symbols": SYMBOLS,
}
NAME_METHODS = {DEFINITION: protocol.CLIENT_DEFINITION, REFERENCES: protocol.CLIENT_REFERENCES}
KINDS = {kind.value: kind.name.lower().replace("_", " ") for kind in lsp.SymbolKind}
LIMIT_SPOTS = 1_000  # of one answer
NAME_CHARS = 200
SEVERITIES = {1: Severity.ERROR, 2: Severity.WARNING, 3: Severity.INFORMATION, 4: Severity.HINT}
CLIENT_SHARE = 0.85  # of the time that may be waited: the rest is for the way
LIMIT_DIAGNOSTICS = 1_000  # of a document; with more, new ones cannot be told from old ones in time
LIMIT_OTHERS = 100  # of a document that was not asked for
LIMIT_DOCUMENTS = 200  # of one answer
LIST_S = 2.0


class ClientLanguages:
    """Languages port for one client; `client` is what the client said of itself."""

    def __init__(self, server: LanguageServer, documents: Documents) -> None:
        self._server, self._documents = server, documents
        self.client = Client()
        self._tells_others = False

    @property
    def offers(self) -> frozenset[str]:
        """The services to which the client has opted in."""
        return frozenset(tool for service, tool in SERVICES.items() if service in self.client.services)

    async def problems(
        self, uris: Sequence[str], wait_s: float, others: Sequence[str] = ()
    ) -> Mapping[str, Report | Unwatched | Unknown]:
        """The problems of documents as they are now; what is not open in the editor, nothing reports on."""
        opened = {uri: self._documents.find(uri) for uri in (*uris, *others)}
        named = {uri: each.uri for uri in uris if (each := opened[uri]) is not None}
        beside = [uri for uri in others if opened[uri] is not None and uri not in named]
        result: dict[str, Report | Unwatched | Unknown]
        result = {uri: Unwatched() for uri in uris if uri not in named}
        if PROBLEMS not in self.offers or not (named or beside):
            return result | {uri: Unwatched() for uri in named}
        asked, more = (
            [_add_version(each) for uri in part if (each := opened[uri]) is not None]
            for part in (named, beside)
        )
        wait_ms = int(wait_s * CLIENT_SHARE * 1_000)
        params = protocol.DiagnosticsParams(documents=asked, wait_ms=wait_ms, others=more or None)
        answer = await self._ask(protocol.CLIENT_DIAGNOSTICS, params, wait_s)
        reports, unwatched = (
            self._reports(answer, "documents", LIMIT_DIAGNOSTICS),
            _texts(answer, "unwatched"),
        )
        for uri, name in named.items():
            if name in reports:
                result[uri] = reports[name]
            elif name in unwatched:
                result[uri] = Unwatched()
        result.update(self._others(answer, beside))
        return result

    def _others(self, answer: object, uris: Sequence[str]) -> Mapping[str, Report | Unknown]:
        """Returns the problems of documents other than those asked for; older clients never report them."""
        if not (isinstance(answer, Mapping) and isinstance(answer.get("others"), list)):
            return dict.fromkeys(uris, UNFINISHED) if self._tells_others else {}
        self._tells_others = True
        reports = self._reports(answer, "others", LIMIT_OTHERS)
        named = ((uri, self._documents.find(uri)) for uri in uris)
        return {uri: reports[each.uri] for uri, each in named if each is not None and each.uri in reports}

    def _reports(self, answer: object, field: str, limit: int) -> dict[str, Report]:
        """The reports of an answer on the texts that documents have now, of no more than *limit* problems."""
        result = {}
        for each in _items(answer, field)[:LIMIT_DOCUMENTS]:
            name, diagnostics = each.get("uri"), each.get("diagnostics")
            document = self._documents.find(name) if isinstance(name, str) else None
            if document is None or document.uri != name or each.get("version") != document.version:
                continue
            problems = _problems(diagnostics, limit)
            if problems is not None:
                result[document.uri] = Report(text=document.text.content, problems=problems)
        return result

    async def known_problems(self) -> Mapping[str, tuple[Problem, ...]]:
        """All problems that the client knows of, those of documents that are not open among them."""
        if PROBLEMS not in self.offers:
            return {}
        params = protocol.DiagnosticsParams(documents=None, wait_ms=0)
        answer = await self._ask(protocol.CLIENT_DIAGNOSTICS, params, LIST_S)
        result = {}
        for each in _items(answer, "documents")[:LIMIT_DOCUMENTS]:
            name, diagnostics = each.get("uri"), each.get("diagnostics")
            shown = diagnostics[:LIMIT_DIAGNOSTICS] if isinstance(diagnostics, list) else None
            if (
                isinstance(name, str)
                and self._is_of_the_user(name)
                and (problems := _problems(shown, LIMIT_DIAGNOSTICS))
            ):
                result[name] = problems
        return result

    async def spots(self, tool: str, target: Target, wait_s: float) -> Spots | Unwatched | None:
        """Asks where a name is defined or used; ignores an answer about a text that has changed since."""
        if tool not in self.offers:
            return Unwatched()
        document = self._documents.find(target.uri)
        if document is not None and document.text.content != target.text.content:
            return None
        encoding = self._documents.encoding
        at = convert.position(target.text, target.offset, encoding)
        params = protocol.NameParams(
            uri=document.uri if document is not None else target.uri,
            position=protocol.Position(line=at.line, character=at.character),
            wait_ms=int(wait_s * CLIENT_SHARE * 1_000),
            version=document.version if document is not None else None,
        )
        answer = await self._ask(NAME_METHODS[tool], params, wait_s)
        if document is not None and document.version != params.version:
            return None
        return _spots(answer, "locations", protocol.NameLocation, _spot)

    async def symbols(self, uri: str, query: str, wait_s: float) -> Spots | Unwatched | None:
        """Returns the symbols that are defined in a document, or in all."""
        if SYMBOLS not in self.offers:
            return Unwatched()
        document = self._documents.find(uri) if uri else None
        named = document.uri if document is not None else uri or None
        wait_ms = int(wait_s * CLIENT_SHARE * 1_000)
        params = protocol.SymbolsParams(query=query, wait_ms=wait_ms, uri=named)
        answer = await self._ask(protocol.CLIENT_SYMBOLS, params, wait_s)
        return _spots(answer, "symbols", protocol.ClientSymbol, _symbol)

    def _is_of_the_user(self, uri: str) -> bool:
        """Whether it is a file or an open document, and not a text that an editor only shows in a diff."""
        return urlsplit(uri).scheme == "file" or self._documents.find(uri) is not None

    async def _ask(self, method: str, params: object, wait_s: float) -> object:
        """Returns the client's answer; None if it takes too long, or is an error."""
        if wait_s <= 0:
            return None
        name = f"bridge-{uuid.uuid4().hex[:12]}"
        sent = self._server.protocol.send_request_async(method, wire.write(params), name)
        answered = asyncio.ensure_future(sent)
        try:
            await asyncio.wait([answered], timeout=wait_s)
            if answered.done():
                return answered.result()
        except JsonRpcException as error:
            logger.warning("The client did not answer %s: %s", method, error)
        finally:
            if not answered.done():
                self._server.protocol.notify(lsp.CANCEL_REQUEST, lsp.CancelParams(id=name))
                answered.add_done_callback(_forget)
        return None


def _forget(answered: asyncio.Future[object]) -> None:
    """Take note of the error of a request that was given up, so that asyncio does not tell of it."""
    if not answered.cancelled():
        answered.exception()


def _items(answer: object, name: str) -> list[Mapping[str, object]]:
    """The objects in a field of an answer; what is not one is left out."""
    items = answer.get(name) if isinstance(answer, Mapping) else None
    return [each for each in items if isinstance(each, Mapping)] if isinstance(items, list) else []


def _texts(answer: object, name: str) -> frozenset[str]:
    texts = answer.get(name) if isinstance(answer, Mapping) else None
    return (
        frozenset(each for each in texts if isinstance(each, str)) if isinstance(texts, list) else frozenset()
    )


def _add_version(document: OpenDocument) -> protocol.VersionedDocument:
    return protocol.VersionedDocument(uri=document.uri, version=document.version)


def _problems(diagnostics: object, limit: int) -> tuple[Problem, ...] | None:
    """The problems that others report; None if they cannot be read, or are more than *limit*."""
    if not isinstance(diagnostics, list) or len(diagnostics) > limit:
        return None
    try:
        problems = [wire.read(protocol.ClientDiagnostic, each) for each in diagnostics]
    except wire.InvalidParams as error:
        logger.warning("The client sent invalid diagnostics: %s", error)
        return None
    return tuple(
        Problem(
            line=max(0, each.range.start.line),
            message=each.message,
            severity=SEVERITIES.get(each.severity, Severity.ERROR),
            source=each.source or "",
            code=each.code or "",
        )
        for each in problems
        if not convert.is_own_source(each.source)
    )


def _spots(answer: object, name: str, kind: type[T], spot: Callable[[T], Spot]) -> Spots | Unwatched | None:
    """The places in a field of an answer; None if they cannot be read."""
    if not isinstance(answer, Mapping):
        return None
    items = answer.get(name)
    if items is None:
        return Unwatched()
    if not isinstance(items, list):
        return None
    try:
        spots = tuple(spot(wire.read(kind, each)) for each in items[:LIMIT_SPOTS])
    except wire.InvalidParams as error:
        logger.warning("The client sent invalid %s: %s", name, error)
        return None
    return Spots(spots=spots, more=len(items) > LIMIT_SPOTS)


def _spot(location: protocol.NameLocation) -> Spot:
    return Spot(uri=location.uri, line=max(0, location.range.start.line))


def _symbol(symbol: protocol.ClientSymbol) -> Spot:
    name = f"{symbol.container_name}.{symbol.name}" if symbol.container_name else symbol.name
    name = f"{KINDS.get(symbol.kind, '')} {name[:NAME_CHARS]}".strip()
    return Spot(uri=symbol.location.uri, line=max(0, symbol.location.range.start.line), name=name)
