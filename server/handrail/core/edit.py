"""
Changes of text: apply them, find the smallest, and carry them over to a text that has moved on.

Everything outside an edit's span stays as it is, byte for byte. An edit never begins or ends inside a
CRLF pair, which no LSP position can name. What a hunk means is decided in `plan`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from handrail.core.failure import Code, Failure, Span
from handrail.core.text import Text, split_lines

LIMIT_DIFF_LINES = 4_000  # beyond this, one replaced block is quicker than a fine difference, and as right


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEdit:
    """Replace *span* of a text with *new*; an empty span inserts, an empty *new* deletes."""

    span: Span
    new: str

    @property
    def growth(self) -> int:
        """By how many code points the text gets longer."""
        return len(self.new) - (self.span.end - self.span.start)


def apply(content: str, edits: Iterable[TextEdit]) -> str:
    """*content* with all *edits* made; their spans are those of *content*, ascending, without overlap."""
    parts: list[str] = []
    done = 0
    for edit in edits:
        parts += (content[done : edit.span.start], edit.new)
        done = edit.span.end
    parts.append(content[done:])
    return "".join(parts)


def trimmed(content: str, edit: TextEdit) -> TextEdit | None:
    """The same change with the shortest span; None if it changes nothing."""
    old = content[edit.span.start : edit.span.end]
    if old == edit.new:
        return None
    head = _common(old, edit.new)
    while head and _splits_crlf(content, edit.span.start + head) | _splits_crlf(edit.new, head):
        head -= 1
    tail = _common(old[: head - len(old) - 1 : -1], edit.new[: head - len(edit.new) - 1 : -1])
    while tail and _splits_crlf(content, edit.span.end - tail) | _splits_crlf(edit.new, len(edit.new) - tail):
        tail -= 1
    span = Span(start=edit.span.start + head, end=edit.span.end - tail)
    return TextEdit(span=span, new=edit.new[head : len(edit.new) - tail])


def _common(one: str, other: str) -> int:
    """How many characters at the start are the same; by halves, at the speed of comparing strings."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _splits_crlf(content: str, offset: int) -> bool:
    return content[offset - 1 : offset + 1] == "\r\n" if offset else False


def between(old: str, new: str) -> tuple[TextEdit, ...]:
    """The edits that turn *old* into *new*: by lines first, then exact to the character inside a block."""
    if old == new:
        return ()
    before, after = split_lines(old), split_lines(new)
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    middle_before, middle_after = before[head : len(before) - tail], after[head : len(after) - tail]
    offset = sum(map(len, before[:head]))
    found = []
    for blocks in _opcodes(middle_before, middle_after):
        old_block, new_block = (
            "".join(middle_before[blocks[0] : blocks[1]]),
            middle_after[blocks[2] : blocks[3]],
        )
        start = offset + sum(map(len, middle_before[: blocks[0]]))
        edit = TextEdit(span=Span(start=start, end=start + len(old_block)), new="".join(new_block))
        if (smallest := trimmed(old, edit)) is not None:
            found.append(smallest)
    return tuple(found)


def _opcodes(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int, int, int]]:
    if not before or not after or max(len(before), len(after)) > LIMIT_DIFF_LINES:
        return [(0, len(before), 0, len(after))]
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    return [(i, j, k, m) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Where an edit of one text belongs in a later text; `conflict` where both changed the same lines."""

    edit: TextEdit
    conflict: bool


def rebase(base: Text, planned: Sequence[TextEdit], now: str) -> tuple[Moved, ...]:
    """
    Carry edits that were planned on *base* over to the text *now*.

    Args:
        base: The text that the spans of *planned* refer to.
        planned: Edits, ascending, without overlap.
        now: What the document holds by now.

    Returns:
        One value for each planned edit, in order. It is a conflict when the lines that it changes have
        changed too; its span is then only a guess and must not be written.
    """
    later = between(base.content, now)
    return tuple(_moved(base, edit, later) for edit in planned)


def _moved(base: Text, edit: TextEdit, later: Sequence[TextEdit]) -> Moved:
    lines = whole_lines(base, edit.span)
    shift, conflict = 0, False
    for other in later:
        if _is_above(base, other, lines.start):
            shift += other.growth
        elif not _is_below(base, other, lines):
            conflict = True
    return Moved(edit=replace(edit, span=edit.span.shifted(shift)), conflict=conflict)


def _is_above(base: Text, other: TextEdit, start: int) -> bool:
    """Whether *other* leaves the line start at *start* a line start, with nothing of its own behind it."""
    if other.span.end != start:
        return other.span.end < start
    deletes_lines = not other.new and other.span.start < start and _is_line_start(base, other.span.start)
    return deletes_lines or other.new.endswith(("\n", "\r"))


def _is_below(base: Text, other: TextEdit, lines: Span) -> bool:
    """Whether *other* begins where our lines have ended."""
    if other.span.start != lines.end:
        return other.span.start > lines.end
    return _is_line_start(base, lines.end) or other.new.startswith(("\n", "\r"))


def _is_line_start(base: Text, offset: int) -> bool:
    return base.starts[base.line_at(offset)] == offset


def whole_lines(text: Text, span: Span) -> Span:
    """The lines that *span* changes, terminators included; an insertion at a line's start changes none."""
    first = text.line_at(span.start)
    if span.start == span.end == text.starts[first]:
        return span
    ends_line = span.end > span.start and span.end == text.starts[text.line_at(span.end)]
    last = text.line_at(span.end) - (1 if ends_line else 0)
    end = text.starts[last + 1] if last + 1 < len(text.starts) else len(text.content)
    return Span(start=text.starts[first], end=end)


def carry(span: Span, made: Sequence[TextEdit]) -> Span:
    """Where *span* lies after the edits *made*: text put at its ends stays outside, a lost end is clamped."""
    start = _carried(span.start, made, behind=True)
    return Span(start=start, end=max(start, _carried(span.end, made, behind=False)))


def _carried(offset: int, made: Sequence[TextEdit], *, behind: bool) -> int:
    shift = 0
    for edit in made:
        replaces = edit.span.start < edit.span.end
        if edit.span.end < offset or (edit.span.end == offset and (replaces or behind)):
            shift += edit.growth
        elif edit.span.start < offset:
            return edit.span.start + shift + (len(edit.new) if behind else 0)
    return offset + shift


def stale(conflicts: Sequence[int], label: str) -> Failure:
    """The `stale-document` failure for hunks (1-based numbers) whose lines the user has changed meanwhile."""
    which = ", ".join(map(str, conflicts))
    return Failure(
        code=Code.STALE_DOCUMENT,
        message=f"{label} changed meanwhile in the lines that hunk {which} edits. What was typed is kept.",
        steps=("Read the document again.", "Then send the hunk against its current text."),
    )
