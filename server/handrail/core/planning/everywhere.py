"""
Indent the lines that a replacement adds as each of its places needs it, if all occurrences are replaced.

One row of search text may occur at several depths, while its new rows are written for one of them: for the
margin, as nearly always, or for the depth of one place. If only the margin is possible, they are indented by
the depth of each place; otherwise the edit is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from handrail.core.documents.change import Tier
from handrail.core.documents.index import BLANKS
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure, Span
from handrail.core.matching.indent import leading_blanks, width
from handrail.core.matching.result import Match, line_span
from handrail.core.matching.similar import candidate_at
from handrail.core.matching.spacing import QUOTES
from handrail.core.patches.hunk import Hunk, rows_of
from handrail.core.planning.adapted import REINDENTED

OPENS = (":", "{", "(", "[")  # below a row that ends so, the next row is deeper


def indent_each(text: Text, hunk: Hunk, matches: tuple[Match, ...]) -> tuple[Match, ...] | Failure:
    """
    Returns *matches* with the new rows of *hunk* at the depth of each place, if the places differ.

    Args:
        text: The document.
        hunk: The hunk as it was searched for.
        matches: All places at which it is to be made.
    """
    old, new = rows_of(hunk)
    below = [leading_blanks(row) for row in new[1:] if row.strip()]
    if len(matches) < 2 or any(each.lines for each in matches) or len(old) != 1 or not below:
        return matches
    depths = [leading_blanks(text.rows[text.line_at(each.span.start)]) for each in matches]
    if len(set(depths)) == 1 and not any(_is_moved(text, each.span, new) for each in matches):
        return matches
    is_clear = leading_blanks(new[0]) == leading_blanks(old[0]) and not _may_be_at_a_depth(old, new, depths)
    is_clear = is_clear and not any(row.count(quotes) % 2 for row in new for quotes in QUOTES)
    if not is_clear or any(each.hunk != hunk for each in matches):
        return _unclear(text, hunk, matches)
    indented = [_at_depth(text, each) for each in matches]
    known = tuple(each for each in indented if each is not None)
    return known if len(known) == len(matches) else _unclear(text, hunk, matches)


def _is_moved(text: Text, span: Span, new: Sequence[str]) -> bool:
    """Whether *span* is a row without its indentation, and *new* rows are written for the margin."""
    before, behind = _around(text, span)
    least = min(width(leading_blanks(row)) for row in new[1:] if row.strip())
    return bool(before) and not (before + behind).strip(BLANKS) and least < width(before)


def _around(text: Text, span: Span) -> tuple[str, str]:
    """Returns the rest of the rows in which *span* begins and ends; none behind a line end."""
    last = text.line_at(span.end)
    behind = "" if span.end == text.starts[last] else text.content[span.end : text.row_end(last)]
    return text.content[text.starts[text.line_at(span.start)] : span.start], behind


def _may_be_at_a_depth(old: Sequence[str], new: Sequence[str], depths: Sequence[str]) -> bool:
    """Whether the *new* rows may be written for the depth of one place, and not for that of the *old* row."""
    below = [width(leading_blanks(row)) for row in new[1:] if row.strip()]
    opens, ours = new[0].rstrip().endswith(OPENS), width(leading_blanks(old[0]))
    return any(
        ours < width(depth) <= min(below) and not (opens and below[0] <= width(depth)) for depth in depths
    )


def _at_depth(text: Text, match: Match) -> Match | None:
    """Returns *match* with its new rows at the depth of its place; None if they are indented otherwise."""
    hunk, line = match.hunk, text.line_at(match.span.start)
    before, behind = _around(text, match.span)
    if not before:
        return match
    is_row = not (before + behind).strip(BLANKS) and hunk.old.endswith("\n") == hunk.new.endswith("\n")
    if is_row:
        span = line_span(text, line, line + 1)
        return replace(match, span=span, tier=Tier.NORMALISED, strategy="indentation", lines=(line,))
    depth = leading_blanks(text.rows[line]) if before.strip(BLANKS) else before
    if not depth:
        return match
    first, *rows = hunk.new.split("\n")
    steps = "".join(map(leading_blanks, rows))
    if steps and ("\t" in steps) != ("\t" in depth):
        return None
    new = "\n".join((first, *(depth + row if row.strip() else row for row in rows)))
    right = replace(hunk, new=new, notes=(*hunk.notes, REINDENTED))
    return replace(match, tier=Tier.NORMALISED, hunk=right)


def _unclear(text: Text, hunk: Hunk, matches: Sequence[Match]) -> Failure:
    near = [candidate_at(text, hunk, each.span) for each in matches[:10]]
    lines = ", ".join(str(each.line + 1) for each in near) + (", …" if len(matches) > len(near) else "")
    return Failure(
        code=Code.BAD_PATCH,
        message=(
            f"The search text occurs {len(matches)} times (lines {lines}), and it is unclear how to indent "
            "the new lines at each place. This edit was not made."
        ),
        steps=(
            "Send an edit for each place: with a line around it (or start_line) that tells the places apart, "
            "and with the indentation that the new lines should have there.",
        ),
        near=tuple(near),
    )
