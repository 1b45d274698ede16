"""
Take a checkpoint back, path by path, without losing what was typed since.

Each path is compared three ways: what it held before, what the turn left, what is there now. What the
user changed since stays, or is a conflict and is left alone. The restore is preceded by a checkpoint of
its own, so it can be taken back as well. Open documents change through the editor, so undo works.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from handrail.agent.compare import identity
from handrail.agent.preimage import held, targets
from handrail.core import edit
from handrail.core.change import Applied, Change, Create, Delete, PlannedHunk, Tier, Update
from handrail.core.checkpoint import Image, Restoration, StepId
from handrail.core.failure import Code, Failure
from handrail.core.journal import ToldTurn
from handrail.core.text import Text, to_lf
from handrail.core.wayback import Lines, way_back
from handrail.ports import CheckpointError, Document, Ports

LABEL = "handrail: restore checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A document that was left as it is, and why."""

    uri: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A session and the turns that it has, in order."""

    session: str
    turns: tuple[ToldTurn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReport:
    """
    What a restore came to: the URI of each path, or of what was asked for, stands in exactly one of the four.

    Attributes:
        checkpoint: The id of the checkpoint taken before; None if nothing was to be touched.
        conversation: The session that has gone back as well, as it is now; None if none was to.
    """

    restored: tuple[str, ...]
    unchanged: tuple[str, ...]
    deleted: tuple[str, ...]
    conflicts: tuple[Conflict, ...]
    checkpoint: str | None
    conversation: Conversation | None = None


@dataclass(kw_only=True)
class _Found:
    restored: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """
    What is to be restored.

    Attributes:
        checkpoint: The id of a turn, or of a step: that step and what follows in its turn.
        uris: The documents; None for all.
        following: Whether all later turns are to be taken back as well.
        files: Whether documents are to be restored at all.
        conversation: Whether the session is to go back as well, to before the turn or the step.
        lines: Of the one document in *uris*, as it is now: only what touches them is taken back.
    """

    checkpoint: str
    uris: Sequence[str] | None = None
    following: bool = False
    files: bool = True
    conversation: bool = False
    lines: Lines | None = None


async def restore(ports: Ports, step: StepId, wish: Wish) -> RestoreReport:
    """
    Restore a checkpoint, or some documents of it.

    Args:
        ports: The world.
        step: The step whose checkpoint is taken first.
        wish: What is to be restored.

    Raises:
        CheckpointError: The checkpoint is not known, or the one before the restore could not be taken.
    """
    plan = await ports.checkpoints.restore_plan(wish.checkpoint, following=wish.following)
    if not wish.files:
        plan = ()
    found = _Found()
    if wish.uris is not None:
        wanted = {identity(ports, uri): uri for uri in wish.uris}
        plan = tuple(each for each in plan if identity(ports, each.uri) in wanted)
        missing = wanted.keys() - {identity(ports, each.uri) for each in plan}
        reason = "The checkpoint does not have this document."
        found.conflicts += [Conflict(uri=wanted[each], reason=reason) for each in wanted if each in missing]
    touched = [each.uri for each in plan]
    before = None
    if touched or wish.conversation:
        plan, before = await _kept(ports, step, plan, found)
        touched = [each.uri for each in plan]
    for each in plan:
        if wish.lines is None:
            await _take_back(ports, each, found)
        else:
            await _take_back_lines(ports, each, wish.lines, found)
    await ports.editor.remove_empty_folders(
        sorted({folder for each in plan for folder in each.made_folders}, key=len, reverse=True)
    )
    await ports.checkpoints.record(step, targets(await held(ports.editor, touched)))
    return RestoreReport(
        restored=tuple(found.restored),
        unchanged=tuple(found.unchanged),
        deleted=tuple(found.deleted),
        conflicts=tuple(found.conflicts),
        checkpoint=before,
    )


async def _kept(
    ports: Ports, step: StepId, plan: tuple[Restoration, ...], found: _Found
) -> tuple[tuple[Restoration, ...], str]:
    """Take the checkpoint before a restore; what cannot be kept is a conflict and leaves the plan."""
    try:
        every = targets(await held(ports.editor, [each.uri for each in plan]))
        return plan, await ports.checkpoints.ensure(step, every)
    except CheckpointError as error:
        kept: list[Restoration] = []
        checkpoint = ""
        for each in plan:
            try:
                one = targets(await held(ports.editor, [each.uri]))
                checkpoint = await ports.checkpoints.ensure(step, one)
                kept.append(each)
            except CheckpointError as problem:
                found.conflicts.append(Conflict(uri=each.uri, reason=str(problem)))
        if not kept:
            raise error
        return tuple(kept), checkpoint


async def _take_back(ports: Ports, each: Restoration, found: _Found) -> None:
    if each.identity and identity(ports, each.uri) != each.identity:
        reason = "Its path leads to another file now; nothing was changed there."
        found.conflicts.append(Conflict(uri=each.uri, reason=reason))
        return
    now = await ports.editor.read(each.uri)
    if isinstance(now, Failure):
        if await ports.editor.read_bytes(each.uri) is None and now.code is Code.NO_SUCH_FILE:
            await _bring_back(ports, each, found)
        else:
            await _take_back_bytes(ports, each, now.message, found)
    elif each.before.raw is None and each.before.unsaved is None:
        await _remove(ports, each, now, found)
    elif (before := _text(each.before, now.text)) is None:
        reason = "The document was no text before; it was left alone."
        if now.is_open:
            found.conflicts.append(Conflict(uri=each.uri, reason=reason))
        else:
            await _take_back_bytes(ports, each, reason, found)
    else:
        await _rewrite(ports, each, (now, before), found)
        if not now.is_open:
            await _take_back_mode(ports, each)


async def _take_back_lines(ports: Ports, each: Restoration, lines: Lines, found: _Found) -> None:
    """What the turn changed in some lines of a document; what it made or deleted has none to go back to."""
    now = await ports.editor.read(each.uri)
    before = None if isinstance(now, Failure) else _text(each.before, now.text)
    if isinstance(now, Failure) or before is None or _was_deleted(each):
        reason = "It is no text that the turn found and left, so no part of it can be taken back alone."
        found.conflicts.append(Conflict(uri=each.uri, reason=reason))
    else:
        await _write_back(ports, each, now, _way_back(each, now.text, before, lines), found)


async def _take_back_bytes(ports: Ports, each: Restoration, reason: str, found: _Found) -> None:
    """What is no text is taken back as a whole, if nobody has changed it since; else *reason* is said."""
    now, before = await ports.editor.read_bytes(each.uri), each.before.raw
    if now is not None and now == before:
        await _take_back_mode(ports, each)
        found.unchanged.append(each.uri)
        return
    failure = None
    if now is not None and each.after is not None and each.after.raw == now and each.before.unsaved is None:
        failure = await ports.editor.put(each.uri, before, each.before.mode)
        if failure is None:
            (found.deleted if before is None else found.restored).append(each.uri)
            return
    found.conflicts.append(Conflict(uri=each.uri, reason=failure.message if failure else reason))


async def _take_back_mode(ports: Ports, each: Restoration) -> None:
    """Give a file that holds again what it held the permissions back that the turn took from it."""
    before, after = each.before, each.after
    changed = after is not None and after.raw is not None and after.mode != before.mode
    if changed and before.raw is not None and await ports.editor.read_bytes(each.uri) == before.raw:
        await ports.editor.put(each.uri, before.raw, before.mode)


def _text(image: Image | None, now: Text) -> Text | None:
    """
    The text of an image, to be compared with *now*: the editor's if it was unsaved.

    None if there was none, or no text. Some editors hold LF whatever the file has, so where both have one
    kind of line end, the text gets that of *now*.
    """
    text: Text | Failure | None = None
    if image is not None and image.unsaved is not None:
        text = image.unsaved.text
    elif image is not None and image.raw is not None:
        text = Text.parse(image.raw, now.encoding)
    if not isinstance(text, Text):
        return None
    here, there = ({eol for eol in each.eols if eol} for each in (now, text))
    if len(here) == len(there) == 1 and here != there:
        return replace(text, content=to_lf(text.content).replace("\n", now.eol))
    return text


async def _bring_back(ports: Ports, each: Restoration, found: _Found) -> None:
    """The document is gone: the turn deleted it, or somebody has since."""
    raw = each.before.raw
    if each.before.unsaved is not None:  # no editor holds it any more, so the file has to
        text = each.before.unsaved.text
        raw = encoded if isinstance(encoded := text.encode(text.content), bytes) else raw
    if raw is None:
        found.unchanged.append(each.uri)
        return
    if each.after is not None and each.after.raw is not None:
        found.conflicts.append(
            Conflict(uri=each.uri, reason="The file was deleted since; it was not brought back.")
        )
        return
    failure = await ports.editor.put(each.uri, raw, each.before.mode)
    if failure is not None:
        found.conflicts.append(Conflict(uri=each.uri, reason=failure.message))
    else:
        found.restored.append(each.uri)


async def _put_file_back(ports: Ports, each: Restoration) -> bool:
    """Make the file that the turn deleted while an editor holds the document; whether it was missing."""
    raw = each.before.raw
    if raw is None or each.after is None or each.after.raw is not None:
        return False
    bytes_as_text = Text(raw.decode("latin-1"), "latin-1")
    (landing,) = await ports.editor.apply([Create(uri=each.uri, text=bytes_as_text)], LABEL)
    if not isinstance(landing, Applied):
        return False  # it is there again, and somebody else's
    await ports.editor.put(each.uri, raw, each.before.mode)
    return True


async def _remove(ports: Ports, each: Restoration, now: Document, found: _Found) -> None:
    """The turn made this document: remove it, unless somebody has worked on it since."""
    after = _text(each.after, now.text)
    if after is None or after.content != now.text.content or each.gaps:
        found.conflicts.append(
            Conflict(uri=each.uri, reason="The file was made by the turn and changed since; it was kept.")
        )
        return
    await _apply(ports, Delete(uri=now.uri, base=now.text), found.deleted, found)


async def _rewrite(ports: Ports, each: Restoration, texts: tuple[Document, Text], found: _Found) -> None:
    now, before = texts
    is_back = now.is_open and await _put_file_back(ports, each)
    if now.text.content == before.content:
        (found.restored if is_back else found.unchanged).append(each.uri)
        return
    if _was_deleted(each):
        reason = "The turn deleted the document, and it was made anew since; that was kept."
        found.conflicts.append(Conflict(uri=each.uri, reason=reason))
        return
    await _write_back(ports, each, now, _way_back(each, now.text, before), found)


async def _write_back(
    ports: Ports, each: Restoration, now: Document, back: Sequence[edit.TextEdit] | None, found: _Found
) -> None:
    if back is None:
        reason = "Lines that the turn changed were changed again since; the document was kept."
        found.conflicts.append(Conflict(uri=each.uri, reason=reason))
        return
    if not back:
        found.unchanged.append(each.uri)
        return
    hunk = PlannedHunk(number=None, tier=Tier.SAFE, edits=tuple(back))
    await _apply(ports, Update(uri=now.uri, base=now.text, hunks=(hunk,)), found.restored, found)
    if now.is_open and not now.unsaved and each.before.unsaved is None:
        await ports.editor.save([now.uri])  # what was saved before, and is now, stays so


def _was_deleted(each: Restoration) -> bool:
    """Whether the turn is known to have left no document."""
    return each.after is not None and each.after.raw is None and each.after.unsaved is None


def _way_back(
    each: Restoration, now: Text, before: Text, lines: Lines | None = None
) -> tuple[edit.TextEdit, ...] | None:
    """The edits of *now* that undo what the turn did; what others did between two of its steps stays."""
    after = _text(each.after, now) or now
    ends = [before]
    for image in (*(image for gap in each.gaps for image in gap), None):
        text = after if image is None else _text(image, now)
        if text is None:
            return None
        ends.append(text)
    return way_back(now, list(zip(ends[::2], ends[1::2], strict=True)), lines)


async def _apply(ports: Ports, change: Change, done: list[str], found: _Found) -> None:
    (landing,) = await ports.editor.apply([change], LABEL)
    if isinstance(landing, Applied):
        done.append(change.uri)
    else:
        found.conflicts.append(Conflict(uri=change.uri, reason=landing.failure.message))
