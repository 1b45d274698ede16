"""
Find the places of a document that resemble a hunk's old rows without being the same.

Such places are candidates for the user to choose. One of them is an *anchored* match if it differs in its
context only, never in what the hunk removes or in what bounds an insertion, and beats every other place by
a margin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from rapidfuzz import fuzz, process

from handrail.core.documents.change import Tier
from handrail.core.documents.index import plain
from handrail.core.documents.text import Text, to_lf
from handrail.core.failure import Candidate, Failure, Span
from handrail.core.matching import align, refusal
from handrail.core.matching.align import Lines
from handrail.core.matching.result import Match, line_span
from handrail.core.patches.hunk import Hunk, rows_of
from handrail.values import dataclass, field

CANDIDATES = 3
CANDIDATE_SCORE = 0.4  # below this a place helps no one
WINDOWS = 12
POSTINGS = 64  # a line that occurs more often says nothing about the place
VOTERS = 16  # rows of a block that are looked up to find its windows
SCORED_ROWS, SCORED_CHARS = 200, 500  # so much of a block, and of a row, is scored
MOST = 0.99  # for text that differs, however little
VOTER_CHARS = 2000  # a longer row is not compared with all others
MATCHED = 0.75  # of the rows of an anchored block
MARGIN = 0.04  # by which an anchored place must beat all others
WORST = 0.5  # likeness of any row of an anchored block with the line in its place
WORST_OF_LITTLE = 0.75  # the same, where the rows that match are the shorter ones
MIN_ROWS = 4  # that are not blank; of fewer, none could differ
TELLING = 4  # characters; shorter rows tell no place from another


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


def windows(text: Text, wanted: Sequence[str]) -> list[Window]:
    """The windows that resemble *wanted* most, best first; they may overlap."""
    if not text.rows or not any(row.strip() for row in wanted):
        return []
    search = [plain(row) for row in wanted]
    count = min(len(search), len(text.rows))
    rows = text.index.plain
    starts = {max(0, min(line, len(text.rows) - count)) for line in _vote(text, wanted)}
    target = _scored_text(search)
    result = []
    for start in starts:
        score = fuzz.ratio(target, _scored_text(rows.rows(start, start + count))) / 100
        result.append(Window(score=score, first=start, end=start + count))
    return sorted(result, key=lambda window: (-window.score, window.first))


def _scored_text(rows: Iterable[str]) -> str:
    return "\n".join(row[:SCORED_CHARS] for row in list(rows)[:SCORED_ROWS])


def _vote(text: Text, wanted: Sequence[str]) -> list[int]:
    """First lines of the windows worth scoring: those that rows of the block vote for by where they are."""
    votes: Counter[int] = Counter()
    known = align.filled_rows(wanted)
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


def match_anchors(text: Text, hunk: Hunk, windows: Sequence[Window]) -> Match | Failure | None:
    """The one place where all that matters stands, though some of the context does not; see `Tier`."""
    old = rows_of(hunk)[0]
    search = [plain(row) for row in old]
    if not windows or len(align.filled_rows(old)) < MIN_ROWS or len(old) > align.LIMIT_ROWS:
        return None
    best, *others = sorted(
        (_pair(text, search, window) for window in windows[:3]), key=lambda window: -window.score
    )
    if not _is_certain(text, search, best) or not align.is_licensed(hunk, best.lines):
        return None
    for rival in (*others, *(_pair(text, search, window) for window in windows[3:])):
        shared = min(rival.end, best.end) - max(rival.first, best.first)
        if 2 * shared < best.end - best.first and (
            rival.score > best.score - MARGIN or _is_matched(search, rival)
        ):
            return refusal.near_each_other(tuple(_candidate(text, each) for each in (best, rival)))
    return Match(
        span=line_span(text, best.first, best.end),
        tier=Tier.ANCHORED,
        strategy="anchored",
        hunk=hunk,
        lines=best.lines,
    )


def _pair(text: Text, search: Sequence[str], window: Window) -> Window:
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
    score = fuzz.ratio(_scored_text(search), _scored_text(text.index.plain.rows(start, end))) / 100
    return Window(score=score, first=start, end=end, lines=lines)


def _is_certain(text: Text, search: Sequence[str], window: Window) -> bool:
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
    known = align.filled_rows(search)
    paired = [at for at in known if window.lines and window.lines[at] is not None]
    telling = {search[at] for at in paired if len(search[at]) >= TELLING}
    return len(paired) >= MATCHED * len(known) and len(telling) > 1


def candidates(text: Text, windows: Sequence[Window]) -> tuple[Candidate, ...]:
    """The best windows that do not overlap; at most three, none below a score of 0.4."""
    kept: list[Window] = []
    for window in windows:
        apart = all(window.end <= other.first or other.end <= window.first for other in kept)
        if window.score >= CANDIDATE_SCORE and apart and len(kept) < CANDIDATES:
            kept.append(window)
    return tuple(_candidate(text, each) for each in kept)


def candidates_at(text: Text, wanted: Sequence[str], lines: Sequence[int]) -> tuple[Candidate, ...]:
    """The places that begin at *lines*, of which each looks like the *wanted* rows."""
    places = []
    for line in lines:
        end = min(len(text.rows), line + len(wanted))
        score = likeness("\n".join(wanted).strip(), "\n".join(text.rows[line:end]).strip())
        places.append(Window(score=score, first=line, end=end))
    return tuple(_candidate(text, each) for each in places)


def candidate_at(text: Text, hunk: Hunk, span: Span, *, has_differences: bool = False) -> Candidate:
    """
    Returns the place *span* as a candidate for *hunk*; its score is 1 only if it has the search text.

    Args:
        has_differences: Whether indentation and spelling count too, which `plain` leaves out.
    """
    there = to_lf(text.content[span.start : span.end])
    search, rows = (part.strip("\n").split("\n") for part in (hunk.old, there))
    if not has_differences:
        search, rows = ([plain(row) for row in each] for each in (search, rows))
    score = min(MOST, round(fuzz.ratio(_scored_text(search), _scored_text(rows)) / 100, 2))
    is_same = not has_differences and search == rows
    return Candidate(span=span, line=text.line_at(span.start), score=1.0 if is_same else score)


def _candidate(text: Text, window: Window) -> Candidate:
    """Returns a window, which does not have the search text, as a candidate."""
    span = line_span(text, window.first, window.end)
    return Candidate(span=span, line=window.first, score=min(MOST, round(window.score, 2)))


def likeness(one: str, other: str) -> float:
    """Returns the similarity of two texts, from 0 to 1."""
    return fuzz.ratio(one[:SCORED_CHARS], other[:SCORED_CHARS]) / 100
