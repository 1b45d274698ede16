"""
Settle the hunks of a patch among each other: no two may change the same text, and one may build on others.

Each hunk is planned on the document as it is. One that is not there may have been written for the document as
the hunks before it leave it, because some tools make one edit after the other. It is made so if its old text
is nowhere in the document, and exactly once, character for character, in what the hunks before it make.

Theory of operation: The hunk is planned on that later text. Where its edits meet text that earlier edits have
written, both become one edit of the document; the others are moved back. All of them then belong to the first
of the hunks that it builds on, its *host*, because they can only be made together. For example, hunk 1
replaces `a` by `b c`, and hunk 2 replaces `b` by `d`: hunk 1 gets the edit that replaces `a` by `d c`, and
hunk 2 gets no edit, but the number of its host.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence

from handrail.core.documents.change import PlannedHunk, Tier
from handrail.core.documents.edit import TextEdit, apply, joins_ends, trim
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure, Span
from handrail.core.matching import match, row_match, strings
from handrail.core.matching.similar import candidate_at
from handrail.core.patches.hunk import Hunk
from handrail.values import dataclass, replace

Result = PlannedHunk | Failure
PlanHunk = Callable[[Text, Hunk], Result]

BUILDS_ON = (
    "The document does not have the search text before hunk {0} is made, so this edit was made after "
    "hunk {0}."
)


def settle(text: Text, hunks: Sequence[Hunk], results: Sequence[Result], plan_hunk: PlanHunk) -> list[Result]:
    """
    Returns the *results* without overlaps: of two hunks that change the same text, the later fails.

    Args:
        text: The document.
        hunks: The hunks of the patch, in its order.
        results: The plan of each of them on *text*.
        plan_hunk: Plans one hunk on any text.
    """
    settled: list[Result] = []
    taken: list[tuple[int, int]] = []
    for hunk, result in zip(hunks, results, strict=True):
        own = result
        if isinstance(own, PlannedHunk) and any(_overlap(edit.span, taken) for edit in own.edits):
            own = _twice(hunk)
        if taken and _may_build_on_others(text, hunk, result):
            built = _build_on(text, settled, hunk, own, plan_hunk)
            if built is not None:
                settled = built
                taken = [(edit.span.start, edit.span.end) for edit in _edits_of(settled)]
                continue
        settled.append(own)
        for edit in own.edits if isinstance(own, PlannedHunk) else ():
            insort(taken, (edit.span.start, edit.span.end))
    return settled


def _edits_of(results: Sequence[Result]) -> list[TextEdit]:
    edits = [edit for each in results if isinstance(each, PlannedHunk) for edit in each.edits]
    return sorted(edits, key=lambda edit: (edit.span.start, edit.span.end))


def _overlap(span: Span, taken: Sequence[tuple[int, int]]) -> bool:
    """Whether *span* meets one of those *taken*, ascending (start, end) that do not meet each other."""
    at = bisect_left(taken, (span.start, span.start))
    return any(
        (span.start < end and start < span.end) or span.start == span.end == start == end
        for start, end in taken[max(0, at - 1) : at + 2]
    )


def _twice(hunk: Hunk) -> Failure:
    return Failure(
        code=Code.BAD_PATCH,
        message=f"Hunk {hunk.number} changes lines that an earlier hunk of the patch also changes.",
        steps=("Put both changes into one hunk.",),
    )


# ---- Hunks that build on others ---------------------------------------------------------------------


def _may_build_on_others(text: Text, hunk: Hunk, result: Result) -> bool:
    """Whether *hunk* is of a notation that may be made in order, and its old text is not in the document."""
    if hunk.signs or hunk.replace_all or hunk.rivals or not hunk.old.strip():
        return False  # the lines of a diff are those of the document
    if isinstance(result, PlannedHunk) and result.tier is Tier.SAFE and result.edits:
        return False
    return not _occurrences(text, hunk)


def _occurrences(text: Text, hunk: Hunk) -> list[int]:
    if hunk.whole_lines:
        return row_match.exact_lines(text.flat, hunk.old)
    return strings.find_all(text.flat, hunk.old)


def _build_on(
    text: Text, earlier: Sequence[Result], hunk: Hunk, own: Result, plan_hunk: PlanHunk
) -> list[Result] | None:
    """Returns all results with that of *hunk*, made after the *earlier* ones; None to leave it at *own*."""
    later = replace(text, content=apply(text.content, _edits_of(earlier)))
    if len(_occurrences(later, hunk)) != 1:
        return None
    planned, found = plan_hunk(later, hunk), match.locate(later, hunk)
    if isinstance(planned, Failure) or planned.tier is not Tier.SAFE or not planned.edits:
        return None
    if isinstance(found, Failure) or len(found) != 1:
        return None
    joined = _join(text, earlier, planned, found[0].span)
    if joined is None or apply(text.content, _edits_of(joined)) != apply(later.content, planned.edits):
        return None
    if isinstance(own, PlannedHunk) and own.edits and own.tier is Tier.NORMALISED:
        own_text = apply(text.content, _edits_of([*earlier, own]))
        is_same = own_text == apply(later.content, planned.edits)
        return None if is_same else [*earlier, _ambiguous(text, hunk, own, joined[-1])]
    return joined


def _ambiguous(text: Text, hunk: Hunk, own: PlannedHunk, built: Result) -> Failure:
    assert isinstance(built, PlannedHunk)
    found, span = match.locate(text, hunk), own.edits[0].span
    there = span if isinstance(found, Failure) else found[0].span
    near = replace(
        candidate_at(text, hunk, there, has_differences=True), span=span, line=text.line_at(span.start)
    )
    line = near.line
    return Failure(
        code=Code.AMBIGUOUS_MATCH,
        message=(
            f"Line {line + 1} has the search text with small differences. After hunk {built.within}, another "
            "place has it exactly. So it is unclear which place is meant."
        ),
        steps=(
            f"If you mean line {line + 1}, send its exact current lines.",
            f"Otherwise, put both changes into hunk {built.within}.",
        ),
        near=(near,),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """
    An edit of the document, and the place of its new text in what the hunks before leave.

    Attributes:
        owner: The number of the result that it belongs to, counted from 0.
    """

    edit: TextEdit
    start: int
    end: int
    owner: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """
    What touches each other in the text that the hunks before leave.

    Attributes:
        start, end: The place there.
        written: Earlier edits, in order; their new text is there.
        edits: Edits to make there.
    """

    start: int
    end: int
    written: tuple[_Written, ...]
    edits: tuple[TextEdit, ...]


def _join(text: Text, earlier: Sequence[Result], planned: PlannedHunk, span: Span) -> list[Result] | None:
    """
    Returns the *earlier* results, and one more, with the edits of *planned* given to its host.

    Args:
        text: The document.
        earlier: The results of the hunks before.
        planned: The plan on the text that the hunks before leave.
        span: Where the old text of the hunk is in that text.
    """
    written = _earlier_edits(earlier)
    groups = _groups(written, planned.edits)
    owners = {each.owner for each in written if each.start <= span.end and span.start <= each.end}
    owners |= {each.owner for group in groups if group.edits for each in group.written}
    if not owners:
        return None
    host = min(owners)
    first = earlier[host]
    assert isinstance(first, PlannedHunk)
    edits: list[TextEdit] = []
    for group in groups:
        if group.edits:
            edits += _on_document(text, written, group)
        else:
            edits += (each.edit for each in group.written if each.owner in owners)
    if any(joins_ends(text.content, edit) for edit in edits):
        return None
    guests = {
        each.number for at, each in enumerate(earlier) if at in owners and isinstance(each, PlannedHunk)
    }
    joined: list[Result] = [
        replace(each, edits=(), within=first.number)
        if isinstance(each, PlannedHunk) and (at in owners or each.within in guests)
        else each
        for at, each in enumerate(earlier)
    ]
    joined[host] = replace(first, edits=tuple(edits))
    notes = (*planned.notes, BUILDS_ON.format(first.number))
    return [*joined, replace(planned, tier=Tier.NORMALISED, edits=(), notes=notes, within=first.number)]


def _earlier_edits(earlier: Sequence[Result]) -> list[_Written]:
    owned = [
        (edit, owner)
        for owner, each in enumerate(earlier)
        if isinstance(each, PlannedHunk)
        for edit in each.edits
    ]
    growth, result = 0, []
    for edit, owner in sorted(owned, key=lambda each: (each[0].span.start, each[0].span.end)):
        start = edit.span.start + growth
        result.append(_Written(edit=edit, start=start, end=start + len(edit.new), owner=owner))
        growth += edit.growth
    return result


def _groups(written: Sequence[_Written], edits: Sequence[TextEdit]) -> list[_Group]:
    """Returns the groups of all that touches each other, ascending."""
    alone = [_Group(start=each.start, end=each.end, written=(each,), edits=()) for each in written]
    alone += [_Group(start=each.span.start, end=each.span.end, written=(), edits=(each,)) for each in edits]
    groups: list[_Group] = []
    for each in sorted(alone, key=lambda group: (group.start, group.end)):
        if groups and each.start <= groups[-1].end:
            groups[-1] = _Group(
                start=groups[-1].start,
                end=max(groups[-1].end, each.end),
                written=groups[-1].written + each.written,
                edits=groups[-1].edits + each.edits,
            )
        else:
            groups.append(each)
    return groups


def _on_document(text: Text, written: Sequence[_Written], group: _Group) -> list[TextEdit]:
    """Returns the edits of *group* as edits of the document: one for all that meets earlier edits."""
    if not group.written:
        growth = sum(each.edit.growth for each in written if each.end < group.start)
        return [replace(edit, span=edit.span.shift(-growth)) for edit in group.edits]
    first, last = group.written[0], group.written[-1]
    start = first.edit.span.start - (first.start - group.start)
    end = last.edit.span.end + (group.end - last.end)
    moved = (replace(each.edit, span=each.edit.span.shift(-start)) for each in group.written)
    later = apply(text.content[start:end], moved)
    new = apply(later, (replace(edit, span=edit.span.shift(-group.start)) for edit in group.edits))
    small = trim(text.content, TextEdit(span=Span(start=start, end=end), new=new))
    return [] if small is None else [small]
