"""
Put the values of keys back where a model's text has the placeholder that it was shown in their place.

A model reads documents without the values of keys, and sends the placeholder back: in search texts, in
context, and in lines that it keeps, moves or changes. Each placeholder stands for a value of the document:

    document       shown            new              written
    a = "key-1"    a = "[key …]"    b = "[key …]"    b = "key-2"      this line is in the document
    b = "key-2"    b = "[key …]"    a = "[key …]"!   a = "key-1"!     the name before it tells

A search text is looked for in the document as it is shown, so the values are those of its place. A line of
the new text gets its values from the line that it keeps or replaces. If it is not certain which value is
meant, the edit is refused: the placeholder itself is never written (`omission`).
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from handrail.core.documents.edit import Block, find_anchors, opcodes
from handrail.core.documents.placeholder import REDACTED, FindKeys
from handrail.core.documents.text import Text, to_lf
from handrail.core.failure import Candidate, Code, Failure, Span
from handrail.core.matching import match
from handrail.core.patches.hunk import Hunk
from handrail.core.planning.omission import key_failure
from handrail.values import dataclass, replace

NOTE = f"Each {REDACTED} in the edit was read as the value that the document has there."
NAME = re.compile(r"\w+(?=\W*\Z)")
Values = tuple[str, ...]


@dataclass(frozen=True)
class Shown:
    """
    A document as a model is shown it.

    Attributes:
        text: Its text with LF, without the values of keys.
        values: The values, in order; a placeholder that the document has itself stands for itself.
        offsets: Where each of them is in `text`.
    """

    text: Text
    values: Values
    offsets: tuple[int, ...]

    @cached_property
    def rows(self) -> list[tuple[str, Values]]:
        """The rows, the last of which is empty if the text ends with a line end, with the values in each."""
        values = iter(self.values)
        return [(row, _take(values, row)) for row in self.text.content.split("\n")]

    @cached_property
    def known(self) -> Mapping[str, set[Values]]:
        """The values of each row with a placeholder, without blanks around it."""
        result: dict[str, set[Values]] = {}
        for row, values in self.rows:
            if values:
                result.setdefault(row.strip(), set()).add(values)
        return result

    def values_in(self, span: Span) -> Values:
        """Returns the values in *span* of `text`."""
        pairs = zip(self.offsets, self.values, strict=True)
        return tuple(value for at, value in pairs if span.start <= at < span.end)


def show(content: str, find_keys: FindKeys) -> Shown:
    """Returns *content* as a model is shown it."""
    flat = to_lf(content)
    spans = list(find_keys(flat))
    own = [each.span() for each in re.finditer(re.escape(REDACTED), flat)]
    spans += [(a, b) for a, b in own if not any(start < b and a < end for start, end in spans)]
    parts, values, offsets, at, size = list[str](), list[str](), list[int](), 0, 0
    for start, end in sorted(spans):
        offsets.append(size + start - at)
        parts += [flat[at:start], REDACTED]
        values.append(flat[start:end])
        size, at = offsets[-1] + len(REDACTED), end
    return Shown(Text("".join((*parts, flat[at:]))), tuple(values), tuple(offsets))


def restore_content(content: str, document: str, find_keys: FindKeys) -> str | Failure:
    """Returns the whole text *content*, written for *document*, with the values that the document has."""
    if REDACTED not in content or not (shown := _show_if_hidden(document, find_keys)):
        return content
    rows = to_lf(content).split("\n")
    restored = _restore_rows(shown.rows, rows, None, shown)
    return restored if isinstance(restored, Failure) else "\n".join(restored)


def restore_hunk(text: Text, hunk: Hunk, find_keys: FindKeys) -> Hunk | Failure:
    """Returns *hunk* with the values of the place in *text* that it describes; or why that is not certain."""
    if not any(REDACTED in part for part in (hunk.old, hunk.new, *hunk.scope, *hunk.rivals)):
        return hunk
    if not (shown := _show_if_hidden(text.content, find_keys)):
        return hunk
    found = _values_of(text, hunk, shown) if REDACTED in hunk.old else ()
    if isinstance(found, Failure):
        return found
    old = list(_pair(hunk.old.split("\n"), found))
    rows = hunk.new.split("\n")
    new: list[str] | Failure = rows
    if REDACTED in hunk.new:
        new = _restore_rows(old, rows, hunk.blocks, shown)
    if isinstance(new, Failure):
        return new
    by_row = _by_row(shown)
    has_breaks = any("\n" in value for value in shown.values)
    return replace(
        hunk,
        old="\n".join(_fill(row, values) for row, values in old),
        new="\n".join(new),
        scope=tuple(by_row(row) for row in hunk.scope),
        rivals=tuple("\n".join(map(by_row, each.split("\n"))) for each in hunk.rivals),
        notes=(*hunk.notes, NOTE),
        signs="" if has_breaks else hunk.signs,
        unsigned=None if has_breaks else hunk.unsigned,
    )


def _show_if_hidden(content: str, find_keys: FindKeys) -> Shown | None:
    """Returns *content* as it is shown; None if nothing is hidden in it."""
    shown = show(content, find_keys)
    return shown if any(value != REDACTED for value in shown.values) else None


def _values_of(text: Text, hunk: Hunk, shown: Shown) -> Values | Failure:
    """Returns a value for each placeholder in the search text of *hunk*."""
    count = hunk.old.count(REDACTED)
    if len(set(shown.values)) == 1:
        return shown.values[:1] * count
    found = match.locate(shown.text, hunk)
    if isinstance(found, Failure):
        if found.code is Code.AMBIGUOUS_MATCH:
            options = {shown.values_in(each.span) for each in found.near}
            if len(options) == 1 and len(alike := options.pop()) == count:
                return alike
        return replace(found, near=tuple(_in_document(text, shown, each) for each in found.near))
    options = {shown.values_in(each.span) for each in found}
    if len(options) > 1:
        lines = ", ".join(str(shown.text.line_at(each.span.start) + 1) for each in found[:10])
        return Failure(
            code=Code.AMBIGUOUS_MATCH,
            message=f"{REDACTED} stands for different values in the places that the search text matches "
            f"(lines {lines}).",
            steps=("Change each place with an edit of its own.", f"Or use a search text without {REDACTED}."),
        )
    values = options.pop()
    return values if len(values) == count else key_failure("The search text")


def _in_document(text: Text, shown: Shown, near: Candidate) -> Candidate:
    """Returns a place of the shown text as one of the document."""
    first = _line_in_document(shown, near.span.start)
    last = min(_line_in_document(shown, near.span.end), max(len(text.rows) - 1, 0))
    return replace(near, span=Span(start=text.starts[first], end=text.row_end(last)), line=first)


def _line_in_document(shown: Shown, offset: int) -> int:
    return shown.text.line_at(offset) + sum(
        value.count("\n") for at, value in zip(shown.offsets, shown.values, strict=True) if at < offset
    )


def _by_row(shown: Shown) -> Callable[[str], str]:
    """Returns a function that fills in the values of a row if the document has the row with no others."""

    def fill(row: str) -> str:
        options = shown.known.get(row.strip(), set())
        return _fill(row, next(iter(options))) if len(options) == 1 else row

    return fill


# ---- Rows of the new text -------------------------------------------------------------------------


@dataclass(frozen=True)
class Gone:
    """
    A row with values that the new text does not have.

    Attributes:
        row: The row, without blanks around it.
        values: Its values.
        part: Which of the parts it is in, between rows that are in both texts once.
    """

    row: str
    values: Values
    part: int


def _restore_rows(
    old: Sequence[tuple[str, Values]], new: Sequence[str], marked: Sequence[Block] | None, shown: Shown
) -> list[str] | Failure:
    """
    Returns the rows *new* with values in place of their placeholders.

    Args:
        old: The rows that they replace, with their values.
        marked: Where the rows differ, if signs tell that.
        shown: The document.
    """
    bare = [row for row, _ in old]
    blocks = opcodes(bare, new) if marked is None else marked
    result: dict[int, str] = {k: _fill(*old[i]) for i, k in _kept_rows(blocks, old, new)}
    pins = find_anchors(bare, new) if marked is None else []
    paired = dict[int, int]()
    if marked is None:
        found = _pair_alike(old, new, pins)
        if found is None:
            return key_failure("The new text")
        paired = found
    result |= {k: _fill(*old[i]) for k, i in paired.items()}
    taken, ends = set(paired.values()), ([i for i, _ in pins], [k for _, k in pins])
    for group in [blocks] if marked is None else [[block] for block in blocks]:
        places = [k for *_, c, d in group for k in range(c, d) if k not in paired]
        gone = [
            Gone(bare[i].strip(), old[i][1], bisect(ends[0], i))
            for a, b, _, _ in group
            for i in range(a, b)
            if i not in taken and old[i][1]
        ]
        filled = _fill_changed([(new[k], bisect(ends[1], k)) for k in places], gone, shown)
        if filled is None:
            return key_failure("The new text")
        result |= zip(places, filled, strict=True)
    return [result[k] for k in range(len(new))]


def _kept_rows(
    blocks: Sequence[Block], old: Sequence[tuple[str, Values]], new: Sequence[str]
) -> Iterator[tuple[int, int]]:
    """Yields the places in both texts of the rows outside of the blocks."""
    i, k = 0, 0
    for a, b, c, d in (*blocks, (len(old), len(old), len(new), len(new))):
        yield from zip(range(i, a), range(k, c), strict=False)
        i, k = b, d


def _pair_alike(
    old: Sequence[tuple[str, Values]], new: Sequence[str], pins: Sequence[tuple[int, int]]
) -> dict[int, int] | None:
    """
    Pairs the rows that are shown alike but have different values, in their order.

    Returns:
        Their places in *new*, with those in *old*. None if they are not as many in both texts, or not between
        two rows that are in both texts once: then it is not certain which of them are still there.
    """
    values = dict[str, set[Values]]()
    for row, each in old:
        values.setdefault(row, set()).add(each)
    alike = {row for row, options in values.items() if len(options) > 1}
    result = dict[int, int]()
    for (i, k), (j, m) in pairwise([(-1, -1), *pins, (len(old), len(new))]):
        before = [(old[at][0], at) for at in range(i + 1, j) if old[at][0] in alike]
        after = [(new[at], at) for at in range(k + 1, m) if new[at] in alike]
        if Counter(row for row, _ in before) != Counter(row for row, _ in after):
            return None
        in_old, in_new = sorted(before), sorted(after)
        result |= {at: was for (_, was), (_, at) in zip(in_old, in_new, strict=True)}
    return result


def _fill_changed(new: Sequence[tuple[str, int]], gone: Sequence[Gone], shown: Shown) -> list[str] | None:
    """
    Returns rows with values in place of their placeholders; None if it is not certain which.

    Args:
        new: Rows that are not in the old text, with the parts that they are in.
        gone: The rows that they replace.
        shown: The document.
    """
    result, unclear = dict[int, str](), dict[int, list[int]]()
    counts = Counter(row.strip() for row, _ in new if REDACTED in row)
    alike = dict[str, deque[Gone]]()
    for each in gone:
        alike.setdefault(each.row, deque()).append(each)
    mixed = {row for row, same in alike.items() if len({each.values for each in same}) > 1}
    unpaired = {row for row in mixed if len(alike[row]) != counts[row]}
    for at, (row, part) in enumerate(new):
        bare = row.strip()
        values: Values | None = None
        if REDACTED not in row:
            values = ()
        elif bare not in unpaired and alike.get(bare):
            values = alike[bare].popleft().values
        elif bare not in unpaired and len(options := shown.known.get(bare, set())) == 1:
            (values,) = options
        if values is None:
            unclear.setdefault(part, []).append(at)
        else:
            result[at] = _fill(row, values)
    left = _Left([each for same in alike.values() for each in same])
    for part, places in unclear.items():
        filled = left.fill_by_name([new[at][0] for at in places], part)
        if filled is None:
            return None
        result |= zip(places, filled, strict=True)
    return [result[at] for at in range(len(new))]


class _Left:
    """The values of the rows that are gone, by the names before them."""

    def __init__(self, gone: Sequence[Gone]) -> None:
        self._named = dict[str, set[str]]()
        self._near = dict[int, Counter[tuple[str, str]]]()
        for each in gone:
            for name, value in zip(_names(each.row), each.values, strict=True):
                self._named.setdefault(name, set()).add(value)
                self._near.setdefault(each.part, Counter())[name, value] += 1

    def fill_by_name(self, rows: Sequence[str], part: int) -> list[str] | None:
        """
        Returns *rows* with the values of the rows that they replace; None if these are not certain.

        A value goes with the name before it, in any part. If no row that is gone has the name, and one value
        of the same part remains, it is that one.
        """
        near = Counter(self._near.get(part, {}))
        chosen = list[str | None]()
        for name in (name for row in rows for name in _names(row)):
            options = self._named.get(name, set())
            if name and len(options) > 1:
                return None
            chosen.append(next(iter(options)) if len(options) == 1 else None)
            if (mark := (name, chosen[-1] or "")) in near:
                near[mark] -= 1
                if not near[mark]:
                    del near[mark]
        rest, missing = {value for _, value in near}, chosen.count(None)
        if missing and (len(rest) != 1 or missing > near.total()):
            return None
        values = iter([next(iter(rest)) if value is None else value for value in chosen])
        return [_fill(row, _take(values, row)) for row in rows]


def _names(row: str) -> Iterator[str]:
    """Yields the name before each placeholder in *row*; empty if there is none."""
    before = ""
    for part in row.split(REDACTED)[:-1]:
        before += part
        found = NAME.search(before)
        yield found[0] if found else ""
        before = "placeholder"


def _take(values: Iterator[str], row: str) -> Values:
    return tuple(next(values) for _ in range(row.count(REDACTED)))


def _pair(rows: Sequence[str], values: Values) -> Iterator[tuple[str, Values]]:
    each = iter(values)
    for row in rows:
        yield row, _take(each, row)


def _fill(row: str, values: Values) -> str:
    parts = row.split(REDACTED)
    return "".join(part + value for part, value in zip(parts, (*values, ""), strict=True))
