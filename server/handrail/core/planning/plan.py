"""
Turn the hunks of a patch into the smallest edits of a document.

This module decides whether a hunk may be applied at all, and whether it changes something. `omission` finds
placeholders, `match` finds its place, `already` decides whether the document already has it, `everywhere`
fits it to several places, `render` writes its rows, and `in_order` settles the hunks of a patch among each
other. The document is only read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from handrail.core.documents import spelling
from handrail.core.documents.change import PlannedHunk, Tier
from handrail.core.documents.edit import TextEdit, apply, joins_ends
from handrail.core.documents.index import NEAR_ROWS, plain
from handrail.core.documents.text import Text, to_lf, unwritable
from handrail.core.failure import Code, Failure, Span
from handrail.core.matching import escapes, match, numbers, refusal, scope, similar, strings
from handrail.core.matching.result import Match
from handrail.core.matching.tie_break import ANYWHERE, Bounds
from handrail.core.patches.hunk import Hunk, rows_of
from handrail.core.planning import adapted, already, everywhere, in_order, render, tabs
from handrail.core.planning.omission import omission, placeholder_of_key
from handrail.values import dataclass, replace

LIMIT_HUNKS = 1000  # of one document; each is searched for in all of it
LIMIT_SEARCH_CHARS = 1_000_000  # no model writes more, and comparing takes longer the longer it is
TIERS = list(Tier)
LONGEST_MARK = 4  # characters that may be read as a byte order mark
WORDS = re.compile(r"\w+|\S")


@dataclass(frozen=True, slots=True, kw_only=True)
class HunkPlan:
    """The plan of one hunk: edits (none if the document already has it), or why not."""

    hunk: Hunk
    result: PlannedHunk | Failure


def plan(text: Text, hunks: Sequence[Hunk]) -> tuple[HunkPlan, ...]:
    """
    Plans each hunk against *text*.

    Returns:
        One plan for each hunk, in order. The edits of different hunks do not overlap, and one hunk may
        build on others: see `in_order`.
    """
    if (wrong := too_many(hunks)) is not None:
        return tuple(HunkPlan(hunk=hunk, result=wrong) for hunk in hunks)
    results: list[PlannedHunk | Failure] = []
    for hunk in hunks:
        bounds = Bounds(after=max((_end(result) for result in results), default=0))
        results.append(plan_hunk(text, hunk, bounds))
    for at, result in enumerate(results):
        if isinstance(result, Failure) and result.code is Code.AMBIGUOUS_MATCH:
            results[at] = _plan_between(text, hunks[at], results, at)
    settled = in_order.settle(text, hunks, results, plan_hunk)
    return tuple(HunkPlan(hunk=hunk, result=result) for hunk, result in zip(hunks, settled, strict=True))


def _end(result: PlannedHunk | Failure) -> int:
    return result.edits[-1].span.end if isinstance(result, PlannedHunk) and result.edits else 0


def _plan_between(
    text: Text, hunk: Hunk, results: Sequence[PlannedHunk | Failure], at: int
) -> PlannedHunk | Failure:
    """Plans the ambiguous *hunk* number *at* again, now that the places of the following ones are known."""
    made = [result for result in results if isinstance(result, PlannedHunk) and result.edits]
    starts = [result.edits[0].span.start for result in made]
    behind = [result for result in results[at + 1 :] if isinstance(result, PlannedHunk) and result.edits]
    if not behind or starts != sorted(starts):
        return results[at]
    after = max((_end(result) for result in results[:at]), default=0)
    return plan_hunk(text, hunk, Bounds(after=after, before=behind[0].edits[0].span.start))


def too_many(hunks: Sequence[Hunk]) -> Failure | None:
    """Returns `too-large` for too many hunks in one document."""
    if len(hunks) <= LIMIT_HUNKS:
        return None
    return Failure(
        code=Code.TOO_LARGE,
        message=(f"The patch has {len(hunks):,} hunks for one document; the limit is {LIMIT_HUNKS:,}."),
        steps=("Split it into several patches.", "Or write the whole file."),
    )


def plan_hunk(text: Text, hunk: Hunk, bounds: Bounds = ANYWHERE) -> PlannedHunk | Failure:
    """Returns the edits of one hunk, or why it cannot be applied; see `plan`."""
    if wrong := _unusable(text, hunk):
        return wrong
    if not hunk.whole_lines and not text.content and not hunk.old.strip():
        return _plan(text, hunk, Tier.SAFE, render.at_string(text, Span(start=0, end=0), hunk.new))
    if not hunk.old:
        return _insertion(text, hunk)
    found = _locate(text, hunk, bounds)
    if isinstance(found, Failure):
        is_there = found.code is Code.NO_MATCH and already.is_there(text, hunk, found.near)
        return _plan(text, hunk, Tier.SAFE, ()) if is_there else found
    if hunk.replace_all and isinstance(found := everywhere.indent_each(text, found[0].hunk, found), Failure):
        return found
    if (other := _plan_instead(text, hunk, found)) is not None:
        return other
    edits: list[TextEdit] = []
    for each in found:
        made = _edits(text, each)
        if isinstance(made, Failure):
            return made
        edits += made
    own = (note for each in found for note in each.hunk.notes)
    told = tuple(dict.fromkeys((*own, *adapted.notes(text, found))))
    tier = max((each.tier for each in found), key=TIERS.index)
    return _plan(text, replace(found[0].hunk, notes=told), tier, tuple(edits))


def _locate(text: Text, hunk: Hunk, bounds: Bounds) -> tuple[Match, ...] | Failure:
    """Finds the place of *hunk*, and corrects the form of its new text."""
    found = match.locate(text, hunk, bounds)
    if isinstance(found, Failure):
        return found
    right = numbers.without_new_numbers(text, found[0])
    first, last = text.line_at(found[0].span.start), text.line_at(found[0].span.end)
    near = text.rows[max(0, first - NEAR_ROWS) : last + NEAR_ROWS]
    right = escapes.with_tabs(right, text.flat, near)
    cuts_row = not found[0].lines and found[0].span.start != text.starts[first]
    right = tabs.adapt(text, right, first, near, cuts_row=cuts_row)
    if right is not found[0].hunk:
        again = match.locate(text, right, bounds)
        if isinstance(again, Failure):
            return again
        found = tuple(replace(each, tier=max(each.tier, Tier.NORMALISED, key=TIERS.index)) for each in again)
    if found[0].hunk.new != hunk.new and (wrong := _check_omission(text, found[0].hunk)):
        return wrong
    return found


def _plan_instead(text: Text, hunk: Hunk, matches: Sequence[Match]) -> PlannedHunk | Failure | None:
    """Returns what to do instead of applying *hunk* at its *matches*; None to apply it."""
    if all(already.is_made(text, each) for each in matches):
        return _plan(text, hunk, Tier.SAFE, ())
    if any(each.strategy == "indentation" for each in matches) and strings.goes_on_at_the_margin(hunk):
        return refusal.depth_is_open(similar.candidate_at(text, hunk, matches[0].span, has_differences=True))
    if matches[0].tier is not Tier.ANCHORED or not (found := already.find_new_text(text, hunk)):
        return None
    is_here = found[0].start < matches[0].span.end and matches[0].span.start < found[0].end
    if is_here and already.is_there(text, hunk, ()):
        return _plan(text, hunk, Tier.SAFE, ())
    return refusal.new_text_is_elsewhere(similar.candidate_at(text, hunk, matches[0].span))


def plan_at(text: Text, hunk: Hunk, span: Span) -> PlannedHunk | Failure:
    """Returns the edits of *hunk* at a place that a person chose: its exact old text there, or whole rows."""
    if (wrong := placeholder_of_key(text, hunk.new.split("\n"))) is not None:
        return wrong
    first = text.line_at(span.start)
    if render.is_string(text, hunk, span):
        return _plan(text, hunk, Tier.SAFE, render.at_string(text, span, hunk.new))
    if not _is_row(hunk, text.rows[first] if text.rows else ""):
        return Failure(
            code=Code.NO_MATCH,
            message=(
                f"Line {first + 1} has the search text only in a part of it, and it is unclear where that "
                "begins and ends."
            ),
            steps=("Read the document again.", "Then send the exact part that you mean."),
        )
    end = text.line_at(max(span.start, span.end - 1)) + 1
    numbers = range(first, first + len(rows_of(hunk)[0]))
    lines = tuple(line if line < end else None for line in numbers)
    made = render.at_rows(text, hunk, lines, is_adapted=True)
    return made if isinstance(made, Failure) else _plan(text, hunk, Tier.SAFE, made)


def plan_whole(text: Text, content: str) -> PlannedHunk | Failure:
    """
    Returns the edits that make *content* (with LF) the whole text.

    Lines that stay keep their bytes; the document's final newline, or its absence, is kept unless that
    is all that differs.
    """
    flat, content = to_lf(text.content), to_lf(content)
    if wrong := unwritable(content) or omission(text, content.split("\n"), text.rows):
        return wrong
    content = keep_end(flat, content)
    return _plan(text, None, Tier.SAFE, render.at_string(text, Span(start=0, end=len(text.content)), content))


def keep_end(flat: str, content: str) -> str:
    """Returns a new text *content* for the text *flat*, with a final newline if *flat* has one."""
    if not flat or not content or flat.rstrip("\n") == content.rstrip("\n"):
        return content
    if flat.endswith("\n"):
        return content if content.endswith("\n") else f"{content}\n"
    return content.removesuffix("\n")


def _plan(text: Text, hunk: Hunk | None, tier: Tier, edits: tuple[TextEdit, ...]) -> PlannedHunk | Failure:
    if any(joins_ends(text.content, edit) for edit in edits):
        return Failure(
            code=Code.BAD_PATCH,
            message="The document mixes CR and LF, and this edit would merge two line endings into one.",
            steps=("Leave these lines unchanged, or convert the document to one kind of line ending first.",),
        )
    is_first = bool(edits) and edits[0].span.start < LONGEST_MARK
    if is_first and (wrong := text.check_begin(apply(text.content, edits))) is not None:
        return wrong
    made = () if _comes_to_nothing(text, edits) else edits
    return PlannedHunk(
        number=hunk.number if hunk else None, tier=tier, edits=made, notes=hunk.notes if hunk else ()
    )


def _comes_to_nothing(text: Text, edits: Sequence[TextEdit]) -> bool:
    """Whether one edit restores what another one removes."""
    if len(edits) < 2 or sum(edit.growth for edit in edits) != 0:
        return False
    start, end = edits[0].span.start, edits[-1].span.end
    moved = (replace(edit, span=edit.span.shift(-start)) for edit in edits)
    return apply(text.content[start:end], moved) == text.content[start:end]


def _edits(text: Text, match: Match) -> tuple[TextEdit, ...] | Failure:
    if match.lines:
        return render.at_rows(text, match.hunk, match.lines, is_adapted=match.tier is not Tier.SAFE)
    there = to_lf(text.content[match.span.start : match.span.end])
    new = spelling.keep_spelling(match.hunk.new, match.hunk.old, there)
    new = spelling.spell_plainly(new, spelling.foreign_characters([(match.hunk.old, there)], text.content))
    return render.at_string(text, match.span, new)


def _is_row(hunk: Hunk, there: str) -> bool:
    """Whether the search text may be all of the row *there*, and not only a part of it."""
    old, there = hunk.old.strip(), there.strip()
    if hunk.whole_lines or "\n" in old or abs(len(old) - len(there)) <= len(old) // 4:
        return True
    ours, theirs = WORDS.findall(old), WORDS.findall(there)
    return bool(ours and theirs) and ours[0] == theirs[0] and ours[-1] == theirs[-1]


def _unusable(text: Text, hunk: Hunk) -> Failure | None:
    if len(hunk.old) > LIMIT_SEARCH_CHARS:
        return Failure(
            code=Code.TOO_LARGE,
            message=f"The search text has {len(hunk.old):,} characters; the limit is {LIMIT_SEARCH_CHARS:,}.",
            steps=("Send only the lines that change, with a few around them.",),
        )
    if wrong := unwritable(hunk.old, "the search text") or unwritable(hunk.new):
        return wrong
    if not hunk.whole_lines and not hunk.old and text.content:
        return Failure(
            code=Code.EMPTY_SEARCH,
            message="The search text is empty.",
            steps=("Give the lines to replace.", "To create a file, use write_file."),
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
            message="The search text has only blank lines.",
            steps=("Add a line that is not blank.",),
        )
    return _check_omission(text, hunk)


def _check_omission(text: Text, hunk: Hunk) -> Failure | None:
    old, new = rows_of(hunk)
    return omission(text, new, old)


def _opens(text: Text, line: int, header: str) -> bool:
    """Whether a line that contains *header* is that header, and not only the begin of it."""
    row = plain(text.rows[line])
    return row == plain(header) or row.endswith((":", "{"))


def _missing_header(text: Text, hunk: Hunk, lines: Sequence[int]) -> Failure:
    """Returns the failure if the header below which to insert is not in *lines*, its outer scope."""
    *outer, header = (each.strip() for each in hunk.scope)
    where = "is not in the document"
    if outer and text.index.header_lines(plain(header)):
        where = f"is not in the scope of {outer[-1]!r}, which the patch names"
        if not lines:
            where = f"cannot be found: {_scope_in_words(outer)} must be in the document exactly once"
    return Failure(
        code=Code.NO_MATCH,
        message=f"The line {header!r}, below which to insert, {where}.",
        steps=("Correct the @@ line, or add a line of context before or after the insertion.",),
    )


def _scope_in_words(outer: Sequence[str]) -> str:
    """Returns the headers around another one, the outermost first."""
    first, *others = (repr(each) for each in outer)
    return "".join((first, *(f", and in it {each}," for each in others)))


def _endless_header(header: str) -> Failure:
    return Failure(
        code=Code.NO_MATCH,
        message=f"The line {header!r} begins a header of several lines, and it is not clear where the header "
        "ends, so the place of the new lines is unclear.",
        steps=("Add a line of context before or after the insertion.",),
    )


def _insertion(text: Text, hunk: Hunk) -> PlannedHunk | Failure:
    """Plans an addition without context: below its scope's header, otherwise at the end of the document."""
    if hunk.line_number is not None and text.rows:
        return Failure(
            code=Code.EMPTY_SEARCH,
            message="The hunk adds lines without any context, so only a line number says where they belong.",
            steps=("Add a line of context before or after the insertion.",),
        )
    new, line = hunk.new.split("\n"), len(text.rows)
    if hunk.scope:
        lines = scope.scope_lines(text, hunk.scope[:-1]) if hunk.scope[1:] else range(line)
        header = hunk.scope[-1].strip()
        found = [
            at for at in text.index.header_lines(plain(header)) if at in lines and _opens(text, at, header)
        ]
        if not found:
            return _missing_header(text, hunk, lines)
        if len(found) > 1:
            return Failure(
                code=Code.AMBIGUOUS_MATCH,
                message=f"The line {header!r}, below which to insert, occurs {len(found)} times.",
                steps=("Add a line of context before or after the insertion.",),
            )
        end = scope.header_end(text.rows, found[0], is_listed=hunk.new.rstrip().endswith(","))
        if end is None:
            return _endless_header(header)
        line = end + 1
    right = tabs.adapt(text, hunk, line, text.rows[max(0, line - NEAR_ROWS) : line + NEAR_ROWS])
    tier = Tier.SAFE if right is hunk else Tier.NORMALISED
    hunk, new = right, right.new.split("\n")
    first = line if hunk.scope else line - len(new)
    is_there = already.is_distinct("".join(new)) and list(text.rows[max(0, first) : first + len(new)]) == new
    return _plan(text, hunk, tier, () if is_there else render.at_line(text, line, new))
