"""Show the user each place as it is edited, if wanted; of several waiting places, only the latest."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from handrail.core.documents.change import Status
from handrail.core.ledger.outcome import Outcome
from handrail.lsp import convert
from handrail.lsp.documents import Documents
from handrail.values import dataclass

logger = logging.getLogger(__name__)


@dataclass
class Follow:
    """
    Follows the agent's edits in one client.

    Attributes:
        documents: The client's open documents.
        answer_s: How long the client may take.
        begin: Starts a background task.
        wanted: Whether the user wants this, and the client supports it.
    """

    server: LanguageServer
    documents: Documents
    answer_s: float
    begin: Callable[[Coroutine[object, object, object]], None]
    wanted: Callable[[], bool]
    _next: lsp.ShowDocumentParams | None = None
    _is_showing: bool = False

    def note(self, event: object) -> None:
        """Called with an event of a turn: an edit may have landed."""
        if not isinstance(event, Outcome) or event.status is not Status.LANDED or not self.wanted():
            return
        if event.text is None or not event.document.uri:
            return
        span = event.spans[0] if event.spans else None
        encoding, document = self.documents.encoding, self.documents.find(event.document.uri)
        selection = convert.line(0) if span is None else convert.lsp_range(event.text, span, encoding)
        start = lsp.Range(start=selection.start, end=selection.start)  # shown, and nothing selected
        uri = event.document.uri if document is None else document.uri
        self._next = lsp.ShowDocumentParams(uri=uri, take_focus=False, selection=start)
        if not self._is_showing:
            self._is_showing = True
            self.begin(self._show())

    async def _show(self) -> None:
        try:
            while (params := self._next) is not None:
                self._next = None
                try:
                    await asyncio.wait_for(self.server.window_show_document_async(params), self.answer_s)
                except (JsonRpcException, TimeoutError):
                    logger.warning("The client did not show %s", params.uri)
        finally:
            self._is_showing = False
