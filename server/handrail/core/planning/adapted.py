"""
Describe in sentences which differences were ignored to find a hunk's place, and how the hunk was adapted.

An inexact match always has at least one such sentence, from here or from the module that corrected its hunk.
"""

from __future__ import annotations

from collections.abc import Sequence

from handrail.core.documents.change import Tier
from handrail.core.documents.index import BLANKS
from handrail.core.documents.text import Text, to_lf
from handrail.core.matching import indent, row_match
from handrail.core.matching.result import Match
from handrail.core.patches.hunk import rows_of

REINDENTED = "The indentation was adapted to the document."
AS_WRITTEN = "The new text was not reindented because it already matches the document's indentation."
PUNCTUATION = "Quotes, dashes and spaces that only look different were kept as they are in the document."
BLANK_LINES = "Blank lines that the edit does not change were kept as they are in the document."
CONTEXT = "Context lines that differ were kept as they are in the document."


def notes(text: Text, matches: Sequence[Match]) -> tuple[str, ...]:
    """Returns notes about adaptations in *matches*; none for exact matches."""
    return tuple(dict.fromkeys(note for match in matches for note in _notes(text, match)))


def _notes(text: Text, match: Match) -> list[str]:
    if match.tier is Tier.SAFE:
        return []
    if not match.lines:
        is_respelled = to_lf(text.content[match.span.start : match.span.end]) != match.hunk.old
        return [AS_WRITTEN] * (match.strategy == "indentation") + [PUNCTUATION] * is_respelled
    old, new = rows_of(match.hunk)
    pairs = [
        (row, text.rows[line])
        for row, line in zip(old, match.lines, strict=True)
        if line is not None and row.strip() and row_match.is_alike(row, text.rows[line])
    ]
    told = []
    if any(indent.leading_blanks(row) != indent.leading_blanks(twin) for row, twin in pairs):
        told.append(AS_WRITTEN if indent.is_at_depth(pairs, new) else REINDENTED)
    if any(row.strip(BLANKS) != twin.strip(BLANKS) for row, twin in pairs):
        told.append(PUNCTUATION)
    if match.strategy == "blank-lines":
        told.append(BLANK_LINES)
    if match.tier is Tier.ANCHORED:
        told.append(CONTEXT)
    return told
