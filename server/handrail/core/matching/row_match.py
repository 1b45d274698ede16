"""
Find a hunk's old rows among the rows of a document, as whole rows.

Strategies run from strict to lenient: exact, trailing blanks, indentation, punctuation, blank lines. The
strictest that matches anywhere decides. What is only alike is looked for in `similar`.
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
from handrail.core.matching.strings import LIMIT_PLACES
from handrail.core.patches.hunk import Hunk, rows_of


def whole(text: Text, hunk: Hunk) -> list[Match]:
    """The runs of lines that are the hunk's old rows, by the strictest strategy that has any."""
    wanted = rows_of(hunk)[0]
    if not any(row.strip() for row in wanted):
        return []  # blank lines alone are found wherever there is one
    if lines := _exact_lines(text.flat, "\n".join(wanted)):
        return [_match(text, hunk, line, 0) for line in lines]
    lines = text.index.plain.find([plain(row) for row in wanted], LIMIT_PLACES)
    if not lines and (EM_DASH in text.flat or EM_DASH in hunk.old):
        lines = text.index.plain_long.find([plain(row, long_dash=True) for row in wanted], LIMIT_PLACES)
    ranks = [_rank(text.rows[line : line + len(wanted)], wanted) for line in lines]
    strictest = min(ranks, default=0)
    return [
        _match(text, hunk, line, rank) for line, rank in zip(lines, ranks, strict=True) if rank == strictest
    ]


def _exact_lines(flat: str, wanted: str) -> list[int]:
    """The lines at which *wanted* stands as whole rows."""
    found: list[int] = []
    line = counted = 0
    ends = ("\n",) if wanted.endswith("\n") else ("", "\n")  # behind the last row there is no blank one
    for at in strings.find_all(flat, wanted):
        if (at == 0 or flat[at - 1] == "\n") and flat[at + len(wanted) : at + len(wanted) + 1] in ends:
            line, counted = line + flat.count("\n", counted, at), at
            found.append(line)
    return found


def _match(text: Text, hunk: Hunk, line: int, rank: int) -> Match:
    name, tier = RANKS[rank]
    end = line + len(rows_of(hunk)[0])
    span = line_span(text, line, end)
    return Match(span=span, tier=tier, strategy=name, hunk=hunk, lines=tuple(range(line, end)))


RANKS = (
    ("exact", Tier.SAFE),
    ("trailing-space", Tier.SAFE),
    ("indentation", Tier.NORMALISED),
    ("unicode", Tier.NORMALISED),
)


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
    known = [plain(wanted[at]) for at in align.filled(wanted)]
    if len(known) < 2 and len(wanted) == len(known):
        return []
    found = []
    for first in text.index.filled.find(known, LIMIT_PLACES):
        lines: list[int] = []
        line = first
        while len(lines) < len(known):
            lines += [line] if text.rows[line].strip() else []
            line += 1
        found.append(_aligned(text, hunk, first, lines))
    return found


def _aligned(text: Text, hunk: Hunk, first: int, lines: Sequence[int]) -> Match:
    """The match of a hunk whose rows that are not blank stand on *lines*; see `gaps` for the others."""
    ours, wanted = map(gaps.Spaced.of, rows_of(hunk))
    document = [text.rows[above + 1 : below] for above, below in pairwise(lines)]
    above = _blanks(text.rows, range(lines[0] - 1, lines[0] - 1 - len(ours.gaps[0]), -1))
    below = _blanks(text.rows, range(lines[-1] + 1, lines[-1] + 1 + len(ours.gaps[-1])))
    document = [above, *document, below]
    start, end = lines[0] - len(above), lines[-1] + 1 + len(below)
    settled = gaps.settled(ours, wanted, document)
    there: Lines
    if settled is None:
        there = _paired(text, hunk, first, lines)
    else:
        there = tuple(range(start, end))
        new = settled.rows
        old = gaps.Spaced(filled=ours.filled, gaps=tuple(document)).rows
        hunk = replace(
            hunk,
            old="\n".join(old),
            new="\n".join(new),
            whole_lines=True,
            leaves_blank=new == [""],
            signs="",
        )
    span = line_span(text, lines[0], lines[-1] + 1)
    return Match(span=span, tier=Tier.NORMALISED, strategy="blank-lines", hunk=hunk, lines=there)


def _blanks(rows: Sequence[str], lines: range) -> tuple[str, ...]:
    """The blank rows at *lines*, up to the first that is not blank."""
    inside = takewhile(lambda line: 0 <= line < len(rows) and not rows[line].strip(), lines)
    return tuple(rows[line] for line in inside)


def _paired(text: Text, hunk: Hunk, first: int, lines: Sequence[int]) -> Lines:
    wanted = rows_of(hunk)[0]
    start, end = max(0, first - len(wanted)), min(len(text.rows), lines[-1] + len(wanted) + 1)
    blank = [not row.strip() for row in text.rows[start:end]]
    paired = align.around_blanks(wanted, [line - start for line in lines], blank)
    return tuple(None if line is None else line + start for line in paired)


def is_alike(one: str, other: str) -> bool:
    """Whether two rows say the same, indentation and punctuation aside."""
    return plain(one) == plain(other) or plain(one, long_dash=True) == plain(other, long_dash=True)
