"""
Restore one path without losing what was typed since.

Three texts are compared: the one before the turn, the one that the turn left, and the current one. The user's
later changes stay, or are a conflict and are left unchanged. Open documents change through the editor, so its
undo works. A file that is not text, or a symbolic link, is restored as a whole or not at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence

from handrail.agent.restore import reasons
from handrail.agent.restore.form import has_form_of_turn, in_earlier_form, is_more_than_text
from handrail.agent.restore.image_text import text_of
from handrail.agent.restore.names import identity
from handrail.agent.restore.read_only import made_writable
from handrail.agent.turn.edit.plan import LIMIT_DIFF_CHARS
from handrail.core.checkpoint import Image, Restoration
from handrail.core.documents import diff, edit
from handrail.core.documents.change import (
    Applied,
    Change,
    Create,
    Delete,
    Partial,
    PlannedHunk,
    Rejected,
    Tier,
    Update,
)
from handrail.core.documents.revert import Lines, revert
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.ports import Document, Ports
from handrail.values import dataclass, field

LABEL = "handrail: restore checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """
    A document that was not restored, and why.

    Attributes:
        diff: A unified diff from the current text to the checkpoint's; may be empty.
    """

    uri: str
    reason: str
    diff: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialRestore:
    """
    A document of which only a part was restored, and why.

    Attributes:
        diff: The missing part, as a unified diff from the current text to the checkpoint's.
    """

    uri: str
    reason: str
    diff: str = ""


@dataclass(kw_only=True)
class Tally:
    """
    The outcome of a restore so far, by URI.

    Attributes:
        refused: The updates that the editor did not make, or made in part.
        count: The number of documents.
        sources: The documents that have lost text which others hold, by the URIs of these; see `moved`.
    """

    restored: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    partial: list[PartialRestore] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    refused: list[Update] = field(default_factory=list)
    count: int = 0
    sources: Mapping[str, Collection[str]] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """The number of documents that are done."""
        alone = (self.restored, self.unchanged, self.deleted, self.partial, self.conflicts)
        return sum(len(each) for each in alone)


async def restore_path(ports: Ports, each: Restoration, tally: Tally) -> None:
    """Restores a document, or a file or link at a place; records the result in *tally*."""
    if each.is_unfollowed:
        await _restore_unfollowed(ports, each, tally)
    elif each.identity and identity(ports, each.uri) != each.identity:
        reason = "Its path now leads to another file, which was left unchanged."
        tally.conflicts.append(Conflict(uri=each.uri, reason=reason))
    else:
        await _restore_document(ports, each, tally)


async def _restore_document(ports: Ports, each: Restoration, tally: Tally) -> None:
    now = await ports.editor.read(each.uri)
    if isinstance(now, Failure):
        raw = await ports.editor.read_bytes(each.uri)
        each = next((one for one in (each, *each.earlier) if one.after and one.after.raw == raw), each)
        if raw is None and now.code is Code.NO_SUCH_FILE:
            await _bring_back(ports, each, tally)
        else:
            await _restore_bytes(ports, each, now.message, tally)
        return
    each = _cut_after(each, now.text)
    if each.before.raw is None and each.before.unsaved is None:
        await _remove(ports, each, now, tally)
    elif not now.is_open and is_more_than_text(each) and await _restore_form(ports, each, now.text, tally):
        pass
    elif (before := text_of(each.before, now.text)) is None:
        if now.is_open:
            tally.conflicts.append(Conflict(uri=each.uri, reason=reasons.OPEN))
        else:
            await _restore_bytes(ports, each, reasons.NO_TEXT, tally)
    else:
        await _rewrite(ports, each, (now, before), tally)
        if await _restore_mode(ports, each) and each.uri in tally.unchanged:
            tally.unchanged.remove(each.uri)
            tally.restored.append(each.uri)
        await _check_form(ports, each, now, tally)


async def _restore_form(ports: Ports, each: Restoration, now: Text, tally: Tally) -> bool:
    """Restores a closed file with its line ends and encoding; returns whether that can be decided here."""
    if await _is_as_left(ports, each):
        await _restore_bytes(ports, each, reasons.CHANGED_AGAIN, tally)
        return True
    raw = await asyncio.to_thread(in_earlier_form, each, now)
    if raw is None:
        return False
    failure = await ports.editor.put(each.uri, now.raw, raw, each.before.mode)
    if failure is None:
        tally.restored.append(each.uri)
    else:
        tally.conflicts.append(Conflict(uri=each.uri, reason=failure.message))
    return True


async def _check_form(ports: Ports, each: Restoration, now: Document, tally: Tally) -> None:
    """Makes a document that was restored or needed no change one in part if it has the turn's form."""
    done = next((uris for uris in (tally.restored, tally.unchanged) if each.uri in uris), None)
    raw = await ports.editor.read_bytes(each.uri) if done is not None else None
    if done is not None and raw is not None and await asyncio.to_thread(has_form_of_turn, each, raw):
        done.remove(each.uri)
        reason = reasons.FORM_STAYS_OPEN if now.is_open else reasons.FORM_STAYS
        tally.partial.append(PartialRestore(uri=each.uri, reason=reason))


