"""
Find the lines in the scope of a hunk's `@@` headers.

The scope of a header is the rows below it, up to the next one that is not indented more deeply. The scope of
a header that opens no block, such as a statement, is everything below it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from handrail.core.documents.index import plain
from handrail.core.documents.text import Text
from handrail.core.failure import Span
from handrail.core.matching.indent import leading_blanks
from handrail.core.matching.spacing import TOKEN
from handrail.core.patches.hunk import Hunk
from handrail.patterns import lazy_pattern

# `else:`, `except ValueError:`, `public:`: part of the block around it.
LABEL = lazy_pattern(r"(?:\w+|(?:elif|else|except|catch|case|when|public|private|protected)\b.*):$")
DEFINITION = lazy_pattern(r"\s*(?:[\w()]+\s+)*(?:def|fn|fun|func|function|sub|class)\b", re.IGNORECASE)
OPENS_BOTH = lazy_pattern(r"[(,\[]\s*\{\s*$")  # an object, or parameters taken apart, and not a block
CLAUSE = lazy_pattern(r"\s*(?:(?:where|throws)\b|:\s|->|=>)")  # of a header, below its parameters
COMMENT = lazy_pattern(r"\s(?:#|//).*")
LIMIT_HEADER_ROWS = 200  # in which the brackets of a header are closed
LIMIT_HEADERS = 20  # equal headers above a place that are asked whether they hold it, nearest first


def scope_lines(text: Text, scope: Sequence[str]) -> range:
    """The lines (from 0) of a scope, from the last header, each below the one before; none if in doubt."""
    lines = range(-1, len(text.rows))
    for header in map(plain, scope):
        found = [at for at in text.index.header_lines(header) if at in lines[1:]]
        if len(found) != 1:
            return range(0)
        lines = range(found[0], _scope_end(text.rows, found[0]))
    return lines if scope else range(0)


def missed_header(text: Text, hunk: Hunk, span: Span) -> tuple[str, int] | None:
    """
    The first header of *hunk* that stands in *text* but does not hold any of *span*, and its first line.

    The header of a unified diff that has line numbers is only the nearest one above the place, so it is
    missed only where it stands below.
    """
    first, last = text.line_at(span.start), text.line_at(span.end)
    for header in hunk.scope:
        lines = _binding_lines(text, plain(header))
        above = lines[: bisect_right(lines, last)]
        is_held = bool(above) if hunk.line_number is not None else _holds(text.rows, above, first)
        if lines and not is_held:
            return header.strip(), lines[0]
    return None


def _binding_lines(text: Text, header: str) -> Sequence[int]:
    """The lines that are certainly the *header* (plain), and do not only mention it."""
    lines = text.index.header_lines(header)
    if lines and plain(text.rows[lines[0]]) == header:
        return lines
    rows = ((line, plain(text.rows[line])) for line in lines)
    return [line for line, row in rows if row.startswith(header) or row.endswith((":", "{"))]


def _holds(rows: Sequence[str], headers: Sequence[int], line: int) -> bool:
    """Whether one of the nearest *headers*, ascending, stands at or below *line* or holds it."""
    return any(
        header >= line or (_scope_end(rows, header, line + 1) > line)
        for header in reversed(headers[-LIMIT_HEADERS:])
    )


def header_end(rows: Sequence[str], line: int, *, is_listed: bool) -> int | None:
    """
    Returns the last line of the header of a block that begins at *line*; None if its end is not clear.

    A header has several rows if it goes on in brackets or behind a backslash until a row opens the block, or
    if the brace that opens the block has a row to itself. Brackets of other rows, such as those of a list,
    open no block.

    Args:
        rows: The document's rows.
        line: The first line of the header.
        is_listed: Whether what is to be put in belongs to a list in brackets, the header's own too.
    """
    row, end = rows[line].rstrip(), line
    if row.endswith("\\"):
        end = next((at for at in range(line, len(rows)) if not rows[at].rstrip().endswith("\\")), line)
        return end if _opens_body(rows, end) else line
    if _open_brackets(row) and (not row.endswith("{") or OPENS_BOTH.search(row)):
        if is_listed:
            return line
        is_definition = DEFINITION.match(row) is not None
        closed = _closing_row(rows, line)
        if closed is not None and CLAUSE.match(_next_filled(rows, closed)):
            below = range(closed + 1, min(len(rows), closed + LIMIT_HEADER_ROWS))
            return next(
                (at for at in below if rows[at].rstrip().endswith("{")), None if is_definition else line
            )
        if closed is not None and _opens_body(rows, closed):
            end = closed
        elif closed is None or rows[closed].rstrip().endswith(";"):
            return None if is_definition else line
        else:
            return closed if is_definition else line
    return end + _has_brace_below(rows, end)


def _has_brace_below(rows: Sequence[str], line: int) -> bool:
    """Whether the row below *line* is the brace that opens its block."""
    is_open = not rows[line].rstrip().endswith((":", "{", ";", ",", "}"))
    return is_open and line + 1 < len(rows) and rows[line + 1].strip() == "{"


def _open_brackets(row: str) -> int:
    """How many more brackets *row* opens than it closes; those in strings do not count."""
    kinds = [found.lastgroup for found in TOKEN.finditer(row)]
    return kinds.count("open") - kinds.count("close")


def _closing_row(rows: Sequence[str], line: int) -> int | None:
    """The line that closes all brackets that are open behind *line*, and opens at most a block."""
    depth = _open_brackets(rows[line])
    for at in range(line + 1, min(len(rows), line + LIMIT_HEADER_ROWS)):
        depth += _open_brackets(rows[at])
        if depth <= (rows[at].rstrip().endswith("{")):
            return at
    return None


def _opens_body(rows: Sequence[str], line: int) -> bool:
    """Whether the last row of a header opens its block, as it or the next row shows."""
    return COMMENT.sub("", rows[line]).rstrip().endswith((":", "{")) or _has_brace_below(rows, line)


def _scope_end(rows: Sequence[str], header: int, stop: int | None = None) -> int:
    """
    Returns the line after the scope of a header, where something begins that is not deeper; at most *stop*.
    """
    end = len(rows) if stop is None else stop
    depth, name = len(leading_blanks(rows[header])), rows[header].strip()
    if not _opens_block(rows, header):
        return end
    for line in range(header + 1, end):
        row = rows[line].strip()
        if row and len(leading_blanks(rows[line])) <= depth and _begins_another(rows, line, name):
            return line
    return end


def _opens_block(rows: Sequence[str], header: int) -> bool:
    """Whether rows belong to a header: a heading, or a row that is followed by deeper ones or a brace."""
    row = rows[header].strip()
    if not row[0].isalnum() or row.endswith((":", "{", "(", "[")):
        return True
    below = _next_filled(rows, header)
    return below.strip() == "{" or len(leading_blanks(below)) > len(leading_blanks(rows[header]))


def _begins_another(rows: Sequence[str], line: int, header: str) -> bool:
    """Whether a row is a header like *header*, or opens a block; brackets and labels do neither."""
    row = rows[line].strip()
    if row[0] == header[0] and not row[0].isalnum():
        return _run(row) <= _run(header)  # Markdown: only a heading of the same or a higher level
    if row.split()[0] == header.split(maxsplit=1)[0]:
        return True
    if row[0] in "{}()[]#\"'`" or LABEL.match(row):
        return False
    below = _next_filled(rows, line)
    return below.strip() == "{" or len(leading_blanks(below)) > len(leading_blanks(rows[line]))


def _next_filled(rows: Sequence[str], line: int) -> str:
    return next((rows[at] for at in range(line + 1, len(rows)) if rows[at].strip()), "")


def _run(row: str) -> int:
    return len(row) - len(row.lstrip(row[0]))
