"""
Texts as LSP sees them: lines, positions in three encodings, and text edits.

Lines end at LF, CRLF and CR, and nowhere else: a form feed or U+2028 is text. Offsets count code points.
Everything here is pure; which document an edit belongs to is decided in `workspace`.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Literal, TypedDict

from handrail.headless.errors import EditRefusedError
from handrail.values import dataclass

Encoding = Literal["utf-8", "utf-16", "utf-32"]
ENCODINGS: tuple[Encoding, ...] = ("utf-8", "utf-16", "utf-32")  # in the order in which they are offered

_LINE_END = re.compile(r"\r\n|\n|\r")
_CODECS: dict[Encoding, tuple[str, int]] = {  # codec, bytes for one unit of a position
    "utf-8": ("utf-8", 1),
    "utf-16": ("utf-16-le", 2),
    "utf-32": ("utf-32-le", 4),
}


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a document: 0-based line, and units of the negotiated encoding in that line."""

    line: int
    character: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEdit:
    """A replacement of the text between two positions; equal positions insert."""

    start: Position
    end: Position
    new_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Splice:
    """A text edit in offsets of one known text."""

    start: int
    end: int
    new_text: str


class ContentChange(TypedDict):
    """One entry of `contentChanges` in `textDocument/didChange`."""

    range: dict[str, dict[str, int]]
    text: str


class Lines:
    """The lines of one text, and the way between positions in *encoding* and offsets."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self._text = text
        self._codec, self._unit = _CODECS[encoding]
        ends = list(_LINE_END.finditer(text))
        self._starts = [0, *(end.end() for end in ends)]
        self._stops = [*(end.start() for end in ends), len(text)]

    def __len__(self) -> int:
        """Count the lines; a text that ends with a line end has an empty last line."""
        return len(self._starts)

    def content(self, line: int) -> str:
        """Give the text of a line without its line end."""
        return self._text[self._starts[line] : self._stops[line]]

    def offset(self, position: Position) -> int:
        """
        Find a position in the text.

        Past the end of a line means its end, past the last line the end of the text, as LSP has it.
        A position inside a character is refused.
        """
        if position.line >= len(self):
            return len(self._text)
        units = self.content(position.line).encode(self._codec)[: position.character * self._unit]
        try:
            return self._starts[position.line] + len(units.decode(self._codec))
        except UnicodeDecodeError as error:
            where = f"line {position.line + 1}, unit {position.character}"
            raise EditRefusedError(f"the position at {where} is inside a character") from error

    def position(self, offset: int) -> Position:
        """Find the position of an offset; the offset must not lie inside a CRLF."""
        line = bisect_right(self._starts, offset) - 1
        before = self._text[self._starts[line] : offset]
        return Position(line, len(before.encode(self._codec)) // self._unit)


def plan(text: str, edits: Iterable[TextEdit], encoding: Encoding) -> tuple[Splice, ...]:
    """
    Find where text edits fall in the *text* that all of them were made for.

    Returns:
        Splices from front to back. Those that touch are joined, so at least one character lies between two
        of them. Inserts at one place keep their order.

    Raises:
        EditRefusedError: Two edits overlap, or a position is inside a character.
    """
    lines = Lines(text, encoding)
    planned = [
        Splice(start=lines.offset(edit.start), end=lines.offset(edit.end), new_text=edit.new_text)
        for edit in edits
    ]
    joined: list[Splice] = []
    for splice in sorted(planned, key=lambda splice: splice.start):
        if splice.end < splice.start:
            raise EditRefusedError("the end of a range lies before its start")
        last = joined[-1] if joined else None
        if last is None or last.end < splice.start:
            joined.append(splice)
        elif last.end == splice.start:
            joined[-1] = Splice(start=last.start, end=splice.end, new_text=last.new_text + splice.new_text)
        else:
            line_number = lines.position(splice.start).line + 1
            raise EditRefusedError(f"two edits overlap at line {line_number}")
    return tuple(joined)


def apply(text: str, splices: Sequence[Splice]) -> str:
    """Apply what `plan` gave for the same text."""
    pieces: list[str] = []
    done = 0
    for splice in splices:
        pieces += (text[done : splice.start], splice.new_text)
        done = splice.end
    return "".join((*pieces, text[done:]))


def carry(base: str, ours: str, theirs: str) -> Splice | None:
    """
    Find the splice of *ours* that does to it what made *theirs* of *base*.

    Returns:
        None if both changed the same lines, or lines that touch.
    """
    mine, other = _difference(base, ours), _difference(base, theirs)
    if mine.start <= other.end and other.start <= mine.end:
        return None
    by = len(ours) - len(base) if mine.end < other.start else 0
    return Splice(start=other.start + by, end=other.end + by, new_text=other.new_text)


def _difference(before: str, after: str) -> Splice:
    """One splice of whole lines that makes the second text of the first."""
    start = _count_same(before, after)
    most = min(len(before), len(after)) - start
    end = len(before) - min(most, _count_same(before[::-1], after[::-1]))
    start = before.rfind("\n", 0, start) + 1
    end = last + 1 if (last := before.find("\n", end)) >= 0 else len(before)
    return Splice(start=start, end=end, new_text=after[start : len(after) - (len(before) - end)])


def _count_same(one: str, other: str) -> int:
    """Count the characters that two texts begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def content_changes(text: str, splices: Sequence[Splice], encoding: Encoding) -> list[ContentChange]:
    """
    Say what `plan` gave for *text* as incremental changes.

    LSP applies these one after the other, so they run from back to front: then every position still means in
    the changed text what it meant in *text*.
    """
    lines = Lines(text, encoding)
    changes: list[ContentChange] = []
    for splice in reversed(splices):
        start, end = lines.position(splice.start), lines.position(splice.end)
        changes.append(
            {
                "range": {
                    "start": {"line": start.line, "character": start.character},
                    "end": {"line": end.line, "character": end.character},
                },
                "text": splice.new_text,
            }
        )
    return changes
