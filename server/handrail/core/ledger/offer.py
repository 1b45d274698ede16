"""
Show what an open failure's quick fixes would write, before the user applies one.

If the search text is only similar to the text at a place, a quick fix still writes the new text there. So
each offer names the old and the new line, and its diff shows the rest.
"""

from __future__ import annotations

from itertools import takewhile

from handrail.core.documents import diff, edit
from handrail.core.documents.change import PlannedHunk
from handrail.core.documents.text import Text, to_lf
from handrail.core.failure import Code, Failure
from handrail.core.ledger.outcome import OpenFailure
from handrail.core.planning import plan
from handrail.counts import count_of
from handrail.values import dataclass

ROW = 40  # characters of a line in a title; menus are not wider
LEAD = 10  # characters before the first difference, if it is far from the start
EXACT = 1.0  # the score of a place with exactly the search text

GONE = Failure(
    code=Code.NO_MATCH,
    message="The document no longer has the lines for this fix.",
    steps=("Dismiss the failure, or make the edit by hand.",),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """
    A quick fix.

    Attributes:
        candidate: The index of its place in the failure's `near`.
        title: Its place, and the first line that changes there, before and after.
        diff: Everything that it would change, as a unified diff.
        sought: How its search text differs from the lines there, as a unified diff; empty if it does not.
        is_sure: Whether the same edit, sent again, would be made there.
    """

    candidate: int
    title: str
    diff: str
    sought: str
    is_sure: bool


def offers(known: OpenFailure) -> tuple[Offer, ...]:
    """Returns the quick fixes of a failure: one for each place at which the edit can be made."""
    hunk, text = known.mutation.hunk, known.seen
    if hunk is None or text is None:
        return ()
    result = []
    for index, near in enumerate(known.failure.near):
        planned = plan_at(known, index)
        if isinstance(planned, PlannedHunk):
            shown = diff.unified_diff(known.mutation.path, text, planned.edits)
            is_sure = near.score == EXACT and plan.plan_hunk(text, hunk) == planned
            title = f"Apply at line {near.line + 1}: {_in_short(shown)}"
            sought = _sought(known, index)
            result.append(Offer(candidate=index, title=title, diff=shown, sought=sought, is_sure=is_sure))
    return tuple(result)


def show_fixes(known: OpenFailure, candidate: int | None = None) -> str:
    """Shows the quick fixes of a failure, or one of them, as text; empty if there is none."""
    chosen = [each for each in offers(known) if candidate in (None, each.candidate)]
    parts = []
    for each in chosen:
        parts.append(f"{each.title}\n\n{each.diff}")
        if each.sought:
            parts.append(f"The search text differs from the document:\n\n{each.sought}")
    return "\n".join(parts)


def plan_at(known: OpenFailure, candidate: int) -> PlannedHunk | Failure:
    """Plans the failed hunk at the place with the index *candidate*, in the text last seen."""
    hunk, text, span = known.mutation.hunk, known.seen, known.failure.near[candidate].span
    if hunk is None or text is None or span.start == span.end:
        return GONE
    return plan.plan_at(text, hunk, span)


def _sought(known: OpenFailure, candidate: int) -> str:
    hunk, text, near = known.mutation.hunk, known.seen, known.failure.near[candidate]
    if hunk is None or text is None:
        return ""
    old, there = to_lf(hunk.old).strip("\n"), to_lf(text.content[near.span.start : near.span.end])
    if old == there or old in there:
        return ""
    rows = diff.unified_diff("", Text(old), edit.edits_between(old, there)).split("\n")
    header = ["--- search text", f"+++ {known.mutation.path}, line {near.line + 1}"]
    return "\n".join([*header, *rows[2:]])


def _in_short(shown: str) -> str:
    """Returns the first removed and the first added line of a unified diff, and how many there are."""
    body = shown.split("\n")[3:]
    old, new = ([row[1:] for row in body if row.startswith(sign)] for sign in "-+")
    if not old and not new:
        return "no change"
    gone, comes = _first_row(old), _first_row(new)
    gone, comes = (_cut(row, _lead(gone, comes)) for row in (gone, comes))
    if not new:
        return f"− {gone}{_more(old)}"
    if not old:
        return f"+ {comes}{_more(new)}"
    becomes = "becomes" if len(old) == 1 else "become"
    both = f" ({count_of(len(old), 'line')} {becomes} {len(new):,})" if len(old) + len(new) > 2 else ""
    return f"{gone} → {comes}{both}"


def _first_row(rows: list[str]) -> str:
    return next((row.strip() for row in rows if row.strip()), "")


def _lead(one: str, other: str) -> int:
    """Returns how much to cut from the beginning of both rows so that their difference is shown."""
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return common - LEAD if common > ROW - LEAD else 0


def _cut(row: str, lead: int) -> str:
    """Shortens a row for a menu, and removes characters that a menu would interpret."""
    row = ("…" if lead else "") + row[lead:]
    row = row if len(row) <= ROW else row[: ROW - 1] + "…"
    shown = (each if each.isprintable() else " " if each == "\t" else f"\\u{ord(each):04x}" for each in row)
    return f"‘{''.join(shown)}’" if row else "a blank line"


def _more(rows: list[str]) -> str:
    return f" and {len(rows) - 1} more" if len(rows) > 1 else ""
