"""
A document's rows, prepared once for many searches.

Rows are *plain* without their indentation and trailing blanks and with typographic punctuation and spaces
written in ASCII; joined to one string they are searched at the speed of `str.find`. Everything is built on
first use and lives as long as its text. What a match means is decided in `match`.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, compress, count, repeat

from handrail.core.documents import spelling

BLANKS = " \t"
STRETCH = 2048  # characters; line ends are counted once for each so that a place is near a counted one
LIMIT_HEADERS = 64  # of which the lines are remembered
NEAR_ROWS = 500  # of a stretch; with those beside it they tell how the document indents there


def plain(row: str, *, long_dash: bool = False) -> str:
    """One row as the index has it."""
    return spelling.plain(row, long_dash=long_dash).strip(BLANKS)


def squeeze(row: str) -> str:
    """*row* without any blank."""
    return row.replace(" ", "").replace("\t", "")


class Joined:
    """Rows joined by LF, in which runs of whole rows are found; each belongs to a line of the document."""

    def __init__(self, rows: Iterable[str], lines: Callable[[], Sequence[int]] | None = None) -> None:
        """*lines* gives the lines (from 0) that the rows stand on, if those are not 0, 1, 2 and so on."""
        self.text = "\n".join(["", *rows, ""])
        self._lines_of = lines

    @cached_property
    def _lines(self) -> Sequence[int] | None:
        return None if self._lines_of is None else self._lines_of()

    @cached_property
    def _ends(self) -> Sequence[int]:
        """The number of line ends before each stretch of the text, and in all of it."""
        text, starts = self.text, range(0, len(self.text), STRETCH)
        counts = map(text.count, repeat("\n"), starts, range(STRETCH, len(text) + STRETCH, STRETCH))
        return array("Q", accumulate(counts, initial=0))

    def find(self, rows: Sequence[str], limit: int | None = None) -> list[int]:
        """
        The places where *rows* stand in a row, as lines of the document, ascending.

        Args:
            rows: Prepared as those of this index; without any nothing is found.
            limit: Stop after so many places.
        """
        return [self._line(number) for number in self.numbers(rows, limit)]

    def numbers(self, rows: Sequence[str], limit: int | None = None) -> list[int]:
        """The same as numbers of rows of this index."""
        if not rows:
            return []
        needle = "\n".join(["", *rows, ""])
        return [self._number(at) for at in _offsets_of(self.text, needle, limit)]

    def lines_matching(self, words: re.Pattern[str]) -> list[int]:
        """The lines in which *words* occur; they must not match a line end."""
        numbers = {self._number(found.start()) - 1 for found in words.finditer(self.text)}
        return sorted(map(self._line, numbers))

    def lines_with(self, word: str, limit: int) -> list[int] | None:
        """The lines in which *word* stands; None if it stands at *limit* places or more."""
        offsets = list(_offsets_of(self.text, word, limit))
        if len(offsets) >= limit:
            return None
        return sorted({self._line(self._number(at) - 1) for at in offsets})

    def _number(self, at: int) -> int:
        """
        Returns the number of line ends before the offset *at*: the number of the row that one there opens.
        """
        stretch = at // STRETCH
        return self._ends[stretch] + self.text.count("\n", stretch * STRETCH, at)

    def _offset(self, number: int) -> int:
        """The offset of the line end that opens the row *number*; that of the last if there are fewer."""
        number = min(number, self._ends[-1] - 1)
        stretch = bisect_right(self._ends, number) - 1
        at = stretch * STRETCH - 1
        for _ in range(number - self._ends[stretch] + 1):
            at = self.text.find("\n", at + 1)
        return at

    def _line(self, number: int) -> int:
        return number if self._lines is None else self._lines[number]

    def rows(self, first: int, end: int) -> list[str]:
        """The rows from number *first* to before *end* (not lines, where the two differ)."""
        start, stop = self._offset(first), self._offset(end)
        return self.text[start + 1 : stop].split("\n") if start < stop else []


def _offsets_of(text: str, needle: str, limit: int | None) -> Iterator[int]:
    count, at = 0, text.find(needle)
    while at >= 0 and (limit is None or count < limit):
        yield at
        count, at = count + 1, text.find(needle, at + 1)


class Index:
    """All that searches need to know of a document's rows."""

    def __init__(self, rows: tuple[str, ...], flat: str) -> None:
        """
        Args:
            rows: The document's rows, without terminators.
            flat: The document's text with LF.
        """
        self._rows = rows
        self._flat = flat
        self._headers: dict[str, tuple[int, ...]] = {}
        self._near: dict[tuple[Callable[[Sequence[str]], str], int], str] = {}

    def header_lines(self, header: str) -> tuple[int, ...]:
        """
        The lines that read *header* (plain); if there are none, those that contain it as words.

        The hunks of a patch often name the same header, so some answers are remembered.
        """
        if header not in self._headers:
            if len(self._headers) >= LIMIT_HEADERS:
                self._headers.clear()
            self._headers[header] = tuple(self._lines_with_header(header))
        return self._headers[header]

    def near(self, ask: Callable[[Sequence[str]], str], line: int) -> str:
        """
        Returns the answer of *ask* for the rows around *line*; it is called once for all lines of a stretch.
        """
        number = line // NEAR_ROWS
        if (ask, number) not in self._near:
            start, end = max(0, (number - 1) * NEAR_ROWS), (number + 2) * NEAR_ROWS
            self._near[ask, number] = ask(self._rows[start:end])
        return self._near[ask, number]

    def _lines_with_header(self, header: str) -> Sequence[int]:
        if not header:
            return ()
        if lines := self.plain.find([header]):
            return lines
        if header not in self.plain.text:
            return ()
        return self.plain.lines_matching(
            re.compile(rf"(?<!\w){re.escape(header)}" + (r"(?!\w)" if header[-1:].isalnum() else ""))
        )

    @cached_property
    def plain(self) -> Joined:
        """All rows, plain."""
        return Joined(self._plain_rows(long_dash=False))

    @cached_property
    def plain_long(self) -> Joined:
        """All rows, plain, with an em dash as two hyphens."""
        return Joined(self._plain_rows(long_dash=True))

    @cached_property
    def ended(self) -> tuple[str, ...]:
        """All rows without trailing blanks."""
        return tuple(map(str.rstrip, self._rows, repeat(BLANKS)))

    @cached_property
    def stripped(self) -> tuple[str, ...]:
        """All rows without blanks around them."""
        return tuple(map(str.strip, self._rows, repeat(BLANKS)))

    @cached_property
    def filled(self) -> Joined:
        """All rows that are not blank, plain."""
        return Joined(filter(None, self.plain.text.split("\n")), lambda: self.filled_lines)

    @cached_property
    def squeezed(self) -> Joined:
        """All rows, plain and without any blank."""
        return Joined([squeeze(self.plain.text[1:-1])])

    @cached_property
    def filled_lines(self) -> Sequence[int]:
        """The lines of the rows that are not blank."""
        rows = self.plain.text[1:-1].split("\n")
        return array("Q", compress(count(), rows))

    def _plain_rows(self, *, long_dash: bool) -> Iterable[str]:
        rows: Sequence[str] = self._rows
        if not self._flat.isascii():
            rows = spelling.plain(self._flat, long_dash=long_dash).split("\n")[: len(rows)]
        return map(str.strip, rows, repeat(BLANKS))
