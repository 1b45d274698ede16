r"""
Changes of text: apply them, find the smallest, and carry them over to a text that has moved on.

Everything outside an edit's span stays as it is, byte for byte. An edit never begins or ends inside a
CRLF pair, which no LSP position can name. What a hunk means is decided in `plan`.

Theory of operation. `edits_between` compares two texts by rows, then trims each block of rows to the
characters that differ, so an edit is as small as it can be. `rebase` carries edits over to a text that
others have changed since: every later change above an edit's lines shifts it, every change below leaves it
alone, and a change of the same lines is a conflict. Lines decide, not characters, because two changes of
one line rarely mean something together. Nothing is guessed: an edit in conflict must not be written.

    >>> from handrail.core.documents.text import Text
    >>> base = Text("one\ntwo\nthree\n")
    >>> edits = edits_between(base.content, "one\ntwenty\nthree\n")
    >>> [(each.span.start, each.span.end, each.new) for each in edits]
    [(6, 7, 'enty')]
    >>> (moved,) = rebase(base, edits, "zero\none\ntwo\nthree\n")  # the user put a line above
    >>> moved.conflict, apply("zero\none\ntwo\nthree\n", [moved.edit])
    (False, 'zero\none\ntwenty\nthree\n')
    >>> (moved,) = rebase(base, edits, "one\ntwo!\nthree\n")  # the user changed the same line
    >>> moved.conflict
    True
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, compress, count
from operator import ne

from handrail.core.documents.spelling import common_end_length, common_length
from handrail.core.documents.text import Text, split_lines
from handrail.core.failure import Code, Failure, Span
from handrail.values import dataclass, replace

LIMIT_COMPARED = 250_000  # rows times rows; beyond this, comparing row by row may take seconds
LIMIT_PAIRS = 50_000  # of equal rows; beyond this, comparing each with each may take seconds
ROUNDS = 4  # of cutting; rows that occur once in a part of a part of a part are rare


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


def trim(content: str, edit: TextEdit) -> TextEdit | None:
    """The same change with the shortest span; None if it changes nothing."""
    old = content[edit.span.start : edit.span.end]
    if old == edit.new:
        return None
    head = common_length(old, edit.new)
    while head and _splits_crlf(content, edit.span.start + head) | _splits_crlf(edit.new, head):
        head -= 1
    tail = common_length(old[: head - len(old) - 1 : -1], edit.new[: head - len(edit.new) - 1 : -1])
    while tail and _splits_crlf(content, edit.span.end - tail) | _splits_crlf(edit.new, len(edit.new) - tail):
        tail -= 1
    span = Span(start=edit.span.start + head, end=edit.span.end - tail)
    return TextEdit(span=span, new=edit.new[head : len(edit.new) - tail])


def _splits_crlf(content: str, offset: int) -> bool:
    return content[offset - 1 : offset + 1] == "\r\n" if offset else False


def joins_ends(content: str, edit: TextEdit) -> bool:
    """Whether *edit* makes one line end of two: of a CR and a LF that had something between them."""
    before = content[max(0, edit.span.start - 1) : edit.span.start]
    behind = content[edit.span.end : edit.span.end + 1]
    first, last = (edit.new or behind)[:1], (edit.new or before)[-1:]
    return before + first == "\r\n" or last + behind == "\r\n"


def edits_between(old: str, new: str) -> tuple[TextEdit, ...]:
    """The edits that turn *old* into *new*: by lines first, then exact to the character inside a block."""
    if old == new:
        return ()
    head, tail = _equal_ends(old, new)
    before, after = split_lines(old[head : len(old) - tail]), split_lines(new[head : len(new) - tail])
    offsets = list(accumulate(map(len, before), initial=head))
    edits = (
        TextEdit(span=Span(start=offsets[i], end=offsets[j]), new="".join(after[k:m]))
        for i, j, k, m in opcodes(before, after)
    )
    return tuple(smallest for edit in edits if (smallest := trim(old, edit)) is not None)


def _equal_ends(old: str, new: str) -> tuple[int, int]:
    """How many characters of equal lines both texts begin and end with: these need not be split."""
    head = old.rfind("\n", 0, common_length(old, new)) + 1
    ending = old.find("\n", len(old) - common_end_length(old[head:], new[head:]))
    return head, len(old) - ending - 1 if ending >= 0 else 0


Block = tuple[int, int, int, int]  # rows i to j of the one text are rows k to m of the other


def opcodes(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[Block]:
    """
    The blocks in which two sequences of rows differ, ascending.

    Cost: near linear. Row by row is compared only where that is cheap; before that, rows that occur once on
    either side cut the rest into parts, and what cannot be cut is one block.
    """
    blocks: list[Block] = []
    waiting = [((0, len(before), 0, len(after)), ROUNDS)]
    while waiting:
        block, rounds = waiting.pop()
        i, j, k, m = _without_equal_ends(before, after, block)
        old, new = before[i:j], after[k:m]
        is_cheap = bool(old and new) and _is_cheap(old, new)
        is_small = is_cheap and len(old) * len(new) <= LIMIT_COMPARED
        anchors = find_anchors(old, new) if old and new and rounds and not is_small else []
        if is_cheap and not anchors:
            matcher = SequenceMatcher(None, old, new, autojunk=False)
            tags = (op for op in matcher.get_opcodes() if op[0] != "equal")
            blocks += [(a + i, b + i, c + k, d + k) for _, a, b, c, d in tags]
        elif anchors:
            ends = [*anchors, (len(old), len(new))]
            begins = [(0, 0), *((a + 1, c + 1) for a, c in anchors)]
            for (a, c), (b, d) in zip(begins, ends, strict=True):
                waiting.append(((a + i, b + i, c + k, d + k), rounds - 1))
        elif old or new:
            blocks.append((i, j, k, m))
    return sorted(blocks)


def _without_equal_ends(before: Sequence[Hashable], after: Sequence[Hashable], block: Block) -> Block:
    i, j, k, m = block
    equal = _count_equal(before[i:j], after[k:m])
    i, k = i + equal, k + equal
    equal = _count_equal(before[i:j][::-1], after[k:m][::-1])
    return i, j - equal, k, m - equal


def _count_equal(before: Sequence[Hashable], after: Sequence[Hashable]) -> int:
    """How many rows are equal before the first that differs; no loop of ours, as most rows are equal."""
    return next(compress(count(), map(ne, before, after)), min(len(before), len(after)))


def _is_cheap(old: Sequence[Hashable], new: Sequence[Hashable]) -> bool:
    others = Counter(new)
    return sum(times * others[row] for row, times in Counter(old).items()) <= LIMIT_PAIRS


def find_anchors(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Returns the places of rows that occur once on either side: as many as ascend on both."""
    counts, others = Counter(old), Counter(new)
    indexes = {row: at for at, row in enumerate(new) if others[row] == 1}
    pairs = [(at, indexes[row]) for at, row in enumerate(old) if counts[row] == 1 and row in indexes]
    ends: list[int] = []  # the least last place of a chain, by its length; and which pair that is
    last: list[int] = []
    before: list[int] = []
    for at, (_, index) in enumerate(pairs):
        length = bisect_left(ends, index)
        ends[length : length + 1], last[length : length + 1] = [index], [at]
        before.append(last[length - 1] if length else -1)
    chain: list[tuple[int, int]] = []
    at = last[-1] if last else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class RebasedEdit:
    """An edit of one text, moved to a later text; `conflict` where both changed the same lines."""

    edit: TextEdit
    conflict: bool


