"""What the user says of changes and of lines: what it is about, and what the model reads of it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from handrail.core.documents.page import Remark
from handrail.core.review.hunks import Hunk, Rows
from handrail.core.review.pending import Kind, Pending

BEGINNING = (
    "These are my comments from reviewing your changes. Answer each of them, and change what it asks for."
)
LIMIT_ROWS = 200  # of what a comment is on; the rest is only counted


class Status(StrEnum):
    """What became of the lines that a comment is on."""

    PENDING = "pending"
    UNDONE = "undone"
    GONE = "gone"  # kept, rewritten, or undone by other means
    LINES = "lines"  # they are no change of the agent's


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """
    What a comment may be on: a hunk, or lines of a document.

    Attributes:
        key: Names it; the key of its part in the review document.
        hunk: The id of the hunk; empty for lines.
        uri, path: The document, as the client knows it and as people read it.
        start: Its first row, counted from 0.
        before, rows: What would be there without the change, and what is there; for lines both are the same.
        kind: What the change is.
        turns, calls: Which turns and calls wrote in it.
    """

    key: str
    hunk: str
    uri: str
    path: str
    start: int
    before: Rows
    rows: Rows
    kind: Kind = Kind.CHANGED
    turns: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    status: Status = Status.PENDING

    @property
    def place(self) -> str:
        """Its lines as people count them: `4`, or `4-7`."""
        last = self.start + len(self.rows)
        return f"{self.start + 1}" if last <= self.start + 1 else f"{self.start + 1}-{last}"

    @property
    def diff(self) -> str:
        """What of it people and models are shown."""
        if self.status is Status.LINES:
            rows = [_bare(row) for row in self.rows]
        else:
            rows = [f"-{_bare(row)}" for row in self.before] + [f"+{_bare(row)}" for row in self.rows]
        more = len(rows) - LIMIT_ROWS
        return "\n".join(rows if more <= 0 else [*rows[:LIMIT_ROWS], f"… and {more:,} more lines"])

    @property
    def language(self) -> str:
        """Of a fenced block with it."""
        return "text" if self.status is Status.LINES else "diff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """
    What the user wrote.

    Attributes:
        subject: What it is on; None for no lines.
        about: The document or the turn that it is about then, if it is about one.
    """

    subject: Subject | None
    remark: Remark
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """
    A comment that was sent.

    Attributes:
        key: Names it; the key of its part in the review document.
        on: The key of what it is on.
        turn: The one that answers it.
        state: What became of that turn; empty while it runs.
    """

    key: str
    on: str
    path: str
    place: str
    text: str
    turn: str
    state: str = ""


def key_of(hunk: str) -> str:
    """The key of the part of a hunk in the review document."""
    return f"hunk:{hunk}"


def of_hunk(known: Pending, hunk: Hunk, uri: str) -> Subject:
    """A hunk as what a comment is on."""
    is_text = known.kind is not Kind.WHOLE
    return Subject(
        key=key_of(hunk.id),
        hunk=hunk.id,
        uri=uri,
        path=known.path,
        start=hunk.start,
        before=hunk.before if is_text else (),
        rows=hunk.rows if is_text else (),
        kind=known.kind,
        turns=hunk.turns,
        calls=tuple(dict.fromkeys(step.call for step in hunk.steps)),
    )


def found(subject: Subject, now: Sequence[str]) -> Subject:
    """Lines where they stand in a text by now: at the place that is nearest to where they stood."""
    size = len(subject.rows)
    wanted = tuple(map(_bare, subject.rows))
    rows = tuple(map(_bare, now))
    places = [
        at for at, row in enumerate(rows) if wanted and row == wanted[0] and rows[at : at + size] == wanted
    ]
    if not places:
        return subject
    return replace(subject, start=min(places, key=lambda at: abs(at - subject.start)))


def prompt(comments: Sequence[Comment]) -> str:
    """What the model reads: each comment with its document, its lines, and what stands there."""
    texts = [_said(number, each) for number, each in enumerate(comments, 1)]
    return "\n\n".join([BEGINNING, *texts])


def _said(number: int, comment: Comment) -> str:
    subject, remark = comment.subject, comment.remark
    if subject is None:
        return f"## {number}. {comment.about or 'In general'}\n\n{remark.text}"
    lines = [f"## {number}. {subject.path}, line {subject.place}", _what(subject)]
    if subject.kind is not Kind.WHOLE:
        lines.append(_fenced(subject.diff, subject.language))
    is_inside = remark.row[:1] in ("+", "-", " ") and remark.row[1:] in map(
        _bare, subject.rows + subject.before
    )
    lines += [f"My comment on the line `{remark.row}`:" if is_inside else "My comment:", remark.text]
    return "\n\n".join(lines)


def _what(subject: Subject) -> str:
    match subject.status, subject.kind:
        case Status.LINES, _:
            return "These lines:"
        case Status.UNDONE, _:
            return "Your change, which I have undone:"
        case Status.GONE, _:
            return "Your change, which is not pending any more:"
        case _, Kind.CREATED:
            return "You created this document:"
        case _, Kind.DELETED:
            return "You deleted this document:"
        case _, Kind.WHOLE:
            return "You changed this file, which is not text."
    return "Your change:"


def _fenced(text: str, language: str) -> str:
    longest = max((len(each) for each in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _bare(row: str) -> str:
    return row.rstrip("\r\n")


# ---- As they are kept ---------------------------------------------------------------------------------


def as_json(subjects: Sequence[Subject], sent: Sequence[Sent]) -> str:
    """What comments are on, and those that were sent, as JSON."""
    return json.dumps(
        {"subjects": [asdict(each) for each in subjects], "sent": [asdict(each) for each in sent]}
    )


def read(text: str) -> tuple[list[Subject], list[Sent]]:
    """What `as_json` has written; nothing if it is nothing of the kind."""
    try:
        value = json.loads(text)
        return [_subject(each) for each in value["subjects"]], [Sent(**each) for each in value["sent"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return [], []


def _subject(value: dict[str, Any]) -> Subject:
    tuples = {name: tuple(map(str, value[name])) for name in ("before", "rows", "turns", "calls")}
    kinds = {"kind": Kind(value["kind"]), "status": Status(value["status"]), "start": int(value["start"])}
    return Subject(**{**value, **tuples, **kinds})
