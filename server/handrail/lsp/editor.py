"""
The editor behind `workspace/applyEdit`: changes documents, and believes only what it reads back.

An open document is changed by a minimal, versioned workspace edit, one document and one request at a time;
`sending` does that. Whether it landed is read from the mirror, never from the answer: clients answer
`applied: true` without applying, apply half, or never answer. A file that is open twice is changed in both
documents. Closed documents go through the editor only where that keeps every byte and can be saved, else to
the disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from handrail.core.checkpoint import Image
from handrail.core.documents import edit
from handrail.core.documents.change import (
    Applied,
    Change,
    Create,
    Delete,
    Landing,
    Partial,
    PlannedHunk,
    Rejected,
    Tier,
    Update,
    with_what_was_overwritten,
)
from handrail.core.documents.readback import LANDED, fates, with_blanks_of
from handrail.core.documents.revert import way_back
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.lsp import convert, protocol, settings, wire
from handrail.lsp.answers import Answer, open_twice, refused
from handrail.lsp.apply_edit import ApplyEdit, Patience
from handrail.lsp.client import Client
from handrail.lsp.documents import Documents, OpenDocument
from handrail.lsp.late import Late
from handrail.lsp.sending import Sending, unversioned
from handrail.ports import Document, Editor

Told = Callable[[Landing], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Whole:
    """
    The update that a part belongs to which is made in one more document of a file.

    Attributes:
        failure: Why the rest of it has not landed.
    """

    update: Update
    failure: Failure | None = None


class LspEditor:
    """Editor port for one client, with the disk for what the client does not hold."""

    def __init__(
        self, server: LanguageServer, documents: Documents, disk: Editor, patience: Patience
    ) -> None:
        self._server = server
        self._documents = documents
        self._disk = disk
        self._patience = patience
        self._wire = ApplyEdit(server=server, documents=documents, patience=patience, client=Client())
        self._sending = Sending(wire=self._wire, disk=disk)
        self._late = Late(documents, self._undo_copy, patience.answer_s + patience.echo_s)
        self._one_at_a_time = asyncio.Lock()
        self._completing: set[asyncio.Task[None]] = set()
        self.settings: Callable[[], settings.Settings] = settings.Settings

    @property
    def client(self) -> Client:
        """What the client can do."""
        return self._wire.client

    @client.setter
    def client(self, client: Client) -> None:
        self._wire.client = client

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
        """Update an open document, in all its views; one that we opened ourselves stays saved if it is."""
        document = self._documents.find(update.uri)
        beside = self._documents.beside(document) if document and not update.is_alone else ()
        if document and beside and (failure := self._differing(document)):
            return Rejected(failure=failure)
        before = await self.read(update.uri) if document and document.was_opened_by_us else None
        landing = await self._send(update, label, update.uri)
        if document and beside:
            landing = await self._update_beside(update, label, landing, (document, *beside))
        if isinstance(before, Document) and not before.unsaved and isinstance(landing, Applied):
            await self.save([update.uri])
        return landing

    def _differing(self, document: OpenDocument) -> Failure | None:
        """Why no document of a file is edited: the editor holds others of it, with other texts."""
        beside = self._documents.beside(document)
        if all(each.text.content == document.text.content for each in beside):
            return None
        return open_twice([document.uri, *(each.uri for each in beside)])

    async def _send(self, update: Update, label: str, uri: str, part_of: _Whole | None = None) -> Landing:
        """Make an update in the document that is open as *uri*."""
        if (document := self._documents.find(uri)) is not None:
            self._late.forget(document.uri)
        landing, tries = await self._sending.update(replace(update, uri=uri), label)
        if tries:
            whole = part_of or _Whole(update=update)
            sent = tries[-1].as_part_of(update, whole.update)
            is_blind = not self.client.versioned
            self._late.add(whole.update, sent, landing, rest=whole.failure, is_blind=is_blind)
        if isinstance(landing, Applied) and len(tries) > 1:
            self._late.watch_copies(update, tries, landing)
        return landing

    async def _undo_copy(self, undo: Update) -> bool:
        """Take the second copy of an edit back; whether that landed."""
        async with self._one_at_a_time:
            landing, _ = await self._sending.update(undo, "handrail: take back a second copy")
        return isinstance(landing, Applied)

    async def _update_beside(
        self, update: Update, label: str, landing: Landing, views: Sequence[OpenDocument]
    ) -> Landing:
        """Make what has landed in the first of a file's documents in all others, or take it back there."""
        if isinstance(landing, Rejected):
            return landing
        part = _landed(update, landing)
        whole = _Whole(update=update, failure=landing.failure if isinstance(landing, Partial) else None)
        failure = whole.failure if not update.is_divisible else None
        done = [views[0]]
        for view in views[1:] if failure is None else ():
            other = await self._send(part, label, view.uri, whole)
            if not isinstance(other, Applied):
                failure = other.failure
                break
            done.append(view)
        if failure is None:
            return landing
        return Rejected(failure=await self._undo_views(part, done, failure))

    async def _undo_views(self, update: Update, views: Sequence[OpenDocument], failure: Failure) -> Failure:
        """Take an update back in documents of a file, since another did not take it; what to tell."""
        for view in views:
            failure = await self._undo_view(update, view.uri, failure)
        return failure

    async def _undo_view(self, update: Update, uri: str, failure: Failure) -> Failure:
        document = self._documents.find(uri)
        if document is None:
            return failure
        made = Text(with_blanks_of(update.base, update.edits, document.text.content))
        found = fates(update.base, update.edits, document.text.content)
        back = way_back(document.text, [(update.base, made)]) if any(f in LANDED for f in found) else None
        if not back:
            return failure
        undo = Update(
            uri=uri, base=document.text, hunks=(PlannedHunk(number=None, tier=Tier.SAFE, edits=back),)
        )
        way, _ = await self._sending.update(undo, "handrail: take back half an edit")
        return with_what_was_overwritten(failure, way)

    def when_shown(self, change: Change, tell: Told) -> None:
        """Have *tell* called when more of a change of an open document shows than was told; see the port."""
        if isinstance(change, Update):
            self._late.when_shown(change, partial(self._shown_late, change, tell))

    def _shown_late(self, update: Update, tell: Told, landing: Landing, uri: str) -> None:
        document = self._documents.find(update.uri)
        beside = self._documents.beside(document) if document and not update.is_alone else ()
        if isinstance(landing, Applied | Partial) and landing.uri is not None:
            work = self._renamed_late(update, tell, landing)
        elif not beside or isinstance(landing, Rejected):
            tell(landing)
            return
        else:
            work = self._complete(update, tell, landing, uri)
        task = asyncio.ensure_future(work)
        self._completing.add(task)
        task.add_done_callback(self._completing.discard)

    async def _renamed_late(self, update: Update, tell: Told, landing: Landing) -> None:
        """Tell of an edit that shows in another document, if that is the same one by another name."""
        saved = await self._disk.read(update.uri)
        if isinstance(saved, Failure):  # else the document was closed, and a like one opened
            tell(landing)

    async def _complete(self, update: Update, tell: Told, landing: Applied | Partial, uri: str) -> None:
        """Make an update that shows late in the document *uri* in the others of its file; then tell of it."""
        part = _landed(update, landing)
        whole = _Whole(update=update, failure=landing.failure if isinstance(landing, Partial) else None)
        async with self._one_at_a_time:
            document = self._documents.find(update.uri)
            views = (document, *self._documents.beside(document)) if document is not None else ()
            for view in views:
                missing = _missing(part, view.text.content)
                if view.uri == uri or not missing.hunks:  # what was changed there since is the user's
                    continue
                other = await self._send(missing, "handrail: make the same edit", view.uri, whole)
                if not isinstance(other, Applied):
                    tell(Rejected(failure=await self._undo_views(part, views, other.failure)))
                    return
        tell(landing)

    def changed(self, document: OpenDocument) -> None:
        """A document has changed: it may show an edit that was told not to stand."""
        self._late.look(document)

    async def _update_closed(self, update: Update, label: str) -> Landing:
        saved = await self._disk.read(update.uri)
        if isinstance(saved, Failure):
            return Rejected(failure=saved.at(update.uri))
        if saved.text.content != update.base.content:
            (landing,) = await self._disk.apply([update], label)
            return landing
        made = self._wire.text_edit(update.uri, None, update.base, update.edits)
        sent = unversioned(update, self._documents.count)
        answer = await self._wire.send(made, label)

        def stands(text: Text) -> bool:
            """Another process may have written before the editor has read the file."""
            return all(fate in LANDED for fate in sent.fates(text.content))

        landing = await self._landed_and_saved(update.uri, stands, answer)
        self._late.add(update, sent, landing)
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
        answer = await self._wire.send(made, label)
        return await self._landed_and_saved(
            create.uri, lambda text: text.content == create.text.content, answer
        )

    async def _landed_and_saved(self, uri: str, stands: Callable[[Text], bool], answer: Answer) -> Landing:
        """Wait until the change *stands* in the editor, have it saved, and look at the disk."""

        def holds() -> bool:
            document = self._documents.find(uri)
            return document is not None and stands(document.text)

        shows = await self._documents.until(holds, self._patience.after(answer))
        if shows and (document := self._documents.find(uri)) is not None:
            document.was_opened_by_us = True
            await self.save([uri])
        saved = await self._disk.read(uri)
        if not isinstance(saved, Failure) and stands(saved.text):
            return Applied(text=saved.text)
        if shows and (document := self._documents.find(uri)) is not None and stands(document.text):
            return Applied(text=document.text)  # in the editor, and unsaved
        return Rejected(failure=refused(uri, answer, self._patience.answer_s))

    async def _delete_open(self, delete: Delete, label: str) -> Landing:
        document = self._documents.find(delete.uri)
        if document is None or document.text.content != delete.base.content:
            return Rejected(failure=edit.stale([1], "The document").at(delete.uri))
        there = await self._disk.read(delete.uri)
        if self.client.deletes:
            gone = lsp.DeleteFile(uri=document.uri, options=lsp.DeleteFileOptions(ignore_if_not_exists=True))
            await self._wire.send(lsp.WorkspaceEdit(document_changes=[gone]), label)
        if not isinstance(there, Failure) and not isinstance(await self._disk.read(delete.uri), Failure):
            # What another process has written meanwhile stays.
            (landing,) = await self._disk.apply([replace(delete, base=there.text)], label)
            return landing
        return Applied(text=None)

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

    async def put(self, uri: str, found: bytes | None, raw: bytes | None, mode: int | None) -> Failure | None:
        """Write the bytes of a document that no editor holds."""
        return await self._disk.put(uri, found, raw, mode)

    async def look(self, uri: str) -> Image | None:
        """What lies at a place on disk, whatever the editor holds."""
        return await self._disk.look(uri)

    async def lay(self, uri: str, found: Image, wanted: Image) -> Failure | None:
        """Have something else lie there."""
        return await self._disk.lay(uri, found, wanted)

    async def remove_empty_folders(self, uris: Sequence[str]) -> None:
        """Remove those of the folders that are there and empty."""
        await self._disk.remove_empty_folders(uris)


def _missing(update: Update, now: str) -> Update:
    """Those hunks of an update that do not stand in a text."""
    there = dict(zip(update.edits, fates(update.base, update.edits, now), strict=True))
    hunks = tuple(hunk for hunk in update.hunks if any(there[each] not in LANDED for each in hunk.edits))
    return replace(update, hunks=hunks)


def _landed(update: Update, landing: Applied | Partial) -> Update:
    """Those hunks of an update that have landed."""
    if isinstance(landing, Applied):
        return update
    there = {each for each, is_there in zip(update.edits, landing.stands, strict=True) if is_there}
    return replace(update, hunks=tuple(hunk for hunk in update.hunks if there.issuperset(hunk.edits)))