def rebase(base: Text, planned: Sequence[TextEdit], now: str) -> tuple[RebasedEdit, ...]:
    """
    Carries edits that were planned on *base* over to the text *now*.

    Args:
        base: The text that the spans of *planned* refer to.
        planned: Edits, ascending, without overlap.
        now: What the document holds by now.

    Returns:
        One value for each planned edit, in order. It is a conflict when the lines that it changes have
        changed too; its span is then only a guess and must not be written.
    """
    later = edits_between(base.content, now)
    if not later:
        return tuple(RebasedEdit(edit=edit, conflict=False) for edit in planned)
    return tuple(_rebase_one(base, edit, later) for edit in planned)


def _rebase_one(base: Text, edit: TextEdit, later: Sequence[TextEdit]) -> RebasedEdit:
    lines = whole_lines(base, edit)
    shift, conflict = 0, False
    for other in later:
        if _is_above(base, other, lines.start):
            shift += other.growth
        elif not _is_below(base, other, lines):
            conflict = True
    return RebasedEdit(edit=replace(edit, span=edit.span.shift(shift)), conflict=conflict)


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


def whole_lines(text: Text, edit: TextEdit) -> Span:
    """The lines that *edit* changes, terminators included; whole lines put at a line's start change none."""
    first, last = text.line_at(edit.span.start), text.line_at(edit.span.end)
    at_start = edit.span.start == text.starts[first]
    stays_apart = edit.new.endswith(("\n", "\r")) if edit.new else at_start
    if stays_apart and edit.span.end == text.starts[last]:
        return Span(start=text.starts[first], end=edit.span.end)
    end = text.starts[last + 1] if last + 1 < len(text.starts) else len(text.content)
    return Span(start=text.starts[first], end=end)