async def _is_as_left(ports: Ports, each: Restoration) -> bool:
    return each.after is not None and await ports.editor.read_bytes(each.uri) == each.after.raw


async def restore_lines(ports: Ports, each: Restoration, lines: Lines, tally: Tally) -> None:
    """Restores some lines of a document; impossible for a document that the turn created or deleted."""
    now = await ports.editor.read(each.uri)
    each = each if isinstance(now, Failure) else _cut_after(each, now.text)
    before = None if isinstance(now, Failure) else text_of(each.before, now.text)
    is_elsewhere = each.is_unfollowed or (each.identity and identity(ports, each.uri) != each.identity)
    if isinstance(now, Failure) or before is None or is_elsewhere or _was_deleted(each):
        tally.conflicts.append(Conflict(uri=each.uri, reason=reasons.NOT_IN_PART))
    elif (back := await asyncio.to_thread(revert_edits, each, now.text, before, lines)) is None:
        tally.conflicts.append(_clash(ports, each, (now.text, before), _why(each, reasons.CHANGED_AGAIN)))
    else:
        await _write_back(ports, each, now, back, tally)


async def _restore_unfollowed(ports: Ports, each: Restoration, tally: Tally) -> None:
    """Restores a place with a link, before or now, as a whole, if no one has changed it since."""
    now, document = await ports.editor.read_image(each.uri), await ports.editor.read(each.uri)
    has_mode = not each.is_shared or (now is not None and now.mode == each.before.mode)
    if now is not None and _is_same(now, each.before) and has_mode:
        tally.unchanged.append(each.uri)
        return
    reason = reasons.LINK_CHANGED
    if isinstance(document, Document) and document.unsaved:
        reason = "Save or discard the unsaved text of the file that is there now, then try again."
    elif now is not None and each.after is not None and _is_same(now, each.after):
        failure = await ports.editor.put_image(each.uri, now, each.before)
        if failure is None:
            (tally.deleted if each.before.raw is None else tally.restored).append(each.uri)
            return
        reason = failure.message
    tally.conflicts.append(Conflict(uri=each.uri, reason=reason))


def _is_same(one: Image, other: Image) -> bool:
    return (one.raw, one.is_link) == (other.raw, other.is_link)


async def _restore_bytes(ports: Ports, each: Restoration, reason: str, tally: Tally) -> None:
    """Restores a file that is not text, as a whole, unless it has changed; else reports *reason*."""
    now, before = await ports.editor.read_bytes(each.uri), each.before.raw
    if now is not None and now == before:
        (tally.restored if await _restore_mode(ports, each) else tally.unchanged).append(each.uri)
        return
    failure = None
    if now is not None and each.after is not None and each.after.raw not in (None, now):
        reason = reasons.CHANGED_WHOLE
    elif now is not None and each.after is not None and each.after.raw == now and each.before.unsaved is None:
        failure = await ports.editor.put(each.uri, now, before, each.before.mode)
        if failure is None:
            (tally.deleted if before is None else tally.restored).append(each.uri)
            return
    tally.conflicts.append(Conflict(uri=each.uri, reason=failure.message if failure else reason))


