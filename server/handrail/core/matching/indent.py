"""
Reindent replacement lines to the indentation that a document uses.

The pairs (indentation in the patch, indentation in the document) of the lines that matched say how one turns
into the other. A depth that no pair shows is counted from the nearest pair, and the steps are rescaled where
the pairs or the steps on both sides show it: 2 to 4 blanks, blanks to tabs, and back. A depth that cannot be
determined is refused; nothing is ever flattened or guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise
from math import gcd

from handrail.core.failure import Code, Failure
from handrail.counts import count_of
from handrail.values import dataclass

INDENT = " \t\u00a0\u2007\u202f\u3000"
TAB = 4  # how wide a tab counts where blanks and tabs are mixed; only differences matter
STEPS = (2, 4)  # what models indent by; other differences are alignment, or several steps at once


def leading_blanks(row: str) -> str:
    """The blanks at the start of *row*: spaces, tabs, no-break and ideographic spaces."""
    return row[: len(row) - len(row.lstrip(INDENT))]


def unit(rows: Iterable[str]) -> str:
    """The text of one step in *rows*: by how much a row is most often deeper than the one above; else 4."""
    indents = [leading_blanks(row) for row in rows if row.strip()]
    tabs = sum(indent.startswith("\t") for indent in indents)
    if tabs * 2 > sum(bool(indent) for indent in indents):
        return "\t"
    widths = [len(indent) for indent in indents if "\t" not in indent]
    steps = Counter(low - high for high, low in pairwise(widths) if 2 <= low - high <= 8)
    return " " * min(steps, key=lambda step: (-steps[step], step), default=4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindent:
    """
    The translation of a patch's indentation into that of a document.

    Attributes:
        pairs: Patch indentation to document indentation, as seen on matched lines.
        torn: Patch indentations that occur at several depths of the document.
        patch_step: The columns by which all depths of the patch differ; 0 if there is only one depth.
        patch_has_tabs: Whether the patch indents by tabs.
        step: Tells the text of one step of the document; asked only where a depth is not known.
        is_as_written: Whether the new rows already have the document's depth, although the old ones do not.
    """

    pairs: dict[str, str]
    torn: frozenset[str]
    patch_step: int
    patch_has_tabs: bool
    step: Callable[[], str]
    is_as_written: bool = False

    @property
    def document_step(self) -> str:
        """The text of one step of the document."""
        return self.step()

    @property
    def is_identity(self) -> bool:
        """Whether patch and document indent in the same way."""
        return not self.torn and all(ours == theirs for ours, theirs in self.pairs.items())

    def indent(self, indent: str) -> str | Failure:
        """Returns the document's indentation for *indent* of the patch."""
        if indent in self.torn:
            return _refuse("one indentation level of the patch matches two levels of the document")
        if indent in self.pairs:
            return self.pairs[indent]
        if self.is_identity:
            return indent
        scale = self._scale()
        if scale is None:
            return _refuse("the document's indentation step is unclear")
        nearest = min(self.pairs, key=lambda known: abs(width(known) - width(indent)))
        columns = (width(indent) - width(nearest)) * scale
        if columns.denominator > 1 or (scale != 1 and columns % width(self.document_step)):
            return _refuse(
                f"an indentation of {count_of(width(indent), 'column')} is not a whole number of steps"
            )
        return self._move(self.pairs[nearest], int(columns))

    def _scale(self) -> Fraction | None:
        """Columns of the document for one column of the patch; None if nothing tells."""
        seen = sorted({(width(ours), width(theirs)) for ours, theirs in self.pairs.items()})
        if len(seen) != 1:
            shown = {Fraction(b[1] - a[1], b[0] - a[0]) for a, b in pairwise(seen) if b[0] > a[0]}
            return shown.pop() if len(shown) == 1 and min(shown) > 0 else None
        ours, theirs = seen[0]
        step, wanted = self.patch_step, width(self.document_step)
        if self.patch_has_tabs != (self.document_step == "\t"):
            return Fraction(wanted, step) if step in STEPS else None
        if step == wanted or (step > max(STEPS) and step % 2):
            return Fraction(1)  # the same steps; or an alignment, which moves along
        scale = Fraction(wanted, step) if step in STEPS else None
        return scale if step < wanted or (ours and scale == Fraction(theirs, ours)) else None

    def _move(self, base: str, columns: int) -> str | Failure:
        if columns >= 0 and self.document_step != "\t":
            return base + " " * columns
        if columns >= 0:
            aligned = columns % TAB == 0
            return base + "\t" * (columns // TAB) if aligned else _refuse("it is not a whole number of tabs")
        while columns < 0 and base:
            columns += width(base[-1])
            base = base[:-1]
        return _refuse("a line would begin left of the first column") if columns else base


def learn_indent(
    matched: Sequence[tuple[str, str]], patch_rows: Sequence[str], step: Callable[[], str]
) -> Reindent:
    """
    Learn from matched rows how indentation is to be carried over.

    Args:
        matched: (row of the patch, row of the document) for every row that matched.
        patch_rows: All rows of the patch, old and new.
        step: Tells the `unit` of the document's rows around the place.
    """
    result: dict[str, set[str]] = {}
    for ours, theirs in matched:
        if ours.strip():
            result.setdefault(leading_blanks(ours), set()).add(leading_blanks(theirs))
    indents = [leading_blanks(row) for row in patch_rows if row.strip()]
    least = min(map(width, indents), default=0)
    return Reindent(
        pairs={indent: min(theirs) for indent, theirs in result.items() if len(theirs) == 1},
        torn=frozenset(indent for indent, theirs in result.items() if len(theirs) > 1),
        patch_step=gcd(*(width(indent) - least for indent in indents)),
        patch_has_tabs=any("\t" in indent for indent in indents),
        step=cache(partial(_document_step, {theirs for each in result.values() for theirs in each}, step)),
    )


def is_at_depth(matched: Sequence[tuple[str, str]], new: Sequence[str]) -> bool:
    """
    Whether *new* rows are indented as the document is, though the old ones of the patch are not.

    Args:
        matched: (old row of the patch, row of the document) for every row that matched.
        new: The new rows of the patch.
    """
    matched = [(row, twin) for row, twin in matched if row.strip() and twin.strip()]
    new = [row for row in new if row.strip()]
    if not new or all(leading_blanks(row) == leading_blanks(twin) for row, twin in matched):
        return False
    ours, theirs = [row for row, _ in matched], [twin for _, twin in matched]
    kept = {row: leading_blanks(twin) for row, twin in matched}
    if any(kept.get(row, leading_blanks(row)) != leading_blanks(row) for row in new):
        return False  # a row of the patch that stays is indented as the patch is
    base, step = _shape(new)
    if leading_blanks(new[0]) != base or base != _shape(theirs)[0]:
        return False
    if base != _shape(ours)[0]:
        return True
    return step == _shape(theirs)[1] and 0 not in (step, _shape(ours)[1]) and step != _shape(ours)[1]


def _shape(rows: Sequence[str]) -> tuple[str, int]:
    """The least indentation of *rows*, and by how many columns the next one is deeper; 0 if there is none."""
    base = min(map(leading_blanks, rows), key=width)
    return base, min(
        (width(leading_blanks(row)) - width(base) for row in rows if leading_blanks(row) != base), default=0
    )


def _document_step(indents: set[str], around: Callable[[], str]) -> str:
    """A step of the document; the rows that matched say whether it is a tab."""
    step = around()
    if any("\t" in indent for indent in indents):
        return "\t"
    return " " * TAB if step == "\t" and any(indents) else step


def width(indent: str) -> int:
    """The columns of an indentation."""
    return sum(TAB if character == "\t" else 1 for character in indent)


def _refuse(why: str) -> Failure:
    return Failure(
        code=Code.BAD_PATCH,
        message=f"The indentation of the new lines cannot be adapted to the document: {why}. Nothing was "
        f"changed.",
        steps=("Send the edit again with the document's own indentation, as read_file shows it.",),
    )
