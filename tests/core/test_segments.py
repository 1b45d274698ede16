"""Who changed what while commands ran in the background."""

from __future__ import annotations

import pytest

from handrail.core.ledger.segments import Runner, Segments, next_number

B1, B2 = Runner(id="b1", number=3), Runner(id="b2", number=5)


def test_a_segment_is_the_background_commands_while_nothing_else_runs() -> None:
    assert Segments().owner is None
    alone = Segments().start(B1)
    assert alone.owner == B1
    assert alone.other_began().owner is None
    assert alone.other_began().end_other().owner == B1
    assert alone.end("b1").owner is None


def test_of_several_it_is_that_of_the_last_one_to_start() -> None:
    both = Segments().start(B1).start(B2)
    assert both.owner == B2
    assert both.end("b2").owner == B1
    assert both.end("b1").owner == B2


def test_while_other_commands_overlap_it_is_nobodys() -> None:
    found = Segments().start(B1).other_began().other_began()
    assert found.end_other().owner is None
    assert found.end_other().end_other().owner == B1


def test_what_edits_change_counts_until_the_segment_ends() -> None:
    edited = Segments().start(B1).touch(["a"]).touch(["b"])
    assert edited.touched == {"a", "b"}
    assert edited.other_began().touched == frozenset()
    assert edited.start(B2).touched == frozenset()
    assert edited.end("b1").touched == frozenset()


def test_the_end_of_one_that_owns_nothing_leaves_the_segment_as_it_is() -> None:
    both = Segments().start(B1).start(B2).touch(["a"])
    assert both.end("b1").touched == {"a"}
    assert both.end("b1").owner == B2


def test_without_a_background_command_nothing_is_noted() -> None:
    assert Segments().touch(["a"]) == Segments()


def test_a_segment_is_kept_under_its_own_step() -> None:
    both = Segments().start(B1).start(B2).keep_under("b1", 9)
    assert [each.number for each in both.running] == [9, 5]


@pytest.mark.parametrize(
    ("last", "step", "is_over", "number"),
    [
        (0, 3, False, 3),
        (3, 3, False, 3),
        (3, 7, False, 7),
        (3, 7, True, 8),
        (8, 7, True, 9),
        (8, 9, False, 9),
    ],
)
def test_segments_of_a_turn_that_is_over_are_kept_apart(
    last: int, step: int, is_over: bool, number: int
) -> None:
    assert next_number(last, step, is_over=is_over) == number
