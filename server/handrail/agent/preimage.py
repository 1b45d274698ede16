"""
What a checkpoint must keep of documents that are about to change, and of what was written into them.

The post-image of an open document is what we wrote, not what is there by now: what the user typed
meanwhile is the user's, and a restore must not take it away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from handrail.core import edit
from handrail.core.change import Applied, Change, Landing, Update
from handrail.core.checkpoint import Target, Unsaved
from handrail.core.failure import Failure
from handrail.core.text import Text
from handrail.ports import Document, Editor

Held = Mapping[str, Document | Failure]


async def held(editor: Editor, uris: Iterable[str]) -> Held:
    """What each document holds now, in order."""
    return {uri: await editor.read(uri) for uri in dict.fromkeys(uris)}


def targets(documents: Held) -> list[Target]:
    """One target for each document, with the editor's text where it differs from the disk."""
    found = []
    for uri, document in documents.items():
        unsaved = None
        if isinstance(document, Document) and document.unsaved and document.version is not None:
            unsaved = Unsaved(text=document.text, version=document.version)
        found.append(Target(uri=uri, unsaved=unsaved))
    return found


def written(before: Held, changes: Sequence[Change], landings: Sequence[Landing]) -> dict[str, Text]:
    """What our own edits made of open documents, without anything typed meanwhile."""
    found = {}
    for change, landing in zip(changes, landings, strict=True):
        document = before.get(change.uri)
        if not isinstance(change, Update) or not isinstance(landing, Applied):
            continue
        if (
            isinstance(document, Document)
            and document.is_open
            and document.text.content == change.base.content
        ):
            content = edit.apply(change.base.content, change.edits)
            found[change.uri] = replace(document.text, content=content)
    return found


async def results(editor: Editor, before: Held, ours: Mapping[str, Text]) -> list[Target]:
    """The post-image of each document of *before*; *ours* is what `written` says."""
    found = []
    for target in targets(await held(editor, before)):
        document = before[target.uri]
        if target.uri in ours and isinstance(document, Document):
            version = document.version or 0
            found.append(Target(uri=target.uri, unsaved=Unsaved(text=ours[target.uri], version=version)))
        else:
            found.append(target)
    return found
