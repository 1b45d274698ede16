"""The open documents of a scripted editor: opened, typed into, edited, saved and closed as it would."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from handrail.testing.profiles import ClientProfile, Stale
from handrail.testing.texts import LINE_END, Buffer, Json, difference, position_of
from handrail.testing.variations import PLAIN, Shape, Variation

Notify = Callable[[str, Any], None]


def path_of(uri: str) -> Path:
    """The file of a URI."""
    return Path(unquote(urlsplit(uri).path))


class Buffers:
    """All documents that an editor holds."""

    def __init__(self, profile: ClientProfile, notify: Notify) -> None:
        self.profile = profile
        self.variation: Variation = PLAIN
        self.encoding = "utf-16"
        self.tells_saves = False
        self.documents: dict[str, Buffer] = {}
        self.hidden: dict[str, str] = {}
        self._notify = notify

    def __getitem__(self, uri: str) -> str:
        return self.documents[uri].text

    # ---- What the user does -----------------------------------------------------------------------

    def open(self, file: Path | str, text: str | None = None) -> str:
        """Open a file, or an untitled document with *text*; returns its URI."""
        uri = file if isinstance(file, str) else file.as_uri()
        content, eol, bom = self._read(uri) if text is None else (text, None, False)
        first = self.profile.first_version
        self._show(Buffer(uri, content, first, self.profile.ticks, saved_eol=eol, bom=bom))
        return uri

    def _read(self, uri: str) -> tuple[str, str | None, bool]:
        """Return the text of a file, the line end that it is saved with, and whether it has a mark."""
        raw = path_of(uri).read_bytes()
        content, eol = self.profile.text_and_eol(raw.removeprefix(codecs.BOM_UTF8).decode("utf-8"))
        return content, eol, raw.startswith(codecs.BOM_UTF8)

    def reload(self, uri: str) -> None:
        """Load the file of an open document again, as an editor does that follows its files."""
        document = self.documents[uri]
        content, document.saved_eol, document.bom = self._read(uri)
        self.rewrite(uri, content)
        self.tell(loudly=True)

    def _show(self, document: Buffer) -> None:
        self.documents[document.uri] = document
        document.told = document.text
        item = {
            "uri": document.uri,
            "languageId": "plaintext",
            "version": document.version,
            "text": document.text,
        }
        self._notify("textDocument/didOpen", {"textDocument": item})

    def type(self, uri: str, new: str, *, before: str = "", after: str = "", instead: str = "") -> None:
        """The user types *new* before, after or instead of some text; told later unless at once."""
        document = self.documents[uri]
        mark = before or after or instead
        assert document.text.count(mark) == 1, f"{mark!r} must occur exactly once"
        at = document.text.index(mark) + (len(mark) if after else 0)
        document.past.append(document.text)
        document.change(at, at + (len(instead) if instead else 0), new, self.encoding)
        if self.profile.tells_at_once:
            self.tell()

    def undo(self, uri: str) -> None:
        """
        Undo the last change of a document, as the user does; the server is told later, unless *at once*.
        """
        document = self.documents[uri]
        document.replace_text(document.past.pop(), self.encoding)
        if self.profile.tells_at_once:
            self.tell()

    def rewrite(self, uri: str, text: str) -> None:
        """Something other than the user makes another *text* of a document, line by line where it can."""
        document = self.documents[uri]
        old, new = (each.splitlines(keepends=True) for each in (document.text, text))
        document.past.append(document.text)
        ends = list(accumulate(map(len, old)))
        for line in reversed(range(min(len(old), len(new)))):
            if old[line] != new[line] and len(old) == len(new):
                start, end, wanted = difference(old[line], new[line])
                at = ends[line] - len(old[line])
                document.change(at + start, at + end, wanted, self.encoding)
        document.replace_text(text, self.encoding)

    def rename(self, uri: str, name: str, *, tells: bool = True) -> str:
        """
        Give a document's file another name, and keep what is not saved; returns the new URI.

        Args:
            tells: Whether the server is told about pending changes first.
        """
        if tells:
            self.tell(loudly=True)
        document, path = self.documents[uri], path_of(uri)
        new = path.with_name(name)
        path.rename(new)
        self.close(uri)
        document.uri, document.version, document.pending = new.as_uri(), self.profile.first_version, []
        self._show(document)
        return document.uri

    def tell(self, *, loudly: bool = False) -> None:
        """Tell the server of every pending change; *loudly* also where a document is silent."""
        for document in self.documents.values():
            if document.pending and (loudly or not document.is_silent):
                self._tell(document)

    def _tell(self, document: Buffer) -> None:
        changes, document.pending = document.pending, []
        before, document.told = document.told, document.text
        messages: list[list[Json]]
        match self.variation.shape:
            case Shape.TEXT:
                messages = [[{"text": document.text}]]
            case Shape.SPAN:
                start, end, new = difference(before, document.text)
                positions = (position_of(before, at, self.encoding) for at in (start, end))
                messages = [[{"range": dict(zip(("start", "end"), positions, strict=True)), "text": new}]]
            case Shape.SINGLE:
                messages = [[change] for change in changes]
            case Shape.TOGETHER:
                messages = [changes]
        for number, message in enumerate(messages, 1 - len(messages)):
            identifier = {"uri": document.uri, "version": document.version + number}
            self._notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": message})

    def save(self, uri: str) -> bool:
        """Write a document to its file, with the mark and the line ends that it had."""
        document = self.documents.get(uri)
        if document is None:
            return False
        path_of(uri).write_bytes(document.saved)
        if self.tells_saves:
            self.tell(loudly=True)
            self._notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        return True

    def is_dirty(self, document: Buffer) -> bool:
        """Whether saving would change the file."""
        path = path_of(document.uri)
        return not path.exists() or path.read_bytes() != document.saved

    def close(self, uri: str) -> None:
        """Close a document; what is not saved is lost."""
        del self.documents[uri]
        self._notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    # ---- What the server asks for -----------------------------------------------------------------

    def is_stale(self, given: Json) -> bool:
        """Whether a versioned edit is for a text that is no longer held."""
        return any(self._is_stale(change) for change in self._text_edits(given))

    def _is_stale(self, change: Json) -> bool:
        wanted, document = (
            change["textDocument"].get("version"),
            self.documents.get(change["textDocument"]["uri"]),
        )
        if wanted is None or document is None:
            return False
        if wanted == 0 and self.profile.takes_version_0:
            return False
        if self.profile.stale is Stale.SKIP:  # Neovim's own test: a version of 0 is no version to it
            return bool(0 < wanted < document.version)
        return bool(wanted != document.version)

    def _text_edits(self, given: Json) -> Iterator[Json]:
        yield from (each for each in self._changes(given) if "kind" not in each)

    def named_uris(self, given: Json) -> list[str]:
        """The URIs of the documents whose text an edit changes."""
        return [change["textDocument"]["uri"] for change in self._text_edits(given)]

    def _changes(self, given: Json) -> list[Json]:
        edit: Json = given["edit"]
        if "documentChanges" in edit and not self.profile.is_versionless:
            changes: list[Json] = edit["documentChanges"]
            return changes
        assert "changes" in edit, f"{self.profile.name} does not support documentChanges"
        return [{"textDocument": {"uri": uri}, "edits": edits} for uri, edits in edit["changes"].items()]

    def apply(self, given: Json, *, only: int | None = None, is_forced: bool = False) -> None:
        """Apply an edit, or the first *only* text edits of it; stale ones only if *is_forced*."""
        for change in self._changes(given):
            match change.get("kind"):
                case None if is_forced or not self._is_stale(change):
                    self._edit(change["textDocument"], change["edits"][:only])
                case "create":
                    self._create(change)
                case "delete":
                    self._delete(change)
                case "rename":
                    self._move(change)

    def _edit(self, named: Json, edits: list[Json]) -> None:
        uri = named["uri"]
        if uri not in self.documents and not path_of(uri).exists():
            return  # it was renamed or removed before the edit was applied
        if uri not in self.documents and not self.profile.opens_closed:
            self.hidden[uri] = path_of(uri).read_text(encoding="utf-8")  # no one is told of this buffer
            return
        was_closed = uri not in self.documents and named.get("version") is not None
        if uri not in self.documents:
            self.open(path_of(uri))
        document = self.documents[uri]
        eol = "\r\n" if "\r\n" in document.text else "\n"
        if self.profile.one_eol:
            edits = [{**each, "newText": LINE_END.sub(eol, each["newText"])} for each in edits]
        document.past.append(document.text)
        # One that was under way when its document was closed is made in what is opened, as far as it fits.
        is_any = self.profile.is_versionless or (
            self.profile.takes_version_0 and not named.get("version", -1)
        )
        document.edit(edits, self.encoding, blindly=is_any or was_closed)

    def edit_open(self, uri: str, edits: list[Json]) -> None:
        """Apply text edits that the user asked for, such as those of a formatter."""
        self._edit({"uri": uri, "version": self.documents[uri].version}, edits)

    def _create(self, change: Json) -> None:
        assert "create" in self.profile.operations, (
            "this editor does not support operations that create files"
        )
        path = path_of(change["uri"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def _delete(self, change: Json) -> None:
        assert "delete" in self.profile.operations, (
            "this editor does not support operations that delete files"
        )
        document, path = self.documents.get(change["uri"]), path_of(change["uri"])
        if document is not None and not (self.profile.keeps_dirty and self.is_dirty(document)):
            self.close(change["uri"])
        path.unlink(missing_ok=True)

    def _move(self, change: Json) -> None:
        assert "rename" in self.profile.operations, (
            "this editor does not support operations that rename files"
        )
        old, new = change["oldUri"], path_of(change["newUri"])
        new.parent.mkdir(parents=True, exist_ok=True)
        document = self.documents.get(old)
        if document is not None:
            self.tell(loudly=True)
            self.close(old)
        path_of(old).rename(new)
        if document is not None:
            document.uri, document.version, document.pending = new.as_uri(), self.profile.first_version, []
            self._show(document)
