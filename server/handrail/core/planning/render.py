"""
Write a hunk's new text at the place that was found for it, as the smallest edits.

Line opcodes between old and new decide: a line that the hunk does not change keeps the document's bytes. New
lines take the terminators of the lines that they replace, otherwise those of their neighbours, and the
document's indentation. Where a hunk belongs is decided in `match`, whether to apply it in `plan`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from handrail.core.documents import spelling
from handrail.core.documents.edit import TextEdit, opcodes, trim
from handrail.core.documents.text import Text, split_lines, to_lf
from handrail.core.failure import Code, Failure, Span
from handrail.core.matching import align, indent, row_match, similar
from handrail.core.matching.align import Lines
from handrail.core.patches.hunk import Hunk, rows_of

Rows = Sequence[str]


def is_string(text: Text, hunk: Hunk, span: Span) -> bool:
    """Whether *span* is exactly the hunk's old text, to be replaced exactly."""
    return not hunk.whole_lines and to_lf(text.content[span.start : span.end]) == hunk.old


def at_string(text: Text, span: Span, new: str) -> tuple[TextEdit, ...]:
    """Returns the edits that turn *span* into *new* (with LF), except for line endings."""
    old, end = to_lf(text.content[span.start : span.end]), span.end
    last = text.line_at(end)
    if old and end == text.row_end(last) and (eol := "".join(text.eols[last : last + 1])):
        old, new, end = f"{old}\n", f"{new}\n", end + len(eol)  # whole rows, each with its own terminator
    before, after = split_lines(old), split_lines(new)
    first = text.line_at(span.start)
    inner = text.starts[first + 1 : first + len(before)]
    starts = [span.start, *inner, end] if before else [span.start]
    edits = []
    for i, j, k, m in opcodes(before, after):
        ends = _eols(text, (first + i, first + j), m - k)
        body = "".join(row.replace("\n", eol) for row, eol in zip(after[k:m], ends, strict=True))
        edits.append(TextEdit(span=Span(start=starts[i], end=starts[j]), new=body))
    return _smallest(text, edits)


def at_rows(text: Text, hunk: Hunk, lines: Lines, *, is_adapted: bool) -> tuple[TextEdit, ...] | Failure:
    """
    Returns the edits that turn the old rows of *hunk* into its new ones.

    Args:
        text: The document.
        hunk: The hunk to apply.
        lines: The line of each old row, None for those that the document does not have.
        is_adapted: Whether to spell and indent the new rows as the document has the old ones.
    """
    old, new = rows_of(hunk)
    there = [None if line is None else text.rows[line] for line in lines]
    known = [line for line in lines if line is not None]
    alike = _like_pairs(old, there)
    step = partial(text.index.near, indent.unit, known[0])
    reindent = indent.learn_indent(alike, [*old, *new], step) if is_adapted else None
    if reindent is not None and indent.is_at_depth(alike, new):
        reindent = replace(reindent, is_as_written=True)
    foreign = spelling.foreign_characters(alike, text.content) if is_adapted else ""
    edits = []
    for block in align.changes(hunk):
        i, j, k, m = block
        gap = align.gap(lines, block)
        if gap is None:
            return _uncertain(text, known[0])
        written = _render_rows(reindent, list(zip(old[i:j], there[i:j], strict=True)), new[k:m])
        if isinstance(written, Failure):
            return written
        edits.append(_replacement(text, gap, [spelling.spell_plainly(row, foreign) for row in written]))
    return _smallest(text, edits)


def _uncertain(text: Text, line: int) -> Failure:
    return Failure(
        code=Code.NO_MATCH,
        message=f"The search text matches at line {line + 1}, but some of its lines differ from the document "
        "just where the new lines belong, so the place of the new lines is unclear.",
        steps=("Read the document again.", "Then send the exact lines around the change."),
    )


def at_line(text: Text, line: int, new: Rows) -> tuple[TextEdit, ...]:
    """Returns the edits that insert rows before *line* (counted from 0; the number of rows: at the end)."""
    return _smallest(text, [_replacement(text, (line, line), new)])


def _smallest(text: Text, edits: Sequence[TextEdit]) -> tuple[TextEdit, ...]:
    return tuple(small for edit in edits if (small := trim(text.content, edit)) is not None)


# ---- Rows in their place --------------------------------------------------------------------------


