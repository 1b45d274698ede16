"""
A document's rows, prepared once for many searches.

Rows are *plain* without their indentation and trailing blanks and with typographic punctuation and spaces
written in ASCII; joined to one string they are searched at the speed of `str.find`. Everything is made
when it is first asked for, lives as long as its text, and is dropped with it. What a match means is
decided in `match`.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate

from handrail.core import spelling

BLANKS = " \t"


def plain(row: str, *, long_dash: bool = False) -> str:
    """One row as the index has it."""
    return spelling.plain(row, long_dash=long_dash).strip(BLANKS)


class Joined:
    """Rows joined by LF, in which runs of whole rows are found; each belongs to a line of the document."""

    def __init__(self, rows: Iterable[str], lines: Sequence[int] | None = None) -> None:
        """*lines* are the lines (from 0) that the rows stand on, if those are not 0, 1, 2 and so on."""
        self.text = "\n" + "\n".join(rows) + "\n"
        self._lines = lines

    @cached_property
    def _starts(self) -> Sequence[int]:
        lengths = map(len, self.text[1:-1].split("\n"))
        return array("Q", accumulate((length + 1 for length in lengths), initial=0))

    def find(self, rows: Sequence[str], limit: int | None = None) -> list[int]:
        """
        The places where *rows* stand in a row, as lines of the document, ascending.

        Args:
            rows: Prepared as those of this index; without any nothing is found.
            limit: Stop after so many places.
        """
        if not rows:
            return []
        needle = "\n" + "\n".join(rows) + "\n"
        found, number, counted = [], 0, 0
        for at in _places(self.text, needle, limit):
            number, counted = number + self.text.count("\n", counted, at), at
            found.append(self._line(number))
        return found

    def containing(self, words: re.Pattern[str]) -> list[int]:
        """The lines in which *words* occur; they must not match a line end."""
        starts = self._starts
        numbers = {bisect_right(starts, found.start() - 1) - 1 for found in words.finditer(self.text)}
        return sorted(map(self._line, numbers))

    def _line(self, number: int) -> int:
        return number if self._lines is None else self._lines[number]

    def rows(self, first: int, end: int) -> list[str]:
        """The rows from number *first* to before *end* (not lines, where the two differ)."""
        starts = self._starts
        end = min(end, len(starts) - 1)
        return self.text[starts[first] + 1 : starts[end]].split("\n") if first < end else []


def _places(text: str, needle: str, limit: int | None) -> Iterator[int]:
    found, at = 0, text.find(needle)
    while at >= 0 and (limit is None or found < limit):
        yield at
        found, at = found + 1, text.find(needle, at + 1)


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

    @cached_property
    def plain(self) -> Joined:
        """All rows, plain."""
        return Joined(self._plain_rows(long_dash=False))

    @cached_property
    def plain_long(self) -> Joined:
        """All rows, plain, with an em dash as two hyphens."""
        return Joined(self._plain_rows(long_dash=True))

    @cached_property
    def filled(self) -> Joined:
        """All rows that are not blank, plain."""
        rows = self.plain.text[1:-1].split("\n")
        lines = array("Q", [at for at, row in enumerate(rows) if row])
        return Joined([row for row in rows if row], lines)

    def _plain_rows(self, *, long_dash: bool) -> list[str]:
        rows: Sequence[str] = self._rows
        if not self._flat.isascii():
            rows = spelling.plain(self._flat, long_dash=long_dash).split("\n")[: len(rows)]
        return [row.strip(BLANKS) for row in rows]
