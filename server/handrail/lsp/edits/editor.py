"""
The editor behind `workspace/applyEdit`: changes documents, and believes only what it reads back.

An open document is changed by a minimal, versioned workspace edit, one document and one request at a time;
`sending` does that. Whether it landed is read from the mirror, never from the answer: clients answer
`applied: true` without applying, apply half, or never answer. A file that is open twice is changed in both
documents. Closed documents are edited through the editor only if that preserves every byte and the editor can
save them; otherwise on disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from functools import partial

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from handrail.core.checkpoint import LINK, Image
from handrail.core.documents.change import (
    Applied,
    Change,
    Create,
    Delete,
    Landing,
    Rejected,
    Update,
    insertion,
)
from handrail.core.documents.edit import TextEdit
from handrail.core.documents.readback import LANDED
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.lsp import convert, settings
from handrail.lsp.client import Client
from handrail.lsp.documents import Documents, OpenDocument
from handrail.lsp.edits.answers import Answer, mismatch, refusal, refuse_deletion
from handrail.lsp.edits.apply_edit import ApplyEdit, Patience
from handrail.lsp.edits.saving import Saving
from handrail.lsp.edits.sending import Sending
from handrail.lsp.edits.sent import Sent, prepare_unopened
from handrail.lsp.edits.views import Told, Views
from handrail.ports import Document, Editor

NOTEBOOK = ".ipynb"


class LspEditor:
    """Editor port for one client, with the disk for documents that are not open."""

    def __init__(
        self, server: LanguageServer, documents: Documents, disk: Editor, patience: Patience
    ) -> None:
        self._server = server
        self._documents = documents
        self._disk = disk
        self._patience = patience
        self._wire = ApplyEdit(server=server, documents=documents, patience=patience, client=Client())
        sending = Sending(wire=self._wire, disk=disk)
        self._views = Views(documents, sending, disk, patience.answer_s + patience.echo_s)
        self.settings: Callable[[], settings.Settings] = settings.Settings
        self._working: set[asyncio.Task[None]] = set()
        self._saving = Saving(wire=self._wire, disk=disk)

    @property
    def saving(self) -> Set[str]:
        """The documents that the client is currently saving for us."""
        return self._saving.uris

    @property
    def client(self) -> Client:
        """The client's abilities."""
        return self._wire.client

    @client.setter
    def client(self, client: Client) -> None:
        self._wire.client = client

    # ---- Reading ----------------------------------------------------------------------------------

    async def read(self, uri: str) -> Document | Failure:
        """Reads the document *uri*: the editor's text if it is open, otherwise the file."""
        document = self._documents.find(uri)
        saved = await self._disk.read(document.uri if document is not None else uri)
        document = self._documents.find(uri)  # it may have been opened or changed while the disk was read
        if document is None:
            is_notebook = self.client.has_notebooks and uri.lower().endswith(NOTEBOOK)
            return replace(saved, is_notebook=True) if is_notebook and isinstance(saved, Document) else saved
        if isinstance(saved, Failure):
            text, unsaved = document.text, True
        else:
            text = Text(document.text.content, saved.text.encoding, saved.text.bom)
            unsaved = text.content != saved.text.content
        return Document(
            uri=document.uri,
            text=text,
            version=document.version,
            unsaved=unsaved,
            saved=document.saved,
            is_removed=document.is_removed and isinstance(saved, Failure),
        )

    async def empty_text(self, uri: str) -> Text:
        """Returns an empty text in the encoding that is configured for the file."""
        return await self._disk.empty_text(uri)

    # ---- Changing ---------------------------------------------------------------------------------

    async def apply(self, changes: Sequence[Change], label: str) -> tuple[Landing, ...]:
        """Applies *changes* one after the other and reads each back."""
        landings = []
        async with self._views.one_at_a_time:
            for change in changes:
                landings.append(await self._apply(change, label))
        return tuple(landings)

    async def _apply(self, change: Change, label: str) -> Landing:
        is_open = self._documents.find(change.uri) is not None
        match change:
            case Update() if is_open:
                landing = await self._update_and_save(change, label)
                if (document := self._documents.find(change.uri)) and not isinstance(landing, Rejected):
                    document.is_removed = False
                return landing
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
        """
        Follows the setting; with `auto`, a new document is written to disk, since no editor has it open.
        """
        chosen = self.settings().text(settings.CLOSED_DOCUMENTS)
        if chosen != "auto" or not self.client.apply_edit:
            return chosen == "editor" and self.client.apply_edit
        return self.client.saves and text.is_plain and not is_new

    def _creates(self, create: Create) -> bool:
        is_utf8 = create.text.encoding == "utf-8" and not create.text.bom  # no request names another encoding
        return is_utf8 and self.client.creates and self._goes_through_editor(create.text, is_new=True)

    async def _update_and_save(self, update: Update, label: str) -> Landing:
        """
        Updates an open document in all its views; one that we opened ourselves is saved again if it was
        saved.
        """
        document = self._documents.find(update.uri)
        before = await self.read(update.uri) if document and document.was_opened_by_us else None
        landing = await self._views.update(update, label)
        if isinstance(before, Document) and not before.unsaved and isinstance(landing, Applied):
            return await self._saving.save_landed(update, landing)
        return landing

    def when_shown(self, change: Change, tell: Told) -> None:
        """Calls *tell* when more of a change shows than was reported; see the port."""
        if isinstance(change, Update):
            self._views.when_shown(change, tell)
        elif isinstance(change, Create):
            self._views.late.when_shown(change, partial(self._shown_late, change, tell))

    def on_change(self, document: OpenDocument) -> None:
        """Called when a document has changed: it may show an edit that was reported as failed."""
        self._views.on_change(document)

    def offers(self, document: OpenDocument) -> list[tuple[str, lsp.WorkspaceEdit]]:
        """Returns the edits that wait for the user in a client that accepts none, each with its label."""
        if self.client.apply_edit:
            return []
        return [
            (label, self.workspace_edit(document, edits))
            for label, edits in self._views.late.offers(document)
        ]

    def workspace_edit(self, document: OpenDocument, edits: Sequence[TextEdit]) -> lsp.WorkspaceEdit:
        """Returns the edits of an open document in the form of a code action."""
        return self._wire.text_edit(document.uri, document.version, document.text, edits)

    async def _update_closed(self, update: Update, label: str) -> Landing:
        saved = await self._disk.read(update.uri)
        if isinstance(saved, Failure):
            return Rejected(failure=saved.with_uri(update.uri))
        if saved.text.content != update.base.content:
            (landing,) = await self._disk.apply([update], label)
            return landing
        made = self._wire.text_edit(update.uri, None, update.base, update.edits)
        sent = prepare_unopened(update, self._documents.count)
        answer = await self._wire.send(made, label)
        landing = await self._land_and_save(update, sent, answer)
        self._views.late.add(update, sent, landing)
        return landing

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
        update = insertion(create)
        sent = prepare_unopened(update, self._documents.count)
        answer = await self._wire.send(made, label)
        landing = await self._land_and_save(update, sent, answer)
        self._views.late.add(create, sent, landing)
        if create.moved_from is not None:
            await self._copy_mode(create.moved_from, create.uri)
        return landing

    def _shown_late(self, create: Create, tell: Told, landing: Landing, _: str) -> None:
        task = asyncio.ensure_future(self._save_late(create, tell, landing))
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    async def _save_late(self, create: Create, tell: Told, landing: Landing) -> None:
        """Has a new document saved that shows late, unless its text has changed since, and reports it."""
        document = self._documents.find(create.uri)
        if isinstance(landing, Applied) and document and document.text.content == create.text.content:
            document.was_opened_by_us = True
            landing = await self._saving.save_landed(insertion(create), landing)
            if create.moved_from is not None:
                await self._copy_mode(create.moved_from, create.uri)
        tell(landing)

    async def _copy_mode(self, source: str, target: str) -> None:
        """Gives a file the permission bits of another one, which an editor knows nothing of."""
        image, raw = await self._disk.read_image(source), await self._disk.read_bytes(target)
        if image is not None and image.mode not in (None, LINK) and raw is not None:
            await self._disk.put(target, raw, raw, image.mode)

    async def _land_and_save(self, update: Update, sent: Sent, answer: Answer) -> Landing:
        """
        Waits until an update of a document that was not open shows in the editor, and has it saved.

        Another process may have written the file before the editor has read it. If the editor shows nothing,
        the file decides.
        """

        def holds() -> bool:
            document = self._documents.find(update.uri)
            return document is not None and sent.has_landed(document.text)

        shows = await self._documents.until(holds, self._patience.wait_s(answer))
        document = self._documents.find(update.uri)
        if shows and document is not None and sent.has_landed(document.text):
            document.was_opened_by_us = True
            landing = sent.landing(document.text, None)
            assert isinstance(landing, Applied)
            return await self._saving.save_landed(update, landing)
        if document is not None and sent.count_in(document.text.content):
            document.was_opened_by_us = True
            landed = [fate in LANDED for fate in sent.fates(document.text.content)]
            if update.is_divisible:  # otherwise it is reverted
                await self._saving.save([update.uri])
            return sent.landing(document.text, mismatch(update.uri, landed))
        saved = await self._disk.read(update.uri)
        if not isinstance(saved, Failure) and sent.has_landed(saved.text):
            return Applied(text=saved.text)
        return Rejected(failure=refusal(update.uri, answer, self._patience.answer_s))

    async def _delete_open(self, delete: Delete, label: str) -> Landing:
        document = self._documents.find(delete.uri)
        if document is None or document.text.content != delete.base.content:
            return Rejected(failure=refuse_deletion(delete.uri, is_closed=document is None))
        there = await self._disk.read(delete.uri)
        if self.client.deletes:
            gone = lsp.DeleteFile(uri=document.uri, options=lsp.DeleteFileOptions(ignore_if_not_exists=True))
            await self._wire.send(lsp.WorkspaceEdit(document_changes=[gone]), label)
        if not isinstance(there, Failure) and not isinstance(await self._disk.read(delete.uri), Failure):
            # What another process has written since stays.
            (landing,) = await self._disk.apply([replace(delete, base=there.text)], label)
            if not isinstance(landing, Applied):
                return landing
        return Applied(text=None, stays_open=await self._stays_open(document))

    async def _stays_open(self, removed: OpenDocument) -> bool:
        """Whether the editor keeps a document without its file; then no save of ours brings that back."""
        wait_s = self._patience.overtaken_s if self.client.deletes else 0
        if await self._documents.until(lambda: self._documents.find(removed.uri) is None, wait_s):
            return False
        for each in (removed, *self._documents.siblings(removed)):
            each.is_removed = True
        return True

    # ---- Saving, and bytes ------------------------------------------------------------------------

    async def open_documents(self) -> tuple[Document, ...]:
        """Returns the documents of the mirror."""
        documents = await asyncio.gather(*(self.read(document.uri) for document in list(self._documents)))
        return tuple(each for each in documents if isinstance(each, Document))

    async def save(self, uris: Sequence[str]) -> frozenset[str]:
        """Asks the client to save *uris*, if it offers to."""
        return await self._saving.save(uris)

    async def read_bytes(self, uri: str) -> bytes | None:
        """Reads the bytes of a file, even if it is open."""
        return await self._disk.read_bytes(uri)

    async def put(self, uri: str, base: bytes | None, raw: bytes | None, mode: int | None) -> Failure | None:
        """Writes the bytes of a document that is not open."""
        return await self._disk.put(uri, base, raw, mode)

    async def read_image(self, uri: str) -> Image | None:
        """Reads the file or link at a place on disk, even if it is open."""
        return await self._disk.read_image(uri)

    async def put_image(self, uri: str, base: Image, wanted: Image) -> Failure | None:
        """Replaces the file or link at a place."""
        return await self._disk.put_image(uri, base, wanted)

    async def remove_empty_folders(self, uris: Sequence[str]) -> None:
        """Removes those of the folders that exist and are empty."""
        await self._disk.remove_empty_folders(uris)
