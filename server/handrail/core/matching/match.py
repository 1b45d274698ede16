"""
Find the one place in a document that a hunk describes.

Strategies run from strict to lenient; the first that matches anywhere decides. *Safe* and *normalised*
matches contain everything in the search text. An *anchored* match may differ in its context, never in what it
removes or in what bounds an insertion, and must beat every other place by a margin. A merely similar place is
never used: such places are candidates for the user to choose. Several matches are refused unless a tie-break
selects one; so is a place outside the scope that the hunk names. Reading documents and applying edits happen
elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from handrail.core.documents.change import Tier
from handrail.core.documents.index import BLANKS, plain
from handrail.core.documents.text import Text
from handrail.core.failure import Failure, Span
from handrail.core.matching import (
    escapes,
    fragment,
    glyphs,
    numbers,
    refusal,
    row_match,
    scope,
    similar,
    spacing,
    strings,
)
from handrail.core.matching.result import Match
from handrail.core.matching.strings import LIMIT_MATCHES
from handrail.core.matching.tie_break import ANYWHERE, Bounds, choose
from handrail.core.patches.hunk import Hunk, rows_of

LIMIT_SHOWN = 10  # places that a failure names


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
    found = _locate_anywhere(text, hunk, bounds)
    if isinstance(found, Failure) or len(found) != 1:
        return found
    missed = scope.missed_header(text, hunk, found[0].span)
    if missed is None:
        return found
    return refusal.outside_scope(similar.candidate_at(text, hunk, found[0].span), missed)


def _locate_anywhere(text: Text, hunk: Hunk, bounds: Bounds) -> tuple[Match, ...] | Failure:
    """As `locate`, wherever the scope is."""
    found = matches(text, hunk) or _corrected_matches(text, hunk)
    if found:
        best = _choose(text, found, hunk, bounds)
        return (
            best if isinstance(best, Failure) else tuple(row_match.settle_rows(text, each) for each in best)
        )
    wanted = rows_of(hunk)[0]
    windows = similar.windows(text, wanted)
    if not hunk.replace_all and (match := similar.match_anchors(text, hunk, windows)):
        return (match,) if isinstance(match, Match) else match
    if alike := glyphs.lines(text, wanted, similar.CANDIDATES):
        return refusal.same_glyphs(text, wanted, similar.candidates_at(text, wanted, alike))
    return refusal.no_match(text, wanted, similar.candidates(text, windows))


def _corrected_matches(text: Text, hunk: Hunk) -> list[Match]:
    """Returns the matches of *hunk* after common mistakes of models in it have been corrected."""
    for respelled in glyphs.respellings(text, hunk):
        found = [
            each
            for each in matches(text, respelled)
            if each.lines or not glyphs.cuts_character(text.content, each.span.end)
        ]
        if found:
            return [replace(each, tier=Tier.NORMALISED, strategy="normal-form") for each in found]
    for name, meant in (("escapes", escapes.resolve_escapes), ("entities", escapes.without_entities)):
        right = meant(hunk)
        if right is not None and (found := matches(text, right)):
            return [replace(each, tier=Tier.NORMALISED, strategy=name) for each in found]
    if found := _match_spacing(text, hunk):
        return found
    return [
        replace(each, tier=Tier.NORMALISED, strategy="row-numbers") for each in numbers.matches(text, hunk)
    ]


def _match_spacing(text: Text, hunk: Hunk) -> list[Match]:
    """The matches of *hunk* as whole rows, and as parts of other rows, that differ from it in spacing."""
    rows = spacing.matches(text, hunk)
    known = {line for match in rows for line in match.lines}
    parts = [match for match in fragment.matches(text, hunk) if text.line_at(match.span.start) not in known]
    return sorted((*rows, *parts), key=lambda match: match.span.start)


def matches(text: Text, hunk: Hunk) -> list[Match]:
    """All safe or normalised matches of the strictest strategy that has any; escapes stand for themselves."""
    spans = [] if hunk.whole_lines else strings.exact(text, hunk)
    if spans is None:
        return [match for match in row_match.match_rows(text, hunk) if match.tier is Tier.SAFE]
    if spans:
        return _strings(text, hunk, spans)
    return (
        row_match.match_rows(text, hunk) or _match_spelling(text, hunk) or row_match.around_blanks(text, hunk)
    )


def _strings(text: Text, hunk: Hunk, spans: Sequence[Span]) -> list[Match]:
    """
    The hunk at *spans*.

    Where its new text has the indentation before a place, or its old text is a row that goes, it replaces
    that indentation too.
    """
    if strings.removes_first_row(hunk):
        whole = [strings.from_row_start(text, hunk, span) for span in spans]
        if any(wide != span for (_, wide), span in zip(whole, spans, strict=True)):
            notes = (*hunk.notes, strings.WHOLE_ROW_NOTE)
            return [
                Match(span=wide, tier=Tier.NORMALISED, strategy="exact", hunk=replace(each, notes=notes))
                for each, wide in whole
            ]
    widened = [strings.with_indentation(text, hunk, span) for span in spans]
    is_deep = any(wide != span for (_, wide), span in zip(widened, spans, strict=True))
    if is_deep and len(widened) > 1 and "\n" not in hunk.new.removesuffix("\n"):
        bare = replace(hunk, new=hunk.new.lstrip(BLANKS))  # one row, at the depth of each place
        widened = [
            (bare, span) if wide == span else (wider, wide)
            for (wider, wide), span in zip(widened, spans, strict=True)
        ]
    tier, name = (Tier.NORMALISED, "indentation") if is_deep else (Tier.SAFE, "exact")
    return [Match(span=wide, tier=tier, strategy=name, hunk=each) for each, wide in widened]


def _match_spelling(text: Text, hunk: Hunk) -> list[Match]:
    spans = [] if hunk.whole_lines else strings.find_respelled(text, hunk.old)
    return [Match(span=span, tier=Tier.NORMALISED, strategy="unicode", hunk=hunk) for span in spans]


def _choose(text: Text, matches: Sequence[Match], given: Hunk, bounds: Bounds) -> tuple[Match, ...] | Failure:
    hunk = row_match.settle_rows(text, matches[0]).hunk
    if hunk.replace_all:
        return _without_overlap(matches)
    if len(matches) == 1:
        return tuple(matches)
    if len(matches) >= LIMIT_MATCHES:
        return _ambiguous(text, matches, given)
    left = [matches[at] for at in choose(text, hunk, [match.span for match in matches], bounds)]
    if len(left) == 1:
        return tuple(left)
    return _ambiguous(text, left, given)


def _ambiguous(text: Text, matches: Sequence[Match], given: Hunk) -> Failure:
    near = [similar.candidate_at(text, given, match.span) for match in matches[:LIMIT_SHOWN]]
    return refusal.ambiguous_match(near, len(matches), given)


def _without_overlap(matches: Sequence[Match]) -> tuple[Match, ...] | Failure:
    if len(matches) >= LIMIT_MATCHES:
        return refusal.too_often()
    kept: list[Match] = []
    for match in matches:
        if not kept or match.span.start >= kept[-1].span.end:
            kept.append(match)
    return tuple(kept)


def count(text: Text, wanted: Sequence[str]) -> int:
    """Returns how often the *wanted* rows occur in *text*, ignoring indentation and punctuation."""
    return len(text.index.plain.find([plain(row) for row in wanted]))
