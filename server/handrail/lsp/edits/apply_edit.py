"""
The request `workspace/applyEdit`: its contents, and the client's answer.

An answer alone proves nothing; `sending` and `editor` read the document back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from handrail.core import surfaces
from handrail.core.documents import edit
from handrail.core.documents.edit import TextEdit
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.lsp import convert
from handrail.lsp.client import Client
from handrail.lsp.documents import Documents
from handrail.lsp.edits.answers import Answer
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """
    Waiting times, in seconds.

    Attributes:
        answer_s, echo_s: For the client's answer, and for the change to show after it.
        command_s: For a command that edits; after that it is answered with null and continues, because an
            editor may block until its command is answered, and show the edit only then.
    """

    answer_s: float = 10.0
    echo_s: float = 5.0
    command_s: float = 0.5

    @property
    def overtaken_s(self) -> float:
        """For a message that another one has overtaken, and that is on its way."""
        return self.echo_s / 5

    def wait_s(self, answer: Answer) -> float:
        """
        Returns how long to wait for a change after *answer*: a refusal is rarely wrong, silence often is.
        """
        if answer.applied is False:
            return self.overtaken_s
        return self.echo_s if answer.applied or answer.reason else 0.0

    def news_s(self, answer: Answer) -> float:
        """
        Returns how long to wait first for any change: Emacs says that it has made an edit, and tells of it
        only once its user stops typing for a moment.
        """
        return self.echo_s * 3 if answer.applied else 0.0


@dataclass(kw_only=True)
class ApplyEdit:
    """Sends edits to one client."""

    server: LanguageServer
    documents: Documents
    patience: Patience
    client: Client

    def text_edit(
        self, uri: str, version: int | None, base: Text, edits: Sequence[TextEdit]
    ) -> lsp.WorkspaceEdit:
        """
        Returns the edits of one document; *version* is None for one that is not open.

        In a client that makes edits only at its user's request, whole lines are edited: Vim's ALE counts
        columns in bytes.
        """
        if not self.client.apply_edit:
            edits = edit.by_lines(base, edits)
        made = convert.text_edits(base, edits, self.documents.encoding)
        if not self.client.versioned:
            return lsp.WorkspaceEdit(changes={uri: made})
        named = max(version, self.client.least_version) if version is not None else None
        identifier = lsp.OptionalVersionedTextDocumentIdentifier(uri=uri, version=named)
        return lsp.WorkspaceEdit(
            document_changes=[lsp.TextDocumentEdit(text_document=identifier, edits=list(made))]
        )

    async def send(
        self, made: lsp.WorkspaceEdit, label: str, shows: Callable[[], bool] = lambda: False
    ) -> Answer:
        """
        Sends an edit.

        Args:
            made: The edit.
            label: What the user's undo list shows.
            shows: Whether the edit already shows; then it is pointless to wait much longer for the answer.
        """
        if not self.client.apply_edit:
            return Answer(applied=False, reason="this editor does not accept edits from a language server")
        params = lsp.ApplyWorkspaceEditParams(edit=made, label=surfaces.line(label))
        sent = self.server.protocol.send_request_async(lsp.WORKSPACE_APPLY_EDIT, params)
        sent.add_done_callback(self._wake)
        if await self.documents.until(lambda: sent.done() or shows(), self.patience.answer_s):
            await asyncio.wait([sent], timeout=self.patience.overtaken_s)
        if not sent.done():
            return Answer(applied=None)
        try:
            result: lsp.ApplyWorkspaceEditResult = sent.result()
        except JsonRpcException as error:
            return Answer(applied=False, reason=str(error))
        if result is None:
            return Answer(applied=None, reason="answered with nothing")
        return Answer(applied=bool(result.applied), reason=result.failure_reason or "")

    def _wake(self, sent: asyncio.Future[object]) -> None:
        if not sent.cancelled():
            sent.exception()  # a late one is useless, and would be logged otherwise
        self.documents.wake()

    def unsafe(self, base: Text, edits: Sequence[TextEdit]) -> Failure | None:
        """Returns why an edit would land wrongly in this editor, whatever it answers."""
        if "\r" in base.eols:
            # In LSP a lone carriage return ends a line; for editors that keep it, it is a character.
            why = (
                "The document has carriage returns that are not part of a CRLF, and editors disagree about "
                "its lines."
            )
        elif not self.client.keeps_cr and not base.has_one_eol and any("\r" in each.new for each in edits):
            why = "The document has mixed line endings, and this editor would change those of new lines."
        else:
            return None
        return Failure(
            code=Code.EDIT_REJECTED,
            message=f"{why} Nothing was changed.",
            steps=(
                "Ask the user to close the document. handrail then edits the file on disk, unless the "
                "setting handrail.edits.closedDocuments is `editor`.",
                "Or convert its line endings.",
            ),
        )