def by_lines(text: Text, edits: Sequence[TextEdit]) -> tuple[TextEdit, ...]:
    """*edits* as edits of whole lines, for whoever counts columns otherwise; ascending, without overlap."""
    parts: list[tuple[Span, list[TextEdit]]] = []
    for each in edits:
        span = whole_lines(text, each)
        if span.start == len(text.content) and text.rows:  # behind the last line is none to some editors
            span = Span(start=text.starts[len(text.rows) - 1], end=span.end)
        if parts and span.start < parts[-1][0].end:
            before, among = parts.pop()
            parts.append((Span(start=before.start, end=max(before.end, span.end)), [*among, each]))
        else:
            parts.append((span, [each]))
    return tuple(TextEdit(span=span, new=_apply_within(text, span, among)) for span, among in parts)


def _apply_within(text: Text, span: Span, edits: Sequence[TextEdit]) -> str:
    """Returns the text in *span* after *edits*."""
    moved = [
        TextEdit(span=Span(start=each.span.start - span.start, end=each.span.end - span.start), new=each.new)
        for each in edits
    ]
    return apply(text.content[span.start : span.end], moved)


def carry(span: Span, made: Sequence[TextEdit]) -> Span:
    """
    Returns the position of *span* after the edits *made*: text put at its ends stays outside, a lost end is
    clamped.
    """
    start = _carry_offset(span.start, made, behind=True)
    return Span(start=start, end=max(start, _carry_offset(span.end, made, behind=False)))


def _carry_offset(offset: int, made: Sequence[TextEdit], *, behind: bool) -> int:
    shift = 0
    for edit in made:
        replaces = edit.span.start < edit.span.end
        if edit.span.end < offset or (edit.span.end == offset and (replaces or behind)):
            shift += edit.growth
        elif edit.span.start < offset:
            return edit.span.start + shift + (len(edit.new) if behind else 0)
    return offset + shift


def conflict_texts(base: Text, planned: Sequence[TextEdit], now: str) -> tuple[str, str] | None:
    """Returns the lines of the first conflicting edit as they are in *base*, and in *now*; see `rebase`."""
    later = edits_between(base.content, now)
    for edit in planned:
        if _rebase_one(base, edit, later).conflict:
            lines = whole_lines(base, edit)
            there = carry(lines, later)
            return base.content[lines.start : lines.end], now[there.start : there.end]
    return None


def stale(label: str, texts: tuple[str, str] | None = None) -> Failure:
    """
    The `stale-document` failure for edits whose lines the user has changed: of a patch, or of a restore.

    Args:
        label: The document, as people call it.
        texts: What the lines read and what they read now, see `conflict_texts`.
    """
    said = f" They were {quote(texts[0])}; now they are {quote(texts[1])}." if texts is not None else ""
    return Failure(
        code=Code.STALE_DOCUMENT,
        message=f"{label} has changed in lines that were to be edited.{said} That change was kept.",
        steps=("Read the document again.", "Then send the edit again, for the current text."),
    )


def quote(text: str) -> str:
    """Lines of a document as an error names them: quoted, and not too long."""
    text = text.strip("\r\n")
    return repr(text if len(text) <= 200 else text[:197] + "...")
