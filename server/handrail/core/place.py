"""
Write a hunk's new text at the place that was found for it, as the smallest edits.

Line opcodes between old and new decide: a line that the hunk does not change keeps the document's bytes.
New lines take the terminators of those that they replace, else their neighbours', and the document's
indentation. Where a hunk belongs is decided in `match`, whether it is to be made in `plan`.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from handrail.core import indent, match
from handrail.core.edit import TextEdit, opcodes, trimmed
from handrail.core.failure import Failure, Span
from handrail.core.hunk import Hunk
from handrail.core.text import Text, split_lines, to_lf

Rows = Sequence[str]


def is_string(text: Text, hunk: Hunk, span: Span) -> bool:
    """Whether *span* is the hunk's old text as it stands, to be replaced as it stands."""
    return not hunk.whole_lines and to_lf(text.content[span.start : span.end]) == hunk.old


def at_string(text: Text, span: Span, new: str) -> tuple[TextEdit, ...]:
    """The edits that make *span* read *new* (with LF), line ends apart."""
    before, after = split_lines(to_lf(text.content[span.start : span.end])), split_lines(new)
    first = text.line_at(span.start)
    inner = text.starts[first + 1 : first + len(before)]
    starts = [span.start, *inner, span.end] if before else [span.start]
    edits = []
    for i, j, k, m in opcodes(before, after):
        ends = _eols(text, (first + i, first + j), m - k)
        body = "".join(row.replace("\n", eol) for row, eol in zip(after[k:m], ends, strict=True))
        edits.append(TextEdit(span=Span(start=starts[i], end=starts[j]), new=body))
    return _smallest(text, edits)


def at_rows(text: Text, span: Span, hunk: Hunk, *, fitted: bool) -> tuple[TextEdit, ...] | Failure:
    """
    The edits that make the rows at *span* read the hunk's new text.

    Args:
        text: The document.
        span: Whole rows, without the last terminator.
        hunk: Its old rows are those at *span*, if not to the letter.
        fitted: Whether the new rows are to be fitted to how the document spells and indents the old ones.
    """
    old, new = rows(hunk)
    first = text.line_at(span.start)
    there = text.rows[first : text.line_at(span.end) + 1]
    fit = indent.fit(_alike(old, there), [*old, *new], text) if fitted else None
    edits = []
    for i, j, k, m in opcodes(old, new):
        written = _written(fit, (old[i:j], there[i:j]), new[k:m])
        if isinstance(written, Failure):
            return written
        lines = (first + min(i, len(there)), first + min(j, len(there)))
        edits.append(_replacement(text, lines, written))
    return _smallest(text, edits)


def at_line(text: Text, line: int, new: Rows) -> tuple[TextEdit, ...]:
    """The edits that put rows before *line* (counted from 0; the number of rows for the end)."""
    return _smallest(text, [_replacement(text, (line, line), new)])


def rows(hunk: Hunk) -> tuple[list[str], list[str]]:
    """A hunk's old and new text as rows; a last line end of strings opens no further row."""
    old, new = hunk.old.split("\n"), hunk.new.split("\n")
    if hunk.whole_lines:
        return old, new if hunk.new or hunk.leaves_blank else []
    if len(old) > 1 and not old[-1]:
        old.pop()
        new = new[:-1] if not new[-1] else new
    return old, new


def _smallest(text: Text, edits: Sequence[TextEdit]) -> tuple[TextEdit, ...]:
    return tuple(small for edit in edits if (small := trimmed(text.content, edit)) is not None)


# ---- Rows in their place --------------------------------------------------------------------------


