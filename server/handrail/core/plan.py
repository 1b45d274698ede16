"""
Turn the hunks of a patch into the smallest edits of a document.

Decided here is whether a hunk may be made at all: whether it says something, leaves nothing out, and does
not touch what another hunk changes. Where it belongs is found in `match`, whether it is made already in
`already`, and how its rows are written in `place`. The document is only read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from handrail.core import already, match, place
from handrail.core.change import PlannedHunk, Tier
from handrail.core.edit import TextEdit, joins_ends
from handrail.core.failure import Code, Failure, Span
from handrail.core.hunk import Hunk
from handrail.core.text import Text, to_lf

LEFT_OUT = r"(?:existing|rest|remaining|other|same|unchanged|previous|keep)\b"
OMISSION = re.compile(
    r"^\s*(?:(?P<comment>#|//|\{?/\*|<!--|--|;|%)\s*)?"
    r"(?:(?:\.{3}|…)(?:\s+|(?(comment)|(?!)))\(?" + LEFT_OUT + r".*"
    r"|(?:\.{3}|…)\(?" + LEFT_OUT + r"\s+(?:of|code|content|lines?|file|unchanged|remains?|is|stays?)\b.*"
    r"|(?:\.{3}|…)\s*\[?truncated\]?.*"
    r"|\(?(?:the )?rest (?:of (?:the |your |this )?(?:\w+ ){1,2})?"
    r"(?:(?:is |remains |stays )?(?:unchanged|the same)|(?:goes |stays )?here)\)?\.?)"
    r"\s*(?:\*/\}?|-->)?\s*$",
    re.IGNORECASE,
)
WORDS = re.compile(r"\w+|\S")


@dataclass(frozen=True, slots=True, kw_only=True)
class HunkPlan:
    """What one hunk comes to: edits (none if it is there already), or why not."""

    hunk: Hunk
    result: PlannedHunk | Failure


def plan(text: Text, hunks: Sequence[Hunk]) -> tuple[HunkPlan, ...]:
    """
    Plan each hunk against *text*.

    Returns:
        One plan for each hunk, in order. The edits of different hunks do not overlap: of two that
        would, the later fails with `bad-patch`.
    """
    plans: list[HunkPlan] = []
    taken: list[Span] = []
    after = 0
    for hunk in hunks:
        result = plan_hunk(text, hunk, after)
        if isinstance(result, PlannedHunk) and any(_overlap(edit.span, taken) for edit in result.edits):
            result = Failure(
                code=Code.BAD_PATCH,
                message=f"Hunk {hunk.number} changes lines that an earlier hunk of the patch changes too.",
                steps=("Put both changes into one hunk.",),
            )
        if isinstance(result, PlannedHunk) and result.edits:
            taken += [edit.span for edit in result.edits]
            after = max(after, result.edits[-1].span.end)
        plans.append(HunkPlan(hunk=hunk, result=result))
    return tuple(plans)


def _overlap(span: Span, taken: Sequence[Span]) -> bool:
    return any(
        (span.start < other.end and other.start < span.end)
        or span.start == span.end == other.start == other.end
        for other in taken
    )


def plan_hunk(text: Text, hunk: Hunk, after: int = 0) -> PlannedHunk | Failure:
    """The edits of one hunk, or why it cannot be made; see `plan`."""
    if wrong := _unusable(text, hunk):
        return wrong
    if not hunk.old:
        return _insertion(text, hunk)
    found = match.locate(text, hunk, after)
    if isinstance(found, Failure):
        is_there = found.code is Code.NO_MATCH and already.is_there(text, hunk, found)
        return _planned(text, hunk, Tier.SAFE, ()) if is_there else found
    if all(already.is_made(text, hunk, each.span) for each in found):
        return _planned(text, hunk, Tier.SAFE, ())
    edits: list[TextEdit] = []
    for each in found:
        made = _edits(text, hunk, each.span, fitted=each.tier is not Tier.SAFE)
        if isinstance(made, Failure):
            return made
        edits += made
    return _planned(text, hunk, found[0].tier, tuple(edits))


def plan_at(text: Text, hunk: Hunk, span: Span) -> PlannedHunk | Failure:
    """The edits of *hunk* at a place that a person chose: its old text as it stands there, or whole rows."""
    first, last = text.line_at(span.start), text.line_at(max(span.start, span.end - 1))
    whole = Span(start=text.starts[first], end=text.row_end(last))
    if not place.is_string(text, hunk, span):
        if not _is_row(hunk, text.rows[first] if text.rows else ""):
            return Failure(
                code=Code.NO_MATCH,
                message=f"The search text is only a part of line {first + 1}, and it is not clear which.",
                steps=("Read the document again.", "Then send the part as it stands there."),
            )
        span = whole
    made = _edits(text, hunk, span, fitted=True)
    return made if isinstance(made, Failure) else _planned(text, hunk, Tier.SAFE, made)


def plan_whole(text: Text, content: str) -> PlannedHunk | Failure:
    """
    The edits that make *content* (with LF) the whole text.

    Lines that stay keep their bytes; the document's final newline, or its absence, is kept unless that
    is all that differs.
    """
    flat, content = to_lf(text.content), to_lf(content)
    if marker := _omission(text, content):
        return marker
    if flat and content and flat.rstrip("\n") != content.rstrip("\n"):
        if flat.endswith("\n"):
            content += "" if content.endswith("\n") else "\n"
        else:
            content = content.removesuffix("\n")
    return _planned(
        text, None, Tier.SAFE, place.at_string(text, Span(start=0, end=len(text.content)), content)
    )


def _planned(text: Text, hunk: Hunk | None, tier: Tier, edits: tuple[TextEdit, ...]) -> PlannedHunk | Failure:
    if any(joins_ends(text.content, edit) for edit in edits):
        return Failure(
            code=Code.BAD_PATCH,
            message="The document mixes CR and LF, and this edit would make one line end of two.",
            steps=("Leave these lines as they are, or give the document one kind of line end first.",),
        )
    return PlannedHunk(number=hunk.number if hunk else None, tier=tier, edits=edits)


def _edits(text: Text, hunk: Hunk, span: Span, *, fitted: bool) -> tuple[TextEdit, ...] | Failure:
    if place.is_string(text, hunk, span):
        return place.at_string(text, span, hunk.new)
    return place.at_rows(text, span, hunk, fitted=fitted)


def _is_row(hunk: Hunk, there: str) -> bool:
    """Whether the search text may be all of a row that reads *there*, and not only a part of it."""
    old, there = hunk.old.strip(), there.strip()
    if hunk.whole_lines or "\n" in old or abs(len(old) - len(there)) <= len(old) // 4:
        return True
    ours, theirs = WORDS.findall(old), WORDS.findall(there)
    return bool(ours and theirs) and ours[0] == theirs[0] and ours[-1] == theirs[-1]


def _unusable(text: Text, hunk: Hunk) -> Failure | None:
    if not hunk.whole_lines and not hunk.old:
        return Failure(
            code=Code.EMPTY_SEARCH,
            message="The search text is empty.",
            steps=("Give the lines to replace.", "To make a new file, use write_file."),
        )
    if hunk.old == hunk.new and not hunk.leaves_blank:
        return Failure(
            code=Code.NO_CHANGE,
            message="Search text and replacement are the same; there is nothing to change.",
            steps=("Leave the edit out.", "Or send the replacement you meant."),
        )
    if hunk.whole_lines and hunk.old and not hunk.old.strip():
        return Failure(
            code=Code.EMPTY_SEARCH,
            message="The search text is nothing but blank lines.",
            steps=("Add a line that is not blank.",),
        )
    return _omission(text, hunk.new, hunk.old)


def _omission(text: Text, new: str, old: str = "") -> Failure | None:
    for row in new.split("\n"):
        if OMISSION.match(row) and row.strip() not in text.content and row.strip() not in old:
            return Failure(
                code=Code.OMISSION,
                message=f"The new text leaves out lines: {row.strip()!r} stands where they should be.",
                steps=("Send the lines in full.", "Or edit only the lines that change."),
            )
    return None


def _insertion(text: Text, hunk: Hunk) -> PlannedHunk | Failure:
    """An addition without context: below its scope line, else at the end of the document."""
    if hunk.line_number is not None and text.rows:
        return Failure(
            code=Code.EMPTY_SEARCH,
            message="The hunk adds lines without any context, so a line number alone would decide the place.",
            steps=("Give a line of context before or after the insertion.",),
        )
    new, line = hunk.new.split("\n"), len(text.rows)
    if hunk.scope:
        lines = match.scope_lines(text, hunk.scope[:-1]) if hunk.scope[1:] else range(line)
        header = hunk.scope[-1].strip()
        places = [at for at in lines if text.rows[at].strip() == header]
        if len(places) != 1:
            return Failure(
                code=Code.AMBIGUOUS_MATCH if places else Code.NO_MATCH,
                message=f"The line {header!r}, below which to insert, occurs {len(places)} times.",
                steps=("Give a line of context before or after the insertion.",),
            )
        line = places[0] + 1
    first = line if hunk.scope else line - len(new)
    is_there = already.is_distinct("".join(new)) and list(text.rows[max(0, first) : first + len(new)]) == new
    return _planned(text, hunk, Tier.SAFE, () if is_there else place.at_line(text, line, new))