async def _restore_mode(ports: Ports, each: Restoration) -> bool:
    """Restores the permissions of a file with restored contents; returns whether it changed them."""
    before, after = each.before, each.after
    if before.raw is None or after is None or after.raw is None or after.mode == before.mode:
        return False
    now = await ports.editor.read_image(each.uri)
    if now is None or (now.raw, now.mode) != (before.raw, after.mode):
        return False
    return await ports.editor.put(each.uri, now.raw, before.raw, before.mode) is None


def _cut_after(each: Restoration, now: Text) -> Restoration:
    """Returns the steps up to the one that left the text *now*: later ones have already been restored."""
    for one in (each, *each.earlier):
        left = text_of(one.after, now)
        if left is not None and left.content == now.content:
            return one
    return each


async def _bring_back(ports: Ports, each: Restoration, tally: Tally) -> None:
    """Handles a document that no longer exists: the turn deleted it, or someone has since."""
    raw = each.before.raw
    if each.before.unsaved is not None:  # no editor holds it, so the file has to
        text = each.before.unsaved.text
        raw = encoded if isinstance(encoded := text.encode(text.content), bytes) else raw
    if raw is None:
        tally.unchanged.append(each.uri)
        return
    if each.after is not None and each.after.raw is not None:
        tally.conflicts.append(Conflict(uri=each.uri, reason=reasons.GONE))
        return
    failure = await ports.editor.put(each.uri, None, raw, each.before.mode)
    if failure is not None:
        reason = failure.message if each.uri.startswith("file:") else reasons.NO_FILE
        tally.conflicts.append(Conflict(uri=each.uri, reason=reason))
    else:
        tally.restored.append(each.uri)


async def _put_disk_back(ports: Ports, each: Restoration) -> bool:
    """Restores a file that a command changed below unsaved text; returns whether there was one."""
    before, after = each.before, each.after
    if after is None or after.unsaved is None or after.raw == before.raw:
        return False
    now = await ports.editor.read_image(each.uri)
    if now is None or now.raw != after.raw:
        return False  # it was saved since, or changed again
    return await ports.editor.put(each.uri, now.raw, before.raw, before.mode) is None


async def _put_file_back(ports: Ports, each: Restoration) -> bool:
    """Creates the file that the turn deleted while the document is open; returns whether it was missing."""
    raw = each.before.raw
    if raw is None or each.after is None or each.after.raw is not None:
        return False
    bytes_as_text = Text(raw.decode("latin-1"), "latin-1")
    (landing,) = await ports.editor.apply([Create(uri=each.uri, text=bytes_as_text)], LABEL)
    if not isinstance(landing, Applied):
        return False  # someone else has created it again
    await ports.editor.put(each.uri, raw, raw, each.before.mode)
    return True


async def _remove(ports: Ports, each: Restoration, now: Document, tally: Tally) -> None:
    """Removes a document that the turn created, unless someone has edited it since."""
    after = text_of(each.after, now.text)
    if after is None or after.content != now.text.content or each.gaps:
        reason = reasons.OPEN if after is None and each.after is not None and now.is_open else reasons.CREATED
        tally.conflicts.append(_clash(ports, each, (now.text, None), _why(each, reason)))
        return
    async with made_writable(ports, each):
        await _apply(ports, Delete(uri=now.uri, base=now.text), tally.deleted, tally)


async def _rewrite(ports: Ports, each: Restoration, texts: tuple[Document, Text], tally: Tally) -> None:
    now, _ = texts
    is_back = now.is_open and (await _put_file_back(ports, each) or await _put_disk_back(ports, each))
    conflicts = len(tally.conflicts)
    await _rewrite_text(ports, each, texts, tally)
    if is_back and each.uri in tally.unchanged:
        tally.unchanged.remove(each.uri)
        tally.restored.append(each.uri)
    if is_back and len(tally.conflicts) > conflicts:
        left = tally.conflicts.pop()
        tally.partial.append(
            PartialRestore(uri=left.uri, reason=reasons.of_text(left.reason), diff=left.diff)
        )


