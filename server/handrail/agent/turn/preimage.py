"""
What a checkpoint must keep of documents that are about to change, and of what is written into them.

The post-image of an open document is what we wrote, not what is there by now: what the user typed
meanwhile is the user's, and a restore must not take it away. It is known before it is written, and kept with
the pre-image: a server that dies before it has noted what came of it leaves that much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import assert_never

from handrail.core.checkpoint import Intended, Target, Unsaved
from handrail.core.documents import edit
from handrail.core.documents.change import Applied, Change, Create, Delete, Landing, Update
from handrail.core.documents.text import Text
from handrail.core.failure import Failure
from handrail.ports import Document, Editor

Held = Mapping[str, Document | Failure]
NOTHING: Mapping[str, Intended] = MappingProxyType({})


async def held(editor: Editor, uris: Iterable[str]) -> Held:
    """What each document holds now, in order."""
    return {uri: await editor.read(uri) for uri in dict.fromkeys(uris)}


def targets(documents: Held, coming: Mapping[str, Intended] = NOTHING) -> list[Target]:
    """One target for each document, with the editor's text where it differs from the disk; and what comes."""
    found = []
    for uri, document in documents.items():
        unsaved = None
        if isinstance(document, Document) and document.unsaved and document.version is not None:
            unsaved = Unsaved(text=document.text, version=document.version)
        found.append(Target(uri=uri, unsaved=unsaved, intended=coming.get(uri)))
    return found


def intended(documents: Held, changes: Sequence[Change]) -> dict[str, Intended]:
    """What *changes* will make of documents; of one that two of them change it cannot be said."""
    times = Counter(change.uri for change in changes)
    found = ((change.uri, outcome(documents[change.uri], change)) for change in changes)
    return {uri: coming for uri, coming in found if coming is not None and times[uri] == 1}


def outcome(before: Document | Failure, change: Change) -> Intended | None:
    """What *change* will make of a document; None if that cannot be said."""
    match change:
        case Update():
            text = _rewritten(before, change)
            if text is None or not isinstance(before, Document) or before.version is None:
                return None if text is None else _file(text)
            unsaved = Unsaved(text=text, version=before.version)
            return Intended(raw=None, unsaved=unsaved, leaves_file=True)
        case Create():
            return _file(change.text)
        case Delete():
            (target,) = targets({change.uri: before})  # an editor keeps a text that is nowhere else
            return Intended(raw=None, unsaved=target.unsaved)
        case _:
            assert_never(change)


def _file(text: Text) -> Intended | None:
    raw = text.encode(text.content)
    return Intended(raw=raw) if isinstance(raw, bytes) else None


def _rewritten(before: Document | Failure, change: Update) -> Text | None:
    """The text that the edits make; None if the document has moved on since they were planned."""
    if not isinstance(before, Document) or before.text.content != change.base.content:
        return None
    return replace(before.text, content=edit.apply(change.base.content, change.edits))


def written(before: Held, changes: Sequence[Change], landings: Sequence[Landing]) -> dict[str, Text]:
    """What our own edits made of open documents, without anything typed meanwhile."""
    found = {}
    for change, landing in zip(changes, landings, strict=True):
        document = before.get(change.uri)
        if isinstance(change, Update) and isinstance(landing, Applied) and isinstance(document, Document):
            text = _rewritten(document, change)
            if document.is_open and text is not None:
                found[change.uri] = text
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
