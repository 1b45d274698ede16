"""The pending changes of one document, as they are stored and as they are shown; and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import Any

from handrail.core.review.document import Reviewed
from handrail.core.review.hunks import Hunk, Rows, Step
from handrail.values import dataclass

REMEMBERED = 20  # documents without pending changes, which may have some again after an undo


class Kind(StrEnum):
    """The kinds of hunks: rows of a text, or a whole document."""

    CHANGED = "changed"
    CREATED = "created"
    DELETED = "deleted"
    RENAMED = "renamed"  # moved, and perhaps changed
    WHOLE = "whole"  # changed, and no text, or too large to be compared


class ReviewMode(StrEnum):
    """The ways to treat the agent's changes: see the setting `review.mode`."""

    PENDING = "pending"
    KEEP = "keep"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The former place of a renamed document: its URI, its identity, and its path as people read it."""

    uri: str
    identity: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """
    A document with what is pending in it.

    Attributes:
        uri, identity, path: The document, as the client spells it, as it is identified, as people read it.
        document: Its rows and hunks; one that is created, deleted, renamed or changed as a whole has one.
        kind: What its hunks are.
        checkpoint: The id of the first step that made or removed it as a whole; else empty.
        earlier: It before its hunk became the whole document; None if nothing was pending in it.
        origin: Where it was before it was renamed; None for all other kinds.
        recorded: The ids of what git's index and HEAD had of it when they were last looked at.
    """

    uri: str
    identity: str
    path: str
    document: Reviewed
    kind: Kind = Kind.CHANGED
    checkpoint: str = ""
    earlier: Reviewed | None = None
    origin: Origin | None = None
    recorded: tuple[str, str] = ("", "")

    @property
    def is_whole(self) -> bool:
        """Whether its hunk is the whole document, which a checkpoint brings back."""
        return self.kind is not Kind.CHANGED

    @property
    def back(self) -> Pending:
        """It once its change of the whole document is undone, with what was pending in it before."""
        at = self.origin or self
        document = self.earlier or Reviewed(rows=())
        return Pending(uri=at.uri, identity=at.identity, path=at.path, document=document)

    @property
    def is_new(self) -> bool:
        """Whether nothing would be at its path without the agent."""
        return self.kind in (Kind.CREATED, Kind.RENAMED)


def forget_empty(documents: dict[str, Pending]) -> None:
    """Removes documents without pending changes, except the latest ones."""
    empty = [each.identity for each in documents.values() if not each.document.hunks]
    for identity in empty[:-REMEMBERED]:
        del documents[identity]


def as_json(pending: Pending) -> str:
    """A document with its hunks as JSON; what is remembered of hunks that went is left out."""
    value = {
        "version": 1,
        "uri": pending.uri,
        "identity": pending.identity,
        "path": pending.path,
        "kind": pending.kind.value,
        "checkpoint": pending.checkpoint,
        "recorded": list(pending.recorded),
        **_document_json(pending.document),
        "earlier": None if pending.earlier is None else _document_json(pending.earlier),
        "origin": None if pending.origin is None else asdict(pending.origin),
    }
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _document_json(document: Reviewed) -> dict[str, object]:
    return {"rows": list(document.rows), "hunks": [_hunk_json(hunk) for hunk in document.hunks]}


def _hunk_json(hunk: Hunk) -> dict[str, object]:
    steps = [[step.turn, step.call, list(step.before), list(step.after)] for step in hunk.steps]
    return {"id": hunk.id, "start": hunk.start, "rows": list(hunk.rows), "steps": steps}


def read(text: str) -> Pending | None:
    """Reads what `as_json` has written; returns None if the JSON is something else."""
    try:
        value = json.loads(text)
        document, earlier, origin = _read_document(value), value["earlier"], value.get("origin")
        pending = Pending(
            uri=str(value["uri"]),
            identity=str(value["identity"]),
            path=str(value["path"]),
            document=document,
            kind=Kind(value["kind"]),
            checkpoint=str(value["checkpoint"]),
            earlier=None if earlier is None else _read_document(earlier),
            origin=None if origin is None else _origin(origin),
            recorded=(str(value["recorded"][0]), str(value["recorded"][1])),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    is_sound = pending.is_whole or all(
        document.rows[hunk.start : hunk.end] == hunk.rows for hunk in document.hunks
    )
    is_sound = is_sound and (pending.origin is not None) == (pending.kind is Kind.RENAMED)
    return pending if value.get("version") == 1 and is_sound else None


def _origin(value: Mapping[str, object]) -> Origin:
    return Origin(uri=str(value["uri"]), identity=str(value["identity"]), path=str(value["path"]))


def _read_document(value: Mapping[str, Any]) -> Reviewed:
    return Reviewed(rows=_rows(value["rows"]), hunks=tuple(map(_hunk, value["hunks"])))


def _hunk(value: Mapping[str, object]) -> Hunk:
    steps = value["steps"]
    if not isinstance(steps, list) or not steps:
        raise ValueError("a hunk without steps")
    return Hunk(
        id=str(value["id"]),
        start=_number(value["start"]),
        rows=_rows(value["rows"]),
        steps=tuple(map(_step, steps)),
    )


def _step(value: Sequence[object]) -> Step:
    turn, call, before, after = value
    return Step(turn=str(turn), call=str(call), before=_rows(before), after=_rows(after))


def _rows(value: object) -> Rows:
    if not isinstance(value, list) or not all(isinstance(row, str) for row in value):
        raise ValueError("lines that are not text")
    return tuple(value)


def _number(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError("a place that is not a number")
    return value
