"""
The record of a step: its values, and the `checkpoint.json` in which they are stored.

The JSON names blobs by their ids, as git does. A record that cannot be read raises CheckpointError, and so
does one of a later version. `tree` keeps the blobs from being removed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import pairwise
from typing import Any

from dulwich.objects import Blob, ShaFile

from handrail.core.checkpoint import LINK, CheckpointPath, Image, Kind, StepId, Unsaved
from handrail.core.documents.text import Text
from handrail.ports import CheckpointError, LostCheckpointError
from handrail.values import dataclass, replace

SCHEMA = 3  # of a record with a file that a command shared; 2 if it says what was intended, else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptText:
    """
    The editor's unsaved text, as it is stored.

    Attributes:
        blob: The object that holds it.
        version: The client's version of it.
        encoding, bom: Those of the document.
        is_as_saved: Whether the blob is what saving would write; else it is UTF-8, for a text that the
            document's encoding cannot hold.
    """

    blob: str
    version: int
    encoding: str
    bom: bool
    is_as_saved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredImage:
    """An image, as it is stored: `blob` and `mode` are None where there was no file; see `Image`."""

    blob: str | None
    mode: int | None
    unsaved: KeptText | None
    encoding: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """
    One document of a step.

    Attributes:
        uri: As it was named.
        identity: The same for every spelling, as a URI.
        path: For people: relative to its folder, or absolute.
        stored: Its path in the tree.
        link: The target of the symbolic link that the URI names; None if it does not name one.
        made_folders: The folders that did not exist, as URIs, innermost first; its own path, if a command
            made a folder there.
        before, after: What it held; `after` is None until it is recorded.
        intended: What was about to be written when the step was last heard of; None once that is recorded.
        is_shared: Whether a command made it one file with another one, which a restore must not touch.
    """

    uri: str
    identity: str
    path: str
    stored: str
    link: str | None
    made_folders: tuple[str, ...]
    before: StoredImage
    after: StoredImage | None = None
    intended: StoredImage | None = None
    is_shared: bool = False

    @property
    def left(self) -> StoredImage | None:
        """The image that the step left, as far as that is known."""
        return self.intended or self.after

    @property
    def is_going(self) -> bool:
        """Whether its file is about to be deleted."""
        return self.intended is not None and self.intended.blob is None

    @property
    def images(self) -> tuple[StoredImage, ...]:
        """All that is kept of it."""
        return tuple(kept for kept in (self.before, self.after, self.intended) if kept is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """
    One step of a turn.

    Attributes:
        id: Whose it is.
        serial: Counts turns in the order in which they were begun, whatever the clock says; a step that was
            begun after a later turn stands behind that.
        time: When it was begun, RFC 3339 with offset.
        roots: The workspace folders then, the main one first.
        entries: What it touched, in that order; a document again if it was not found as it had been left.
    """

    id: StepId
    serial: int
    time: str
    roots: tuple[str, ...]
    entries: tuple[Entry, ...] = ()


# ---- A turn as a whole ------------------------------------------------------------------------------


def join_steps(steps: Sequence[Step]) -> tuple[Entry, ...]:
    """Each document of *steps* once: what it held before the first of them, and what the last one left."""
    return tuple(joined_entry(entries) for entries in by_document(steps).values())


def joined_entry(entries: Sequence[Entry]) -> Entry:
    """One document as it was before the first of *entries*, and as the last one left it."""
    if len(entries) == 1:
        return entries[0]
    last = next((entry for entry in reversed(entries) if entry.left), entries[0])
    return replace(_with_traces_of_commands(entries), after=last.after, intended=last.intended)


def joined_in_step(known: Sequence[Entry], more: Sequence[Entry]) -> tuple[Entry, ...]:
    """Returns the entries of a step that has now touched *more* too."""
    growing = StepEntries(known)
    for entry in more:
        last = growing.touch(entry)
        growing.put(replace(_with_traces_of_commands([last, entry]), after=entry.after, intended=None))
    return tuple(growing.entries)


class StepEntries:
    """The entries of a step to which more is added."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        """Begins with those that it has."""
        self.entries = list(entries)
        self.last = {entry.identity: at for at, entry in enumerate(entries)}  # of each document

    def touch(self, entry: Entry) -> Entry:
        """The entry of a document that is about to change, which *entry* has as it is found."""
        at = self.last.get(entry.identity)
        known = None if at is None else self.entries[at]
        # What is deleted is kept apart: if that is taken back, it is what comes back.
        if known is None or _was_changed_since(known, entry.before) or (entry.is_going and known.after):
            self.last[entry.identity] = len(self.entries)
            self.entries.append(entry)
        return self.entries[self.last[entry.identity]]

    def put(self, entry: Entry) -> None:
        """Replaces the last entry of its document."""
        self.entries[self.last[entry.identity]] = entry


def _was_changed_since(entry: Entry, kept: StoredImage) -> bool:
    """Whether someone has changed a document since it was left, if *kept* is what is there now."""
    return entry.intended is None and entry.after is not None and _text(entry.after) != _text(kept)


def _with_traces_of_commands(entries: Sequence[Entry]) -> Entry:
    """The first of one document's *entries*, with what commands made of its place in any of them."""
    made = dict.fromkeys(folder for entry in entries for folder in entry.made_folders)
    is_shared = any(entry.is_shared for entry in entries)
    return replace(entries[0], made_folders=tuple(made), is_shared=is_shared)


