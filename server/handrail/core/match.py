"""
Find the one place in a document that a hunk describes.

Strategies run from strict to lenient; the first that matches anywhere decides. More than one match is
`ambiguous-match`, unless the scope, the order of the hunks or the line hint picks one; a tie is refused.
Alike is never enough: places that only resemble the search text are candidates for the user to choose.
Reading documents and applying edits happen elsewhere.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from handrail.core.change import Tier
from handrail.core.failure import Candidate, Code, Failure, Span
from handrail.core.hunk import Hunk
from handrail.core.indent import leading
from handrail.core.text import Text, to_lf

Fold = Callable[[str], str]

HINT_LINES = 50  # how far from its line hint a match may lie and still be preferred (roo-comparison 2b)
CANDIDATES = 3
CANDIDATE_SCORE = 0.4  # below this a place helps nobody
WINDOWS = 12
POSTINGS = 64  # a line that occurs more often says nothing about the place

LABEL = re.compile(r"\w+( \w+)?:$")  # `else:`, `public:`: part of the block around it

PUNCTUATION = str.maketrans(
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u201a": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u201e": '"',
        "\u2013": "-",
        "\u2014": "-",
        "\u2212": "-",
        "\u2010": "-",
        "\u2011": "-",
        "\u00a0": " ",
        "\u202f": " ",
        "\u2007": " ",
        "\u3000": " ",
    }
)


def _as_is(row: str) -> str:
    return row


def _no_trailing(row: str) -> str:
    return row.rstrip(" \t")


def _no_indent(row: str) -> str:
    return row.strip(" \t")


def _plain(row: str) -> str:
    return (row if row.isascii() else row.translate(PUNCTUATION)).strip(" \t")


STRATEGIES: tuple[tuple[str, Tier, Fold], ...] = (
    ("exact", Tier.SAFE, _as_is),
    ("trailing-space", Tier.SAFE, _no_trailing),
    ("indentation", Tier.NORMALISED, _no_indent),
    ("unicode", Tier.NORMALISED, _plain),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """
    Where a hunk belongs.

    Attributes:
        span: Of the document; for whole lines without the last terminator.
        tier: How exactly it matched.
        strategy: The name in STRATEGIES that matched, for the report.
    """

    span: Span
    tier: Tier
    strategy: str


def locate(text: Text, hunk: Hunk, after: int = 0) -> tuple[Match, ...] | Failure:
    """
    Find where *hunk* belongs in *text*.

    Args:
        text: The document as last read.
        hunk: What to find; its `old` must not be empty.
        after: The offset where the patch's previous hunk ended; matches behind it are preferred.

    Returns:
        One match, or all of them for `replace_all`; else `no-match` with the nearest places, or
        `ambiguous-match` with all of them.

    Cost: lines x strategies, plus a scored look at a dozen windows if nothing matches.
    Origin: roo-comparison 2a-2d.
    """
    if not hunk.whole_lines and (spans := _strings(text, hunk.old)):
        return _choose(
            text, hunk, [Match(span=span, tier=Tier.SAFE, strategy="exact") for span in spans], after
        )
    wanted = hunk.old.split("\n")
    if not hunk.whole_lines and len(wanted) > 1 and not wanted[-1]:
        wanted.pop()
    if not any(row.strip() for row in wanted):
        return _no_match(text, wanted, ())  # blank lines alone are found wherever there is one
    for name, tier, fold in STRATEGIES:
        lines = _rows(text.rows, wanted, fold)
        if lines:
            spans = [_line_span(text, line, len(wanted)) for line in lines]
            found = [Match(span=span, tier=tier, strategy=name) for span in spans]
            return _choose(text, hunk, found, after)
    near = nearest(text, wanted)
    return _no_match(text, wanted, near)


def _strings(text: Text, old: str) -> list[Span]:
    """All occurrences of *old* as a string, line ends aside; overlapping ones included."""
    flat = to_lf(text.content)
    starts = _find_all(flat, old)
    if flat is text.content or len(flat) == len(text.content):
        return [Span(start=start, end=start + len(old)) for start in starts]
    flat_starts = [0]
    for row in text.rows:
        flat_starts.append(flat_starts[-1] + len(row) + 1)

    def offset(at: int) -> int:
        line = bisect_right(flat_starts, at) - 1
        if line >= len(text.rows):
            return len(text.content)
        return text.starts[line] + (at - flat_starts[line])

    return [Span(start=offset(start), end=offset(start + len(old))) for start in starts]


def _find_all(haystack: str, needle: str) -> list[int]:
    found, at = [], haystack.find(needle)
    while at >= 0:
        found.append(at)
        at = haystack.find(needle, at + 1)
    return found


def _rows(rows: Sequence[str], wanted: Sequence[str], fold: Fold) -> list[int]:
    """The first lines of all runs of *rows* that equal *wanted* once folded."""
    joined = "\n" + "\n".join(map(fold, rows)) + "\n"
    needle = "\n" + "\n".join(map(fold, wanted)) + "\n"
    lines, counted, line = [], 0, 0
    for at in _find_all(joined, needle):
        line += joined.count("\n", counted, at)
        counted = at
        lines.append(line)
    return lines


def _line_span(text: Text, line: int, count: int) -> Span:
    return Span(start=text.starts[line], end=text.row_end(line + count - 1))


def _choose(text: Text, hunk: Hunk, found: list[Match], after: int) -> tuple[Match, ...] | Failure:
    if hunk.replace_all:
        return _without_overlap(found)
    for evidence in (_in_scope, _at_end, _by_hint):
        found = evidence(text, hunk, found) or found
    if len(found) > 1 and after:
        found = [match for match in found if match.span.start >= after] or found
    return (found[0],) if len(found) == 1 else _ambiguous(text, found)


def _without_overlap(found: list[Match]) -> tuple[Match, ...]:
    kept: list[Match] = []
    for match in found:
        if not kept or match.span.start >= kept[-1].span.end:
            kept.append(match)
    return tuple(kept)


def _in_scope(text: Text, hunk: Hunk, found: list[Match]) -> list[Match]:
    """The matches that the scope holds; none if it is not to be found once."""
    lines = scope_lines(text, hunk.scope)
    return [match for match in found if text.line_at(match.span.start) in lines]


def scope_lines(text: Text, scope: Sequence[str]) -> range:
    """The lines (from 0) of a scope, from the last header, each below the one before; none if in doubt."""
    lines = range(-1, len(text.rows))
    for header in map(_plain, scope):
        rows = [(at, _plain(text.rows[at])) for at in lines[1:]]
        words = re.compile(rf"(?<!\w){re.escape(header)}" + (r"(?!\w)" if header[-1:].isalnum() else ""))
        places = [at for at, row in rows if row == header] or [at for at, row in rows if words.search(row)]
        if len(places) != 1 or not header:
            return range(0)
        lines = range(places[0], _scope_end(text.rows, places[0]))
    return lines if scope else range(0)


def _scope_end(rows: Sequence[str], header: int) -> int:
    """The line past the scope of a header: where a row that is no deeper begins something else."""
    depth = len(leading(rows[header]))
    for line in range(header + 1, len(rows)):
        row = rows[line].strip()
        if row and len(leading(rows[line])) <= depth and _begins_another(rows, line, rows[header].strip()):
            return line
    return len(rows)


def _begins_another(rows: Sequence[str], line: int, header: str) -> bool:
    """Whether a row is a header like *header*, or opens a block; brackets and labels do neither."""
    row = rows[line].strip()
    if row[0] == header[0] and not row[0].isalnum():
        return _run(row) <= _run(header)  # Markdown: only a heading of the same or a higher level
    if row.split()[0] == header.split(maxsplit=1)[0]:
        return True
    if row[0] in "{}()[]#\"'`" or LABEL.match(row):
        return False
    below = next((rows[at] for at in range(line + 1, len(rows)) if rows[at].strip()), "")
    return below.strip() == "{" or len(leading(below)) > len(leading(rows[line]))


def _run(row: str) -> int:
    return len(row) - len(row.lstrip(row[0]))


def _at_end(text: Text, hunk: Hunk, found: list[Match]) -> list[Match]:
    return [match for match in found if hunk.at_end and match.span.end >= text.row_end(len(text.rows) - 1)]


def _by_hint(text: Text, hunk: Hunk, found: list[Match]) -> list[Match]:
    """The nearest match within reach of the line hint; all of them if that is a tie or there is none."""
    if hunk.line_number is None or len(found) < 2:
        return found
    wanted = hunk.line_number - 1
    ranked = sorted((abs(text.line_at(match.span.start) - wanted), match.span.start) for match in found)
    if ranked[0][0] > HINT_LINES or ranked[0][0] == ranked[1][0]:
        return found
    return [match for match in found if match.span.start == ranked[0][1]]


def count(text: Text, wanted: Sequence[str]) -> int:
    """How often *wanted* rows stand in *text*, indentation and punctuation aside."""
    return len(_rows(text.rows, wanted, _plain))


def is_alike(one: str, other: str) -> bool:
    """Whether two rows say the same, indentation and punctuation aside."""
    return _plain(one) == _plain(other)


def likeness(one: str, other: str) -> float:
    """How alike two texts are, from 0 to 1."""
    return fuzz.ratio(one, other) / 100


def nearest(text: Text, wanted: Sequence[str]) -> tuple[Candidate, ...]:
    """The places that resemble *wanted* most, best first; at most three, none below a score of 0.4."""
    if not text.rows or not any(row.strip() for row in wanted):
        return ()
    folded, search = [_plain(row) for row in text.rows], [_plain(row) for row in wanted]
    count = min(len(search), len(folded))
    target = "\n".join(search)
    scored = []
    for line in _windows(folded, search):
        start = max(0, min(line, len(folded) - count))
        score = fuzz.ratio(target, "\n".join(folded[start : start + count])) / 100
        scored.append((score, start))
    kept: list[Candidate] = []
    for score, line in sorted(set(scored), key=lambda pair: (-pair[0], pair[1])):
        apart = all(abs(line - other.line) >= count for other in kept)
        if score >= CANDIDATE_SCORE and apart and len(kept) < CANDIDATES:
            span = _line_span(text, line, count)
            kept.append(Candidate(span=span, line=line, score=round(score, 2)))
    return tuple(kept)


def _windows(rows: Sequence[str], search: Sequence[str]) -> list[int]:
    """First lines of the windows worth scoring: those that lines of the search text vote for."""
    places: dict[str, list[int]] = {}
    for line, row in enumerate(rows):
        if row:
            places.setdefault(row, []).append(line)
    votes: Counter[int] = Counter()
    for at, row in enumerate(search):
        lines = places.get(row, ())
        if len(lines) <= POSTINGS:
            votes.update(line - at for line in lines)
    if sum(votes.values()) < WINDOWS:
        longest = sorted(range(len(search)), key=lambda at: -len(search[at]))[:3]
        for at in longest:
            for row, _, _ in process.extract(
                search[at], places.keys(), scorer=fuzz.ratio, score_cutoff=50, limit=4
            ):
                votes.update(line - at for line in places[row][:POSTINGS])
    return [line for line, _ in votes.most_common(WINDOWS)]


def _no_match(text: Text, wanted: Sequence[str], near: tuple[Candidate, ...]) -> Failure:
    steps = [
        "Read the document again; it may have changed since.",
        "Send the exact current lines as search text.",
    ]
    message = "The search text is not in the document."
    if near:
        best = near[0]
        message += f" The nearest place is line {best.line + 1} ({best.score:.0%} alike)"
        differing = _first_difference(text, wanted, best)
        message += f"; {differing}" if differing else "."
        steps.insert(0, f"Compare with line {best.line + 1} and send the lines as they stand there.")
    return Failure(code=Code.NO_MATCH, message=message, steps=tuple(steps), near=near)


def _first_difference(text: Text, wanted: Sequence[str], near: Candidate) -> str:
    for at, row in enumerate(wanted):
        there = text.rows[near.line + at] if near.line + at < len(text.rows) else ""
        if _plain(row) != _plain(there):
            return f"line {near.line + at + 1} is {_shown(there)} where the search text has {_shown(row)}."
    return ""


def _shown(row: str) -> str:
    row = row.strip()
    return repr(row if len(row) <= 60 else row[:57] + "...")


def _ambiguous(text: Text, found: list[Match]) -> Failure:
    lines = [text.line_at(match.span.start) for match in found]
    shown = ", ".join(str(line + 1) for line in lines[:10]) + (", …" if len(lines) > 10 else "")
    near = tuple(
        Candidate(span=match.span, line=line, score=1.0)
        for match, line in zip(found[:10], lines, strict=False)
    )
    return Failure(
        code=Code.AMBIGUOUS_MATCH,
        message=f"The search text occurs {len(found)} times (lines {shown}).",
        steps=(
            "Add a line before or after that differs.",
            "Or give start_line, the line number of the one you mean.",
        ),
        near=near,
    )