def _replacement(text: Text, lines: tuple[int, int], new: Rows) -> TextEdit:
    """Replace the rows from one line to before another by *new*; what stands around them stays whole."""
    first, end = lines
    if first < end and new:
        ends = _eols(text, lines, len(new))[:-1]
        body = "".join(row + eol for row, eol in zip(new[:-1], ends, strict=True)) + new[-1]
        return TextEdit(span=Span(start=text.starts[first], end=text.row_end(end - 1)), new=body)
    if new:
        return _insertion(text, first, new)
    stop = text.starts[end] if end < len(text.starts) else len(text.content)
    has_end = first < end and bool(text.eols[end - 1])
    start = text.starts[first] - (len(text.eols[first - 1]) if first and not has_end else 0)
    return TextEdit(span=Span(start=start, end=stop), new="")


def _insertion(text: Text, line: int, new: Rows) -> TextEdit:
    eol = _neighbour_eol(text, line)
    if line < len(text.starts):
        start = text.starts[line]
        return TextEdit(span=Span(start=start, end=start), new="".join(row + eol for row in new))
    end = len(text.content)  # behind a last row without terminator, which then has one, and ours has none
    return TextEdit(span=Span(start=end, end=end), new="".join(eol + row for row in new))


def _eols(text: Text, lines: tuple[int, int], count: int) -> list[str]:
    """Terminators for *count* rows in the place of *lines*: theirs, as far as they go, else a neighbour's."""
    theirs = [eol for eol in text.eols[lines[0] : lines[1]] if eol][:count]
    if {"\r", "\n"} <= set(theirs):
        theirs = theirs[:1]  # around a blank line they would make one line end
    rest = theirs[-1] if theirs else _neighbour_eol(text, lines[0])
    return [*theirs, *[rest] * (count - len(theirs))]


def _neighbour_eol(text: Text, line: int) -> str:
    """The terminator that a new row at *line* takes: of the row before it, else behind it, else the usual."""
    if 0 < line <= len(text.eols) and text.eols[line - 1]:
        return text.eols[line - 1]
    if line < len(text.eols) and text.eols[line]:
        return text.eols[line]
    return text.eol


# ---- Rows as the document writes them -------------------------------------------------------------


def _alike(old: Rows, there: Rows) -> list[tuple[str, str]]:
    """The pairs of rows that say the same; all of them if none does."""
    pairs = list(zip(old, there, strict=False))
    return [pair for pair in pairs if pair[0].strip() and match.is_alike(*pair)] or pairs


def _written(fit: indent.Fit | None, replaced: tuple[Rows, Rows], new: Rows) -> list[str] | Failure:
    """*new* rows as they are to be written in the place of rows that the patch and the document spell so."""
    if fit is None:
        return list(new)
    ours, theirs = replaced
    written = []
    for at, row in enumerate(new):
        twin = (ours[at], theirs[at]) if len(ours) == len(theirs) == len(new) else None
        depth = indent.leading(row)
        if not row.strip():
            written.append("")
            continue
        if twin is not None and indent.leading(twin[0]) == depth:
            fitted: str | Failure = indent.leading(twin[1])
        else:
            fitted = fit.indent(depth)
        if isinstance(fitted, Failure):
            return fitted
        written.append(fitted + _spelled(row[len(depth) :], twin or _likest(row, replaced)))
    return written


def _likest(row: str, replaced: tuple[Rows, Rows]) -> tuple[str, str] | None:
    """The pair of replaced rows whose old one shares most with *row*; None unless most of it is shared."""
    pairs = [pair for pair in zip(*replaced, strict=False) if not pair[1].isascii() or not pair[0].isascii()]
    scored = [(match.likeness(pair[0], row), pair) for pair in pairs]
    best = max(scored, key=lambda each: each[0], default=(0.0, None))
    return best[1] if best[0] > 0.5 else None


def _spelled(new: str, twin: tuple[str, str] | None) -> str:
    """*new* with the characters that it keeps of the old row spelled as the document spells them."""
    if twin is None or not match.is_alike(*twin):
        return new
    old, there = (row[len(indent.leading(row)) :].rstrip(" \t") for row in twin)
    if old == there or len(old) != len(there):
        return new
    kept = []
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        kept.append(there[i:j] if tag == "equal" else new[k:m])
    return "".join(kept)
