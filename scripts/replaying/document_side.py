"""
Ways in which a document differs from what a model thinks of it: the patch is written well.
"""

from __future__ import annotations

import codecs
import random
import re
from collections.abc import Callable
from dataclasses import replace

from replaying.document import Hunk, Part, Parts, Rows, fold
from replaying.notation import AIDER, CLINE, HINTED, ROO, UNIFIED, V4A, Style
from replaying.patch_side import curled, step_of
from replaying.spoiled import Spoiled, indent_of, kept_rows, with_other_token, with_row

ODD_LINES = ("\f", "\u2028", "# \u0085 next", "\x0b", "# a\u2029b")
MARKER_ROWS = (
    "*** End Patch",
    "*** Update File: other.py",
    "@@ def f():",
    "<<<<<<< SEARCH",
    "=======",
    ">>>>>>> REPLACE",
    "+++ b/x",
    "--- a/x",
    "*** End of File",
)


def _with_block(hunk: Hunk, rows: Rows) -> Hunk:
    """The hunk with other rows in the place of its old ones in the document; its parts are set apart."""
    document = hunk.document
    return replace(
        hunk, document=document.with_rows(document.rows[: hunk.start] + rows + document.rows[hunk.end :])
    )


def _with_old(hunk: Hunk, parts: Parts) -> Hunk:
    """The hunk with *parts* as the truth, in a document that has their old rows."""
    changed = _with_block(hunk, tuple(row for part in parts for row in part.old))
    return replace(changed, parts=parts)


