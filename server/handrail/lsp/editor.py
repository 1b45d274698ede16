"""
The editor behind `workspace/applyEdit`: changes documents, and believes only what it reads back.

An open document is changed by a minimal, versioned workspace edit, one document and one request at a time.
Whether it landed is read from the mirror, never from the answer: clients answer `applied: true` without
applying, apply half, or never answer. If the user typed meanwhile, the edit is carried over to the newer
text and sent again; if it is the same lines, it is a conflict. Closed documents go through the editor only
where that keeps every byte and can be saved, else to the disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from handrail.core.checkpoint import Image
from handrail.core.documents import edit
from handrail.core.documents.change import Applied, Change, Create, Delete, Landing, Partial, Rejected, Update
from handrail.core.documents.edit import TextEdit
from handrail.core.documents.readback import standing
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.lsp import convert, protocol, settings, wire
from handrail.lsp.answers import Answer, not_as_written, refused
from handrail.lsp.client import Client
from handrail.lsp.documents import Documents, OpenDocument
from handrail.ports import Document, Editor

TRIES = 3  # how often an edit is carried over to a text that the user keeps changing


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """
    How long is waited, in seconds.

    Attributes:
        answer_s, echo_s: For an answer of the client, and for the change to show after it.
        command_s: For a command that edits; then it is answered with null and goes on, since an editor may
            stand still until its command is answered, and show the edit only then.
    """

    answer_s: float = 10.0
    echo_s: float = 5.0
    command_s: float = 0.5

    @property
    def overtaken_s(self) -> float:
        """For a message that another one has overtaken: it is on its way."""
        return self.echo_s / 5


class LspEditor:
    """Editor port for one client, with the disk for what the client does not hold."""

    def __init__(
        self,
        server: LanguageServer,
        documents: Documents,
        disk: Editor,
        patience: Patience,
    ) -> None:
        self._server = server
        self._documents = documents
        self._disk = disk
        self._patience = patience
        self._one_at_a_time = asyncio.Lock()
        self.client = Client()
        self.settings: Callable[[], settings.Settings] = settings.Settings

    # ---- Reading ----------------------------------------------------------------------------------

    async def read(self, uri: str) -> Document | Failure:
        """The document *uri*: the editor's text if open, else the disk's."""
        document = self._documents.find(uri)
        saved = await self._disk.read(document.uri if document is not None else uri)
        document = self._documents.find(uri)  # it may have been opened or changed while the disk was read
        if document is None:
            return saved
        if isinstance(saved, Failure):
            text, unsaved = document.text, True
        else:
            text = Text(document.text.content, saved.text.encoding, saved.text.bom)
            unsaved = text.content != saved.text.content
        return Document(
            uri=document.uri, text=text, version=document.version, unsaved=unsaved, saved=document.saved
        )

    # ---- Changing ---------------------------------------------------------------------------------

    async def apply(self, changes: Sequence[Change], label: str) -> tuple[Landing, ...]:
        """Apply *changes* one after the other and read each back."""
        landings = []
        async with self._one_at_a_time:
            for change in changes:
                landings.append(await self._apply(change, label))
        return tuple(landings)

    async def _apply(self, change: Change, label: str) -> Landing:
        is_open = self._documents.find(change.uri) is not None
        match change:
            case Update() if is_open:
                return await self._update_and_save(change, label)
            case Update() if self._goes_through_editor(change.base):
                return await self._update_closed(change, label)
            case Create() if self._creates(change) and not is_open:
                return await self._create(change, label)
            case Delete() if is_open:
                return await self._delete_open(change, label)
            case _:
                (landing,) = await self._disk.apply([change], label)
                return landing

    def _goes_through_editor(self, text: Text, *, is_new: bool = False) -> bool:
        """By the setting; with `auto` a new document goes to the disk: no editor holds anything of it."""
        chosen = self.settings().text(settings.CLOSED_DOCUMENTS)
        if chosen != "auto" or not self.client.apply_edit:
            return chosen == "editor" and self.client.apply_edit
        return "save" in self.client.services and text.is_plain and not is_new

    def _creates(self, create: Create) -> bool:
        return self.client.creates and self._goes_through_editor(create.text, is_new=True)

    async def _update_and_save(self, update: Update, label: str) -> Landing:
        """Update an open document; one that we opened ourselves stays saved if it is."""
        document = self._documents.find(update.uri)
        before = await self.read(update.uri) if document and document.was_opened_by_us else None
        landing = await self._update_open(update, label)
        if isinstance(before, Document) and not before.unsaved and isinstance(landing, Applied):
            await self.save([update.uri])
        return landing

    async def _update_open(self, update: Update, label: str) -> Landing:
        base, edits = update.base, update.edits
        for _ in range(TRIES):
            document = self._documents.find(update.uri)
            if document is None:
                (landing,) = await self._disk.apply([update], label)
                return landing
            now = replace(document.text, encoding=base.encoding, bom=base.bom)
            if now.content != base.content:
                if all(standing(base, edits, now.content)):
                    return Applied(text=now)  # the echo came late
                moved = edit.rebase(base, edits, now.content)
                if conflicts := _conflicts(update, [each.conflict for each in moved]):
                    texts = edit.clash(base, edits, now.content)
                    failure = edit.stale(conflicts, "The document", texts)
                    return Rejected(failure=failure.at(document.uri))
                base, edits = now, tuple(each.edit for each in moved)
            if unsafe := self._unsafe(base, edits):
                return Rejected(failure=unsafe.at(document.uri))
            version = document.version
            answer = await self._send(self._text_edit(document, base, edits), label)
            if answer.applied:
                await self._echo(update.uri, version, (base, edits))
            landing = await self._read_back(update.uri, base, edits, answer)
            if isinstance(landing, Applied | Partial) or not await self._is_stale(
                update.uri, version, answer
            ):
                return landing
        return landing

    def _unsafe(self, base: Text, edits: Sequence[TextEdit]) -> Failure | None:
        """Why an edit would not land where and as it should in this editor, whatever it answers."""
        if "\r" in base.eols:
            # To LSP a lone carriage return ends a line, to the editors that keep one it is a character.
            why = "The document has carriage returns that end no CRLF, and editors disagree about its lines."
        elif not self.client.keeps_cr and not base.has_one_eol and any("\r" in each.new for each in edits):
            why = "The document has mixed line ends, and this editor would change those of new lines."
        else:
            return None
        return Failure(
            code=Code.EDIT_REJECTED,
            message=f"{why} Nothing was changed.",
            steps=(
                "Close the document: a closed one is changed on disk, byte for byte.",
                "Or convert its line ends.",
            ),
        )

    async def _echo(self, uri: str, version: int, sent: tuple[Text, Sequence[TextEdit]]) -> None:
        """Wait until the change shows; not for long once a newer text has come without it."""

        def shows() -> bool:
            return all(self._stand(uri, *sent))

        can_be_stale = self.client.versioned
        until = self._documents.until
        if await until(
            lambda: shows() or (can_be_stale and self._is_newer(uri, version)), self._patience.echo_s
        ):
            await until(shows, self._patience.overtaken_s)

    def _stand(self, uri: str, base: Text, edits: Sequence[TextEdit]) -> tuple[bool, ...]:
        """Which of *edits* stand in the document now; nothing to say of one that is closed."""
        document = self._documents.find(uri)
        return standing(base, edits, document.text.content) if document is not None else ()

    def _is_newer(self, uri: str, version: int) -> bool:
        document = self._documents.find(uri)
        return document is None or document.version != version

    async def _read_back(self, uri: str, base: Text, edits: Sequence[TextEdit], answer: Answer) -> Landing:
        """What stands of *edits*, by the text that the editor holds."""
        document = self._documents.find(uri)
        if document is None:
            return await self._closed_meanwhile(uri, base, edits)
        fate = self._stand(uri, base, edits)
        if all(fate):
            return Applied(text=replace(document.text, encoding=base.encoding, bom=base.bom))
        if any(fate):
            return Partial(stands=fate, failure=not_as_written(document.uri, fate))
        return Rejected(failure=refused(document.uri, answer, self._patience.answer_s))

    async def _closed_meanwhile(self, uri: str, base: Text, edits: Sequence[TextEdit]) -> Landing:
        """The user closed the document while it was edited: what the disk holds decides."""
        saved = await self._disk.read(uri)
        if not isinstance(saved, Failure) and all(standing(base, edits, saved.text.content)):
            return Applied(text=saved.text)
        return Rejected(
            failure=Failure(
                code=Code.NOT_AS_WRITTEN,
                uri=uri,
                message="The document was closed without saving while it was edited.",
                steps=("Send the edit again.",),
            )
        )

    async def _is_stale(self, uri: str, version: int, answer: Answer) -> bool:
        """Whether nothing landed because the user had typed: then there is a newer version by now."""
        if answer.applied is None or not self.client.versioned:
            return False
        # A refusal can overtake the change that caused it.
        return await self._documents.until(lambda: self._is_newer(uri, version), self._patience.overtaken_s)

    async def _update_closed(self, update: Update, label: str) -> Landing:
        saved = await self._disk.read(update.uri)
        if isinstance(saved, Failure):
            return Rejected(failure=saved.at(update.uri))
        if saved.text.content != update.base.content:
            (landing,) = await self._disk.apply([update], label)
            return landing
        closed = OpenDocument(update.uri, "", 0, [])
        answer = await self._send(self._text_edit(closed, update.base, update.edits, is_open=False), label)
        expected = edit.apply(update.base.content, update.edits)
        return await self._landed_and_saved(update.uri, replace(update.base, content=expected), answer)

    async def _create(self, create: Create, label: str) -> Landing:
        there = await self._disk.read(create.uri)
        if not (isinstance(there, Failure) and there.code is Code.NO_SUCH_FILE):
            (landing,) = await self._disk.apply([create], label)  # which says that it exists
            return landing
        whole = lsp.TextEdit(range=convert.START, new_text=create.text.content)
        made = lsp.WorkspaceEdit(
            document_changes=[
                lsp.CreateFile(uri=create.uri, options=lsp.CreateFileOptions(ignore_if_exists=False)),
                lsp.TextDocumentEdit(
                    text_document=lsp.OptionalVersionedTextDocumentIdentifier(uri=create.uri, version=None),
                    edits=[whole],
                ),
            ]
        )
        return await self._landed_and_saved(create.uri, create.text, await self._send(made, label))

    async def _landed_and_saved(self, uri: str, expected: Text, answer: Answer) -> Landing:
        """Wait until the editor holds *expected*, have it saved, and compare the bytes."""

        def holds() -> bool:
            document = self._documents.find(uri)
            return document is not None and document.text.content == expected.content

        shows = await self._documents.until(holds, self._patience.echo_s if answer.applied else 0)
        if shows and (document := self._documents.find(uri)) is not None:
            document.was_opened_by_us = True
            await self.save([uri])
        saved = await self._disk.read(uri)
        if not isinstance(saved, Failure) and saved.text.content == expected.content:
            return Applied(text=saved.text)
        if shows and self._documents.find(uri) is not None:
            return Applied(text=expected)  # in the editor, and unsaved
        return Rejected(failure=refused(uri, answer, self._patience.answer_s))

    async def _delete_open(self, delete: Delete, label: str) -> Landing:
        document = self._documents.find(delete.uri)
        if document is None or document.text.content != delete.base.content:
            return Rejected(failure=edit.stale([1], "The document").at(delete.uri))
        if self.client.deletes:
            gone = lsp.DeleteFile(uri=document.uri, options=lsp.DeleteFileOptions(ignore_if_not_exists=True))
            await self._send(lsp.WorkspaceEdit(document_changes=[gone]), label)
        saved = await self._disk.read(delete.uri)
        if not isinstance(saved, Failure):
            (landing,) = await self._disk.apply([replace(delete, base=saved.text)], label)
            return landing
        return Applied(text=None)

    # ---- What is sent -----------------------------------------------------------------------------

    def _text_edit(
        self, document: OpenDocument, base: Text, edits: Sequence[TextEdit], *, is_open: bool = True
    ) -> lsp.WorkspaceEdit:
        made = convert.text_edits(base, edits, self._documents.encoding)
        if not self.client.versioned:
            return lsp.WorkspaceEdit(changes={document.uri: made})
        version = max(document.version, self.client.least_version) if is_open else None
        identifier = lsp.OptionalVersionedTextDocumentIdentifier(uri=document.uri, version=version)
        return lsp.WorkspaceEdit(
            document_changes=[lsp.TextDocumentEdit(text_document=identifier, edits=list(made))]
        )

    async def _send(self, made: lsp.WorkspaceEdit, label: str) -> Answer:
        if not self.client.apply_edit:
            return Answer(applied=False, reason="this editor does not take edits from a language server")
        params = lsp.ApplyWorkspaceEditParams(edit=made, label=label)
        sent = self._server.protocol.send_request_async(lsp.WORKSPACE_APPLY_EDIT, params)
        await asyncio.wait([sent], timeout=self._patience.answer_s)
        if not sent.done():
            return Answer(applied=None)
        try:
            result: lsp.ApplyWorkspaceEditResult = sent.result()
        except JsonRpcException as error:
            return Answer(applied=False, reason=str(error))
        if result is None:
            return Answer(applied=False, reason="it answered with nothing")
        return Answer(applied=bool(result.applied), reason=result.failure_reason or "")

    # ---- Saving, and bytes ------------------------------------------------------------------------

    async def opened(self) -> tuple[Document, ...]:
        """The documents of the mirror."""
        found = await asyncio.gather(*(self.read(document.uri) for document in list(self._documents)))
        return tuple(each for each in found if isinstance(each, Document))

    async def save(self, uris: Sequence[str]) -> frozenset[str]:
        """Have the client save *uris*, if it offers to."""
        if "save" not in self.client.services or not uris:
            return frozenset()
        params = wire.write(protocol.SaveParams(uris=list(uris)))
        sent = self._server.protocol.send_request_async(protocol.CLIENT_SAVE, params)
        await asyncio.wait([sent], timeout=self._patience.answer_s)
        if not sent.done():
            return frozenset()
        try:
            return frozenset(wire.read(protocol.SaveResult, sent.result()).saved)
        except (JsonRpcException, wire.InvalidParams):
            return frozenset()

    async def read_bytes(self, uri: str) -> bytes | None:
        """The bytes of a file, whatever the editor holds."""
        return await self._disk.read_bytes(uri)

    async def put(self, uri: str, raw: bytes | None, mode: int | None) -> Failure | None:
        """Write the bytes of a document that no editor holds."""
        return await self._disk.put(uri, raw, mode)

    async def look(self, uri: str) -> Image | None:
        """What lies at a place on disk, whatever the editor holds."""
        return await self._disk.look(uri)

    async def lay(self, uri: str, found: Image, wanted: Image) -> Failure | None:
        """Have something else lie there."""
        return await self._disk.lay(uri, found, wanted)

    async def remove_empty_folders(self, uris: Sequence[str]) -> None:
        """Remove those of the folders that are there and empty."""
        await self._disk.remove_empty_folders(uris)


def _conflicts(update: Update, conflicts: Sequence[bool]) -> list[int]:
    """The numbers of the hunks whose edits are in conflict."""
    bad = {each for each, conflict in zip(update.edits, conflicts, strict=True) if conflict}
    return [hunk.number or 1 for hunk in update.hunks if bad & set(hunk.edits)]
