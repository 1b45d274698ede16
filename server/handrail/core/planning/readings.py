"""
Let the document decide between readings of a hunk that its notation leaves open.

Rows of a V4A or unified hunk may have lost the blank before them: a row without any sign, and a row that
stands one column too far left. They are rows of context only if the document has all of them so. A block that
may be divided at two places is refused if the document supports the second one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from handrail.core.documents.index import BLANKS, plain
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.core.matching.indent import leading_blanks, unit, width
from handrail.core.matching.strings import LIMIT_MATCHES
from handrail.core.patches.hunk import KEPT, UNSIGNED, Hunk
from handrail.core.planning.plan import LIMIT_SEARCH_CHARS

LOST_BLANK = "Context lines without their leading space were read as they are in the document."


def settle_reading(text: Text, hunk: Hunk) -> Hunk | Failure:
    """Returns *hunk* in the reading that the document supports; `bad-patch` if that is not certain."""
    for rival in hunk.rivals:
        if text.index.plain.find([plain(row) for row in rival.split("\n")], 1):
            return _divided_failure(hunk)
    if not hunk.signs or (hunk.unsigned is None and _is_plain(text, hunk)):
        return hunk
    runs = _runs(text, hunk)
    if hunk.unsigned is None and any(_has_same_blanks(hunk, rows) for rows in runs):
        return hunk
    readings = {_with_context_of(hunk, rows) for rows in runs}
    if len(readings) != 1:
        return hunk if hunk.unsigned is None else hunk.unsigned
    (there,) = readings
    return there if _shows_depth(hunk, there) else _by_step(text, hunk, there)


def _is_plain(text: Text, hunk: Hunk) -> bool:
    """Whether no row of *hunk* has lost its blank, because the document has the rows as they are."""
    at = text.flat.find(hunk.old)
    return at == 0 or (at > 0 and text.flat[at - 1] == "\n") or " " not in hunk.signs


def _has_same_blanks(hunk: Hunk, rows: Sequence[str]) -> bool:
    """Whether *rows* of the document are those of *hunk* with all their blanks, but for trailing ones."""
    return all(
        row.rstrip(BLANKS) == there.rstrip(BLANKS)
        for row, there in zip(hunk.old.split("\n"), rows, strict=True)
    )


def _shows_depth(hunk: Hunk, there: Hunk) -> bool:
    """
    Whether the new rows have the document's depth, as shown by a row that is in the document exactly as
    written.
    """
    pairs = zip(hunk.signs.replace("+", ""), hunk.old.split("\n"), there.old.split("\n"), strict=True)
    return any(
        row.strip() and (sign != " " or row.rstrip(BLANKS) == one.rstrip(BLANKS)) for sign, row, one in pairs
    )


def _by_step(text: Text, hunk: Hunk, there: Hunk) -> Hunk | Failure:
    """
    *there* if only so the new rows stand at a depth of the document, *hunk* if only one column further right.

    All rows of context stand one column further right in the document than in *hunk*: they have lost their
    blank, or the whole hunk is written at another depth.
    """
    step = width(unit(text.rows))
    known = (
        {width(leading_blanks(row)) % step for row in there.old.split("\n") if row.strip()}
        if step
        else set[int]()
    )
    added = [
        row
        for sign, row in zip(hunk.signs.replace("-", ""), hunk.new.split("\n"), strict=True)
        if sign == "+"
    ]
    depths = [width(leading_blanks(row)) for row in added if row.strip()]
    is_known = [not step or all((depth + by) % step in known for depth in depths) for by in (0, 1)]
    if is_known == [False, True]:
        return hunk
    if is_known == [True, False] or not depths:
        return there
    return Failure(
        code=Code.BAD_PATCH,
        message=(
            "All context lines of the hunk are one column further right in the document. Either these lines "
            "lack their leading space, or all lines of the hunk are one column too far left."
        ),
        steps=("Send the hunk again, with a space before each context line.",),
    )


def _divided_failure(hunk: Hunk) -> Failure:
    return Failure(
        code=Code.BAD_PATCH,
        message=(
            f"Block {hunk.number} has two lines '=======', and the document has such a line below the search "
            f"text, so it is unclear which one divides the block."
        ),
        steps=("If a line '=======' is text, write it as '\\======='.",),
    )


def _runs(text: Text, hunk: Hunk) -> list[tuple[str, ...]]:
    """
    Returns the different runs of lines that are the rows of *hunk*, except for blanks that its context has
    lost.
    """
    if len(hunk.old) > LIMIT_SEARCH_CHARS:
        return []
    rows, signs = hunk.old.split("\n"), hunk.signs.replace("+", "")
    lines = text.index.plain.find([plain(row) for row in rows], LIMIT_MATCHES)
    runs = {text.rows[line : line + len(rows)] for line in lines}
    return [run for run in runs if _may_be_rows_of(run, rows, signs)]


def _may_be_rows_of(there: Sequence[str], rows: Sequence[str], signs: str) -> bool:
    return all(
        one.rstrip(BLANKS) in (row.rstrip(BLANKS), f" {row}".rstrip(BLANKS) if sign == " " else None)
        for one, row, sign in zip(there, rows, signs, strict=True)
    )


def _context(signs: str) -> Iterator[tuple[int, int]]:
    """Yields the number of each context row among the old rows, and among the new ones."""
    old = new = 0
    for sign in signs:
        if sign in KEPT:
            yield old, new
        old, new = old + (sign != "+"), new + (sign != "-")


def _with_context_of(hunk: Hunk, rows: Sequence[str]) -> Hunk:
    """Returns *hunk* with its context rows as the document has them in *rows*."""
    old, new = hunk.old.split("\n"), hunk.new.split("\n")
    for before, after in _context(hunk.signs):
        old[before] = new[after] = rows[before]
    return replace(
        hunk,
        old="\n".join(old),
        new="\n".join(new),
        notes=(*hunk.notes, LOST_BLANK),
        signs=hunk.signs.replace(UNSIGNED, " "),
        unsigned=None,
    )