def trailing_blanks(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """
    Rows of the document end in blanks that the patch does not have.

    The last row is left as it is: a string may end before its blanks, and mean that.
    """
    parts = _with_kept(hunk, lambda row: row + chance.choice(("", "  ", "\t", " ")))
    others = {fold(row) for part in hunk.parts for row in part.new}  # kept or added: which is which is open

    def removed(row: str) -> str:
        return row if fold(row) in others else row + chance.choice(("  ", "\t"))

    parts = tuple(p if p.is_kept else Part(tuple(map(removed, p.old)), p.new) for p in parts)
    last = max(number for number, part in enumerate(parts) if part.old)
    rows = (*parts[last].old[:-1], hunk.old[-1])
    parts = (*parts[:last], Part(rows, rows if parts[last].is_kept else parts[last].new), *parts[last + 1 :])
    truth = _with_old(hunk, parts)
    return Spoiled(truth, hunk.parts) if truth.document != hunk.document else None


def _with_kept(hunk: Hunk, change: Callable[[str], str]) -> Parts:
    """
    The hunk's parts with its kept rows changed, those apart that the change has as well.

    Of two rows that are the same, one kept and one added, nobody can say which is which.
    """
    changed = {fold(row) for part in hunk.parts if not part.is_kept for row in (*part.old, *part.new)}
    made = []
    for part in hunk.parts:
        if part.is_kept:
            rows = tuple(row if fold(row) in changed else change(row) for row in part.old)
            made.append(Part(rows, rows))
        else:
            made.append(part)
    return tuple(made)


def smart_quotes(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The document has smart quotes, the patch straight ones; a changed row whose strings stay keeps them."""
    parts = []
    for part in _with_kept(hunk, curled):
        if part.is_kept:
            parts.append(part)
        elif len(part.old) == len(part.new) and all(
            _quotes(a) == _quotes(b) for a, b in zip(part.old, part.new, strict=True)
        ):
            parts.append(Part(tuple(map(curled, part.old)), tuple(map(curled, part.new))))
        else:
            parts.append(part)
    truth = _with_old(hunk, tuple(parts))
    return Spoiled(truth, hunk.parts) if truth.document != hunk.document else None


def _quotes(row: str) -> list[str]:
    return re.findall("[\"'][^\"']*", row)


def odd_blanks_and_dashes(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Kept rows of the document have no-break spaces and dashes, the patch plain ones."""

    def odd(row: str) -> str:
        return re.sub("(?<=\\S) (?=\\S)", "\u00a0", row, count=1).replace(" - ", " – ", 1)

    truth = _with_old(hunk, _with_kept(hunk, odd))
    return Spoiled(truth, hunk.parts) if truth.document != hunk.document else None


def tabs(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The document is indented by tabs, the patch by blanks."""
    step = step_of(hunk)
    if not step:
        return None

    def tabbed(row: str) -> str:
        return re.sub("^ +", lambda m: "\t" * (len(m[0]) // step) + " " * (len(m[0]) % step), row)

    document = hunk.document.with_rows(tuple(map(tabbed, hunk.document.rows)))
    parts = tuple(Part(tuple(map(tabbed, part.old)), tuple(map(tabbed, part.new))) for part in hunk.parts)
    return Spoiled(replace(hunk, document=document, parts=parts), hunk.parts)


# ---- Bytes ----------------------------------------------------------------------------------------


def crlf(hunk: Hunk, chance: random.Random) -> Spoiled:
    """All lines end in CRLF."""
    return Spoiled(replace(hunk, document=hunk.document.with_eol("\r\n")), hunk.parts)


def cr(hunk: Hunk, chance: random.Random) -> Spoiled:
    """All lines end in CR."""
    return Spoiled(replace(hunk, document=hunk.document.with_eol("\r")), hunk.parts)


def mixed_ends(hunk: Hunk, chance: random.Random) -> Spoiled:
    """LF and CRLF are mixed; around the change there is only one of them."""
    here = chance.choice(("\n", "\r\n"))
    near = range(hunk.start - 1, hunk.end + 1)
    eols = tuple(
        "" if not eol else here if at in near else chance.choice(("\n", "\r\n", "\r\n"))
        for at, eol in enumerate(hunk.document.eols)
    )
    return Spoiled(replace(hunk, document=replace(hunk.document, eols=eols)), hunk.parts)


def byte_order_mark(hunk: Hunk, chance: random.Random) -> Spoiled:
    """UTF-8 with its mark, or UTF-16."""
    encoding, mark = chance.choice(
        (("utf-8", codecs.BOM_UTF8), ("utf-16-le", codecs.BOM_UTF16_LE), ("utf-16-be", codecs.BOM_UTF16_BE))
    )
    return Spoiled(replace(hunk, document=replace(hunk.document, encoding=encoding, mark=mark)), hunk.parts)


def latin_1(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Latin-1 with a character that is no UTF-8, and nobody names the encoding."""
    document = hunk.document.with_inserted(0, ("# déjà vu",))
    try:
        "".join(document.rows).encode("latin-1")
    except UnicodeEncodeError:
        return None
    return Spoiled(
        replace(hunk, document=replace(document, encoding="latin-1"), start=hunk.start + 1), hunk.parts
    )


def form_feeds(hunk: Hunk, chance: random.Random) -> Spoiled:
    """Characters that only Python takes for line ends stand before the change, and inside a kept row."""
    document, start = hunk.document, hunk.start
    for _ in range(3):
        document = document.with_inserted(chance.randrange(start + 1), (chance.choice(ODD_LINES),))
        start += 1
    moved = replace(hunk, document=document, start=start)
    places = kept_rows(hunk.parts)
    if not places or not any(each for each in hunk.document.eols):
        return Spoiled(moved, hunk.parts)
    at = chance.choice(places)
    row = hunk.parts[at[0]].old[at[1]]
    parts = with_row(hunk.parts, at, (row + chance.choice(("\u2028", "\fx", "\u0085", "\x1c")) + "y",))
    return Spoiled(_with_old(moved, parts), parts)


def no_final_newline(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The document ends with the hunk, without a line end."""
    rows, eols = hunk.document.rows[: hunk.end], hunk.document.eols[: hunk.end]
    document = replace(hunk.document, rows=rows, eols=(*eols[:-1], ""))
    cut = replace(hunk, document=document)
    return Spoiled(cut, hunk.parts) if cut.is_unique and cut.new and rows[-1] and cut.new[-1] else None


# ---- Time -----------------------------------------------------------------------------------------


def stale(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """A kept row has changed in the document since."""
    hunk = hunk.widened(4, 4)
    places = kept_rows(hunk.parts)
    if not places or not hunk.is_unique:
        return None
    at = chance.choice(places)
    row = hunk.parts[at[0]].old[at[1]]
    newer = with_other_token(row, chance)
    if newer is None:
        return None
    if chance.random() < 0.3:
        newer += "  # changed since"
    return Spoiled(
        _with_old(hunk, with_row(hunk.parts, at, (newer,))), hunk.parts, chance.choice((None, hunk.start + 1))
    )


def already(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The change is made already, and shows: it added something."""
    return _already(hunk) if len("".join(_added(hunk))) >= 8 else None


def already_removed(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The change is made already, and it removed rows only."""
    return _already(hunk) if not _added(hunk) else None


def _added(hunk: Hunk) -> list[str]:
    return [fold(row) for part in hunk.parts if not part.is_kept for row in part.new]


def _already(hunk: Hunk) -> Spoiled | None:
    after = hunk.after
    if not hunk.new or after.count(hunk.new) != 1 or after.count(hunk.old) != 0:
        return None
    kept = Part(hunk.new, hunk.new)
    return Spoiled(Hunk(hunk.path, after, hunk.start, (kept,)), hunk.parts, already=True)


# ---- Duplicates -----------------------------------------------------------------------------------


def _twice(hunk: Hunk, chance: random.Random, apart: range) -> tuple[Hunk, int] | None:
    """The hunk in a document that has its old rows a second time so many rows away, and where."""
    above, below = hunk.start - apart.start, hunk.end + apart.start
    places = [at for at in (above - len(hunk.old), below) if 0 < at < len(hunk.document.rows)]
    if not places:
        return None
    at = chance.choice(places)
    if at < hunk.start:
        at = max(1, at - chance.randrange(len(apart)))
    else:
        at = min(len(hunk.document.rows) - 1, at + chance.randrange(len(apart)))
    document = hunk.document.with_inserted(at, hunk.old)
    start = hunk.start + (len(hunk.old) if at <= hunk.start else 0)
    return replace(hunk, document=document, start=start), at


def twice_with_line(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The old rows stand twice; the line number is right."""
    made = _twice(hunk, chance, range(20, 120))
    return Spoiled(made[0], hunk.parts, made[0].start + 1, notations=HINTED) if made else None


def twice_with_near_line(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The old rows stand twice; the line number is a few lines off."""
    made = _twice(hunk, chance, range(30, 120))
    if made is None:
        return None
    hint = max(1, made[0].start + 1 + chance.randrange(-9, 10))
    return Spoiled(made[0], hunk.parts, hint, notations=HINTED)


def twice_with_far_line(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The old rows stand twice; the line number is near neither."""
    made = _twice(hunk, chance, range(20, 120))
    if made is None:
        return None
    behind = max(made[0].start, made[1]) + 1 + chance.randrange(60, 300)
    return Spoiled(made[0], hunk.parts, behind, notations=HINTED)


def twice_with_tie(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The old rows stand twice; the line number is just between."""
    made = _twice(hunk, chance, range(12, 60))
    if made is None or (made[0].start - made[1]) % 2:
        return None
    return Spoiled(made[0], hunk.parts, (made[0].start + made[1]) // 2 + 1, notations=HINTED)


def twice(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The old rows stand twice, and nothing says which is meant."""
    made = _twice(hunk, chance, range(10, 120))
    return Spoiled(made[0], hunk.parts, style=Style(numbers="none")) if made else None


def twice_with_scope(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The old rows stand twice; the header of one of them is named."""
    made = _twice(hunk, chance, range(10, 120))
    if made is None or not all(indent_of(row) for row in hunk.old if row.strip()):
        return None
    truth, _ = made
    header = f"def the_one_that_is_meant_{chance.randrange(1000)}():"
    at = truth.start
    document = truth.document.with_inserted(at, (header,))
    end = truth.end + 1
    document = document.with_inserted(end, ("def the_one_behind_it():",))
    scope = chance.choice((header, header + " @@"))
    truth = replace(truth, document=document, start=at + 1)
    return Spoiled(truth, hunk.parts, style=Style(scopes=(scope,)), notations=(V4A,))


# ---- Markers --------------------------------------------------------------------------------------


def markers(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Kept and added rows look like markers of the notations; signs or backslashes tell them apart."""
    marked = _marked(hunk, chance)
    return Spoiled(marked, marked.parts, notations=(V4A, AIDER, CLINE, ROO)) if marked else None


def markers_bare(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Rows look like markers of the notation, and nothing tells them apart."""
    marked = _marked(hunk, chance)
    if marked is None:
        return None
    notations = (AIDER, CLINE, ROO, UNIFIED)
    return Spoiled(marked, marked.parts, style=Style(escaped=False), notations=notations)


def _marked(hunk: Hunk, chance: random.Random) -> Hunk | None:
    places = kept_rows(hunk.parts)
    at = next((p for p, part in enumerate(hunk.parts) if not part.is_kept and part.new), None)
    if not places or at is None:
        return None
    place = chance.choice(places)
    kept = with_row(hunk.parts, place, (hunk.parts[place[0]].old[place[1]], chance.choice(MARKER_ROWS)))
    part = kept[at]
    parts = (*kept[:at], Part(part.old, (*part.new, chance.choice(MARKER_ROWS))), *kept[at + 1 :])
    document, row = hunk.document, sum(len(each.old) for each in kept[: place[0]]) + place[1] + 1
    inserted = document.with_inserted(hunk.start + row, (tuple(r for p in kept for r in p.old)[row],))
    marked = Hunk(hunk.path, inserted, hunk.start, parts)
    return marked if marked.is_unique else None
