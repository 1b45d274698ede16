"""
Which edits have landed if a client made only some, or a formatter changed what it made.

An insertion that a formatter has changed at once is not known to be absent, so it is not made twice.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.core.documents.edit import TextEdit, apply
from handrail.core.documents.readback import LANDED, Fate, fates
from handrail.core.documents.text import Text
from handrail.core.failure import Span

BASE = "## You\n\nFirst.\n\n- x\n\n## handrail\n\n## You\n\n"
NEW = "I'll look.\n\n- a\n- b\n\nEnd.\n\n"


@pytest.mark.parametrize("place", [BASE.rindex("## You"), BASE.rindex("\n## You"), len(BASE)])
def test_what_has_other_bullets_by_now_is_unclear(place: int) -> None:
    inserted = TextEdit(span=Span(start=place, end=place), new=NEW)
    now = (BASE[:place] + NEW + BASE[place:]).replace("- ", "* ")
    assert fates(Text(BASE), [inserted], now) == (Fate.UNCLEAR,)
    assert fates(Text(BASE), [inserted], BASE.replace("- ", "* ")) == (Fate.ABSENT,)


INDENTED = "one\nif x:\nb()\n\n"
INDENTING = [
    TextEdit(span=Span(start=0, end=3), new="ONE"),
    TextEdit(span=Span(start=10, end=10), new="    "),
]


def test_what_a_formatter_trims_has_landed_with_the_rest_of_its_hunk_and_not_without() -> None:
    edits = [INDENTING[0], TextEdit(span=Span(start=13, end=13), new="  ")]
    now = INDENTED.replace("one", "ONE")
    assert fates(Text(INDENTED), edits, now, [1, 1]) == (Fate.INTACT, Fate.REFORMATTED)
    assert fates(Text(INDENTED), edits, now, [1, 2]) == (Fate.INTACT, Fate.ABSENT)


@pytest.mark.parametrize("hunks", [[1, 1], [1, 2]])
def test_indentation_that_is_as_it_was_has_not_landed(hunks: list[int]) -> None:
    now = INDENTED.replace("one", "ONE")
    assert fates(Text(INDENTED), INDENTING, now, hunks) == (Fate.INTACT, Fate.ABSENT)
    formatted = now.replace("b()", "\tb()")
    assert fates(Text(INDENTED), INDENTING, formatted, hunks) == (Fate.INTACT, Fate.REFORMATTED)


def test_a_removed_row_of_braces_that_still_stands_has_not_landed() -> None:
    base = "  run();\n}\n  stop();\nend();\n"
    edits = [
        TextEdit(span=Span(start=0, end=0), new="  "),
        TextEdit(span=Span(start=9, end=11), new=""),
        TextEdit(span=Span(start=11, end=11), new="x\n"),
    ]
    assert fates(Text(base), edits, "  " + base) == (Fate.INTACT, Fate.ABSENT, Fate.ABSENT)


ROWS = st.lists(st.sampled_from(["}", "  }", "    a()", "b()", "if x:", "x = 1"]), min_size=3, max_size=9)
KINDS = st.lists(st.sampled_from(["leave", "replace", "insert", "delete", "indent"]), min_size=9, max_size=9)
MADE = st.lists(st.booleans(), min_size=9, max_size=9)


def _edit(base: Text, row: int, kind: str) -> TextEdit:
    start, end = base.starts[row], base.row_end(row)
    match kind:
        case "replace":
            return TextEdit(span=Span(start=start, end=end), new="y = 2")
        case "insert":
            return TextEdit(span=Span(start=start, end=start), new="}\n")
        case "delete":
            return TextEdit(span=Span(start=start, end=end + 1), new="")
        case _:
            return TextEdit(span=Span(start=start, end=start), new="    ")


@given(rows=ROWS, kinds=KINDS, made=MADE)
def test_the_edits_that_have_landed_make_the_text_if_nobody_else_did_anything(
    rows: list[str], kinds: list[str], made: list[bool]
) -> None:
    base = Text("".join(f"{row}\n" for row in rows))
    edits = [_edit(base, at, kind) for at, kind in enumerate(kinds[: len(rows)]) if kind != "leave"]
    now = apply(base.content, [each for each, is_made in zip(edits, made, strict=False) if is_made])
    found = fates(base, edits, now)
    landed = [each for each, fate in zip(edits, found, strict=True) if fate in LANDED]
    assert apply(base.content, landed) == now
    assert set(found) <= {Fate.INTACT, Fate.ABSENT}


def test_some_of_a_thousand_edits_of_equal_rows_are_found_at_once() -> None:
    base = Text("x\n" * 3_000)
    edits = [TextEdit(span=Span(start=at, end=at + 2), new="") for at in range(0, 6_000, 6)]
    found = fates(base, edits, apply(base.content, edits[::2]))
    assert sum(fate in LANDED for fate in found) == 500
