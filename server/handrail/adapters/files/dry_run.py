"""
Try out what a turn would do: an editor that changes documents in memory only.

Reads return the real editor's text, or the result of earlier changes of the rehearsal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from handrail.core.checkpoint import Image
from handrail.core.documents import edit
from handrail.core.documents.change import Applied, Change, Create, Landing, Rejected, Update
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.ports import Document, Editor


class DryRunEditor:
    """The Editor port over another one, which is only read."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._made: dict[str, Text | None] = {}

    async def read(self, uri: str) -> Document | Failure:
        """The document as the rehearsal has left it."""
        if uri not in self._made:
            return await self._editor.read(uri)
        text = self._made[uri]
        if text is None:
            return Failure(code=Code.NO_SUCH_FILE, uri=uri, message="An earlier edit removed the file.")
        return Document(uri=uri, text=text)

    async def empty_text(self, uri: str) -> Text:
        """As on the disk."""
        return await self._editor.empty_text(uri)

    async def apply(self, changes: Sequence[Change], label: str) -> tuple[Landing, ...]:
        """Make *changes* in memory; what cannot be written in a document's encoding is rejected."""
        return tuple(self._land(change) for change in changes)

    def _land(self, change: Change) -> Landing:
        match change:
            case Update(base=base):
                text = replace(base, content=edit.apply(base.content, change.edits))
            case Create(text=text):
                pass
            case _:
                self._made[change.uri] = None
                return Applied(text=None)
        raw = text.encode(text.content)
        if isinstance(raw, Failure):
            return Rejected(failure=raw.with_uri(change.uri))
        self._made[change.uri] = text
        return Applied(text=text)

    def when_shown(self, change: Change, tell: Callable[[Landing], None]) -> None:
        """Nothing is really changed, so nothing shows late."""

    async def open_documents(self) -> tuple[Document, ...]:
        """None: the replies that are rehearsed search nothing."""
        return ()

    async def save(self, uris: Sequence[str]) -> frozenset[str]:
        """All of them: nothing waits to be saved."""
        return frozenset(uris)

    async def reload(self, uris: Sequence[str]) -> frozenset[str]:
        """None: nothing is open in a rehearsal."""
        return frozenset()

    async def read_bytes(self, uri: str) -> bytes | None:
        """The bytes on the disk, which no rehearsal changes."""
        return await self._editor.read_bytes(uri)

    async def put(self, uri: str, base: bytes | None, raw: bytes | None, mode: int | None) -> Failure | None:
        """Nothing: only a restore puts bytes, and nothing is restored in a rehearsal."""
        return None

    async def read_image(self, uri: str) -> Image | None:
        """Returns the image on the disk."""
        return await self._editor.read_image(uri)

    async def put_image(self, uri: str, base: Image, wanted: Image) -> Failure | None:
        """Nothing, as with `put`."""
        return None

    async def remove_empty_folders(self, uris: Sequence[str]) -> None:
        """Nothing: no folder was made."""
