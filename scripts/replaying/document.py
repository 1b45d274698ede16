"""
Documents as rows, and real changes of them.

A document is its rows and how each one ends; `raw` is its bytes. A hunk is a place in a document and the rows
that are kept, removed and added there, so what is right after it needs no searching: `after` says it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

LINE = re.compile(r"([^\r\n]*)(\r\n|\n|\r)|([^\r\n]+)$")
SPELLINGS = str.maketrans("‘’“”–—‑\u00a0\u202f", "''\"\"---  ")

Rows = tuple[str, ...]


def fold(row: str) -> str:
    """*row* without blanks, with plain punctuation: rows that fold alike may be confused."""
    return re.sub(r"\s+", "", row.translate(SPELLINGS))


@dataclass(frozen=True)
class Part:
    """Rows of a patch: kept if `old` is `new`, else removed and added."""

    old: Rows
    new: Rows

    @property
    def is_kept(self) -> bool:
        """Whether the patch leaves these rows alone."""
        return self.old == self.new


Parts = tuple[Part, ...]


@dataclass(frozen=True)
class Document:
    """Rows, the terminator of each, and how they are written as bytes."""

    rows: Rows
    eols: Rows
    encoding: str = "utf-8"
    mark: bytes = b""

    @staticmethod
    def of(raw: bytes) -> Document | None:
        """The document with these bytes; None unless they are plain UTF-8 text."""
        try:
            content = raw.decode("utf-8")
        except UnicodeDecodeError:
            return None
        if "\0" in content or content.startswith("\ufeff"):
            return None
        found = [(m[1], m[2]) if m[2] else (m[3], "") for m in LINE.finditer(content)]
        made = Document(tuple(row for row, _ in found), tuple(eol for _, eol in found))
        return made if made.raw == raw else None

    @cached_property
    def raw(self) -> bytes:
        """The bytes."""
        content = "".join(row + eol for row, eol in zip(self.rows, self.eols, strict=True))
        return self.mark + content.encode(self.encoding)

    @cached_property
    def folded(self) -> str:
        """The rows that are not blank, folded."""
        return "\n" + "".join(folded + "\n" for row in self.rows if (folded := fold(row)))

    def count(self, rows: Rows) -> int:
        """How often *rows* stand here, blanks and punctuation aside."""
        needle = "\n" + "".join(folded + "\n" for row in rows if (folded := fold(row)))
        if needle == "\n":
            return 2
        found, at = 0, self.folded.find(needle)
        while at >= 0 and found < 2:
            found, at = found + 1, self.folded.find(needle, at + 1)
        return found

    def with_rows(self, rows: Rows) -> Document:
        """The same document with as many other rows."""
        return replace(self, rows=rows)

    def with_eol(self, eol: str) -> Document:
        """The same document with one kind of terminator."""
        return replace(self, eols=tuple(eol if each else "" for each in self.eols))

    def with_inserted(self, at: int, rows: Rows) -> Document:
        """The same document with *rows* before row *at*; the last one ends as before."""
        eol = self.eols[0] or "\n"
        eols = [*self.eols[:at], *[eol] * len(rows), *self.eols[at:]]
        if not self.eols[-1]:
            eols = [each or eol for each in eols[:-1]] + [""]
        return replace(self, rows=self.rows[:at] + rows + self.rows[at:], eols=tuple(eols))

    def spliced(self, start: int, parts: Parts) -> Document:
        """The document after a patch whose first row stands at row *start*."""
        rows, eols = list(self.rows[:start]), list(self.eols[:start])
        at = start
        for part in parts:
            end = at + len(part.old)
            assert self.rows[at:end] == part.old
            if part.is_kept:
                rows += self.rows[at:end]
                eols += self.eols[at:end]
            else:
                near = self.eols[at:end] + self.eols[max(0, at - 1) : at] + self.eols[at : at + 1]
                eol = next((each for each in near if each), "\n")
                rows += part.new
                eols += [eol] * len(part.new)
            at = end
        rows += self.rows[at:]
        eols += self.eols[at:]
        usual = next((each for each in self.eols if each), "\n")
        eols = [each or usual for each in eols]
        if eols and self.eols and not self.eols[-1]:
            eols[-1] = ""
        return replace(self, rows=tuple(rows), eols=tuple(eols))


@dataclass(frozen=True)
class Hunk:
    """A change of `document` whose first row is `start`, counted from 0."""

    path: str
    document: Document
    start: int
    parts: Parts

    @cached_property
    def old(self) -> Rows:
        """The rows that the change is about."""
        return tuple(row for part in self.parts for row in part.old)

    @cached_property
    def new(self) -> Rows:
        """What they become."""
        return tuple(row for part in self.parts for row in part.new)

    @cached_property
    def after(self) -> Document:
        """The document with the change made."""
        return self.document.spliced(self.start, self.parts)

    @property
    def end(self) -> int:
        """The row behind the last one."""
        return self.start + len(self.old)

    @cached_property
    def is_unique(self) -> bool:
        """Whether nothing else in the document can be taken for the old rows."""
        return self.document.count(self.old) == 1 and self._occurrences() == 1

    def _occurrences(self) -> int:
        content, needle = "\n".join(self.document.rows), "\n".join(self.old)
        return content.count(needle) if needle.strip() else 2

    def widened(self, lead: int, tail: int) -> Hunk:
        """The same change with up to so many kept rows before and behind it."""
        kept = [part for part in self.parts if not part.is_kept]
        first, last = self.parts.index(kept[0]), len(self.parts) - 1 - self.parts[::-1].index(kept[-1])
        start = self.start + sum(len(part.old) for part in self.parts[:first])
        end = self.end - sum(len(part.old) for part in self.parts[last + 1 :])
        above = self.document.rows[max(0, start - lead) : start]
        below = self.document.rows[end : end + tail]
        parts = [Part(above, above), *self.parts[first : last + 1], Part(below, below)]
        return Hunk(self.path, self.document, start - len(above), tuple(p for p in parts if p.old or p.new))