def by_document(steps: Sequence[Step]) -> dict[str, list[Entry]]:
    """The entries of *steps* by identity, in their order; those that changed nothing only if all did."""
    result: dict[str, list[Entry]] = {}
    for entry in (entry for step in steps for entry in step.entries):
        result.setdefault(entry.identity, []).append(entry)
    return {identity: list(filter(change, entries)) or entries for identity, entries in result.items()}


def gaps(entries: Sequence[Entry]) -> list[tuple[StoredImage, StoredImage]]:
    """
    Returns pairs (left, found), in order, where a step found a document different from what the step before
    had left.

    What that step had found too is not such a pair: an editor did not load what a command wrote, or the user
    has undone the step.
    """
    return [
        (one.left, other.before)
        for one, other in pairwise(entries)
        if one.left is not None and _text(other.before) not in (_text(one.left), _text(one.before))
    ]


def _text(kept: StoredImage) -> str | None:
    """Returns the id of the text that an editor shows: the unsaved text, or the file's."""
    return kept.unsaved.blob if kept.unsaved else kept.blob


def change(entry: Entry) -> CheckpointPath | None:
    """Returns the kind of change of a document; None if it is known to be unchanged."""
    before, after = entry.before, entry.left
    if after is not None and _content(before) == _content(after):
        return None
    if before.blob is None and before.unsaved is None:
        kind = Kind.CREATED
    elif after is not None and after.blob is None and after.unsaved is None:
        kind = Kind.DELETED
    else:
        kind = Kind.CHANGED
    return CheckpointPath(uri=entry.uri, path=entry.path, change=kind)


def _content(kept: StoredImage) -> tuple[str | None, int | None, str | None]:
    return kept.blob, kept.mode, kept.unsaved.blob if kept.unsaved else None


# ---- Images -----------------------------------------------------------------------------------------


def keep(image: Image) -> tuple[StoredImage, list[ShaFile]]:
    """An image as it is stored, and the blobs that hold it."""
    blobs: list[ShaFile] = []
    blob = unsaved = None
    if image.raw is not None:
        blobs.append(Blob.from_string(image.raw))
        blob = blobs[-1].id.decode()
    if image.unsaved is not None:
        text = image.unsaved.text
        raw = _saved_bytes(text)
        is_as_saved = raw is not None
        blobs.append(Blob.from_string(text.content.encode("utf-8", "surrogatepass") if raw is None else raw))
        name = blobs[-1].id.decode()
        if name != blob or not is_as_saved:  # else it has been saved meanwhile
            unsaved = KeptText(
                blob=name,
                version=image.unsaved.version,
                encoding=text.encoding,
                bom=text.bom,
                is_as_saved=is_as_saved,
            )
    return StoredImage(blob=blob, mode=image.mode, unsaved=unsaved, encoding=image.encoding), blobs


