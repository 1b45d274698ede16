"""
Distinguish an edit that the document already has from one that failed.

Models repeat edits that were made; that is not a failure, and making the edit again would duplicate lines.
But new text that is somewhere by chance does not mean that the edit was made, so in doubt the answer is no.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from handrail.core.documents.change import Tier
from handrail.core.documents.edit import opcodes
from handrail.core.documents.text import Text, to_lf
from handrail.core.failure import Candidate, Span
from handrail.core.matching import match, row_match, scope, similar
from handrail.core.matching.result import Match
from handrail.core.matching.tie_break import has_one_shift
from handrail.core.patches.hunk import Hunk, rows_of

DISTINCT = 4  # characters; shorter texts may be wanted twice
TELLING = 8  # characters; shorter texts may be anywhere
ALIKE = 0.6  # likeness of a removed row that was changed a little before it was to be removed
LIMIT_BESIDE = 60  # rows
UNIQUE = 24  # characters; longer texts do not occur by chance


def is_distinct(added: str) -> bool:
    """Whether added text is more than a brace or a blank line."""
    return len(added.strip()) >= DISTINCT


def is_made(text: Text, match: Match) -> bool:
    """Whether *match*, which has the hunk's old text, is already part of its longer new text."""
    if not match.lines:
        return _string_is_made(text, match.hunk, match.span)
    old, new = rows_of(match.hunk)
    first = match.lines[0]
    if first is None or list(match.lines) != list(range(first, first + len(old))):
        return False
    return any(
        new[at : at + len(old)] == old
        and is_distinct("".join(new[:at] + new[at + len(old) :]))
        and not _only_repeats(new[:at], old, new[at + len(old) :])
        and _reads(text, first - at, new)
        for at in range(len(new) - len(old) + 1)
    )


def _reads(text: Text, line: int, rows: list[str]) -> bool:
    there = text.rows[line : line + len(rows)] if line >= 0 else ()
    return len(there) == len(rows) and all(map(row_match.is_alike, rows, there))


def _only_repeats(above: Sequence[str], old: Sequence[str], below: Sequence[str]) -> bool:
    """
    Whether what is new above and below *old* only repeats how it begins and ends.

    Then a document that has several of these rows anyway reads like one in which the edit was made.
    """
    return _repeats(above, old) and _repeats(below[::-1], old[::-1])


def _repeats(added: Sequence[str], old: Sequence[str]) -> bool:
    """Whether *added* consists of nothing but copies of the beginning of *old*."""
    size = len(added)
    return not size or any(
        size % part == 0 and added[:part] == old[:part] and added[part:] == added[: size - part]
        for part in range(1, min(size, len(old)) + 1)
    )


def _string_is_made(text: Text, hunk: Hunk, span: Span) -> bool:
    old, new = hunk.old, hunk.new
    reach = 2 * len(new)
    before = to_lf(text.content[max(0, span.start - reach) : span.start])
    behind = to_lf(text.content[span.end : span.end + reach])
    at = new.find(old)
    while at >= 0:
        above, below = new[:at], new[at + len(old) :]
        is_telling = is_distinct(above + below) and not _only_repeats(above, old, below)
        if is_telling and before.endswith(above) and behind.startswith(below):
            return True
        at = new.find(old, at + 1)
    return False


def is_there(text: Text, hunk: Hunk, near: Sequence[Candidate]) -> bool:
    """Whether the hunk's new text is in place of its old text, which resembles only *near* places."""
    old, new = rows_of(hunk)
    blocks = opcodes(old, new)
    if any(k == m and (i == 0 or j == len(old)) for i, j, k, m in blocks):
        return False  # a removal at the edge of a hunk leaves no trace
    added = "".join(row.strip() for _, _, k, m in blocks for row in new[k:m])
    changed = {at for i, j, _, _ in blocks for at in range(i, j)}
    kept = "".join(row.strip() for at, row in enumerate(old) if at not in changed)
    if len(added + kept) < TELLING:
        return False
    found = match.matches(text, replace(hunk, old=hunk.new, new=""))
    if len(found) != 1 or not _is_close(text, found[0]) or scope.missed_header(text, hunk, found[0].span):
        return False
    lost = [row for i, j, k, m in blocks if k == m for row in old[i:j]]
    if _removed_rows_are_near(text, lost, found[0].span):
        return False
    return bool(kept) or len(added) >= UNIQUE or not _has_rival(hunk, near, found[0].span)


def find_new_text(text: Text, hunk: Hunk) -> list[Span]:
    """Finds the hunk's new text in the document, if it is long enough to be significant."""
    if len(hunk.new.strip()) < TELLING:
        return []
    return [found.span for found in match.matches(text, replace(hunk, old=hunk.new, new=""))]


def _is_close(text: Text, match: Match) -> bool:
    """Whether *match* is the same text, or shifted as a whole: an edit may change nothing but spacing."""
    if match.tier is Tier.SAFE:
        return True
    return match.strategy == "indentation" and has_one_shift(text, match.hunk.old.split("\n"), match.span)


def _removed_rows_are_near(text: Text, removed: Sequence[str], span: Span) -> bool:
    """Whether half of the *removed* rows, or similar rows, are directly above or below *span*."""
    first, last = text.line_at(span.start), text.line_at(span.end)
    reach = min(LIMIT_BESIDE, len(removed) + 2)
    beside = (*text.rows[max(0, first - reach) : first], *text.rows[last + 1 : last + 1 + reach])
    telling = [row.strip() for row in removed if is_distinct(row)][:LIMIT_BESIDE]
    near = [row for row in telling if any(similar.likeness(row, other.strip()) >= ALIKE for other in beside)]
    return bool(telling) and len(near) * 2 >= len(telling)


def _has_rival(hunk: Hunk, near: Sequence[Candidate], span: Span) -> bool:
    """Whether another place resembles the old text more than the new text does."""
    rivals = [each for each in near if each.span.end < span.start or span.end < each.span.start]
    return bool(rivals) and rivals[0].score > similar.likeness(hunk.old.strip(), hunk.new.strip())
