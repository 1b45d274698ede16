"""
The documents that the headless client holds, and what workspace edits do to them.

It behaves as an editor does: a document is opened when an edit comes for it, changed in memory, told to the
server change by change, and on disk only once it is saved. Nothing outside the workspace folder is touched.
Files are changed under the lock of `lock`, and what someone else did to them is never overwritten.

Text edits alone are all or nothing; an edit that also creates, renames or deletes stops at the first change
that fails (`textOnlyTransactional` in LSP). Talking to the server happens in `client`.
"""

import contextlib
import itertools
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, assert_never

from handrail.headless import disk, lock, text
from handrail.headless.document import Document, decode, read
from handrail.headless.edit import CreateFile, DeleteFile, DocumentEdit, Operation, RenameFile, parse
from handrail.headless.errors import EditRefusedError
from handrail.values import dataclass, replace

Notify = Callable[[str, dict[str, Any]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsaved:
    """A document whose text did not reach the disk, and why."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync:
    """The document events that the server wants, from its answer to `initialize`; LSP's defaults here."""

    encoding: text.Encoding = "utf-16"
    incremental: bool = True
    saves: bool = True


class Workspace:
    """
    The open documents of one workspace folder.

    Args:
        root: The folder, resolved.
        notify: Sends a notification to the server; never fails.
    """

    def __init__(self, root: Path, notify: Notify) -> None:
        self.root = root
        self.sync = Sync()
        self._notify = notify
        self._open: dict[Path, Document] = {}
        self._versions = itertools.count(
            1
        )  # for all documents, so that a reopened one never repeats a version

    def line_text(self, uri: str, line: int) -> str | None:
        """Give the text of one line of a document, open or not; None if that line does not exist."""
        try:
            path = disk.document_path(self.root, uri)
            whole = (
                self._open[path].text if path in self._open else disk.read(path).decode("utf-8", "replace")
            )
        except EditRefusedError:
            return None
        lines = text.Lines(whole, self.sync.encoding)
        return lines.content(line) if line < len(lines) else None

    async def apply(self, workspace_edit: Any) -> dict[str, Any]:
        """
        Apply a `WorkspaceEdit` and tell the server what changed.

        Returns:
            An `ApplyWorkspaceEditResult`. A refusal says why and, where one change is to blame, which.
        """
        try:
            operations = parse(workspace_edit)
            async with lock.hold(self._entries(operations)):
                for operation in operations:
                    self._check(operation)
                for operation_or_edits in _runs(operations):
                    self._perform(operation_or_edits)
        except EditRefusedError as refusal:
            result: dict[str, Any] = {"applied": False, "failureReason": str(refusal)}
            if refusal.change is not None:
                result["failedChange"] = refusal.change
            return result
        return {"applied": True}

    def reload(self, paths: Iterable[Path] | None = None) -> None:
        """
        Take over what someone else wrote to the files of open documents, all of them or those of *paths*.

        A document with unsaved text keeps it; `save` then refuses to overwrite the file.
        """
        for path in tuple(self._open if paths is None else paths):
            document = self._open.get(path)
            if document is None or disk.stamp(path) == document.stamp or document.is_dirty:
                continue
            try:
                fresh = self._read(path, document.uri)
            except EditRefusedError:  # gone, or no longer text: the next edit or save says so
                continue
            if fresh.content == document.content:
                self._open[path] = replace(document, stamp=fresh.stamp)
            else:
                self._open[path] = fresh
                self._note_change(fresh, [{"text": fresh.text}])

    async def save(self, uris: Iterable[str]) -> list[str]:
        """
        Write documents to disk.

        Returns:
            The URIs whose files now hold what the client holds; what is not open counts if it is a file.
        """
        saved: list[str] = []
        for uri in uris:
            try:
                path = disk.document_path(self.root, uri)
                if path in self._open:
                    await self._save(path)
                elif not path.is_file():
                    continue
            except (EditRefusedError, OSError):  # not in the answer; `save_all` tells the person
                continue
            saved.append(uri)
        return saved

    async def save_all(self) -> tuple[Unsaved, ...]:
        """Write every document with unsaved text; give those that could not be written."""
        unsaved: list[Unsaved] = []
        for path in tuple(self._open):
            try:
                await self._save(path)
            except EditRefusedError as refusal:
                unsaved.append(Unsaved(path=path, reason=str(refusal)))
            except OSError as error:
                unsaved.append(Unsaved(path=path, reason=error.strerror or str(error)))
        return tuple(unsaved)

    @property
    def is_dirty(self) -> bool:
        """Whether a document has text that is not on disk."""
        return any(document.is_dirty for document in self._open.values())

    def _entries(self, operations: Iterable[Operation]) -> list[Path]:
        """
        Return the paths that operations create, move or remove on disk; text edits change documents in memory
        only.
        """
        paths: list[Path] = []
        for operation in operations:
            with _blame(operation):
                if not isinstance(operation, DocumentEdit):
                    paths.append(disk.entry_path(self.root, operation.uri))
                if isinstance(operation, RenameFile):
                    paths.append(disk.entry_path(self.root, operation.old_uri))
        return paths

    def _check(self, operation: Operation) -> None:
        """Refuse what can be known to fail before anything is touched."""
        with _blame(operation):
            if not isinstance(operation, DocumentEdit):
                return
            path = disk.document_path(self.root, operation.uri)
            self.reload([path])
            if operation.version is None:
                return
            document = self._open.get(path)
            if document is None:
                raise EditRefusedError(
                    f"{operation.uri} is not open, so it has no version {operation.version}"
                )
            if document.version != operation.version:
                versions = f"is at version {document.version}, the edit was made for {operation.version}"
                raise EditRefusedError(f"{operation.uri} {versions}")

    def _perform(self, operation: Operation | tuple[DocumentEdit, ...]) -> None:
        match operation:
            case tuple():
                self._edit(operation)
            case CreateFile():
                with _blame(operation):
                    self._create(operation)
            case RenameFile():
                with _blame(operation):
                    self._rename(operation)
            case DeleteFile():
                with _blame(operation):
                    self._delete(operation)
            case DocumentEdit():  # always in a tuple
                self._edit((operation,))
            case _:
                assert_never(operation)

    def _edit(self, edits: tuple[DocumentEdit, ...]) -> None:
        """Apply text edits, all or none; those of one document are all relative to its text before."""
        by_path: dict[Path, list[DocumentEdit]] = {}
        for edit in edits:
            by_path.setdefault(disk.document_path(self.root, edit.uri), []).append(edit)
        planned: list[tuple[Document, tuple[text.Splice, ...]]] = []
        for path, of_document in by_path.items():
            with _blame(of_document[0]):
                document = self._open.get(path) or self._read(path, of_document[0].uri)
                text_edits = [text_edit for edit in of_document for text_edit in edit.edits]
                planned.append((document, text.plan(document.text, text_edits, self.sync.encoding)))
        for document, splices in planned:
            if document.path not in self._open:
                self._show(document)
            if splices:
                self._change(document, splices)

    def _change(self, document: Document, splices: Sequence[text.Splice]) -> None:
        changed = replace(document, version=next(self._versions), text=text.apply(document.text, splices))
        self._open[document.path] = changed
        incremental = text.content_changes(document.text, splices, self.sync.encoding)
        self._note_change(changed, incremental if self.sync.incremental else [{"text": changed.text}])

    def _create(self, create: CreateFile) -> None:
        path = disk.entry_path(self.root, create.uri)
        if os.path.lexists(path):
            if not create.overwrite:
                _allow_existing(path, allowed=create.ignore_if_exists)
                return
            path = disk.document_path(self.root, create.uri)
            document = self._open.get(path) or self._read(path, create.uri)
            if document.path not in self._open:
                self._show(document)
            self._change(document, [text.Splice(start=0, end=len(document.text), new_text="")])
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(exist_ok=False)

    def _rename(self, rename: RenameFile) -> None:
        old, new = (disk.entry_path(self.root, uri) for uri in (rename.old_uri, rename.uri))
        if not os.path.lexists(old):
            raise EditRefusedError(f"{old} does not exist")
        if os.path.lexists(new) and old != new:
            if not rename.overwrite:
                _allow_existing(new, allowed=rename.ignore_if_exists)
                return
            self._remove(new, recursive=False)
        moving = [self._hide(path) for path in tuple(self._open) if path.is_relative_to(old)]
        new.parent.mkdir(parents=True, exist_ok=True)
        os.rename(old, new)
        for document in moving:
            path = new / document.path.relative_to(old)
            uri = rename.uri if path == new else path.as_uri()
            self._show(
                replace(document, path=path, uri=uri, version=next(self._versions), stamp=disk.stamp(path))
            )

    def _delete(self, delete: DeleteFile) -> None:
        path = disk.entry_path(self.root, delete.uri)
        if os.path.lexists(path):
            self._remove(path, recursive=delete.recursive)
        elif not delete.ignore_if_not_exists:
            raise EditRefusedError(f"{path} does not exist")

    def _remove(self, path: Path, *, recursive: bool) -> None:
        document = self._open.get(path)
        if document is not None and disk.read(path) != document.on_disk:
            raise EditRefusedError(f"{path} has been changed by another program since it was opened")
        if not path.is_dir() or path.is_symlink():
            path.unlink()
        elif recursive:
            shutil.rmtree(path)
        else:
            path.rmdir()
        for gone in [opened for opened in self._open if opened.is_relative_to(path)]:
            self._hide(gone)

    def _read(self, path: Path, uri: str) -> Document:
        return read(path, uri, next(self._versions))

    async def _save(self, path: Path) -> None:
        """
        Write a document, under its lock.

        Changes that someone else has made to other lines of the file since are taken over first; changes to
        the same lines are refused.
        """
        if not self._open[path].is_dirty:
            return
        async with lock.hold([path]):
            if (document := self._open.get(path)) is None or not document.is_dirty:
                return  # closed, or saved, while someone else held the lock
            if disk.document_path(self.root, path.as_uri()) != path:
                raise EditRefusedError("the file has been replaced by a symbolic link since it was opened")
            raw = disk.read(path)
            if raw not in (document.content, document.on_disk):
                document = self._join(document, raw)
            if raw != document.content:
                disk.write(path, document.content)
                if disk.read(path) != document.content:
                    raise EditRefusedError("another program changed the file right after it was written")
            self._open[path] = document.after_save()
        if self.sync.saves:
            self._notify("textDocument/didSave", {"textDocument": {"uri": document.uri}})

    def _join(self, document: Document, raw: bytes) -> Document:
        """Take what someone else made of a document's file over into its unsaved text."""
        has_bom, theirs = decode(document.path, raw)
        _, base = decode(document.path, document.on_disk)
        splice = text.carry(base, document.text, theirs)
        if splice is None or has_bom != document.has_bom:
            raise EditRefusedError("another program changed the same lines of the file")
        self._change(replace(document, on_disk=raw), [splice])
        return self._open[document.path]

    def _show(self, document: Document) -> None:
        """Open a document for the server."""
        self._open[document.path] = document
        self._notify("textDocument/didOpen", {"textDocument": document.item})

    def _hide(self, path: Path) -> Document:
        """Close a document for the server."""
        document = self._open.pop(path)
        self._notify("textDocument/didClose", {"textDocument": {"uri": document.uri}})
        return document

    def _note_change(self, document: Document, changes: Sequence[Any]) -> None:
        identifier = {"uri": document.uri, "version": document.version}
        self._notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": list(changes)})


def _runs(operations: Sequence[Operation]) -> Iterator[Operation | tuple[DocumentEdit, ...]]:
    """Put text edits that follow each other together: they are applied as one."""
    for is_text, group in itertools.groupby(
        operations, key=lambda operation: isinstance(operation, DocumentEdit)
    ):
        if is_text:
            yield tuple(operation for operation in group if isinstance(operation, DocumentEdit))
        else:
            yield from group


@contextlib.contextmanager
def _blame(operation: Operation) -> Iterator[None]:
    """Let a refusal say which change it is about; a failing disk is a refusal too."""
    try:
        yield
    except EditRefusedError as refusal:
        raise EditRefusedError(str(refusal), operation.change) from refusal
    except OSError as error:
        raise EditRefusedError(f"{error.filename}: {error.strerror}", operation.change) from error


def _allow_existing(path: Path, *, allowed: bool) -> None:
    if not allowed:
        raise EditRefusedError(f"{path} already exists")
