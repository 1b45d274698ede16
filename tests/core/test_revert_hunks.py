"""Each edit has a way back of its own: any of them can be taken, and the others stay."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handrail.core.documents.edit import TextEdit, apply
from handrail.core.documents.revert import revert_hunks
from handrail.core.documents.text import Text
from handrail.core.failure import Span

ROWS = [f"row {number}" for number in range(12)]
BASE = Text("".join(f"{row}\n" for row in ROWS))


@st.composite
def edited(draw: st.DrawFn) -> list[TextEdit]:
    """Edits of whole rows that have at least one row between them."""
    found = list[TextEdit]()
    for start in sorted(draw(st.sets(st.integers(0, 5), min_size=1, max_size=4))):
        first = start * 2
        count = draw(st.integers(0, 1))
        new = "".join(f"new {first} {n}\n" for n in range(draw(st.integers(1 - count, 2))))
        begin, end = BASE.starts[first], BASE.starts[first + count]
        found.append(TextEdit(span=Span(start=begin, end=end), new=new))
    return found


@given(edited(), st.data())
def test_any_of_them_are_taken_back_alone(edits: list[TextEdit], data: st.DataObject) -> None:
    now = apply(BASE.content, edits)
    hunks = revert_hunks(Text(now), BASE, [[each] for each in edits])
    assert [hunk.number for hunk in hunks] == list(range(1, len(edits) + 1))
    chosen = data.draw(st.sets(st.sampled_from(range(len(edits)))))
    back = sorted(
        (each for at in chosen for each in hunks[at].edits), key=lambda each: (each.span.start, each.span.end)
    )
    rest = [each for at, each in enumerate(edits) if at not in chosen]
    assert apply(now, back) == apply(BASE.content, rest)


def test_one_that_was_typed_into_has_none() -> None:
    edits = [
        TextEdit(span=Span(start=BASE.starts[at], end=BASE.starts[at + 1]), new=f"new {at}\n")
        for at in (2, 6)
    ]
    now = apply(BASE.content, edits).replace("new 2", "new and typed 2")
    (hunk,) = revert_hunks(Text(now), BASE, [[each] for each in edits])
    assert hunk.number == 2
    assert apply(now, hunk.edits) == BASE.content.replace("row 2", "new and typed 2")


def test_edits_side_by_side_are_one() -> None:
    edits = [
        TextEdit(span=Span(start=BASE.starts[at], end=BASE.starts[at + 1]), new=f"new {at}\n")
        for at in (2, 3)
    ]
    now = apply(BASE.content, edits)
    hunks = revert_hunks(Text(now), BASE, [[each] for each in edits])
    back = sorted((each for hunk in hunks for each in hunk.edits), key=lambda each: each.span.start)
    assert apply(now, back) == BASE.content
