r"""
Read back: find out whether our edits are in a text that others may have changed too.

An edit is intact if its new text is there, whole, where it belongs, and what it replaced is gone. What the
user typed around it does not matter. Where the difference of two texts can be read in more than one way
(one of several equal lines is missing), the reading in which ours is missing wins for deletions, and the
reading in which ours is whole wins for insertions.

Theory of operation. Three texts are known: `base`, on which the edits were computed; `expected`, which they
make of it; and `now`, which is there. An edit is intact if nothing in the difference of `expected` and `now`
disturbs it. If it is not, the texts are compared without their blanks, and without what was only added: an
editor that formats as it goes, or a user who types into a new line at once, has taken the edit. This reading
must cost fewer keys than the one in which the edit was never made. Only if the place of an edit is as `base`
has it is the edit known to be absent; everything else stays unclear, and must not be sent again. Before all
that, if some of the edits make exactly the text that is there, these were made and the others were not
(`reading_back.subset`): a client may apply a part, and no formatter is needed to explain that.

    >>> base = Text("one\ntwo\nthree\n")
    >>> edits = [TextEdit(span=Span(start=4, end=7), new="TWO")]
    >>> def fate(now: str) -> str:
    ...     return fates(base, edits, now)[0].value
    >>> fate("one\nTWO\nthree!\n")  # the user typed elsewhere
    'intact'
    >>> fate("one\nT WO\nthree\n")  # only blanks differ
    'reformatted'
    >>> fate("one\nTxWO\nthree\n")  # something was added inside ours
    'added to'
    >>> fate("one\n?\nthree\n")  # the place was changed, and ours is not in it
    'unclear'
    >>> fate("one\ntwo\nthree!\n")  # the place is as it was
    'absent'
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import accumulate, compress

from handrail.core.documents.edit import TextEdit, apply, edits_between, opcodes, rebase
from handrail.core.documents.reading_back.blanks import is_of_blanks, is_trimmed, squeeze, with_rows_as_before
from handrail.core.documents.reading_back.subset import exact_subset, subset_beside_others
from handrail.core.documents.text import Text, split_lines
from handrail.core.failure import Span
from handrail.values import dataclass

MARGIN = 2  # keys; about equal efforts tell nothing
LIMIT_FINE = 2_000  # characters of a changed block that are compared one by one
ALIKE = 0.5  # from then on an insertion at our place may be ours, changed


class Fate(StrEnum):
    """Whether one edit is in the document, and how."""

    INTACT = "intact"
    REFORMATTED = "reformatted"  # it is intact but for its blanks
    ADDED_TO = "added to"  # all of it is there, and more inside it
    ABSENT = "absent"  # its place is as it was before
    UNCLEAR = "unclear"  # its place was changed, and ours is not whole there


LANDED = frozenset({Fate.INTACT, Fate.REFORMATTED, Fate.ADDED_TO})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ours:
    """An edit in the text that all edits make: where its new text is, and what it replaced."""

    span: Span
    new: str
    old: str


def fates(
    base: Text, edits: Sequence[TextEdit], now: str, hunks: Sequence[int] | None = None
) -> tuple[Fate, ...]:
    """
    Returns the fate of each edit.

    Args:
        base: The text that the edits were computed on.
        edits: What we asked for, ascending, without overlap.
        now: What the editor holds.
        hunks: For each edit, the number of its hunk; without, all are of one.

    Cost: that of a few differences of the two texts; one, if every edit is intact.
    """
    intact, is_exact = _read(base, edits, now)
    if all(intact):
        return (Fate.INTACT,) * len(edits)
    if now == base.content:
        return (Fate.ABSENT,) * len(edits)
    if is_exact:
        found = [Fate.INTACT if is_intact else Fate.ABSENT for is_intact in intact]
        return _with_formatted_blanks(base, edits, found, hunks, None)
    expected, ours = _apply_edits(base, edits)
    added = _which_grew(expected, ours, (base.content, edits), now)
    bare = _squeezed_fates(base, edits, now)
    moved = rebase(base, edits, now)
    later = edits_between(base.content, now)
    found = [
        (Fate.INTACT if is_intact else None)
        or (bare[at] if bare[at] in LANDED else None)
        or (Fate.ADDED_TO if added[at] and bare[at] is None else None)
        or (Fate.UNCLEAR if moved[at].conflict or _is_met(base, each, later) else Fate.ABSENT)
        for at, (each, is_intact) in enumerate(zip(edits, intact, strict=True))
    ]
    return _with_formatted_blanks(base, edits, found, hunks, now)


def _with_formatted_blanks(
    base: Text,
    edits: Sequence[TextEdit],
    so_far: Sequence[Fate],
    hunks: Sequence[int] | None,
    now: str | None,
) -> tuple[Fate, ...]:
    """
    Returns the fates, where those of edits of blanks may follow from those of the others.

    If more than blanks has landed, whoever changed the blanks of a row again is a formatter. One that trims
    has removed blank lines and blanks at the ends of rows if the rest of their hunk has landed.

    Args:
        now: What the editor holds; None if what is missing was surely not made.
    """
    hunks = hunks or [0] * len(edits)
    is_blank = [is_of_blanks(base, each) for each in edits]
    of_text = [fate in LANDED and not blank for fate, blank in zip(so_far, is_blank, strict=True)]
    if not any(of_text):
        return tuple(so_far)
    absent = [fate is Fate.ABSENT and blank for fate, blank in zip(so_far, is_blank, strict=True)]
    made, missing = list(compress(edits, of_text)), list(compress(edits, absent))
    landed = set(compress(hunks, of_text))
    left = frozenset(missing) if now is None else with_rows_as_before(base, made, missing, now)
    result = []
    for edit, fate, hunk, blank in zip(edits, so_far, hunks, is_blank, strict=True):
        is_trimmed_away = fate is Fate.ABSENT and hunk in landed and is_trimmed(base, edit)
        is_changed = fate is Fate.UNCLEAR or (fate is Fate.ABSENT and edit not in left)
        result.append(Fate.REFORMATTED if blank and (is_changed or is_trimmed_away) else fate)
    return tuple(result)


def which_are_intact(base: Text, edits: Sequence[TextEdit], now: str) -> tuple[bool, ...]:
    """
    Says of each edit whether it is in *now* as it was written.

    Args:
        base: The text that the edits were computed on.
        edits: What we asked for, ascending, without overlap.
        now: What the editor holds.
    """
    return _read(base, edits, now)[0]


def _read(base: Text, edits: Sequence[TextEdit], now: str) -> tuple[tuple[bool, ...], bool]:
    """
    Says of each edit whether it is in *now* as it was written, and whether the others were surely not made.
    """
    expected, ours = _apply_edits(base, edits)
    if now == expected:
        return (True,) * len(edits), True
    if now == base.content:
        return (False,) * len(edits), True
    if (subset := exact_subset(base.content, edits, now)) is not None:
        return subset, True
    others = _differences(expected, now)
    intact = []
    for at, each in enumerate(ours):
        is_whole = not any(_disturbs(expected, other, each.span, each.old) for other in others)
        if is_whole and not each.new and _may_be_undone(expected, each.span.start, each.old, others):
            without = apply(base.content, (*edits[:at], *edits[at + 1 :]))
            is_back = any(other.new and squeeze(other.new) == squeeze(each.old) for other in others)
            fewer = _effort(_differences(without, now))
            is_whole = _effort(others) <= (fewer if is_back else fewer + MARGIN)
        intact.append(is_whole)
    if len(edits) == 1 or (all(intact) and all(_is_in_a_line(expected, other) for other in others)):
        return tuple(intact), False
    subset = subset_beside_others(base, edits, now)
    if subset is None or subset == tuple(intact):
        return tuple(intact), subset is not None
    efforts = [
        _effort(_differences(apply(base.content, compress(edits, which)), now)) for which in (subset, intact)
    ]
    is_easier = efforts[0] < efforts[1]
    return (subset if is_easier else tuple(intact)), is_easier


def _is_in_a_line(content: str, edit: TextEdit) -> bool:
    return not any(
        end in part for end in "\r\n" for part in (edit.new, content[edit.span.start : edit.span.end])
    )


def with_blanks_of(base: Text, edits: Sequence[TextEdit], now: str) -> str:
    """
    Returns *base* after *edits*, with the blanks of *now* in the rows that they touch.

    A formatter that follows an edit at once changes the edit's rows; what else *now* has is others'.
    """
    expected, ours = _apply_edits(base, edits)
    if now == expected:
        return expected
    rows, theirs = split_lines(expected), split_lines(now)
    starts = list(accumulate(map(len, rows), initial=0))
    own = set[int]()
    for each in ours:
        own.update(range(bisect_right(starts, each.span.start) - 1, bisect_right(starts, each.span.end)))
    for i, j, k, m in reversed(opcodes(rows, theirs)):
        is_row_by_row = j - i == m - k
        pairs = zip(range(i, j), range(k, m), strict=True) if is_row_by_row else ()
        for row, other in pairs:
            if row in own and squeeze(rows[row]) == squeeze(theirs[other]):
                rows[row] = theirs[other]
        old, new = "".join(rows[i:j]), "".join(theirs[k:m])
        if not is_row_by_row and own.intersection(range(i, j)) and squeeze(old) == squeeze(new):
            rows[i:j] = theirs[k:m]
    return "".join(rows)


def _apply_edits(base: Text, edits: Sequence[TextEdit]) -> tuple[str, list[_Ours]]:
    """The text that *edits* make of *base*, and where each of them is in it."""
    ours, growth = [], 0
    for edit in edits:
        start = edit.span.start + growth
        old = base.content[edit.span.start : edit.span.end]
        ours.append(_Ours(span=Span(start=start, end=start + len(edit.new)), new=edit.new, old=old))
        growth += edit.growth
    return apply(base.content, edits), ours


def _which_grew(
    expected: str, ours: Sequence[_Ours], before: tuple[str, Sequence[TextEdit]], now: str
) -> tuple[bool, ...]:
    """Whether all of each edit is there with something added inside, and that explains *now* best."""
    others = _differences(expected, now)
    effort = _effort(others)
    result = []
    for at, each in enumerate(ours):
        met = [o for o in others if o.span.start < each.span.end and o.span.end > each.span.start]
        met += [
            o for o in others if o.span.start == o.span.end and each.span.start < o.span.start < each.span.end
        ]
        only_added = all(other.span.start == other.span.end for other in met)
        if not each.new.strip() or not met or not only_added:
            result.append(False)
            continue
        content, edits = before
        without = apply(content, (*edits[:at], *edits[at + 1 :]))
        result.append(effort + MARGIN < _effort(_differences(without, now)))
    return tuple(result)


def _squeezed_fates(base: Text, edits: Sequence[TextEdit], now: str) -> list[Fate | None]:
    """
    Returns the fates of edits that are intact, have something added, or were surely not made, when blanks are
    ignored; None for all others.
    """
    expected, ours = _apply_edits(base, edits)
    bare: list[TextEdit] = []
    indexes: list[int] = []  # of those edits that are more than blanks
    for at, (edit, each) in enumerate(zip(edits, ours, strict=True)):
        start, end = (len(squeeze(base.content[:offset])) for offset in (edit.span.start, edit.span.end))
        new = squeeze(expected[: each.span.end])[len(squeeze(expected[: each.span.start])) :]
        if new.strip() and new != squeeze(each.old):
            bare.append(TextEdit(span=Span(start=start, end=end), new=new))
            indexes.append(at)
    fates: list[Fate | None] = [None] * len(edits)
    if not bare:
        return fates
    text, bare_now = Text(squeeze(base.content)), squeeze(now)
    made, bare_ours = _apply_edits(text, bare)
    intact, is_exact = _read(text, bare, bare_now)
    added = _which_grew(made, bare_ours, (text.content, bare), bare_now)
    for at, is_intact, more in zip(indexes, intact, added, strict=True):
        absent = Fate.ABSENT if is_exact else None
        fates[at] = Fate.REFORMATTED if is_intact else absent or (Fate.ADDED_TO if more else None)
    return fates


def _is_met(base: Text, edit: TextEdit, later: Sequence[TextEdit]) -> bool:
    """Whether something that looks like ours was inserted where *edit* inserts, or blanks away from there."""
    if not edit.new:
        return False
    rows = {row for row in squeeze(edit.new).splitlines() if row}
    for other in later:
        if max(edit.span.start - other.span.end, other.span.start - edit.span.end) > LIMIT_FINE:
            continue
        before = base.content[other.span.end : edit.span.start]
        behind = base.content[edit.span.end : other.span.start]
        if other.new and not before.strip() and not behind.strip():
            theirs = set(squeeze(other.new).splitlines())
            if rows & theirs or _likeness(edit.new, other.new) > ALIKE:
                return True
    return False


def _likeness(one: str, other: str) -> float:
    one, other = one[:LIMIT_FINE], other[:LIMIT_FINE]
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _may_be_undone(expected: str, offset: int, old: str, others: Sequence[TextEdit]) -> bool:
    """Whether a difference lies where *old* was deleted, or where deleting it would have come to the same."""
    for other in others:
        low, high = min(offset, other.span.end), max(offset, other.span.start)
        between_them, times = expected[low:high], (high - low) // len(old) + 1
        before = (old * times)[: high - low] if offset == low else (old * times)[-(high - low) :]
        if other.new and (low >= high or between_them == before):
            return True
    return False


def _differences(one: str, other: str) -> list[TextEdit]:
    return [fine for edit in edits_between(one, other) for fine in _finer(one, edit)]


def _effort(differences: Sequence[TextEdit]) -> int:
    """Returns how many keys must be pressed for them; a deletion counts as selecting and deleting."""
    return sum(min(2, each.span.end - each.span.start) + len(each.new) for each in differences)


def _finer(expected: str, edit: TextEdit) -> list[TextEdit]:
    """
    Splits a replaced block into the single differences inside it, since an edit of ours may be between two of
    them.
    """
    old = expected[edit.span.start : edit.span.end]
    if not old or not edit.new or max(len(old), len(edit.new)) > LIMIT_FINE:
        return [edit]
    start = edit.span.start
    matcher = SequenceMatcher(None, old, edit.new, autojunk=False)
    return [
        TextEdit(span=Span(start=start + i, end=start + j), new=edit.new[k:m])
        for tag, i, j, k, m in matcher.get_opcodes()
        if tag != "equal"
    ]


def _disturbs(expected: str, other: TextEdit, ours: Span, old: str) -> bool:
    overlaps = other.span.start < ours.end and other.span.end > ours.start
    if not other.new:
        return ours.start < ours.end and (overlaps or _could_cover(expected, other.span, ours))
    if other.span.start == other.span.end:
        if ours.start == ours.end:
            return _brings_back(expected, other, ours.start, old)
        inside = ours.start < other.span.start < ours.end
        return inside and not _slides_out(expected, other, ours)
    if ours.start == ours.end:
        return other.span.start <= ours.start <= other.span.end and old in other.new
    return overlaps


def _could_cover(expected: str, deleted: Span, ours: Span) -> bool:
    """Whether deleting equal text a little earlier or later would have deleted all of ours."""
    left = right = 0
    while deleted.end - left > ours.end and deleted.start - left > 0:
        if expected[deleted.start - left - 1] != expected[deleted.end - left - 1]:
            break
        left += 1
    while deleted.start + right < ours.start and deleted.end + right < len(expected):
        if expected[deleted.start + right] != expected[deleted.end + right]:
            break
        right += 1
    covers_left = deleted.start - left <= ours.start and ours.end <= deleted.end - left
    return covers_left or (deleted.start + right <= ours.start and ours.end <= deleted.end + right)


def _brings_back(expected: str, inserted: TextEdit, offset: int, old: str) -> bool:
    """Whether an insertion can be read as what we deleted at *offset* being there again."""
    at, new = inserted.span.start, inserted.new
    while at > offset and new and expected[at - 1] == new[-1]:
        at, new = at - 1, new[-1] + new[:-1]
    while at < offset and new and expected[at] == new[0]:
        at, new = at + 1, new[1:] + new[0]
    return at == offset and bool(old) and old in new


def _slides_out(expected: str, inserted: TextEdit, ours: Span) -> bool:
    """Whether an insertion inside ours can also be read as one at an edge of ours (it repeats our text)."""
    at, new = inserted.span.start, inserted.new
    while at > ours.start and expected[at - 1] == new[-1]:
        at, new = at - 1, new[-1] + new[:-1]
    if at == ours.start:
        return True
    at, new = inserted.span.start, inserted.new
    while at < ours.end and expected[at] == new[0]:
        at, new = at + 1, new[1:] + new[0]
    return at == ours.end
