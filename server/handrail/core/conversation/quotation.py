"""
Recognise what an answer quotes: calls and edits that are in a result, a file or a message that the model got.

Blanks and escapes count for nothing, and neither does what a listing puts before each line: its number, the
name of its file, the sign of a diff. A quotation may leave lines out, so lines are compared one by one, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from handrail.values import dataclass, field

ESCAPE = re.compile(r"\\[nrt]?")
WORD = re.compile(r"\w{4,}")
# As `read_file`, `search`, `grep -n` and `cat -n` have it.
LISTED = re.compile(r"^\s{0,20}(?:[^\s|]{1,300}[:-])?\d{1,9}\s?[|:\t-]")
SIGN = re.compile(r"^\s?[+\->|]")
FENCE = re.compile(r"\s*(?:`{3,}|~{3,})[^`]*")


@dataclass(slots=True)
class Sources:
    """The texts that an answer may quote; they are looked through only once something may be a quotation."""

    texts: Sequence[str]
    _all: str = ""
    _lines: set[str] = field(default_factory=set)
    _wholes: list[str] = field(default_factory=list)

    def have(self, quoted: str) -> bool:
        """Whether they have all of *quoted*."""
        rows = [row for row in quoted.splitlines() if not FENCE.fullmatch(row)]
        lines = {line for row in rows if (line := _bare(row))}
        self._all = self._all or "\0".join(self.texts)
        words = WORD.findall(ESCAPE.sub(" ", quoted))
        if not lines or any(word not in self._all for word in words):  # as a rule, and found far faster
            return False
        if not self._wholes:
            self._read()
        return lines <= self._lines or any(_bare("".join(rows)) in whole for whole in self._wholes)

    def _read(self) -> None:
        for text in self.texts:
            for reading in zip(*map(_readings, text.splitlines()), strict=True):
                self._wholes.append("".join(reading))
                self._lines.update(reading)


def _readings(row: str) -> tuple[str, ...]:
    """Returns a line as it is, and without what listings and a diff may have put before it."""
    listed_once = LISTED.sub("", row, count=1)
    listed = (row, listed_once, LISTED.sub("", listed_once, count=1))
    return tuple(_bare(each) for read in listed for each in (read, SIGN.sub("", read, count=1)))


def _bare(text: str) -> str:
    return "".join(ESCAPE.sub("", text).split())