def _replacement(text: Text, lines: tuple[int, int], new: Rows) -> TextEdit:
    """Replaces the rows from one line up to another one with *new*; the rows around them stay intact."""
    first, end = lines
    if first < end and new:
        ends, last = _eols(text, lines, len(new)), text.eols[end - 1]
        ends[-1] = ends[-1] if last else ""  # the document's last row has none
        body = "".join(row + eol for row, eol in zip(new, ends, strict=True))
        return TextEdit(span=Span(start=text.starts[first], end=text.row_end(end - 1) + len(last)), new=body)
    if new:
        return _insertion(text, first, new)
    if first == end:  # rows to be removed that the document does not have
        return TextEdit(span=Span(start=len(text.content), end=len(text.content)), new="")
    stop = text.starts[end] if end < len(text.starts) else len(text.content)
    has_end = first < end and bool(text.eols[end - 1])
    start = text.starts[first] - (len(text.eols[first - 1]) if first and not has_end else 0)
    return TextEdit(span=Span(start=start, end=stop), new="")


def _insertion(text: Text, line: int, new: Rows) -> TextEdit:
    eol = _neighbour_eol(text, line)
    if line < len(text.starts):
        start = text.starts[line]
        return TextEdit(span=Span(start=start, end=start), new="".join(row + eol for row in new))
    end = len(text.content)  # after a last row without terminator, which then gets one, and ours has none
    return TextEdit(span=Span(start=end, end=end), new="".join(eol + row for row in new))


def _eols(text: Text, lines: tuple[int, int], count: int) -> list[str]:
    """
    Returns terminators for *count* rows in place of *lines*: theirs, as far as they suffice, otherwise a
    neighbour's.
    """
    theirs = [eol for eol in text.eols[lines[0] : lines[1]] if eol][:count]
    if {"\r", "\n"} <= set(theirs):
        theirs = theirs[:1]  # around a blank line they would make one line end
    rest = theirs[-1] if theirs else _neighbour_eol(text, lines[0])
    return [*theirs, *[rest] * (count - len(theirs))]


def _neighbour_eol(text: Text, line: int) -> str:
    """
    Returns the terminator for a new row at *line*: that of the row before it or after it, or the usual one.
    """
    if 0 < line <= len(text.eols) and text.eols[line - 1]:
        return text.eols[line - 1]
    if line < len(text.eols) and text.eols[line]:
        return text.eols[line]
    return text.eol


# ---- Rows as the document writes them -------------------------------------------------------------


def _like_pairs(old: Rows, there: Sequence[str | None]) -> list[tuple[str, str]]:
    """Returns the pairs of equal rows; all pairs if none are equal."""
    pairs = [(row, twin) for row, twin in zip(old, there, strict=True) if twin is not None]
    return [pair for pair in pairs if pair[0].strip() and row_match.is_alike(*pair)] or pairs


def _render_rows(
    reindent: indent.Reindent | None, replaced: Sequence[tuple[str, str | None]], new: Rows
) -> list[str] | Failure:
    """
    Returns the *new* rows as the document writes them; *replaced* pairs rows of the patch and the document.
    """
    if reindent is None:
        return list(new)
    twins = [(ours, theirs) for ours, theirs in replaced if theirs is not None]
    written = []
    for at, row in enumerate(new):
        twin = twins[at] if len(twins) == len(replaced) == len(new) else None
        depth = indent.leading_blanks(row)
        if not row.strip():
            written.append(row if reindent.is_identity else "")
            continue
        if reindent.is_as_written:
            blanks: str | Failure = depth
        elif twin is not None and twin[0].strip() and indent.leading_blanks(twin[0]) == depth:
            blanks = indent.leading_blanks(twin[1])
        else:
            blanks = reindent.indent(depth)
        if isinstance(blanks, Failure):
            return blanks
        written.append(blanks + _respell(row[len(depth) :], twin or _most_alike_pair(row, twins)))
    return written


def _most_alike_pair(row: str, replaced: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """
    Returns the pair of replaced rows whose old one is most similar to *row*; None if none is similar enough.
    """
    pairs = [pair for pair in replaced if not pair[1].isascii() or not pair[0].isascii()]
    scored = [(similar.likeness(pair[0], row), pair) for pair in pairs]
    best = max(scored, key=lambda each: each[0], default=(0.0, None))
    return best[1] if best[0] > 0.5 else None


def _respell(new: str, twin: tuple[str, str] | None) -> str:
    """Returns *new* with the characters that it keeps of the old row spelled as in the document."""
    if twin is None or not row_match.is_alike(*twin):
        return new
    old, there = (row[len(indent.leading_blanks(row)) :].rstrip(" \t") for row in twin)
    return spelling.keep_spelling(new, old, there)
