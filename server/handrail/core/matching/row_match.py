"""
Find a hunk's old rows among the rows of a document, as whole rows.

Strategies run from strict to lenient: exact, trailing blanks, indentation, punctuation, blank lines. The
strictest that matches anywhere decides. Similar places are found in `similar`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, takewhile

from handrail.core.documents.change import Tier
from handrail.core.documents.index import BLANKS, plain
from handrail.core.documents.spelling import EM_DASH
from handrail.core.documents.text import Text
from handrail.core.matching import align, gaps, strings
from handrail.core.matching.align import Lines
from handrail.core.matching.result import Match, line_span
from handrail.core.matching.strings import LIMIT_MATCHES
from handrail.core.patches.hunk import Hunk, rows_of


def match_rows(text: Text, hunk: Hunk) -> list[Match]:
    """The runs of lines that are the hunk's old rows, by the strictest strategy that has any."""
    wanted = rows_of(hunk)[0]
    if not any(row.strip() for row in wanted):
        return []  # blank lines alone are found wherever there is one
    if lines := exact_lines(text.flat, "\n".join(wanted)):
        return _matches(text, hunk, lines, 0)
    lines = text.index.plain.find([plain(row) for row in wanted], LIMIT_MATCHES)
    if not lines and (EM_DASH in text.flat or EM_DASH in hunk.old):
        lines = text.index.plain_long.find([plain(row, long_dash=True) for row in wanted], LIMIT_MATCHES)
    ranks = _ranks(text, wanted, lines)
    strictest = min(ranks, default=0)
    best = [line for line, rank in zip(lines, ranks, strict=True) if rank == strictest]
    return _matches(text, hunk, best, strictest)


def exact_lines(flat: str, wanted: str) -> list[int]:
    """The lines at which *wanted* stands as whole rows."""
    result: list[int] = []
    line = counted = 0
    ends = ("\n",) if wanted.endswith("\n") else ("", "\n")  # behind the last row there is no blank one
    for at in strings.find_all(flat, wanted):
        if (at == 0 or flat[at - 1] == "\n") and flat[at + len(wanted) : at + len(wanted) + 1] in ends:
            line, counted = line + flat.count("\n", counted, at), at
            result.append(line)
    return result


def _matches(text: Text, hunk: Hunk, lines: Sequence[int], rank: int) -> list[Match]:
    (name, tier), count = RANKS[rank], len(rows_of(hunk)[0])
    return [
        Match(
            span=line_span(text, line, line + count),
            tier=tier,
            strategy=name,
            hunk=hunk,
            lines=range(line, line + count),
        )
        for line in lines
    ]


LIMIT_COMPARED = 10_000  # rows of all places; of more, all rows of the document are prepared
RANKS = (
    ("exact", Tier.SAFE),
    ("trailing-space", Tier.SAFE),
    ("indentation", Tier.NORMALISED),
    ("unicode", Tier.NORMALISED),
)


def _ranks(text: Text, wanted: Sequence[str], lines: Sequence[int]) -> list[int]:
    """The strictest strategy for each of the *lines* at which *wanted* rows, plain, are the same."""
    if len(lines) * len(wanted) <= LIMIT_COMPARED:
        return [_rank(text.rows[line : line + len(wanted)], wanted) for line in lines]
    index, count = text.index, len(wanted)  # whole runs are compared far faster, once rows are prepared
    ended, stripped = ([strip(row, BLANKS) for row in wanted] for strip in (str.rstrip, str.strip))
    kinds = ((text.rows, tuple(wanted)), (index.ended, tuple(ended)), (index.stripped, tuple(stripped)))
    return [
        next((rank for rank, (rows, ours) in enumerate(kinds) if rows[line : line + count] == ours), 3)
        for line in lines
    ]


def _rank(there: Sequence[str], wanted: Sequence[str]) -> int:
    """The number of the strictest strategy by which rows that are plainly the same are the same."""
    if all(map(str.__eq__, there, wanted)):
        return 0
    if all(one.rstrip(BLANKS) == other.rstrip(BLANKS) for one, other in zip(there, wanted, strict=True)):
        return 1
    return 2 if all(a.strip(BLANKS) == b.strip(BLANKS) for a, b in zip(there, wanted, strict=True)) else 3


def around_blanks(text: Text, hunk: Hunk) -> list[Match]:
    """The runs of lines that are the hunk's old rows but for how many blank lines stand between them."""
    wanted = rows_of(hunk)[0]
    known = [plain(wanted[at]) for at in align.filled_rows(wanted)]
    if len(known) < 2 and len(wanted) == len(known):
        return []
    result = []
    for number in text.index.filled.numbers(known, LIMIT_MATCHES):
        there = text.index.filled_lines[number : number + len(known)]
        span = line_span(text, there[0], there[-1] + 1)
        result.append(
            Match(
                span=span, tier=Tier.NORMALISED, strategy="blank-lines", hunk=hunk, lines=there, has_gaps=True
            )
        )
    return result


def settle_rows(text: Text, match: Match) -> Match:
    """A *match* with lines for all of its rows, blank ones too; see `gaps`."""
    if not match.has_gaps:
        return match
    hunk, lines = match.hunk, [line for line in match.lines if line is not None]
    ours, wanted = map(gaps.RowsWithGaps.of, rows_of(hunk))
    document = [text.rows[above + 1 : below] for above, below in pairwise(lines)]
    above = _blanks(text.rows, range(lines[0] - 1, lines[0] - 1 - len(ours.gaps[0]), -1))
    below = _blanks(text.rows, range(lines[-1] + 1, lines[-1] + 1 + len(ours.gaps[-1])))
    document = [above, *document, below]
    start, end = lines[0] - len(above), lines[-1] + 1 + len(below)
    beyond = (
        _count_blanks(text.rows, range(start - 1, -1, -1)),
        _count_blanks(text.rows, range(end, len(text.rows))),
    )
    right = gaps.settle_gaps(ours, wanted, document, beyond)
    there: Lines
    if right is None:
        there = _pair(text, hunk, lines)
    else:
        there = range(start, end)
        new = right.rows
        old = gaps.RowsWithGaps(filled=ours.filled, gaps=tuple(document)).rows
        hunk = replace(
            hunk,
            old="\n".join(old),
            new="\n".join(new),
            whole_lines=True,
            leaves_blank=new == [""],
            signs="",
        )
    return replace(match, hunk=hunk, lines=there, has_gaps=False)


def _blanks(rows: Sequence[str], lines: range) -> tuple[str, ...]:
    """The blank rows at *lines*, up to the first that is not blank."""
    inside = takewhile(lambda line: 0 <= line < len(rows) and not rows[line].strip(), lines)
    return tuple(rows[line] for line in inside)


def _count_blanks(rows: Sequence[str], lines: range) -> int:
    """How many rows at *lines* are blank, up to the first that is not."""
    return next((number for number, line in enumerate(lines) if rows[line].strip()), len(lines))


def _pair(text: Text, hunk: Hunk, lines: Sequence[int]) -> Lines:
    wanted, first = rows_of(hunk)[0], lines[0]
    start, end = max(0, first - len(wanted)), min(len(text.rows), lines[-1] + len(wanted) + 1)
    blank = [not row.strip() for row in text.rows[start:end]]
    paired = align.around_blanks(wanted, [line - start for line in lines], blank)
    return tuple(None if line is None else line + start for line in paired)


def is_alike(one: str, other: str) -> bool:
    """Whether two rows say the same, indentation and punctuation aside."""
    return plain(one) == plain(other) or plain(one, long_dash=True) == plain(other, long_dash=True)
