"""What a checkpoint must keep of documents that are about to change: their paths, and unsaved text."""

from __future__ import annotations

from collections.abc import Iterable

from handrail.core.failure import Failure
from handrail.ports import Editor, Target, Unsaved


async def targets(editor: Editor, uris: Iterable[str]) -> list[Target]:
    """One target for each document, in order, with the editor's text where it differs from the disk."""
    found = []
    for uri in dict.fromkeys(uris):
        document = await editor.read(uri)
        unsaved = None
        if not isinstance(document, Failure) and document.unsaved and document.version is not None:
            unsaved = Unsaved(text=document.text, version=document.version)
        found.append(Target(uri=uri, unsaved=unsaved))
    return found
