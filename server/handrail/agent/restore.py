"""
Take a checkpoint back, path by path, without losing what was typed since.

Each path is compared three ways: what it held before, what the turn left, what is there now. What the
user changed since stays, or is a conflict and is left alone. The restore is preceded by a checkpoint of
its own, so it can be taken back as well. Open documents change through the editor, so undo works.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from handrail.agent.preimage import targets
from handrail.core import edit
from handrail.core.change import Applied, Change, Delete, PlannedHunk, Tier, Update
from handrail.core.failure import Code, Failure
from handrail.core.text import Text
from handrail.ports import Document, Image, Ports, Restoration, StepId


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A document that was left as it is, and why."""

    uri: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReport:
    """
    What a restore came to: each path's URI stands in exactly one of the four.

    Attributes:
        checkpoint: The id of the checkpoint taken before.
    """

    restored: tuple[str, ...]
    unchanged: tuple[str, ...]
    deleted: tuple[str, ...]
    conflicts: tuple[Conflict, ...]
    checkpoint: str


@dataclass(kw_only=True)
class _Found:
    restored: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)


async def restore(ports: Ports, step: StepId, checkpoint: str, uris: Sequence[str] | None) -> RestoreReport:
    """
    Restore *checkpoint*, or only the documents *uris* of it.

    Args:
        ports: The world.
        step: The step whose checkpoint is taken first.
        checkpoint: The id of a turn, or of a step: that step and what follows.
        uris: The documents to restore; None for all.

    Raises:
        CheckpointError: The checkpoint is not known, or the one before the restore could not be taken.
    """
    plan = await ports.checkpoints.restore_plan(checkpoint)
    if uris is not None:
        wanted = {_identity(ports, uri) for uri in uris}
        plan = tuple(each for each in plan if _identity(ports, each.uri) in wanted)
    touched = [each.uri for each in plan]
    before = await ports.checkpoints.ensure(step, await targets(ports.editor, touched))
    found = _Found()
    for each in plan:
        await _take_back(ports, each, found)
    await ports.editor.remove_empty_folders(
        sorted({folder for each in plan for folder in each.made_folders}, key=len, reverse=True)
    )
    await ports.checkpoints.record(step, await targets(ports.editor, touched))
    return RestoreReport(
        restored=tuple(found.restored),
        unchanged=tuple(found.unchanged),
        deleted=tuple(found.deleted),
        conflicts=tuple(found.conflicts),
        checkpoint=before,
    )


def _identity(ports: Ports, uri: str) -> str:
    place = ports.workspace.resolve(uri)
    return uri if isinstance(place, Failure) else place.identity


async def _take_back(ports: Ports, each: Restoration, found: _Found) -> None:
    now = await ports.editor.read(each.uri)
    before = _text(each.before, now.text) if isinstance(now, Document) else None
    if isinstance(now, Failure) and now.code is not Code.NO_SUCH_FILE:
        found.conflicts.append(Conflict(uri=each.uri, reason=now.message))
    elif isinstance(now, Failure):
        await _bring_back(ports, each, found)
    elif before is None and each.before.raw is None:
        await _remove(ports, each, now, found)
    elif before is None:
        found.conflicts.append(
            Conflict(uri=each.uri, reason="The document was no text before; it was left alone.")
        )
    else:
        await _rewrite(ports, each, (now, before), found)


def _text(image: Image | None, like: Text) -> Text | None:
    """
    The text of an image: the editor's if it was unsaved; None if there was none, or no text.

    Bytes are read in the encoding of *like*, which is what the same document holds now.
    """
    if image is None:
        return None
    if image.unsaved is not None:
        return image.unsaved.text
    text = Text.parse(image.raw, like.encoding) if image.raw is not None else None
    return text if isinstance(text, Text) else None


async def _bring_back(ports: Ports, each: Restoration, found: _Found) -> None:
    """The document is gone: the turn deleted it, or somebody has since."""
    if each.before.raw is None:
        found.unchanged.append(each.uri)
        return
    if each.after is not None and each.after.raw is not None:
        found.conflicts.append(
            Conflict(uri=each.uri, reason="The file was deleted since; it was not brought back.")
        )
        return
    failure = await ports.editor.put(each.uri, each.before.raw, each.before.mode)
    if failure is not None:
        found.conflicts.append(Conflict(uri=each.uri, reason=failure.message))
    else:
        found.restored.append(each.uri)


async def _remove(ports: Ports, each: Restoration, now: Document, found: _Found) -> None:
    """The turn made this document: remove it, unless somebody has worked on it since."""
    after = _text(each.after, now.text)
    if after is None or after.content != now.text.content:
        found.conflicts.append(
            Conflict(uri=each.uri, reason="The file was made by the turn and changed since; it was kept.")
        )
        return
    await _apply(ports, Delete(uri=now.uri, base=now.text), found.deleted, found)


async def _rewrite(ports: Ports, each: Restoration, texts: tuple[Document, Text], found: _Found) -> None:
    now, before = texts
    if now.text.content == before.content:
        found.unchanged.append(each.uri)
        return
    after = _text(each.after, now.text) or now.text
    back = edit.rebase(after, edit.between(after.content, before.content), now.text.content)
    if any(moved.conflict for moved in back):
        found.conflicts.append(
            Conflict(
                uri=each.uri,
                reason="Lines that the turn changed were changed again since; the document was kept.",
            )
        )
        return
    hunk = PlannedHunk(number=None, tier=Tier.SAFE, edits=tuple(moved.edit for moved in back))
    if not hunk.edits:
        found.unchanged.append(each.uri)
        return
    await _apply(ports, Update(uri=now.uri, base=now.text, hunks=(hunk,)), found.restored, found)
    if now.is_open and not now.unsaved and each.before.unsaved is None:
        await ports.editor.save([now.uri])  # what was saved before, and is now, stays so


async def _apply(ports: Ports, change: Change, done: list[str], found: _Found) -> None:
    (landing,) = await ports.editor.apply([change], "handrail: restore checkpoint")
    if isinstance(landing, Applied):
        done.append(change.uri)
    else:
        found.conflicts.append(Conflict(uri=change.uri, reason=landing.failure.message))
