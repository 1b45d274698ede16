"""What becomes of one pending hunk, event by event; a letter is a row, and the agent writes capitals."""

from __future__ import annotations

import pytest

from handrail.core.documents.edit import opcodes
from handrail.core.review.carry import add_agent_change, carry_typing
from handrail.core.review.hunks import Hunk, base_of, is_all_new
from handrail.core.review.undo import undo_hunks

BEFORE, AFTER = "abcdef", "abXYef"  # c and d are X and Y now


def rows(text: str) -> list[str]:
    return [f"{letter}\n" for letter in text]


def shown(found: list[str] | tuple[str, ...]) -> str:
    return "".join(found).replace("\n", "")


def hunk() -> Hunk:
    (found,) = changed((), BEFORE, AFTER)
    return found


def changed(hunks: tuple[Hunk, ...], before: str, after: str, turn: str = "t1") -> tuple[Hunk, ...]:
    """The hunks after an edit of the agent's."""
    names = iter(f"{turn}.{number}" for number in range(10))
    old, new = rows(before), rows(after)
    return add_agent_change(hunks, opcodes(old, new), old, new, (turn, "c"), lambda: next(names))


@pytest.mark.parametrize(
    ("now", "left", "base"),
    [
        ("zabXYef", "XY", "zabcdef"),
        ("abXYefz", "XY", "abcdefz"),
        ("abzXYef", "XY", "abzcdef"),
        ("abXYzef", "XY", "abcdzef"),
        ("abXzYef", "XzY", "abcdef"),
        ("abzYef", "zY", "abcdef"),
        ("azYef", "Y", "azcdef"),
        ("abXzf", "X", "abcdzf"),
        ("aYef", "Y", "acdef"),
        ("abXYf", "XY", "abcdf"),
    ],
)
def test_typing(now: str, left: str, base: str) -> None:
    new = rows(now)
    (found,) = carry_typing([hunk()], opcodes(rows(AFTER), new), new)
    assert (shown(found.rows), shown(base_of(new, [found]))) == (left, base)
    assert found.is_typed_in == (left != "XY")


@pytest.mark.parametrize("now", ["abzzef", "abef", "azf", "af", "", "abzef"])
def test_what_is_rewritten_or_removed_is_the_users(now: str) -> None:
    new = rows(now)
    assert carry_typing([hunk()], opcodes(rows(AFTER), new), new) == ()


def test_what_differs_in_blanks_only_was_formatted() -> None:
    new = [*rows("ab"), "  X\n", "  Y\n", *rows("ef")]
    (found,) = carry_typing([hunk()], opcodes(rows(AFTER), new), new)
    assert not found.is_typed_in
    assert shown(undo_hunks(new, [found], frozenset([found.id])).rows) == BEFORE


def test_a_hunk_grows_and_knows_who_wrote_in_it() -> None:
    (found,) = changed((hunk(),), AFTER, "abXZef", "t2")
    assert (found.id, found.turns, shown(found.rows)) == ("t1.0", ("t1", "t2"), "XZ")


def test_what_the_agent_takes_back_itself_is_no_hunk() -> None:
    assert changed((hunk(),), AFTER, BEFORE, "t2") == ()


def test_a_turn_is_undone_where_another_has_written_too() -> None:
    second = changed((hunk(),), AFTER, "abXYZef", "t2")
    both = changed(second, "abXYZef", "abXYZeF", "t1")
    ids = frozenset(each.id for each in both)
    result = undo_hunks(rows("abXYZeF"), both, ids, "t1")
    assert [shown(each.rows) for each in result.conflicts] == []
    assert (shown(result.rows), shown(base_of(result.rows, result.hunks))) == ("abcdZef", BEFORE)


@pytest.mark.parametrize(
    ("before", "after", "now", "left"),
    [
        (BEFORE, AFTER, "abXzYef", "abcdzef"),
        ("abef", "abXYZef", "abXzYZef", "abzef"),
        ("abef", "abXYZef", "abXzZef", None),
        (BEFORE, AFTER, "abXef", "abcdef"),
        (BEFORE, AFTER, "abXz", "abcdz"),
    ],
)
def test_typing_in_a_hunk_stays_when_it_is_undone(
    before: str, after: str, now: str, left: str | None
) -> None:
    """The agent's rows go; where a row may be of both, the hunk stays as it is."""
    new = rows(now)
    found = carry_typing(changed((), before, after), opcodes(rows(after), new), new)
    result = undo_hunks(new, found, frozenset(each.id for each in found))
    assert shown(result.rows) == (left or now)
    assert bool(result.conflicts) == (left is None)


def test_of_two_hunks_one_is_undone() -> None:
    two = changed((hunk(),), AFTER, "ABXYef", "t2")
    result = undo_hunks(rows("ABXYef"), two, frozenset(["t2.0"]))
    assert shown(result.rows) == AFTER
    assert [(each.id, each.start) for each in result.hunks] == [("t1.0", 2)]


@pytest.mark.parametrize(
    ("before", "now", "is_new"),
    [
        ("two\n", "other\n", True),
        ("  two\n", "  other\n", True),
        ("two\n", "two, typed\n", False),
        ("two\n", "typed two\n", False),
        ("two\n", "t\n", False),
        ("return foo(a)\n", "return bar(b)\n", False),
        ("two\n", "", True),
        ("\n", "typed\n", True),
        ("two\n", "two\n", False),
        ("two is new\n", "    two is newer than before\n", False),
        ("  two\n", "typed  two, typed\n", False),
        ("foo(a, b)\n", "if foo(a, b):\n    pass\n", False),
        ("if foo(a, b):\n    pass\n", "foo(a, b)\n", False),
        ("foo(first, b)\n", "let x = foo(first, c);\n", False),
        ("return first\n", "raise Error\n", False),
        ("return first;\n", "throw Error\n", True),
        ("a0039aaa0039A\n", "u0044uuu0044U\n", True),
        ("row\n" * 5_000, "if a:\n" + "    row\n" * 5_000 + "done\n", False),
        ("row\n" * 5_000, "other\n" * 5_000, True),
    ],
)
def test_what_is_rewritten_shares_neither_its_ends_nor_most_of_its_text(
    before: str, now: str, *, is_new: bool
) -> None:
    assert is_all_new((before,), (now,)) is is_new
