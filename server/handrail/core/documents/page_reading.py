"""
Determine the owners of a page's lines after its user, or an editor, has changed it.

Our lines stay ours when a formatter changes their layout, because lines are compared in normalised form.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence

from handrail.core.documents import layout
from handrail.core.documents.edit import opcodes
from handrail.core.documents.page import Line, Page

SENTENCE_CHARS = 16
Reading = Callable[[Line], layout.Counted]


def plain(line: Line) -> layout.Counted:
    """Of a row of code everything counts but the blanks around it; of others all but the layout."""
    return layout.code if line.is_code else layout.prose


def observe(page: Page, now: Sequence[str], *, owns_copies: bool = True, reading: Reading = plain) -> Page:
    """
    The page after its user, or an editor, has changed it to the rows *now*.

    With *owns_copies*, a sentence of ours that appears once more is ours, too.
    """
    before, after = page.bare, [row.rstrip() for row in now]
    blocks = opcodes(before, after)
    gone = Counter(before[at] for i, j, _, _ in blocks for at in range(i, j) if before[at])
    new = {after[at] for _, _, k, m in blocks for at in range(k, m)}
    of = {
        row: line
        for row, line in zip(reversed(before), reversed(page.lines), strict=True)
        if row in new and line.part is not None
    }
    changed = [_read_stretch(page.lines[i:j], now[k:m], reading) for i, j, k, m in blocks]
    lost = _Lost([line for i, j, _, _ in blocks for line in page.lines[i:j]], changed, reading)
    lines, done, at = list[Line](), 0, 0
    for (i, j, k, m), rows in zip(blocks, changed, strict=True):
        lines += _keep_lines(page.lines[done:i], now[at:k])
        theirs = {line.text.rstrip() for line in rows if line.part is None} - {""}
        are_copies = owns_copies and all(row in of and _is_a_sentence(of[row]) for row in theirs)  # no quotes
        for line in rows:
            row = line.text.rstrip()
            is_moved = row in of and (gone[row] > 0 or are_copies)
            gone[row] -= 1
            ours = of[row] if is_moved else lost.find(line.text) if line.part is None else None
            lines.append(line if ours is None or line.part is not None else ours._replace(text=line.text))
        done, at = j, m
    return Page(lines=(*lines, *_keep_lines(page.lines[done:], now[at:])))


def _keep_lines(lines: Sequence[Line], now: Sequence[str]) -> Iterator[Line]:
    """The lines with their ends, and blanks there, as they are now."""
    for line, row in zip(lines, now, strict=True):
        yield line if line.text == row else line._replace(text=row)


class _Lost:
    """Our lines that are no longer where they were: a formatter may have changed them."""

    def __init__(self, before: Sequence[Line], changed: Sequence[Sequence[Line]], reading: Reading) -> None:
        kept = {(line.part, line.number) for lines in changed for line in lines}
        self._lines = dict[tuple[layout.Counted, str], deque[Line]]()
        for line in before:
            counted = reading(line)
            is_lost = line.part is not None and (line.part, line.number) not in kept
            if is_lost and (key := counted(line.text)):
                self._lines.setdefault((counted, key), deque()).append(line)
        self._readings = dict.fromkeys(counted for counted, _ in self._lines)

    def find(self, row: str) -> Line | None:
        """The next of them that has another layout in this row."""
        for counted in self._readings:
            if found := self._lines.get((counted, counted(row))):
                return found.popleft()
        return None


def _is_a_sentence(line: Line) -> bool:
    """Whether a line is too long to be written twice by chance: a second one is a copy of ours."""
    return not line.is_code and len(layout.bare(line.text)) >= SENTENCE_CHARS


def _read_stretch(before: Sequence[Line], now: Sequence[str], reading: Reading) -> list[Line]:
    """The lines of a stretch that has changed: what a formatter has made of ours is ours."""
    if not before:
        return [Line(text=row, part=None) for row in now]
    ours = [line for line in before if line.part is not None]
    theirs = "".join(line.text for line in before if line.part is None)
    readings = dict.fromkeys(map(reading, before))
    if not theirs.strip() and layout.is_wrapped_anew([line.text for line in ours], now, set(readings)):
        return [ours[min(at, len(ours) - 1)]._replace(text=row) for at, row in enumerate(now)]
    there, at, is_paired = dict[tuple[layout.Counted, str], list[int]](), 0, len(before) == len(now)
    for number, line in enumerate(before):
        counted = reading(line)
        there.setdefault((counted, counted(line.text)), []).append(number)
    lines = list[Line]()
    for number, row in enumerate(now):
        same = [there.get((counted, counted(row)), []) for counted in readings]
        later = [numbers[index] for numbers in same if (index := bisect_left(numbers, at)) < len(numbers)]
        first = min(later, default=None)
        if first is not None:
            at = first + 1
            lines.append(before[first]._replace(text=row))
        else:
            over = _line_over(before[number]) if is_paired else None
            is_back = over is not None and row.rstrip() == over.text.rstrip()
            lines.append(
                over._replace(text=row) if is_back and over else Line(text=row, part=None, over=over)
            )
    return lines


def _line_over(before: Line) -> Line | None:
    """The line of ours in the place of which the user wrote, as far as it was one."""
    return before.over if before.part is None else before if before.text.strip() else None


def read_page(
    pages: Sequence[Page],
    now: Sequence[str],
    sent: Sequence[Page] = (),
    *,
    owns_copies: bool = True,
    reading: Reading = plain,
) -> Page:
    """
    The page *now*, as it follows from that of *pages* or *sent* that leaves least of it to the user.

    The first of *pages* is taken if all that is ours in it is still there, and at most one line is new, which
    is not ours in a page that was *sent* and may have landed since.
    """
    if pages and [line.text for line in pages[0].lines] == list(now):
        return pages[0]
    result = list[Page]()
    for page in [*pages[:1], *sent, *pages[1:]] or [Page()]:
        result.append(observe(page, now, owns_copies=owns_copies, reading=reading))
        if len(result) == 1 and _is_typing(page, result[0], sent):
            break
    return min(result, key=lambda page: len(page.lines) - _ours_in(page))


def _is_typing(page: Page, now: Page, sent: Sequence[Page]) -> bool:
    """Whether a page has at most one line more by now, and what is new in it is the user's."""
    if len(now.lines) > len(page.lines) + 1 or _ours_in(now) != _ours_in(page):
        return False
    known = {line.text.rstrip() for line in page.lines if line.part is None} | {""}
    new = {line.text.rstrip() for line in now.lines if line.part is None} - known
    return all(new.isdisjoint(other.ours) for other in sent)


def _ours_in(page: Page) -> int:
    return sum(line.part is not None for line in page.lines)
