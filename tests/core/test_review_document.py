"""A document under review: what an editor's undo and redo, keeping and undoing make of its hunks."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.core.review.document import (
    Reviewed,
    add_agent_edit,
    is_like,
    keep,
    observe,
    undo_pending,
    with_line_ends,
)
from handrail.core.review.hunks import Hunk, Step
from searches import examples

BEFORE, AFTER = "abcdefgh", "abXYefgZ"


def rows(text: str) -> tuple[str, ...]:
    return tuple(f"{letter}\n" for letter in text)


def shown(document: Reviewed) -> str:
    return "".join(document.rows).replace("\n", "")


def agent(document: Reviewed, now: str, turn: str = "t1") -> Reviewed:
    """The document after the agent has made it *now*."""
    names = iter(f"{turn}.{number}" for number in range(10))
    return add_agent_edit(document, document.rows, rows(now), (turn, "c"), lambda: next(names))


def reviewed() -> Reviewed:
    """A document with two hunks, `t1.0` and `t1.1`."""
    return agent(Reviewed(rows=rows(BEFORE)), AFTER)


def told(document: Reviewed) -> list[tuple[str, str, str]]:
    """Of each hunk its id, what was there before it, and what is there now."""
    return [
        (hunk.id, "".join(hunk.before).replace("\n", ""), "".join(hunk.rows).replace("\n", ""))
        for hunk in document.hunks
    ]


FIRST, SECOND = ("t1.0", "cd", "XY"), ("t1.1", "h", "Z")


@pytest.mark.parametrize("back", [BEFORE, "abcdefgZ", "abXYefgh"])
def test_an_undo_and_a_redo_of_the_editor_bring_back_what_was_pending(back: str) -> None:
    document = observe(reviewed(), rows(back))
    assert told(document) == [each for each in (FIRST, SECOND) if each[2] in back]
    assert told(observe(document, rows(AFTER))) == [FIRST, SECOND]


def test_our_undo_is_pending_again_once_the_editor_undoes_it() -> None:
    result = undo_pending(reviewed(), frozenset(["t1.0"]))
    assert (shown(result.document), told(result.document)) == ("abcdefgZ", [SECOND])
    assert told(observe(result.document, rows(AFTER))) == [FIRST, SECOND]


def test_what_was_kept_stays_kept_whatever_the_editor_undoes() -> None:
    document = undo_pending(reviewed(), frozenset(["t1.1"])).document
    document = keep(document, frozenset(["t1.0"]))
    assert told(document) == []
    document = observe(document, rows(AFTER))
    assert told(document) == [SECOND], "pending again; the other one was kept"
    document = observe(observe(document, rows(BEFORE)), rows(AFTER))
    assert told(document) == [SECOND]


def test_typing_in_what_was_restored_is_not_taken_for_what_was_there_before_the_restore() -> None:
    document = observe(agent(agent(reviewed(), "abXefgZ", "t2"), "abXefgZ"), rows(AFTER))
    assert told(document) == [FIRST, SECOND]
    document = observe(document, rows("abX-YefgZ"))
    assert told(document) == [("t1.0", "cd", "X-Y"), SECOND]
    assert document.hunks[0].turns == ("t1",)


def test_what_comes_back_was_moved_by_typing_above() -> None:
    document = observe(reviewed(), rows("ab" + "ef" + "gZ"))
    assert told(document) == [SECOND]
    document = observe(document, rows("ab" + "ef" + "g1Z"))
    document = observe(document, rows("0ab" + "ef" + "g1Z"))
    assert told(observe(document, rows("0ab" + "XY" + "ef" + "g1Z"))) == [FIRST, SECOND]


def test_a_restore_of_the_second_of_two_turns_leaves_the_hunk_of_the_first() -> None:
    document = agent(reviewed(), "abXVefgZ", "t2")
    (first, _) = document.hunks
    assert first.turns == ("t1", "t2")
    document = observe(document, rows(AFTER))
    assert told(document) == [FIRST, SECOND]
    assert document.hunks[0].turns == ("t1",)
    again = observe(document, rows("abXVefgZ"))
    assert again.hunks[0].turns == ("t1", "t2"), "restoring the restore brings it back"


def test_rewritten_as_a_whole_it_is_the_users_until_that_is_undone() -> None:
    document = observe(reviewed(), rows("ab12efgZ"))
    assert told(document) == [SECOND]
    assert told(observe(document, rows(AFTER))) == [FIRST, SECOND]


@settings(max_examples=examples(200), deadline=None)
@given(data=st.data())
def test_what_is_undone_and_made_again_at_once_is_as_it_was(data: st.DataObject) -> None:
    """Whatever was done before, and by whatever hand it is undone; every row that is written is new."""
    names, document = count(), Reviewed(rows=rows("abcdefghij"))

    def changed(by: str) -> tuple[str, ...]:
        size = len(document.rows)
        start = data.draw(st.integers(0, size))
        end = data.draw(st.integers(start, min(size, start + 3)))
        new = [f"{by} {next(names)}\n" for _ in range(data.draw(st.integers(0, 2)))]
        return (*document.rows[:start], *new, *document.rows[end:])

    for _ in range(data.draw(st.integers(1, 6))):
        event = data.draw(st.sampled_from(["agent", "agent", "user", "undo", "keep"]))
        before, ids = document, sorted(document.ids())
        some = frozenset(data.draw(st.sets(st.sampled_from(ids)))) if ids else frozenset[str]()
        match event:
            case "agent":
                whose = (data.draw(st.sampled_from(["t1", "t2"])), "c")
                now = changed("agent's")
                document = add_agent_edit(document, document.rows, now, whose, lambda: f"h{next(names)}")
            case "user":
                document = observe(document, changed("user's"))
            case "undo":
                document = undo_pending(document, some).document
            case _:
                document = keep(document, some)
        for hunk in document.hunks:
            assert document.rows[hunk.start : hunk.end] == hunk.rows
        for each in document.gone:
            assert document.rows[each.start : each.end] == each.rows
        if event in ("undo", "agent") and before.rows != document.rows:
            back = observe(document, before.rows)
            if event == "undo":
                assert told(back) == told(before), "the editor's undo of our undo"
            assert told(observe(back, document.rows)) == told(document), "and its redo"


@pytest.mark.parametrize("then", ["abdefgh", "abXdefgh", "abXYZefgh"])
def test_what_was_undone_is_not_pending_again_because_a_later_turn_did_the_same(then: str) -> None:
    document = agent(Reviewed(rows=rows(BEFORE)), "abdefgh", "t1")
    document = undo_pending(document, document.ids()).document
    document = agent(agent(document, "abdefgh", "t2"), then, "t3")
    document = undo_pending(document, document.ids()).document
    assert (shown(document), told(document)) == (BEFORE, [])
    assert told(observe(document, rows(f"1{BEFORE}"))) == [], "the user types above"
    assert told(observe(document, rows("ab1cdefgh"))) == [], "and beside"


def test_what_was_undone_is_not_pending_again_because_the_user_removes_something_else() -> None:
    document = agent(Reviewed(rows=rows(BEFORE)), "abdefgh", "t1")
    document = undo_pending(document, document.ids()).document
    document = observe(observe(document, rows("1abcdefgh")), rows("1abXdefgh"))
    assert told(observe(document, rows("1abdefgh"))) == []


@pytest.mark.parametrize(
    ("removed", "typed", "back"),
    [
        ("abcdef", "abcdefu", "abcdefgh"),
        ("abcdef", "abcdef", "abcdXgh"),
        ("cdefgh", "ucdefgh", "abcdefgh"),
        ("cdefgh", "cdefgh", "abXdefgh"),
        ("abef", "abuef", "abcdef"),
        ("abef", "abuef", "abvcdef"),
        ("abef", "abef", "abcdXf"),
        ("abef", "abef", "abcdXef"),
        ("abef", "abef", "abXcdef"),
    ],
)
def test_removed_rows_that_return_beside_other_new_rows_are_not_pending(
    removed: str, typed: str, back: str
) -> None:
    before = "abcdefgh" if len(removed) == 6 else "abcdef"
    document = observe(agent(Reviewed(rows=rows(before)), removed), rows(typed))
    document = observe(document, rows(back))
    assert (shown(document), told(document)) == (back, [])


@pytest.mark.parametrize("first", ["bcdef", "abcdf"])
@pytest.mark.parametrize("typed", ["{}", "u{}", "{}u"])
@pytest.mark.parametrize("last", ["bcdf", "ubcdf", "bcdfu", "ubcdfv"])
def test_an_edit_that_shows_in_parts_is_pending_once_all_of_it_shows(
    first: str, typed: str, last: str
) -> None:
    document = observe(agent(Reviewed(rows=rows("abcdef")), first), rows(typed.format(first)))
    names = iter(("t1.5", "t1.6"))
    document = add_agent_edit(document, rows("abcdef"), rows("bcdf"), ("t1", "c"), lambda: next(names))
    document = observe(document, rows(last))
    assert [each[1:] for each in told(document)] == [("a", ""), ("e", "")]


@pytest.mark.parametrize(
    ("typed", "is_renamed"),
    [
        ({8: "row 8 that was typed in\n"}, True),
        ({4: "THE typed row\n", 8: "row 8 that was typed in\n"}, True),
        ({3: "xyz\n", 8: "abc\n"}, False),
        ({number: f"row {number} that was typed in\n" for number in (2, 3, 7, 8)}, False),
    ],
)
def test_a_renamed_document_may_have_been_typed_in(typed: dict[int, str], is_renamed: bool) -> None:
    """Nobody tells that it was renamed, so its text must show it; a row that was typed in is still there."""
    before = tuple(f"row {number}\n" for number in range(9))
    after = (*before[:4], "THE row\n", *before[5:])
    document = add_agent_edit(Reviewed(rows=before), before, after, ("t1", "c"), lambda: "h-1")
    now = [typed.get(number, row) for number, row in enumerate(after)]
    assert is_like(document, observe(document, now)) is is_renamed


def test_line_ends_of_an_editor_that_holds_lf_for_all_are_no_change() -> None:
    step = Step(turn="t", call="c", before=("two\r\n",), after=("TWO\r\n",))
    hunk = Hunk(id="h", start=1, rows=("TWO\r\n",), steps=(step,))
    was = Reviewed(rows=("one\r\n", "TWO\r\n", "three"), hunks=(hunk,))
    now = observe(was, ("one\n", "TWO\n", "three"))
    (found,) = now.hunks
    assert (found.before, found.rows, found.is_typed_in) == (("two\n",), ("TWO\n",), False)
    assert observe(now, was.rows) == was
    typed = observe(was, ("one\n", "TWO\n", "three\n", "four\n"))
    assert not typed.hunks[0].is_typed_in


@pytest.mark.parametrize(
    "rows", [("one\n", "TWO\r\n", "three"), ("one\r", "TWO\r", "three"), ("one", "TWO\n"), ()]
)
def test_of_mixed_line_ends_each_counts(rows: tuple[str, ...]) -> None:
    step = Step(turn="t", call="c", before=("two\r\n",), after=("TWO\r\n",))
    hunk = Hunk(id="h", start=1, rows=("TWO\r\n",), steps=(step,))
    was = Reviewed(rows=("one\r\n", "TWO\r\n", "three"), hunks=(hunk,))
    assert with_line_ends(was, rows) is was
