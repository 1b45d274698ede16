"""
Find the one place in a document that a hunk describes.

Strategies run from strict to lenient; the first that matches anywhere decides. *Safe* and *normalised*
matches say all that the search text says. An *anchored* match may differ in its context, never in what it
removes or in what bounds an insertion, and must beat every other place by a margin. What is only alike is
never applied: such places are candidates for the user to choose. More than one match is refused unless
the evidence picks one. Reading documents and applying edits happen elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from rapidfuzz import fuzz, process

from handrail.core.documents import spelling
from handrail.core.documents.change import Tier
from handrail.core.documents.index import BLANKS, plain
from handrail.core.documents.spelling import EM_DASH
from handrail.core.documents.text import Text
from handrail.core.failure import Candidate, Failure, Span
from handrail.core.matching import align, refusal, strings
from handrail.core.matching.align import Lines
from handrail.core.matching.result import Match
from handrail.core.matching.strings import LIMIT_PLACES
from handrail.core.matching.tie_break import ANYWHERE, Bounds, chosen
from handrail.core.patches.hunk import Hunk, rows_of

CANDIDATES = 3
CANDIDATE_SCORE = 0.4  # below this a place helps nobody
WINDOWS = 12
POSTINGS = 64  # a line that occurs more often says nothing about the place
VOTERS = 16  # rows of a block that are looked up to find its windows
VOTER_CHARS = 2000  # a longer row is not compared with all others
SCORED_ROWS, SCORED_CHARS = 200, 500  # so much of a block, and of a row, is scored
MATCHED = 0.75  # of the rows of an anchored block
MARGIN = 0.04  # by which an anchored place must beat all others
WORST = 0.5  # likeness of any row of an anchored block with the line in its place
WORST_OF_LITTLE = 0.75  # the same, where the rows that match are the shorter ones
MIN_ROWS = 4  # that are not blank; of fewer, none could differ
TELLING = 4  # characters; shorter rows tell no place from another


def locate(text: Text, hunk: Hunk, bounds: Bounds = ANYWHERE) -> tuple[Match, ...] | Failure:
    """
    Find where *hunk* belongs in *text*.

    Args:
        text: The document as last read.
        hunk: What to find; its `old` must not be empty.
        bounds: Where the hunks before and behind it belong.

    Returns:
        One match, or all of them for `replace_all`; else `no-match` with the nearest places, or
        `ambiguous-match` with all of them.

    Cost: a few scans of the text by `str.find` for each strategy; if nothing matches, one for each of some
    rows, and a scored look at a dozen windows.
    Origin: roo-comparison 2a-2d; performance.md A.
    """
    found = matches(text, hunk)
    if not found and (resolved := spelling.resolved(hunk)) is not None:
        tier, name = Tier.NORMALISED, "escapes"
        found = [replace(each, tier=tier, strategy=name) for each in matches(text, resolved)]
    if found:
        return _choose(text, found, bounds)
    wanted = rows_of(hunk)[0]
    windows = _windows(text, wanted)
    if not hunk.replace_all and (match := _anchored(text, hunk, windows)):
        return (match,) if isinstance(match, Match) else match
    return refusal.no_match(text, wanted, _candidates(text, windows))


def matches(text: Text, hunk: Hunk) -> list[Match]:
    """All safe or normalised matches of the strictest strategy that has any; escapes stand for themselves."""
    if not hunk.whole_lines and (spans := strings.exact(text, hunk.old, hunk.new)):
        return [Match(span=span, tier=Tier.SAFE, strategy="exact", hunk=hunk) for span in spans]
    return _rows(text, hunk) or _spelled(text, hunk) or _around_blanks(text, hunk)


def _spelled(text: Text, hunk: Hunk) -> list[Match]:
    spans = [] if hunk.whole_lines else strings.spelled(text, hunk.old)
    return [Match(span=span, tier=Tier.NORMALISED, strategy="unicode", hunk=hunk) for span in spans]


# ---- Rows -------------------------------------------------------------------------------------------


def _rows(text: Text, hunk: Hunk) -> list[Match]:
    """The runs of lines that are the hunk's old rows, by the strictest strategy that has any."""
    wanted = rows_of(hunk)[0]
    if not any(row.strip() for row in wanted):
        return []  # blank lines alone are found wherever there is one
    if lines := _exact_lines(text.flat, "\n".join(wanted)):
        return [_whole(text, hunk, line, 0) for line in lines]
    lines = text.index.plain.find([plain(row) for row in wanted], LIMIT_PLACES)
    if not lines and (EM_DASH in text.flat or EM_DASH in hunk.old):
        lines = text.index.plain_long.find([plain(row, long_dash=True) for row in wanted], LIMIT_PLACES)
    ranks = [_rank(text.rows[line : line + len(wanted)], wanted) for line in lines]
    strictest = min(ranks, default=0)
    return [
        _whole(text, hunk, line, rank) for line, rank in zip(lines, ranks, strict=True) if rank == strictest
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


def _whole(text: Text, hunk: Hunk, line: int, rank: int) -> Match:
    name, tier = RANKS[rank]
    end = line + len(rows_of(hunk)[0])
    span = _line_span(text, line, end)
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


def _around_blanks(text: Text, hunk: Hunk) -> list[Match]:
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
    wanted = rows_of(hunk)[0]
    start, end = max(0, first - len(wanted)), min(len(text.rows), lines[-1] + len(wanted) + 1)
    blank = [not row.strip() for row in text.rows[start:end]]
    paired = align.around_blanks(wanted, [line - start for line in lines], blank)
    there = tuple(None if line is None else line + start for line in paired)
    span = _line_span(text, lines[0], lines[-1] + 1)
    return Match(span=span, tier=Tier.NORMALISED, strategy="blank-lines", hunk=hunk, lines=there)


def _line_span(text: Text, first: int, end: int) -> Span:
    return Span(start=text.starts[first], end=text.row_end(end - 1))


def _choose(text: Text, found: Sequence[Match], bounds: Bounds) -> tuple[Match, ...] | Failure:
    hunk = found[0].hunk
    if hunk.replace_all:
        return _without_overlap(found)
    if len(found) == 1:
        return tuple(found)
    if len(found) >= LIMIT_PLACES:
        return refusal.ambiguous(text, [match.span for match in found])
    left = [found[at] for at in chosen(text, hunk, [match.span for match in found], bounds)]
    return tuple(left) if len(left) == 1 else refusal.ambiguous(text, [match.span for match in left])


def _without_overlap(found: Sequence[Match]) -> tuple[Match, ...] | Failure:
    if len(found) >= LIMIT_PLACES:
        return refusal.too_often()
    kept: list[Match] = []
    for match in found:
        if not kept or match.span.start >= kept[-1].span.end:
            kept.append(match)
    return tuple(kept)


# ---- What is only alike -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """
    A run of lines that resembles a block.

    Attributes:
        score: How alike they are, from 0 to 1.
        first, end: The lines (from 0), the end exclusive.
        lines: For each row of the block the line that is plainly the same, if there is one.
    """

    score: float
    first: int
    end: int
    lines: Lines = field(default=())


def _windows(text: Text, wanted: Sequence[str]) -> list[Window]:
    """The windows that resemble *wanted* most, best first; they may overlap."""
    if not text.rows or not any(row.strip() for row in wanted):
        return []
    search = [plain(row) for row in wanted]
    count = min(len(search), len(text.rows))
    rows = text.index.plain
    starts = {max(0, min(line, len(text.rows) - count)) for line in _voted(text, wanted)}
    target = _scored(search)
    found = []
    for start in starts:
        score = fuzz.ratio(target, _scored(rows.rows(start, start + count))) / 100
        found.append(Window(score=score, first=start, end=start + count))
    return sorted(found, key=lambda window: (-window.score, window.first))


def _scored(rows: Iterable[str]) -> str:
    return "\n".join(row[:SCORED_CHARS] for row in list(rows)[:SCORED_ROWS])


def _voted(text: Text, wanted: Sequence[str]) -> list[int]:
    """First lines of the windows worth scoring: those that rows of the block vote for by where they are."""
    votes: Counter[int] = Counter()
    known = align.filled(wanted)
    for at in known[:: -(-len(known) // VOTERS)]:
        lines = text.index.plain.find([plain(wanted[at])], POSTINGS + 1)
        if len(lines) <= POSTINGS:
            votes.update(line - at for line in lines)
    if sum(votes.values()) < WINDOWS:
        short = [at for at in known if len(wanted[at]) <= VOTER_CHARS]
        for at in sorted(short, key=lambda at: -len(wanted[at]))[:2]:
            alike = process.extract(wanted[at], text.rows, scorer=fuzz.ratio, score_cutoff=50, limit=WINDOWS)
            votes.update(line - at for _, _, line in alike)
    return [line for line, _ in votes.most_common(WINDOWS)]


def _anchored(text: Text, hunk: Hunk, windows: Sequence[Window]) -> Match | Failure | None:
    """The one place where all that matters stands, though some of the context does not; see `Tier`."""
    old, new = rows_of(hunk)
    search = [plain(row) for row in old]
    if not windows or len(align.filled(old)) < MIN_ROWS or len(old) > align.LIMIT_ROWS:
        return None
    best, *others = sorted(
        (_paired(text, search, window) for window in windows[:3]), key=lambda window: -window.score
    )
    if not _is_anchored(text, search, best) or not align.is_licensed(old, new, best.lines):
        return None
    for rival in (*others, *(_paired(text, search, window) for window in windows[3:])):
        shared = min(rival.end, best.end) - max(rival.first, best.first)
        if 2 * shared < best.end - best.first and (
            rival.score > best.score - MARGIN or _is_matched(search, rival)
        ):
            return refusal.near_each_other(tuple(_candidate(text, each) for each in (best, rival)))
    return Match(
        span=_line_span(text, best.first, best.end),
        tier=Tier.ANCHORED,
        strategy="anchored",
        hunk=hunk,
        lines=best.lines,
    )


def _paired(text: Text, search: Sequence[str], window: Window) -> Window:
    """*window* with its rows paired, and moved to where they are."""
    slack = 2 + len(search) // 4
    first = max(0, window.first - slack)
    there = text.index.plain.rows(first, window.end + slack)
    lines = align.by_likeness(search, there, first)
    known = [(at, line) for at, line in enumerate(lines) if line is not None and search[at]]
    if not known:
        return window
    start = max(0, known[0][1] - known[0][0])
    end = min(len(text.rows), known[-1][1] + len(search) - known[-1][0])
    score = fuzz.ratio(_scored(search), _scored(text.index.plain.rows(start, end))) / 100
    return Window(score=score, first=start, end=end, lines=lines)


def _is_anchored(text: Text, search: Sequence[str], window: Window) -> bool:
    """Whether enough rows have their line, and none stands against a line that is quite another."""
    size = sum(map(len, search))
    same = sum(len(row) for row, line in zip(search, window.lines, strict=False) if line is not None)
    worst = WORST if same >= MATCHED * size else WORST_OF_LITTLE
    if not _is_matched(search, window):
        return False
    extra = (window.end - window.first) - len(search)
    if abs(extra) > 2 + len(search) // 8:
        return False
    bounds = [
        (-1, window.first - 1),
        *((at, line) for at, line in enumerate(window.lines) if line is not None),
    ]
    bounds.append((len(search), window.end))
    for (at, line), (below, next_line) in pairwise(bounds):
        if below == at + 1 or next_line == line + 1:
            continue
        lost, there = search[at + 1 : below], text.index.plain.rows(line + 1, next_line)
        if any(
            likeness(one, other) < worst for one, other in zip(lost, there, strict=False) if one and other
        ):
            return False
    return True


def _is_matched(search: Sequence[str], window: Window) -> bool:
    """Whether enough rows have their line, and more than brackets among them."""
    known = align.filled(search)
    paired = [at for at in known if window.lines and window.lines[at] is not None]
    telling = {search[at] for at in paired if len(search[at]) >= TELLING}
    return len(paired) >= MATCHED * len(known) and len(telling) > 1


def _candidates(text: Text, windows: Sequence[Window]) -> tuple[Candidate, ...]:
    """The best windows that do not overlap; at most three, none below a score of 0.4."""
    kept: list[Window] = []
    for window in windows:
        apart = all(window.end <= other.first or other.end <= window.first for other in kept)
        if window.score >= CANDIDATE_SCORE and apart and len(kept) < CANDIDATES:
            kept.append(window)
    return tuple(_candidate(text, each) for each in kept)


def _candidate(text: Text, window: Window) -> Candidate:
    span = _line_span(text, window.first, window.end)
    return Candidate(span=span, line=window.first, score=round(window.score, 2))


def count(text: Text, wanted: Sequence[str]) -> int:
    """How often *wanted* rows stand in *text*, indentation and punctuation aside."""
    return len(text.index.plain.find([plain(row) for row in wanted]))


def is_alike(one: str, other: str) -> bool:
    """Whether two rows say the same, indentation and punctuation aside."""
    return plain(one) == plain(other) or plain(one, long_dash=True) == plain(other, long_dash=True)


def likeness(one: str, other: str) -> float:
    """How alike two texts are, from 0 to 1."""
    return fuzz.ratio(one[:SCORED_CHARS], other[:SCORED_CHARS]) / 100