def _saved_bytes(text: Text) -> bytes | None:
    """Returns the bytes that saving the text would write; None if that would lose some of it."""
    try:
        raw = text.raw
        return raw if raw.decode(text.encoding)[1 if text.bom else 0 :] == text.content else None
    except (UnicodeError, LookupError):
        return None


def parse_unsaved(kept: KeptText, raw: bytes) -> Unsaved:
    """The editor's text, out of the bytes of its blob."""
    if kept.is_as_saved:
        content = raw.decode(kept.encoding)[1 if kept.bom else 0 :]
    else:
        content = raw.decode("utf-8", "surrogatepass")
    return Unsaved(text=Text(content, kept.encoding, kept.bom), version=kept.version)


# ---- JSON -------------------------------------------------------------------------------------------


def to_json(step: Step) -> bytes:
    """The step as it is written; ASCII, as names need not be UTF-8."""
    own = {
        "schema": _schema(step),
        "session": step.id.session,
        "turn": step.id.turn,
        "step": step.id.number,
        "label": step.id.label,
        "pinned": step.id.pinned,
        "call": step.id.call,
        "serial": step.serial,
        "time": step.time,
        "roots": step.roots,
    }
    rows = ",\n".join(
        json.dumps(_entry_json(entry)) for entry in step.entries
    )  # the encoder that indents is slow
    return f'{json.dumps(own)[:-1]}, "entries": [\n{rows}\n]}}\n'.encode()


def _schema(step: Step) -> int:
    """The oldest one that has all that the record says."""
    if any(entry.is_shared for entry in step.entries):
        return SCHEMA
    return 2 if any(entry.intended for entry in step.entries) else 1


def _entry_json(entry: Entry) -> dict[str, Any]:
    json: dict[str, Any] = {  # by hand: `asdict` copies all that it meets
        "uri": entry.uri,
        "identity": entry.identity,
        "path": entry.path,
        "stored": entry.stored,
        "link": entry.link,
        "made_folders": entry.made_folders,
        "before": _image_json(entry.before),
        "after": entry.after and _image_json(entry.after),
    }
    if entry.is_shared:
        json["is_shared"] = True
    if entry.intended is not None:
        json["intended"] = _image_json(entry.intended)
    return json


def _image_json(kept: StoredImage) -> dict[str, Any]:
    json = {
        "kind": "absent" if kept.blob is None else "link" if kept.mode == LINK else "file",
        "blob": kept.blob,
        "mode": None if kept.mode is None else f"{kept.mode:04o}",
        "unsaved": asdict(kept.unsaved) if kept.unsaved else None,
    }
    return json if kept.encoding is None else {**json, "encoding": kept.encoding}


def from_json(raw: bytes) -> Step:
    """Reads what `to_json` has written. Raises CheckpointError."""
    try:
        given = json.loads(raw)
        if given["schema"] > SCHEMA:
            raise CheckpointError(
                "The checkpoint was made by a newer version of handrail. Use that version to read it."
            )
        return Step(
            id=StepId(
                session=given["session"],
                turn=given["turn"],
                number=given["step"],
                label=given["label"],
                pinned=given.get("pinned", False),
                call=given.get("call", ""),
            ),
            serial=given["serial"],
            time=datetime.fromisoformat(given["time"]).isoformat(),
            roots=tuple(given["roots"]),
            entries=tuple(_entry(each) for each in given["entries"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise LostCheckpointError("The checkpoint is damaged: its record cannot be read.") from error


def _entry(given: dict[str, Any]) -> Entry:
    read = {
        "made_folders": tuple(given["made_folders"]),
        "before": _image(given["before"]),
        "after": _image(given["after"]) if given["after"] else None,
        "intended": _image(given["intended"]) if given.get("intended") else None,
    }
    return Entry(**{**given, **read})


def _image(given: dict[str, Any]) -> StoredImage:
    unsaved = KeptText(**given["unsaved"]) if given["unsaved"] else None
    mode = None if given["mode"] is None else int(given["mode"], 8)
    return StoredImage(blob=given["blob"], mode=mode, unsaved=unsaved, encoding=given.get("encoding"))
