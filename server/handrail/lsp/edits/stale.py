"""
Have documents follow their files, and refuse to edit one whose mirror an editor has stopped keeping.

Some editors stop telling of changes without closing a document: eglot does when a buffer changes its mode
twice while it is opened. The user types and saves, the server hears of neither, and an edit would hit the
wrong lines of what the editor really holds. The proof is on the disk: the document was as its file when it
was opened or last saved, nothing was told since, and now the file holds another text.

A document that was changed since, or differed from its file from the beginning, proves nothing, as any
program may have written the file. If a command of ours has changed the file, the editor is told to load it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from handrail.core.documents import edit
from handrail.core.documents.change import Change, Landing, PlannedHunk, Rejected, Tier, Update
from handrail.core.documents.in_code.prompts import prompts
from handrail.core.documents.text import to_lf
from handrail.core.failure import Code, Failure
from handrail.lsp import protocol, wire
from handrail.lsp.documents import OpenDocument
from handrail.lsp.edits.editor import LspEditor
from handrail.ports import Document, Stamp

RELOAD_S = 1.0  # by then an editor that reloads changed files has done so, and told
TOLD_S = 5.0  # the same for a client that loads what it is told to
LABEL_LOADED = "handrail: reload after a command"


class WatchfulEditor(LspEditor):
    """
    Editor port that does not edit a document if the editor's text may differ from ours.

    Attributes:
        stamp: Returns a value that changes when a file changes.
    """

    stamp: Callable[[str], Stamp | None] = staticmethod(lambda uri: None)

    def in_step(self, document: OpenDocument) -> None:
        """Notes that the editor has opened or saved a document: its file equals the mirror."""
        stamp = self.stamp(document.uri)
        size = len(document.text.content.encode("utf-8", "surrogatepass")) if stamp is not None else 0
        document.on_disk = stamp if stamp is not None and stamp.size == size else None

    async def apply(self, changes: Sequence[Change], label: str) -> tuple[Landing, ...]:
        """Applies *changes* one after the other, except those of documents that are out of step."""
        landings: list[Landing] = []
        for change in changes:
            failure = await self._out_of_step(change.uri) if isinstance(change, Update) else None
            self._note_written(change)
            if failure is not None:
                landings.append(Rejected(failure=failure))
            else:
                landings += await super().apply([change], label)
        return tuple(landings)

    def _note_written(self, change: Change) -> None:
        """Notes that prompts in the new text are not the user's."""
        document = self._documents.find(change.uri)
        if isinstance(change, Update) and document is not None and document.typed is not None:
            text = edit.apply(change.base.content, change.edits)
            document.typed.expect(prompts(text, document.language, document.uri))

    async def reload(self, uris: Sequence[str]) -> frozenset[str]:
        """Has the client load documents again, and edits those that it does not load; see the port."""
        files = {uri: await self._disk.read(uri) for uri in uris}
        texts = {uri: each.text.content for uri, each in files.items() if isinstance(each, Document)}
        for uri, each in files.items():
            is_gone = isinstance(each, Failure) and each.code is Code.NO_SUCH_FILE
            if is_gone and (document := self._documents.find(uri)) is not None:
                document.is_removed = True
        if texts and self.client.reloads:
            params = wire.write(protocol.ReloadParams(uris=list(texts)))
            self._server.protocol.notify(protocol.CLIENT_RELOAD, params)

        def different() -> dict[str, OpenDocument]:
            found = ((uri, self._documents.find(uri), to_lf(text)) for uri, text in texts.items())
            return {uri: each for uri, each, text in found if each and to_lf(each.text.content) != text}

        await self._documents.until(lambda: not different(), TOLD_S if self.client.reloads else RELOAD_S)
        if self.client.apply_edit and not self.client.reloads:
            for uri in different():
                if (document := different().get(uri)) is not None:  # it may be another view of the last one
                    update = _load(document, texts[uri])
                    self._note_written(update)
                    await super().apply([update], LABEL_LOADED)
        unreadable = {uri for uri in files if uri not in texts and self._keeps(uri)}
        return frozenset({*different(), *unreadable})

    def _keeps(self, uri: str) -> bool:
        """Whether a document is open whose file was not removed."""
        document = self._documents.find(uri)
        return document is not None and not document.is_removed

    async def _out_of_step(self, uri: str) -> Failure | None:
        document = self._documents.find(uri)
        if document is None or document.on_disk is None or self.stamp(document.uri) == document.on_disk:
            return None
        if failure := self._views.check_alike(document):
            return failure  # it was saved with the text of another document of the file
        raw = await self._disk.read(document.uri)
        if isinstance(raw, Failure) or _plain(raw.text.content) == _plain(document.text.content):
            return None

        def is_told() -> bool:
            return self._documents.find(uri) is not document or document.on_disk is None

        if await self._documents.until(is_told, RELOAD_S):
            return None
        return Failure(
            code=Code.STALE_DOCUMENT,
            uri=document.uri,
            message=(
                "The file was saved or changed on disk, but the editor has not sent its current text. "
                "Nothing was changed."
            ),
            steps=(
                "Ask the user to reopen or reload the document in the editor.",
                "Then send the edit again.",
            ),
        )


def _load(document: OpenDocument, saved: str) -> Update:
    """Returns the edits that give a document the text of its file; an editor may have LF for all lines."""
    text = document.text
    holds_lf = "\n" in text.content and "\r" not in text.content
    edits = edit.edits_between(text.content, to_lf(saved) if holds_lf else saved)
    return Update(uri=document.uri, base=text, hunks=(PlannedHunk(number=None, tier=Tier.SAFE, edits=edits),))


def _plain(text: str) -> list[str]:
    """Returns a text without what editors change when they save: line endings, and trailing blanks."""
    return [row.rstrip() for row in text.rstrip().splitlines()]
