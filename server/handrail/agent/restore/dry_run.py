"""
Find out what restoring one path would write, with an editor port that only records.

Reads are real, writes are recorded. So the result for a document is decided in one place, `document`, and is
known before anything is written, for the checkpoint that a restore takes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from handrail.agent.restore.document import Tally, restore_lines, restore_path
from handrail.agent.turn.edit.preimage import outcome
from handrail.core.checkpoint import Image, Intended, Restoration, Unsaved
from handrail.core.documents.change import Applied, Change, Create, Landing, Rejected
from handrail.core.documents.revert import Lines
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.ports import Document, Editor, Ports
from handrail.values import dataclass, replace

THERE = Failure(code=Code.FILE_EXISTS, message="The file already exists.")


async def preview(ports: Ports, each: Restoration, lines: Lines | None) -> Intended | None:
    """
    Returns what the document will be after *each*, or some lines of it, is restored; None if it does not
    change.
    """
    listener = Listener(editor=ports.editor)
    if lines is None:
        await restore_path(replace(ports, editor=listener), each, Tally())
    else:
        await restore_lines(replace(ports, editor=listener), each, lines, Tally())
    return listener.coming


async def dry_run_one(ports: Ports, each: Restoration, lines: Lines | None, tally: Tally) -> None:
    """
    Records in *tally* the result that restoring *each*, or some lines of it, would have.

    Args:
        tally: The results for the documents before it.
    """
    is_below_link = any(each.uri.startswith(f"{link}/") for link in tally.deleted)
    is_gone = is_below_link or _is_emptied(each, tally)
    listener = Listener(editor=ports.editor, gone=each.uri if is_gone else "")
    if is_below_link:  # which leads elsewhere now, and will be gone
        each = replace(each, identity="")
    if lines is None:
        await restore_path(replace(ports, editor=listener), each, tally)
    else:
        await restore_lines(replace(ports, editor=listener), each, lines, tally)


def _is_emptied(each: Restoration, tally: Tally) -> bool:
    """
    Whether a folder in the place of *each* would be removed, with everything that the turn created in it.
    """
    below = f"{each.uri}/"
    left = [*tally.unchanged, *tally.restored, *(each.uri for each in tally.conflicts)]
    left += [each.uri for each in tally.partial]
    is_made = each.uri in each.made_folders or any(uri.startswith(below) for uri in tally.deleted)
    return is_made and not any(uri.startswith(below) for uri in left)


@dataclass(kw_only=True)
class Listener:
    """
    An editor for one restore, which records all requests and reports success.

    Attributes:
        editor: The real editor, for reading.
        coming: The future contents of the document.
        gone: The URI of a place that will be empty by then.
    """

    editor: Editor
    coming: Intended | None = None
    gone: str = ""

    async def read(self, uri: str) -> Document | Failure:
        """As it is."""
        if uri == self.gone:
            return Failure(code=Code.NO_SUCH_FILE, message="The file does not exist.", uri=uri)
        return await self.editor.read(uri)

    def when_shown(self, change: Change, tell: Callable[[Landing], None]) -> None:
        """Does nothing: nothing is changed, so nothing shows late."""

    async def open_documents(self) -> tuple[Document, ...]:
        """As they are."""
        return await self.editor.open_documents()

    async def read_bytes(self, uri: str) -> bytes | None:
        """As they are."""
        return None if uri == self.gone else await self.editor.read_bytes(uri)

    async def read_image(self, uri: str) -> Image | None:
        """As it is."""
        return Image(raw=None) if uri == self.gone else await self.editor.read_image(uri)

    async def empty_text(self, uri: str) -> Text:
        """As it is."""
        return await self.editor.empty_text(uri)

    async def apply(self, changes: Sequence[Change], label: str) -> tuple[Landing, ...]:
        """Records the new text; an existing file cannot be created."""
        landings: list[Landing] = []
        for change in changes:
            if isinstance(change, Create) and await self.editor.read_bytes(change.uri) is not None:
                landings.append(Rejected(failure=THERE))
                continue
            self._note(outcome(await self.editor.read(change.uri), change))
            landings.append(Applied(text=None))
        return tuple(landings)

    async def put(self, uri: str, base: bytes | None, raw: bytes | None, mode: int | None) -> Failure | None:
        """Records the file's new contents; an open document keeps its text."""
        if base == raw and self.coming is not None:  # only the permissions change, after the contents
            return None
        now = await self.editor.read(uri)
        unsaved = None
        if isinstance(now, Document) and now.version is not None:
            unsaved = Unsaved(text=now.text, version=now.version)
        self._note(Intended(raw=raw, unsaved=unsaved))
        return None

    async def save(self, uris: Sequence[str]) -> frozenset[str]:
        """Saves nothing: the text does not depend on it."""
        return frozenset()

    async def reload(self, uris: Sequence[str]) -> frozenset[str]:
        """Loads nothing: the text does not depend on it."""
        return frozenset()

    async def put_image(self, uri: str, base: Image, wanted: Image) -> Failure | None:
        """
        Does nothing: a place is restored as a whole or not at all, so nothing has to be known beforehand.
        """
        return None

    async def remove_empty_folders(self, uris: Sequence[str]) -> None:
        """Does nothing: folders have no text."""

    def _note(self, coming: Intended | None) -> None:
        """Records a result after earlier ones: an edit in the editor leaves the file as they made it."""
        if coming is not None and coming.leaves_file and self.coming is not None:
            coming = replace(coming, raw=self.coming.raw, leaves_file=self.coming.leaves_file)
        self.coming = coming
