"""
Indent new rows by tabs or by blanks, whichever the document uses around them.

If rows of the patch that are indented matched, `indent` learns from them. This module is for patches whose
old rows are not indented as the new ones are, so that only the rows around the place tell. New rows stay as
they are if the document has both kinds there, or if theirs may be meant: in strings of several rows, tables,
makefiles and continued rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import gcd

from handrail.core.documents.text import Text
from handrail.core.matching import align, indent
from handrail.core.matching.spacing import QUOTES
from handrail.core.patches.hunk import Hunk, rows_of
from handrail.core.planning.adapted import REINDENTED

Rows = Sequence[str]

MAKE = re.compile(r"(?:ifn?eq|ifn?def|endif|endef|define|\.PHONY)\b")
HERE = re.compile(r"<<[-~]?['\"]?\w")  # begins a text of several rows in a shell, PHP or Ruby
GOES_ON = ("\\", ",")  # below a row that ends so, blanks may align the next one
WIDTHS = (2, 3, 4, 8)  # of a step; others are alignments
BLANK = "  "  # one blank is an alignment, as of the asterisks in a comment


def adapt(text: Text, hunk: Hunk, line: int, near: Rows, *, cuts_row: bool = False) -> Hunk:
    """
    *hunk* with tabs for the blanks before its new rows, or blanks for the tabs, as the rows *near* have them.

    Args:
        text: The document.
        hunk: What is to be made.
        line: Where, from 0.
        near: The document's rows around that line.
        cuts_row: Whether the first row is put in behind the start of the document's row.
    """
    if "\t" not in hunk.new and BLANK not in hunk.new:
        return hunk
    rows, old = hunk.new.split("\n"), rows_of(hunk)[0]
    added = [at for _, _, k, m in align.changes(hunk) for at in range(k, m) if at or not cuts_row]
    new = [rows[at] for at in added]
    has_tabs, has_blanks = (any(row.startswith(kind) and row.strip() for row in new) for kind in "\t ")
    is_foreign = _has_tabs if has_tabs else _has_blanks
    is_own = _has_blanks if has_tabs else _has_tabs
    if has_tabs == has_blanks or any(map(is_foreign, near)) or any(map(is_foreign, old)):
        return hunk
    steps = (above for above, row in pairwise(("", *near)) if is_own(row))
    if all(above.endswith(GOES_ON) for above in steps) or _may_be_meant(text, line, near, [*old, *rows]):
        return hunk
    written = _to_blanks(new, indent.unit(near)) if has_tabs else _to_tabs(new)
    if written == new:
        return hunk
    for at, row in zip(added, written, strict=True):
        rows[at] = row
    return replace(hunk, new="\n".join(rows), notes=(*hunk.notes, REINDENTED))


def _has_tabs(row: str) -> bool:
    return "\t" in indent.leading_blanks(row)


def _has_blanks(row: str) -> bool:
    return row.startswith(BLANK)


def _may_be_meant(text: Text, line: int, near: Rows, patch: Rows) -> bool:
    """Whether tabs or blanks before rows at *line* may be more than indentation; see the module."""
    if any(
        "\t" in row.strip() or row.endswith("\\") for row in (*patch, *text.rows[max(0, line - 1) : line])
    ):
        return True
    if any(MAKE.match(row) or HERE.search(row) for row in (*near, *patch)):
        return True
    before = sum(map(len, text.rows[:line])) + line
    counts = (
        [text.flat.count(quotes, 0, before), *(row.count(quotes) for row in patch)] for quotes in QUOTES
    )
    return any(count % 2 for each in counts for count in each)


def _to_blanks(new: Rows, step: str) -> list[str]:
    """*new* rows with a *step* for each tab before them; unchanged if the step is an unusual one."""
    if len(step) not in WIDTHS:
        return list(new)
    bodies = [row.lstrip("\t") for row in new]
    return [step * (len(row) - len(body)) + body for row, body in zip(new, bodies, strict=True)]


def _to_tabs(new: Rows) -> list[str]:
    """*new* rows with a tab for each step of blanks before them; unchanged if the step is an unusual one."""
    bodies = [row.lstrip(" ") for row in new]
    depths = [len(row) - len(body) for row, body in zip(new, bodies, strict=True)]
    aligned = [depth % 2 if body.startswith("*") else 0 for depth, body in zip(depths, bodies, strict=True)]
    step = gcd(*(depth - by for depth, by in zip(depths, aligned, strict=True)))
    if step not in indent.STEPS:
        return list(new)
    return [
        "\t" * (depth // step) + " " * by + body
        for depth, by, body in zip(depths, aligned, bodies, strict=True)
    ]
