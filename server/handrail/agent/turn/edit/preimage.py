"""
Determine what a checkpoint stores about documents that are about to change, and about the new text.

The pre-image is the text for which a change was computed; the post-image is what our change made of it, not
what the document contains by now: text that the user typed or another process wrote since then is theirs, and
a restore must not remove it. The post-image is known before it is written, and stored with the pre-image, so
that it is there even if the server dies before it has recorded the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from types import MappingProxyType
from typing import assert_never

from handrail.core.checkpoint import Intended, Target, Unsaved
from handrail.core.documents import edit
from handrail.core.documents.change import Applied, Change, Create, Delete, Landing, Partial, Update
from handrail.core.documents.edit import TextEdit
from handrail.core.documents.readback import with_blanks_of
from handrail.core.documents.reading_back.agent_text import Edits
from handrail.core.documents.reading_back.on_save import carry_over
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.ports import Document, Editor

Held = Mapping[str, Document | Failure]
NOTHING: Mapping[str, Intended] = MappingProxyType({})
NO_NAMES: Mapping[str, str] = MappingProxyType({})


async def read_held(editor: Editor, uris: Iterable[str]) -> Held:
    """Reads the current contents of each document, in order."""
    return {uri: await editor.read(uri) for uri in dict.fromkeys(uris)}


def targets(documents: Held, coming: Mapping[str, Intended] = NOTHING) -> list[Target]:
    """
    Returns a target for each document, with the editor's text if it differs from the disk; and the intended
    texts.
    """
    result = []
    for uri, document in documents.items():
        raw = unsaved = None
        if isinstance(document, Document) and document.version is None:
            raw = document.text.raw
        elif isinstance(document, Document) and document.unsaved and document.version is not None:
            unsaved = Unsaved(text=document.text, version=document.version)
        result.append(Target(uri=uri, raw=raw, unsaved=unsaved, intended=coming.get(uri)))
    return result


def pin_targets(documents: Held) -> list[Target]:
    """Returns a target for each document, as it was when it was read: the user may have saved it since."""
    return [_pin(target, documents[target.uri]) for target in targets(documents)]


def _pin(target: Target, document: Document | Failure) -> Target:
    if isinstance(document, Failure):
        return replace(target, is_gone=document.code is Code.NO_SUCH_FILE)
    if document.unsaved:
        return target
    return replace(target, raw=document.text.raw)


def intended_texts(documents: Held, changes: Sequence[Change]) -> dict[str, Intended]:
    """Returns the texts that *changes* will produce; unknown for a document that two of them change."""
    times = Counter(change.uri for change in changes)
    texts = ((change.uri, outcome(documents[change.uri], change)) for change in changes)
    return {uri: coming for uri, coming in texts if coming is not None and times[uri] == 1}


def outcome(before: Document | Failure, change: Change) -> Intended | None:
    """Returns the text that *change* will produce; None if that is unknown."""
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
    """Returns the text that the edits produce; None if the document has changed since they were planned."""
    if not isinstance(before, Document) or before.text.content != change.base.content:
        return None
    return replace(before.text, content=edit.apply(change.base.content, change.edits))


class Nothing(Enum):
    """The contents of a document that does not exist."""

    NOTHING = "nothing"


Left = Text | Nothing


def written_texts(before: Held, changes: Sequence[Change], landings: Sequence[Landing]) -> dict[str, Left]:
    """
    Returns the texts that our own changes produced, without what others did since.

    Documents for which this is unknown are left out; their current text counts.
    """
    result: dict[str, Left | None] = {}
    for change, landing in zip(changes, landings, strict=True):
        document = before.get(change.uri)
        if document is not None:
            start = result.get(change.uri, _current_text(document))
            result[change.uri] = _result_of(change, landing, document, start)
    return {uri: left for uri, left in result.items() if left is not None}


def _current_text(document: Document | Failure) -> Left | None:
    if isinstance(document, Document):
        return document.text
    return Nothing.NOTHING if document.code is Code.NO_SUCH_FILE else None


def _result_of(
    change: Change, landing: Landing, document: Document | Failure, start: Left | None
) -> Left | None:
    """Returns what *change* made of *start*; None if that is unknown."""
    if isinstance(change, Update):
        made = _made_edits(change, landing, document) if isinstance(document, Document) else None
        if made is None or not isinstance(start, Text):
            return None
        ours = _carry(start, change.base, made, landing.text if isinstance(landing, Applied) else None)
        return _add_formatting(ours, landing)
    code = None if isinstance(landing, Applied) else landing.failure.code
    if isinstance(change, Create):
        if code is None:
            return _add_formatting(change.text, landing)
        return start if code is Code.FILE_EXISTS else None  # an editor may have made it otherwise
    if code not in (None, Code.NOT_AS_WRITTEN):
        return start
    is_open = isinstance(document, Document) and document.is_open  # then it keeps its text
    return None if is_open else Nothing.NOTHING


def _add_formatting(ours: Text | None, landing: Landing) -> Text | None:
    """Returns the text of a change with what a formatter made of it when we had the editor save it."""
    if ours is None or not isinstance(landing, Applied) or landing.saved is None or landing.text is None:
        return ours
    return carry_over(ours, landing.text.content, landing.saved.content)


def _made_edits(update: Update, landing: Landing, document: Document) -> list[TextEdit] | None:
    """Returns the edits that were made; None if something else was written, or may have been."""
    if isinstance(landing, Applied):
        return list(update.edits)
    if landing.failure.code is Code.NOT_AS_WRITTEN and not document.is_open:
        return None
    landed = landing.landed if isinstance(landing, Partial) else (False,) * len(update.edits)
    return [each for each, is_there in zip(update.edits, landed, strict=True) if is_there]


def edits_made(document: Document | Failure, made: Sequence[tuple[Change, Landing]]) -> Edits:
    """Returns the edits of a document that landed, change by change, each with the text that it changed."""
    if not isinstance(document, Document):
        return ()
    updates = [(change, landing) for change, landing in made if isinstance(change, Update)]
    return [
        (change.base.content, _made_edits(change, landing, document) or ()) for change, landing in updates
    ]


def _carry(start: Text, base: Text, edits: Sequence[TextEdit], now: Text | None) -> Text | None:
    """Applies *edits* of *base* to *start*, formatted like *now*; None if they collide with a change."""
    moved = edit.rebase(base, edits, start.content)
    if any(each.conflict for each in moved):
        return None
    made = [each.edit for each in moved]
    if now is None:
        return replace(start, content=edit.apply(start.content, made))
    return replace(start, content=with_blanks_of(start, made, now.content))


def names(changes: Sequence[Change], landings: Sequence[Landing]) -> dict[str, str]:
    """Returns the new names of documents that were renamed while they were changed, by their old names."""
    return {
        change.uri: landing.uri
        for change, landing in zip(changes, landings, strict=True)
        if landing.uri is not None
    }


async def results(
    editor: Editor, before: Held, ours: Mapping[str, Left], names: Mapping[str, str] = NO_NAMES
) -> list[Target]:
    """
    Returns the post-image of each document in *before*.

    Args:
        editor: The port to the documents.
        before: Their earlier contents.
        ours: The result of `written_texts`.
        names: The result of `names`.
    """
    now = {uri: await editor.read(names.get(uri, uri)) for uri in before}
    left = [_left_target(target, before[target.uri], ours.get(target.uri)) for target in targets(now)]
    return [replace(target, renamed=names.get(target.uri)) for target in left]


def _left_target(target: Target, before: Document | Failure, ours: Left | None) -> Target:
    """Returns a document as our own edits left it, if that is known; otherwise as *target* has it."""
    if ours is None:
        return target
    if isinstance(ours, Nothing):
        return Target(uri=target.uri, is_gone=True)
    if isinstance(before, Document) and before.version is not None:
        return Target(uri=target.uri, unsaved=Unsaved(text=ours, version=before.version), leaves_file=True)
    if target.unsaved is not None:  # an editor has opened it since, and not saved
        return replace(target, unsaved=replace(target.unsaved, text=ours), leaves_file=True)
    return replace(target, raw=ours.raw)
