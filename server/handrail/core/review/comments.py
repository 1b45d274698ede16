"""The user's comments on changes and lines: their subjects, and how the model reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence, Set
from dataclasses import asdict
from enum import StrEnum
from typing import Any

from handrail.core.documents.edit import Block, opcodes
from handrail.core.documents.remarks import Remark
from handrail.core.review.carry import BlockIndex
from handrail.core.review.hunks import Hunk, Rows
from handrail.core.review.pending import Kind, Pending
from handrail.counts import count_of
from handrail.values import dataclass, replace

BEGINNING = (
    "I have reviewed your changes. Answer each of these comments, and make the changes that it asks for."
)
LABEL_CHARS = 50  # of the first comment, in the first line
LIMIT_ROWS = 200  # of what a comment is on; the rest is only counted


class Status(StrEnum):
    """The state of the lines that a comment is about."""

    PENDING = "pending"
    KEPT = "kept"
    UNDONE = "undone"
    GONE = "gone"  # rewritten, committed, or undone by other means
    LINES = "lines"  # lines of any document, which the user has picked out
    CHANGED = "changed"  # such lines, of which some are gone


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """
    The subject of a comment: a hunk, or lines of a document.

    Attributes:
        key: Names it; the key of its part in the review document.
        hunk: The id of the hunk; empty for lines.
        uri, path: The document, as the client knows it and as people read it.
        start: Its first row, counted from 0.
        before, rows: What would be there without the change, and what is there; for lines both are the same.
        kind: What the change is.
        renamed_from: The path that a renamed document had; else empty.
        turns, calls: Which turns and calls wrote in it.
        is_protected: Whether its file is protected: its text is neither shown nor sent.
        is_lost: Whether its rows are not found in the current text, so that *start* may be wrong.
    """

    key: str
    hunk: str
    uri: str
    path: str
    start: int
    before: Rows
    rows: Rows
    kind: Kind = Kind.CHANGED
    renamed_from: str = ""
    turns: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    status: Status = Status.PENDING
    is_protected: bool = False
    is_lost: bool = False

    @property
    def is_change(self) -> bool:
        """Whether it is a change of the agent's."""
        return self.status not in (Status.LINES, Status.CHANGED)

    @property
    def has_text(self) -> bool:
        """Whether its text can be shown."""
        return self.kind is not Kind.WHOLE and not self.is_protected

    @property
    def line_numbers(self) -> str:
        """Its lines as people count them: `4`, or `4-7`."""
        last = self.start + len(self.rows)
        return f"{self.start + 1}" if last <= self.start + 1 else f"{self.start + 1}-{last}"

    @property
    def diff(self) -> str:
        """The part of the change that people and models are shown."""
        if not self.is_change:
            rows = [_bare(row) for row in self.rows]
        else:
            rows = [row for block in self._blocks for row in self._block(block)]
        more = len(rows) - LIMIT_ROWS
        return "\n".join(rows if more <= 0 else [*rows[:LIMIT_ROWS], f"… and {count_of(more, 'more line')}"])

    @property
    def size(self) -> str:
        """The numbers of rows that it adds and removes, such as `+3 −1`."""
        blocks = self._blocks
        return f"+{sum(m - k for _, _, k, m in blocks)} −{sum(j - i for i, j, _, _ in blocks)}"

    @property
    def _blocks(self) -> Sequence[Block]:
        """The blocks in which `rows` differ from `before`: one of all rows, unless it was renamed."""
        if self.kind is not Kind.RENAMED:
            return [(0, len(self.before), 0, len(self.rows))]
        return opcodes(self.before, self.rows)

    def _block(self, block: Block) -> list[str]:
        i, j, k, m = block
        header = [f"@@ -{i + 1},{j - i} +{k + 1},{m - k} @@"] if self.kind is Kind.RENAMED else []
        gone, new = self.before[i:j], self.rows[k:m]
        return [*header, *(f"-{_bare(row)}" for row in gone), *(f"+{_bare(row)}" for row in new)]

    @property
    def language(self) -> str:
        """Of a fenced block with it."""
        return "diff" if self.is_change else "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """
    A comment of the user's.

    Attributes:
        subject: The lines that it is about; None for none.
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
        part: The part below which it was written.
        subject: What it is on; None for no lines.
        turn: The one that answers it.
        state: How that turn ended; empty while it runs.
    """

    key: str
    part: str
    subject: Subject | None
    text: str
    turn: str
    state: str = ""


def key_of(hunk: str) -> str:
    """The key of the part of a hunk in the review document."""
    return f"hunk:{hunk}"


def of_hunk(known: Pending, hunk: Hunk, uri: str, *, is_protected: bool = False) -> Subject:
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
        renamed_from=known.origin.path if known.origin is not None else "",
        turns=hunk.turns,
        calls=tuple(dict.fromkeys(step.call for step in hunk.steps)),
        is_protected=is_protected,
    )


def relocate(subject: Subject, before: Sequence[str] | None, now: Sequence[str]) -> Subject:
    """
    Finds lines, or a change that was kept or undone, in the current text.

    Args:
        before: The text that the subject's position refers to; None if it was forgotten.
    """
    wanted = tuple(map(_bare, subject.before if subject.status is Status.UNDONE else subject.rows))
    rows, end = tuple(map(_bare, now)), subject.start + len(subject.rows)
    if before is not None:
        near = BlockIndex.of(opcodes(tuple(map(_bare, before)), rows))
        for is_wide in (True, False):
            first, last = near.rows_after(subject.start, end, is_wide=is_wide)
            if rows[first:last] == wanted:
                status = subject.status if subject.is_change else Status.LINES
                return replace(subject, start=first, status=status, is_lost=False)
    found = _find(wanted, rows)
    if subject.is_change:
        is_found = len(found) == 1
        return replace(subject, start=found[0] if is_found else subject.start, is_lost=not is_found)
    if not found:
        return replace(subject, status=Status.CHANGED)
    nearest = min(found, key=lambda at: abs(at - subject.start))
    return replace(subject, start=nearest, status=Status.LINES)


def _find(wanted: Rows, rows: Rows) -> list[int]:
    """Returns the positions of rows in a text; none for no rows."""
    size = len(wanted)
    return [
        at for at, row in enumerate(rows) if wanted and row == wanted[0] and rows[at : at + size] == wanted
    ]


def prompt(comments: Sequence[Comment], own: Set[str]) -> str:
    """
    Returns the prompt for the model: each comment with its document, its lines, and their text.

    Args:
        own: The turns of the session that reads it; it knows nothing of others.
    """
    first = " ".join(comments[0].remark.text.split())
    short = first if len(first) <= LABEL_CHARS else f"{first[: LABEL_CHARS - 1]}…"
    count = "One comment" if len(comments) == 1 else f"{len(comments)} comments"
    texts = [_render_comment(number, each, own) for number, each in enumerate(comments, 1)]
    return "\n\n".join([f"{count} from my review: {short}", BEGINNING, *texts])


def _render_comment(number: int, comment: Comment, own: Set[str]) -> str:
    subject, remark = comment.subject, comment.remark
    if subject is None:
        return f"## {number}. {comment.about or 'In general'}\n\n{remark.text}"
    is_own = not subject.turns or not own.isdisjoint(subject.turns)
    lines = [f"## {number}. {subject.path}{_where(subject)}", _subject_line(subject, is_own=is_own)]
    if subject.has_text:
        lines.append(_fence(subject.diff, subject.language))
    elif subject.is_protected:
        lines.append("The file is protected, so its text is not shown to you.")
    is_inside = remark.is_code and subject.has_text
    lines += [f"My comment on the line `{remark.row}`:" if is_inside else "My comment:", remark.text]
    return "\n\n".join(lines)


def _where(subject: Subject) -> str:
    """The lines, where there are lines that can be named."""
    is_gone = subject.is_lost or subject.status in (Status.GONE, Status.CHANGED)
    if subject.kind in (Kind.DELETED, Kind.WHOLE) or is_gone:
        return ""
    return f", {'lines' if '-' in subject.line_numbers else 'line'} {subject.line_numbers}"


def _subject_line(subject: Subject, *, is_own: bool) -> str:
    whose = "Your change" if is_own else "A change from another conversation"
    match subject.status:
        case Status.LINES:
            return "These lines:"
        case Status.CHANGED:
            return "These lines, which have changed since I wrote the comment:"
        case Status.KEPT:
            return f"{whose}, which I have kept:"
        case Status.UNDONE:
            return f"{whose}, which I have undone:"
        case Status.GONE:
            return f"{whose}, as it was when I wrote the comment:"
    what = {
        Kind.CREATED: ", which created this document",
        Kind.DELETED: ", which deleted this document",
        Kind.RENAMED: f", which renamed this document from {subject.renamed_from}",
        Kind.WHOLE: " of this file, which is not text",
    }
    return f"{whose}{what.get(subject.kind, '')}{':' if subject.has_text else '.'}"


def _fence(text: str, language: str) -> str:
    longest = max((len(each) for each in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _bare(row: str) -> str:
    return row.rstrip("\r\n")


# ---- As they are kept ---------------------------------------------------------------------------------


def as_json(subjects: Sequence[Subject], sent: Sequence[Sent]) -> str:
    """Returns the subjects of comments, and the comments that were sent, as JSON."""
    return json.dumps(
        {"subjects": [asdict(each) for each in subjects], "sent": [asdict(each) for each in sent]}
    )


def read(text: str) -> tuple[list[Subject], list[Sent]]:
    """Reads what `as_json` has written; returns nothing if the JSON is something else."""
    try:
        value = json.loads(text)
        return [_subject(each) for each in value["subjects"]], [_read_sent(each) for each in value["sent"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return [], []


def _read_sent(value: dict[str, Any]) -> Sent:
    subject = value["subject"]
    return Sent(**{**value, "subject": None if subject is None else _subject(subject)})


def _subject(value: dict[str, Any]) -> Subject:
    tuples = {name: tuple(map(str, value[name])) for name in ("before", "rows", "turns", "calls")}
    kinds = {"kind": Kind(value["kind"]), "status": Status(value["status"]), "start": int(value["start"])}
    return Subject(**{**value, **tuples, **kinds})
