"""Taking back what a turn changed in some lines only, and all of it: as values, and on a real disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bench import Bench
from handrail.core.documents import edit
from handrail.core.documents.diff_regions import extents
from handrail.core.documents.revert import revert
from handrail.core.documents.text import Text, split_lines
from handrail.testing import answer, call, lay_out, snapshot

distinct = st.lists(st.sampled_from([f"{c}\n" for c in "abcdefgh"]), unique=True).map("".join)
texts = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "d"]), max_size=12).map("".join)


def undone(now: str, *stretches: tuple[str, str], lines: tuple[int, int] | None = None) -> str | None:
    back = revert(Text(now), [(Text(one), Text(other)) for one, other in stretches], lines)
    return None if back is None else edit.apply(now, back)


@given(texts, texts)
def test_nothing_else_happened(before: str, after: str) -> None:
    assert undone(after, (before, after)) == before


@given(texts, texts, texts)
def test_what_others_did_between_stays(before: str, middle: str, after: str) -> None:
    """Undone or refused; where the turn did nothing at last, only its first stretch goes."""
    assert undone(after, (before, before), (middle, after)) in (middle, None)


@given(texts, texts, texts)
def test_all_lines_are_all_of_it(before: str, after: str, now: str) -> None:
    assert undone(now, (before, after), lines=(0, 99)) == undone(now, (before, after))


@given(distinct, distinct)
def test_line_by_line_from_the_end_is_all_of_it(before: str, after: str) -> None:
    now = after
    for line in range(len(Text(after).starts) - 1, -1, -1):
        found = undone(now, (before, after), lines=(line, line))
        now = now if found is None else found
    assert now == before


@given(distinct, distinct)
def test_what_is_taken_back_already_is_no_conflict(before: str, after: str) -> None:
    """Any of the lines, then the rest of it; of equal lines nobody could say which is which."""
    for line in range(len(Text(after).starts)):
        part = undone(after, (before, after), lines=(line, line))
        assert part is not None
        assert undone(part, (before, after)) == before


# ---- Few distinct lines, so that most of them are repeated ------------------------------------------

Change = tuple[int, int, tuple[str, ...]]  # of some rows: from, to, what becomes of them
Rows = tuple[str, ...]
few = st.sampled_from(["a\n", "ab\n", "a\nb\nc\n"]).map(split_lines)


@st.composite
def changed(draw: st.DrawFn, rows: Rows, lines: Sequence[str]) -> tuple[Change, ...]:
    """One or two changes of some rows, apart from each other, of which nobody can tell a shorter story."""
    found: list[Change] = []
    at = 0
    for _ in range(draw(st.integers(1, 2))):
        if at <= len(rows):
            start = draw(st.integers(at, len(rows)))
            end = draw(st.integers(start, min(start + 2, len(rows))))
            found.append((start, end, tuple(draw(st.lists(st.sampled_from(lines), max_size=2)))))
            at = end + 1
    assume(sum(end - start + len(new) for start, end, new in found) == distance(rows, made(rows, found)))
    return tuple(each for each in found if rows[each[0] : each[1]] != each[2])


def made(rows: Rows, changes: Sequence[Change]) -> Rows:
    for start, end, new in sorted(changes, key=lambda change: change[:2], reverse=True):
        rows = (*rows[:start], *new, *rows[end:])
    return rows


def both_ways(rows: Rows, one: Rows, other: Rows) -> Iterator[Rows]:
    """What smallest ways from some rows to two others may both lead through."""
    yield rows
    for at, new in product(range(len(rows) + 1), [(), *((row,) for row in set(one))]):
        step = made(rows, [(at, at, new) if new else (at, at + 1, ())])
        if all(distance(step, end) < distance(rows, end) for end in (one, other)):
            yield from both_ways(step, one, other)


def opposite(rows: Rows, changes: Sequence[Change]) -> list[Change]:
    """What takes the changes of *rows* back."""
    shifts = accumulate((len(new) - (end - start) for start, end, new in changes), initial=0)
    return [
        (start + shift, start + shift + len(new), rows[start:end])
        for (start, end, new), shift in zip(changes, shifts, strict=False)
    ]


@cache
def distance(one: Rows, other: Rows) -> int:
    """How many rows have to go or to come."""
    if not one or not other:
        return len(one) + len(other)
    if one[0] == other[0]:
        return distance(one[1:], other[1:])
    return 1 + min(distance(one[1:], other), distance(one, other[1:]))


def is_between(one: Rows, middle: Rows, other: Rows) -> bool:
    """Whether going from one to the other may lead through the middle."""
    return distance(one, middle) + distance(middle, other) == distance(one, other)


@given(st.data(), few)
def test_every_smallest_way_lies_within(data: st.DataObject, lines: Sequence[str]) -> None:
    before = tuple(data.draw(st.lists(st.sampled_from(lines), max_size=8)))
    changes = data.draw(changed(before, lines))
    after = made(before, changes)
    found = extents(before, after)
    assert all(any(i <= start and end <= j for i, j, *_ in found) for start, end, _ in changes)
    assert made(before, [(i, j, after[k:m]) for i, j, k, m in found]) == after


def test_much_that_was_rewritten_is_cut_where_lines_are_alone() -> None:
    before = [f"{number}\n" if number % 3 else "\n" for number in range(6000)]
    left = [line if number % 2 else f"new {line}" for number, line in enumerate(before)]
    now = [*left[:5], "typed\n", *left[5:]]
    back = undone("".join(now), ("".join(before), "".join(left)))
    assert back == "".join([*before[:5], "typed\n", *before[5:]])
    del now[3001]
    assert undone("".join(now), ("".join(before), "".join(left))) is None, "a line of the turn's is gone"


@given(st.data(), few)
def test_of_repeated_lines_nobody_guesses(data: st.DataObject, lines: Sequence[str]) -> None:
    """
    Where the changes were really made is known here, and not to the code: what it finds is right, or nothing.

    What others did may be part of the way back, in whole or some of its rows, and is then taken as that.
    """
    before = tuple(data.draw(st.lists(st.sampled_from(lines), max_size=8)))
    turn = data.draw(changed(before, lines))
    left = made(before, turn)
    ours, others = opposite(before, turn), data.draw(changed(left, lines))
    now = made(left, others)
    right = set[Rows]()
    if not any(i < m and k < j for i, j, _ in ours for k, m, _ in others):
        right |= {
            made(left, [*ours, *others]),
            made(left, [*others, *ours]),
        }  # two at one place: either first
    back = undone("".join(now), ("".join(before), "".join(left)))
    if back is None or (found := tuple(split_lines(back))) in right:
        return
    if found == now and is_between(left, before, now) and not set(before) <= set(left):
        return  # what was gone is there again, and more
    assert any(
        distance(now, found) == distance(middle, before) and distance(found, before) == distance(middle, now)
        for middle in set(both_ways(left, before, now)) - {left}
    ), "nor is it what was left to undo"


@given(st.data(), few, st.booleans())
def test_part_by_part_and_then_the_rest_is_what_was_before(
    data: st.DataObject, lines: Sequence[str], is_cut: bool
) -> None:
    """Any lines in any order, nobody does anything else, and the last line may have no end."""
    before, left = ("".join(data.draw(st.lists(st.sampled_from(lines), max_size=9))) for _ in range(2))
    if is_cut:
        before, left = before[:-1], left[:-1] if data.draw(st.booleans()) else left
    now = left
    for line in data.draw(st.lists(st.integers(0, 9), max_size=4)):
        part = undone(now, (before, left), lines=(line, line))
        assert part is not None, "there is nobody to be in conflict with"
        now = part
    assert undone(now, (before, left)) == before


@pytest.mark.parametrize("lines", [["a\n"], ["a\n", "}\n"]])
def test_the_last_line_gets_no_neighbour(lines: list[str]) -> None:
    """A text that had no end of its last line cannot be put before what others have added."""
    for end in lines:
        assert undone(f"d\n{end}{end}", ("d", f"d\n{end}")) is None
        assert undone("d\nx\ny\n", ("d", "d\nx\n")) is None
        assert undone("y\nd\nx\n", ("d", "d\nx\n")) == "y\nd"


ROWS = "".join(f"{number}\n" for number in range(1, 10))
WROTE = ROWS.replace("2\n", "TWO\n").replace("5\n", "").replace("8\n", "8\nmore\n")


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (2, 2, WROTE.replace("TWO\n", "2\n")),
        (1, 1, WROTE),
        (4, 4, WROTE.replace("4\n", "4\n5\n")),  # something is gone behind it
        (5, 5, WROTE.replace("4\n", "4\n5\n")),  # and before it
        (8, 8, WROTE.replace("more\n", "")),
        (3, 8, WROTE.replace("more\n", "").replace("4\n", "4\n5\n")),
        (7, 7, WROTE),
        (50, 60, WROTE),
    ],
)
async def test_only_what_touches_the_lines(bench: Bench, first: int, last: int, expected: str) -> None:
    lay_out(bench.root, {"a": ROWS.encode()})
    bench.says(answer("", call("write_file", path="a", content=WROTE)), answer("Done."))
    turn = (await bench.turn()).turn
    uri = (bench.root / "a").as_uri()
    report = await bench.restore(turn, uris=[uri], lines=(first - 1, last - 1))
    assert report.conflicts == ()
    assert (report.restored, report.unchanged) == (((uri,), ()) if expected != WROTE else ((), (uri,)))
    assert snapshot(bench.root) == {"a": expected.encode()}
    if report.restored:
        assert report.checkpoint is not None
        await bench.restore(report.checkpoint)
    assert snapshot(bench.root) == {"a": WROTE.encode()}


@pytest.mark.parametrize(
    ("before", "left", "now"),
    [("a\nb\nc\n", "a\nc\n", "a\nx\nc\n"), ("a\nb\n", "a\nb\nb\n", "a\nb\nb\nb\n")],
    ids=["in place of a deleted line", "an equal line"],
)
async def test_what_was_written_next_to_the_lines_to_restore_is_a_conflict_that_says_so(
    bench: Bench, before: str, left: str, now: str
) -> None:
    """No line that is to be restored has changed: it was deleted, or all of them are equal."""
    lay_out(bench.root, {"a": before.encode()})
    bench.says(answer("", call("write_file", path="a", content=left)), answer("Done."))
    turn = (await bench.turn()).turn
    (bench.root / "a").write_text(now)
    (conflict,) = (await bench.restore(turn)).conflicts
    assert "or text next to them, have changed since" in conflict.reason
    assert snapshot(bench.root) == {"a": now.encode()}


async def test_lines_are_those_of_now_and_what_the_user_wrote_stays(bench: Bench) -> None:
    lay_out(bench.root, {"a": ROWS.encode()})
    bench.says(answer("", call("write_file", path="a", content=WROTE)), answer("Done."))
    turn = (await bench.turn()).turn
    now = "above\n" * 3 + WROTE.replace("more\n", "more and more\n")
    (bench.root / "a").write_bytes(now.encode())
    uri = (bench.root / "a").as_uri()
    report = await bench.restore(turn, uris=[uri], lines=(4, 4))
    assert report.restored == (uri,)
    now = now.replace("TWO\n", "2\n")
    assert snapshot(bench.root) == {"a": now.encode()}
    report = await bench.restore(turn, uris=[uri], lines=(10, 10))
    (conflict,) = report.conflicts
    assert conflict.uri == uri
    assert "The lines to restore, or text next to them, have changed since" in conflict.reason
    assert "-more and more\n" in conflict.diff, "what is there"
    assert "-6\n" not in conflict.diff, "and no more of it"
    assert snapshot(bench.root) == {"a": now.encode()}


async def test_a_part_of_what_was_made_or_deleted_cannot_be_taken_back(bench: Bench) -> None:
    lay_out(bench.root, {"gone": b"one\n"})
    patch = "*** Begin Patch\n*** Delete File: gone\n*** Add File: made\n+one\n*** End Patch\n"
    bench.says(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    turn = (await bench.turn()).turn
    for name in ("gone", "made"):
        report = await bench.restore(turn, uris=[(bench.root / name).as_uri()], lines=(0, 0))
        assert "can be restored in part" in report.conflicts[0].reason
    assert snapshot(bench.root) == {"made": b"one\n"}