async def _rewrite_text(ports: Ports, each: Restoration, texts: tuple[Document, Text], tally: Tally) -> None:
    now, before = texts
    if now.text.content == before.content:
        tally.unchanged.append(each.uri)
        return
    if _was_deleted(each):
        tally.conflicts.append(_clash(ports, each, (now.text, before), _why(each, reasons.DELETED)))
        return
    back = await asyncio.to_thread(revert_edits, each, now.text, before)
    if back is None:
        tally.conflicts.append(_clash(ports, each, (now.text, before), _why(each, reasons.CHANGED_AGAIN)))
    else:
        await _write_back(ports, each, now, back, tally)


async def _write_back(
    ports: Ports, each: Restoration, now: Document, back: Sequence[edit.TextEdit], tally: Tally
) -> None:
    if not back:
        tally.unchanged.append(each.uri)
        return
    hunk = PlannedHunk(number=None, tier=Tier.SAFE, edits=tuple(back))
    change = Update(uri=now.uri, base=now.text, hunks=(hunk,))
    async with made_writable(ports, each):
        is_whole = await _apply(ports, change, tally.restored, tally)
        if is_whole and now.is_open and not now.unsaved and each.before.unsaved is None:
            await ports.editor.save([now.uri])  # it was saved before the turn and is saved now


def _clash(ports: Ports, each: Restoration, texts: tuple[Text, Text | None], reason: str) -> Conflict:
    """Returns a conflict, with the current and the earlier text."""
    place, (now, before) = ports.workspace.resolve(each.uri), texts
    path = each.uri if isinstance(place, Failure) else place.path
    if before is None:
        shown = diff.deletion_diff(path, now)
    else:
        shown = diff.unified_diff(path, now, edit.edits_between(now.content, before.content))
    return Conflict(uri=each.uri, reason=reason, diff=shown[:LIMIT_DIFF_CHARS])


def _why(each: Restoration, reason: str) -> str:
    """Returns the reason for a conflict, if the turn is known to have got that far."""
    return reason if each.is_seen else reasons.KILLED


def _was_deleted(each: Restoration) -> bool:
    """Whether the turn is known to have removed the document."""
    return each.after is not None and each.after.raw is None and each.after.unsaved is None


def revert_edits(
    each: Restoration, now: Text, before: Text, lines: Lines | None = None
) -> tuple[edit.TextEdit, ...] | None:
    """Returns the edits of *now* that undo the turn's changes; others' changes between its steps stay."""
    after = text_of(each.after, now) or now
    ends = [before]
    for gap in each.gaps:
        left, found = (text_of(image, now) for image in gap)
        if found is not None and found.content == ends[-1].content:
            continue  # what the turn had changed on the disk was not in the editor's text, or is undone
        if left is None or found is None:
            return None
        ends += [left, found]
    ends.append(after)
    return revert(now, list(zip(ends[::2], ends[1::2], strict=True)), lines)


async def _apply(ports: Ports, change: Change, done: list[str], tally: Tally) -> bool:
    """Makes *change*; returns whether all of it landed."""
    (landing,) = await ports.editor.apply([change], LABEL)
    if isinstance(change, Update) and not isinstance(landing, Applied):
        tally.refused.append(change)
    match landing:
        case Applied():
            done.append(change.uri)
        case Partial(failure=failure):
            tally.partial.append(await _in_part(ports, change, failure))
        case Rejected(failure=failure):
            tally.conflicts.append(Conflict(uri=change.uri, reason=failure.message))
    return isinstance(landing, Applied)


async def _in_part(ports: Ports, change: Change, failure: Failure) -> PartialRestore:
    """Returns what is missing of a change that landed in part."""
    place, now = ports.workspace.resolve(change.uri), await ports.editor.read(change.uri)
    path, shown = change.uri if isinstance(place, Failure) else place.path, ""
    if isinstance(change, Update) and isinstance(now, Document):
        wanted = edit.apply(change.base.content, change.edits)
        shown = diff.unified_diff(path, now.text, edit.edits_between(now.text.content, wanted))
    return PartialRestore(uri=change.uri, reason=failure.message, diff=shown[:LIMIT_DIFF_CHARS])
