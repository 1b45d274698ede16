"""
Remove line numbers from a hunk that was copied from a listing with numbers, such as `12| return`.

Rows are numbered if all that are not blank begin with numbers in sequence and the same separator. Where the
document itself has numbers like these, they are text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from handrail.core.documents.change import Tier
from handrail.core.documents.text import Text
from handrail.core.matching import align, row_match
from handrail.core.matching.indent import leading_blanks, width
from handrail.core.matching.result import Match
from handrail.core.patches.hunk import Hunk, rows_of
from handrail.patterns import lazy_pattern
from handrail.values import dataclass, replace

NUMBER = r"^[ \t]*\[?(?:[Ll](?:ine )?)?(\d{1,7})[a-z]?"
STRONG, WEAK = ("|", "│", "→"), (":", "\t", "  ")  # weak ones stand in many rows that are not numbered
LISTED = (". ", ") ", "] ")  # as in a list; of search texts of several rows only
BLANK_NUMBER = lazy_pattern(r"^[ \t]+[|│→](.*)$")
WORD = lazy_pattern(r"[^\W\d]\w*(?=.)")  # that begins a row and is not all of it
NEAR_ROWS = 100  # around a place, of which none may be numbered
BESIDE_ROWS = 2  # around a place, as a table has them around a new row
FURTHER = 2  # columns by which greater numbers may end further right
NOTE = "The line numbers in the patch were removed."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbered:
    """
    Rows and their numbers.

    Attributes:
        mark: What separates a number from its row.
        first, last: The numbers of the first and the last row.
        column: How far right a number ends at most.
        rows: The rows, with the text between number and row.
    """

    mark: str
    first: int
    last: int
    column: int
    rows: tuple[str, ...]

    @property
    def is_set_off(self) -> bool:
        """Whether there is a blank behind each mark."""
        return all(row.startswith(" ") for row in self.rows if row.strip())


def _pattern(mark: str) -> re.Pattern[str]:
    before = "" if mark.isspace() else " *"
    return re.compile(NUMBER + before + re.escape(mark) + "(.*)$")


PATTERNS = {mark: _pattern(mark) for mark in (*STRONG, *WEAK, *LISTED)}


def _read(rows: Sequence[str], *, has_gaps: bool = False) -> _Numbered | None:
    """The numbers of *rows*; None unless all that are not blank have one, in sequence, or ascending."""
    first = next((row for row in rows if row.strip()), "")
    mark = next((mark for mark, pattern in PATTERNS.items() if pattern.match(first)), None)
    if mark is None:
        return None
    numbers: list[tuple[int, int]] = []
    rests, column = [], 0
    for at, row in enumerate(rows):
        found = PATTERNS[mark].match(row)
        if found is None and row.strip():
            return None
        rests.append(found[2] if found is not None else "")
        numbers += [(at, int(found[1]))] if found is not None else []
        column = max(column, found.end(1) if found is not None else 0)
    (start, least), (_, most) = numbers[0], numbers[-1]
    shown = [number for _, number in numbers]
    is_sequence = all(number - least == at - start for at, number in numbers)
    if not is_sequence and shown != (sorted(shown) if has_gaps else list(range(least, least + len(shown)))):
        return None
    return _Numbered(mark=mark, first=least, last=most, column=column, rows=tuple(rests))


def matches(text: Text, hunk: Hunk) -> list[Match]:
    """The places of *hunk* without the numbers of its rows; whole rows only."""
    old, new = rows_of(hunk)
    numbered = _read(old)
    if numbered is None or _has_numbers(text, numbered):
        return []
    if numbered.mark in LISTED and numbered.first == numbered.last:
        return []
    lenient: list[Match] = []
    for cut in (1, 0) if numbered.is_set_off else (0,):
        rows = _new_rows(new, numbered, cut)
        if rows is None:
            return []
        found = row_match.match_rows(text, _with_rows(hunk, [row[cut:] for row in numbered.rows], rows))
        if found and found[0].tier is Tier.SAFE:
            return found if _is_likely(text, numbered, found) else []
        lenient = lenient or found
    return lenient if numbered.mark in STRONG else []


def _has_numbers(text: Text, numbered: _Numbered) -> bool:
    """Whether the document has rows that begin with numbers like these."""
    return re.search(PATTERNS[numbered.mark].pattern, text.flat, re.MULTILINE) is not None


def _is_likely(text: Text, numbered: _Numbered, matches: Sequence[Match]) -> bool:
    """Whether numbers are row numbers: of one row with a weak mark, only if it has this number."""
    if numbered.mark in STRONG or numbered.first != numbered.last:
        return True
    return any(text.line_at(match.span.start) + 1 == numbered.first for match in matches)


def _new_rows(new: Sequence[str], numbered: _Numbered, cut: int) -> list[str] | None:
    """*new* rows without their numbers, which may repeat, skip or miss; None if some are of another kind."""
    rows = []
    for row in new:
        found = PATTERNS[numbered.mark].match(row)
        if found is not None and found.end(1) > numbered.column + FURTHER:
            found = None  # it stands in the text of a row without a number
        if found is not None and not numbered.first <= int(found[1]) + 1 <= numbered.last + len(new) + 2:
            return None
        rest = found[2] if found is not None else None
        if rest is None and numbered.mark in STRONG and (bare := BLANK_NUMBER.match(row)):
            rest = bare[1]
        if rest is None:
            rows.append(row)
        else:
            rows.append(rest[cut:] if not cut or rest.startswith(" ") else rest)
    return rows


def _with_rows(hunk: Hunk, old: Sequence[str], new: Sequence[str]) -> Hunk:
    old, new = ([row if row.strip() else "" for row in rows] for rows in (old, new))
    end = "" if hunk.whole_lines or not hunk.old.endswith("\n") else "\n"
    ends = (end, end if hunk.new.endswith("\n") else "")
    old_text, new_text = ("\n".join(rows) + last for rows, last in zip((old, new), ends, strict=True))
    return replace(hunk, old=old_text, new=new_text, notes=(*hunk.notes, NOTE))


def without_new_numbers(text: Text, match: Match) -> Hunk:
    """
    The hunk of a *match*, without row numbers that its added rows alone have.

    Rows may begin with a number that is text, as in `2 | 4`. Of two texts all of the new one is numbered, of
    a diff the added rows. The hunk stays as it is unless there is proof, see `_is_proven`.
    """
    hunk = match.hunk
    old, new = rows_of(hunk)
    blocks = align.changes(hunk)
    added = [at for _, _, k, m in blocks for at in range(k, m)]
    numbered = _read([new[at] for at in added], has_gaps=True)
    if numbered is None or numbered.mark in LISTED or any(PATTERNS[numbered.mark].match(row) for row in old):
        return hunk
    if not hunk.signs and any(new[at].strip() for at in set(range(len(new))).difference(added)):
        return hunk
    line = text.line_at(match.span.start)
    near = text.rows[max(0, line - NEAR_ROWS) : line + len(old) + NEAR_ROWS]
    if any(PATTERNS[numbered.mark].match(row) for row in near):
        return hunk
    there = (*old, *text.rows[line : text.line_at(match.span.end) + 1])
    beside = (*text.rows[max(0, line - BESIDE_ROWS) : line], *text.rows[line:][: len(old) + BESIDE_ROWS])
    is_placed = numbered.first == line + next(i for i, _, k, m in blocks if k < m) + 1
    is_placed = is_placed and not any(numbered.mark in row for row in (*there, *beside))
    choices = []
    for cut in (0, 1) if numbered.is_set_off else (0,):
        rows = [row[cut:] for row in numbered.rows]
        kept = len({row for row in rows if row.strip()} & set(there))
        signs = [is_placed, len(rows) > 1 and kept > 0, _is_at_depth(rows, there)]
        is_known = _depth(rows) in map(leading_blanks, there)
        choices.append((kept, sum(signs), is_known, -(width(_depth(rows)) % 2), -cut, rows))
    _, count, *_, rows = max(choices)
    if not _is_proven(hunk, numbered, rows, count, is_placed):
        return hunk
    rest = dict(zip(added, rows, strict=True))
    right = _with_rows(hunk, old, [rest.get(at, row) for at, row in enumerate(new)])
    return hunk if rows_of(right)[0] == rows_of(right)[1] else right


def _is_at_depth(rows: Sequence[str], there: Sequence[str]) -> bool:
    """Whether *rows* are indented as a row *there*; by one blank is not, it may be behind the mark."""
    return _depth(rows) not in ("", " ") and _depth(rows) in map(leading_blanks, there)


def _is_proven(hunk: Hunk, numbered: _Numbered, rows: Sequence[str], count: int, is_placed: bool) -> bool:
    """
    Whether added rows begin with row numbers.

    A first number that equals the line's number proves nothing for rows without indentation, unless they
    replace other rows and are several in sequence, or begin as the one row that they replace.

    Args:
        hunk: What adds the rows.
        numbered: The rows and their numbers.
        rows: The rows without the numbers.
        count: How many signs there are: the line, a row that stays, an indentation of the document.
        is_placed: Whether the line is one of them.
    """
    if numbered.mark not in STRONG or count != 1 or not is_placed:
        return count > (numbered.mark not in STRONG)
    if _depth(rows) not in ("", " "):
        return True
    old, new = rows_of(hunk)
    if hunk.signs or _depth(rows) or "" not in map(leading_blanks, old):
        return False
    if len(rows) > 1:
        return _read(new) is not None
    words = [WORD.match(row) for row in (*old, *rows)]
    return not numbered.is_set_off and len({word and word[0] for word in words}) == 1 and words[0] is not None


def _depth(rows: Sequence[str]) -> str:
    """The indentation of the first row that is not blank."""
    return next((leading_blanks(row) for row in rows if row.strip()), "")
