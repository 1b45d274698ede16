"""
Fit replacement lines to the indentation that a document uses.

The pairs (indentation in the patch, indentation in the document) of the lines that matched say how one
turns into the other. A depth that no pair shows is counted in steps from the nearest pair, and the steps
are rescaled: 2 to 4 blanks, blanks to tabs, and back. A depth that is no whole number of steps is
refused; nothing is ever flattened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd

from handrail.core.failure import Code, Failure
from handrail.core.text import Text

INDENT = re.compile(r"[ \t]*")
TAB = 4  # how wide a tab counts where blanks and tabs are mixed; only differences matter


def leading(row: str) -> str:
    """The blanks and tabs at the start of *row*."""
    found = INDENT.match(row)
    return found[0] if found else ""


def unit(rows: Iterable[str]) -> str:
    """The text of one step in *rows*: a tab, or the blanks that divide all depths; 4 if none shows."""
    indents = [leading(row) for row in rows if row.strip()]
    if any(indent.startswith("\t") for indent in indents):
        return "\t"
    step = gcd(*(len(indent) for indent in indents)) if indents else 0
    return " " * step if step else " " * 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """
    How indentation of a patch becomes indentation of a document.

    Attributes:
        pairs: Patch indentation to document indentation, as seen on matched lines.
        patch_unit, document_unit: One step on either side.
    """

    pairs: dict[str, str]
    patch_unit: str
    document_unit: str

    def row(self, row: str) -> str | Failure:
        """*row* of the patch with the indentation it has in the document."""
        if not row.strip():
            return row.lstrip(" \t")
        indent = leading(row)
        fitted = self._indent(indent)
        return fitted if isinstance(fitted, Failure) else fitted + row[len(indent) :]

    def _indent(self, indent: str) -> str | Failure:
        if indent in self.pairs:
            return self.pairs[indent]
        nearest = min(self.pairs, key=lambda known: abs(_width(known) - _width(indent)))
        step = _width(self.patch_unit)
        distance = _width(indent) - _width(nearest)
        if distance % step:
            return _refused(f"{_width(indent)} columns are no whole number of steps of {step}")
        steps, base = distance // step, self.pairs[nearest]
        if steps >= 0:
            return base + self.document_unit * steps
        for _ in range(-steps):
            if not base.endswith(self.document_unit):
                return _refused("it lies left of anything the document has there")
            base = base[: -len(self.document_unit)]
        return base


def fit(matched: Sequence[tuple[str, str]], patch_rows: Sequence[str], document: Text) -> Fit | Failure:
    """
    Learn from matched rows how indentation is to be carried over.

    Args:
        matched: (row of the patch, row of the document) for every row that matched.
        patch_rows: All rows of the patch, old and new.
        document: Where the rows of the document come from.

    Returns:
        The fit, or `bad-patch` if one indentation of the patch stands for two of the document.
    """
    pairs: dict[str, str] = {}
    for old, found in matched:
        if not old.strip():
            continue
        indent, there = leading(old), leading(found)
        if pairs.setdefault(indent, there) != there:
            return _refused("one depth of the patch stands at two depths of the document")
    if not pairs:
        pairs[""] = ""
    return Fit(pairs=pairs, patch_unit=_patch_unit(patch_rows), document_unit=_document_unit(pairs, document))


def _patch_unit(rows: Sequence[str]) -> str:
    """One step of the patch: what its depths differ by, since a patch is often shifted as a whole."""
    indents = [leading(row) for row in rows if row.strip()]
    if any(indent.startswith("\t") for indent in indents):
        return "\t"
    base = min((len(indent) for indent in indents), default=0)
    step = gcd(*(len(indent) - base for indent in indents)) if indents else 0
    return " " * step if step else " " * (gcd(base, 4) or 4)


def _document_unit(pairs: dict[str, str], document: Text) -> str:
    """One step of the document: as its neighbourhood shows, else as the whole of it does."""
    indents = sorted(set(pairs.values()), key=len)
    if any(indent.startswith("\t") for indent in indents):
        return "\t"
    steps = [len(b) - len(a) for a, b in pairwise(indents) if b.startswith(a)]
    return " " * min(steps) if steps else unit(document.rows)


def _width(indent: str) -> int:
    return sum(TAB if character == "\t" else 1 for character in indent)


def _refused(why: str) -> Failure:
    return Failure(
        code=Code.BAD_PATCH,
        message=f"The indentation of the new lines cannot be carried over: {why}. Nothing was changed.",
        steps=("Send the edit again with the document's own indentation, as read_file shows it.",),
    )
