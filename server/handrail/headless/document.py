"""
One open document of the headless client: what it holds, and what its file held when that was last seen.

A byte order mark is kept aside and written back. What cannot be written back byte for byte is not opened.
"""

import codecs
import os
from pathlib import Path
from typing import Any

from handrail.headless import disk
from handrail.headless.errors import EditRefusedError
from handrail.values import dataclass, replace

LANGUAGES = {  # LSP's identifiers where they differ from the suffix
    ".cs": "csharp",
    ".h": "c",
    ".htm": "html",
    ".js": "javascript",
    ".jsx": "javascriptreact",
    ".md": "markdown",
    ".py": "python",
    ".rb": "ruby",
    ".rs": "rust",
    ".sh": "shellscript",
    ".ts": "typescript",
    ".tsx": "typescriptreact",
    ".txt": "plaintext",
    ".yml": "yaml",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """
    An open document.

    `uri` is spelled as the server first spelled it, `path` resolved. `on_disk` is what the file held when it
    was last read or written, `stamp` tells cheaply whether it may have changed since.
    """

    uri: str
    path: Path
    version: int
    text: str
    has_bom: bool
    on_disk: bytes
    stamp: tuple[int, int, int] | None

    @property
    def content(self) -> bytes:
        """The bytes that saving writes."""
        return (codecs.BOM_UTF8 if self.has_bom else b"") + self.text.encode("utf-8")

    @property
    def is_dirty(self) -> bool:
        """Whether saving would change the file."""
        return self.content != self.on_disk

    @property
    def item(self) -> dict[str, Any]:
        """LSP's `TextDocumentItem`."""
        suffix = self.path.suffix.lower()
        return {
            "uri": self.uri,
            "languageId": LANGUAGES.get(suffix, suffix.lstrip(".") or "plaintext"),
            "version": self.version,
            "text": self.text,
        }

    def after_save(self) -> "Document":
        """The same document, when its file holds it."""
        return replace(self, on_disk=self.content, stamp=disk.stamp(self.path))


def read(path: Path, uri: str, version: int) -> Document:
    """Read a document as it would be opened; refuse what could not be written back byte for byte."""
    stamp = disk.stamp(path)
    content = disk.read(path)
    if not os.access(path, os.W_OK):
        raise EditRefusedError(f"{path} is read-only")
    has_bom, text = decode(path, content)
    return Document(
        uri=uri, path=path, version=version, text=text, has_bom=has_bom, on_disk=content, stamp=stamp
    )


def decode(path: Path, content: bytes) -> tuple[bool, str]:
    """Tell whether there is a byte order mark, and the text without it; refuse what is not UTF-8."""
    has_bom = content.startswith(codecs.BOM_UTF8)
    try:
        return has_bom, content.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        raise EditRefusedError(f"{path} is not valid UTF-8 (byte {error.start + 3 * has_bom})") from error
