"""The documents on an editor's desk: opened, typed into, edited, saved and closed as the editor does it."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from e2e.habits import Habits, Stale
from e2e.texts import LINE_END, Held, Json

Notify = Callable[[str, Any], None]


def path_of(uri: str) -> Path:
    """The file of a URI."""
    return Path(unquote(urlsplit(uri).path))


class Desk:
    """All documents that an editor holds."""

    def __init__(self, habits: Habits, notify: Notify) -> None:
        self.habits = habits
        self.encoding = "utf-16"
        self.tells_saves = False
        self.documents: dict[str, Held] = {}
        self.hidden: dict[str, str] = {}
        self._notify = notify

    def __getitem__(self, uri: str) -> str:
        return self.documents[uri].text

    # ---- What the user does -----------------------------------------------------------------------

    def open(self, file: Path | str, text: str | None = None) -> str:
        """Open a file, or an untitled document with *text*; returns its URI."""
        uri = file if isinstance(file, str) else file.as_uri()
        raw = path_of(uri).read_bytes() if text is None else b""
        bom = raw.startswith(codecs.BOM_UTF8)
        content = raw.removeprefix(codecs.BOM_UTF8).decode("utf-8") if text is None else text
        eol = None
        if text is None:
            content, eol = self.habits.held(content)
        first = self.habits.first_version
        self.documents[uri] = Held(uri, content, first, self.habits.ticks, saved_eol=eol, bom=bom)
        item = {"uri": uri, "languageId": "plaintext", "version": first, "text": content}
        self._notify("textDocument/didOpen", {"textDocument": item})
        return uri

    def type(self, uri: str, new: str, *, before: str = "", after: str = "", instead: str = "") -> None:
        """The user types *new* before, after or instead of some text; told later unless at once."""
        document = self.documents[uri]
        mark = before or after or instead
        assert document.text.count(mark) == 1, f"{mark!r} is not there once"
        at = document.text.index(mark) + (len(mark) if after else 0)
        document.change(at, at + (len(instead) if instead else 0), new, self.encoding)
        if self.habits.tells_at_once:
            self.tell()

    def tell(self) -> None:
        """Tell the server of every pending change."""
        for document in self.documents.values():
            if document.pending:
                identifier = {"uri": document.uri, "version": document.version}
                changes, document.pending = document.pending, []
                self._notify(
                    "textDocument/didChange", {"textDocument": identifier, "contentChanges": changes}
                )

    def save(self, uri: str) -> bool:
        """Write a document to its file, with the mark and the line ends that it had."""
        document = self.documents.get(uri)
        if document is None:
            return False
        path_of(uri).write_bytes(document.saved)
        if self.tells_saves:
            self.tell()
            self._notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        return True

    def is_dirty(self, document: Held) -> bool:
        """Whether saving would change the file."""
        path = path_of(document.uri)
        return not path.exists() or path.read_bytes() != document.saved

    def close(self, uri: str) -> None:
        """Close a document; what is not saved is lost."""
        del self.documents[uri]
        self._notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    # ---- What the server asks for -----------------------------------------------------------------

    def is_stale(self, given: Json) -> bool:
        """Whether a versioned edit is for a text that is not held any more."""
        return any(self._is_stale(change) for change in self._text_edits(given))

    def _is_stale(self, change: Json) -> bool:
        wanted, document = (
            change["textDocument"].get("version"),
            self.documents.get(change["textDocument"]["uri"]),
        )
        if wanted is None or document is None:
            return False
        if self.habits.stale is Stale.SKIP:  # Neovim's own test: a version of 0 is no version to it
            return bool(0 < wanted < document.version)
        return bool(wanted != document.version)

    def _text_edits(self, given: Json) -> Iterator[Json]:
        assert "documentChanges" in given["edit"], "every one of these editors takes versioned edits"
        assert "changes" not in given["edit"]
        yield from (each for each in given["edit"]["documentChanges"] if "kind" not in each)

    def apply(self, given: Json, *, only: int | None = None) -> None:
        """Apply an edit, or the first *only* text edits of it; what is stale is skipped."""
        list(self._text_edits(given))
        for change in given["edit"]["documentChanges"]:
            match change.get("kind"):
                case None if not self._is_stale(change):
                    self._edit(change["textDocument"]["uri"], change["edits"][:only])
                case "create":
                    self._create(change)
                case "delete":
                    self._delete(change)

    def _edit(self, uri: str, edits: list[Json]) -> None:
        if uri not in self.documents and not self.habits.opens_closed:
            self.hidden[uri] = path_of(uri).read_text(encoding="utf-8")  # nobody is told of this buffer
            return
        if uri not in self.documents:
            self.open(path_of(uri))
        document = self.documents[uri]
        eol = "\r\n" if "\r\n" in document.text else "\n"
        if self.habits.one_eol:
            edits = [{**each, "newText": LINE_END.sub(eol, each["newText"])} for each in edits]
        document.edit(edits, self.encoding)

    def _create(self, change: Json) -> None:
        assert "create" in self.habits.operations, "this editor has not offered to create files"
        path = path_of(change["uri"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def _delete(self, change: Json) -> None:
        assert "delete" in self.habits.operations, "this editor has not offered to delete files"
        document, path = self.documents.get(change["uri"]), path_of(change["uri"])
        if document is not None and not (self.habits.keeps_dirty and self.is_dirty(document)):
            self.close(change["uri"])
        path.unlink(missing_ok=True)
