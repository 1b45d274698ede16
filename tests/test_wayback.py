"""Taking back what a turn changed in some lines only, and all of it: as values, and on a real disk."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import Bench
from handrail.core import edit
from handrail.core.text import Text
from handrail.core.wayback import way_back
from handrail.testing import answer, call, lay_out, snapshot

distinct = st.lists(st.sampled_from([f"{c}\n" for c in "abcdefgh"]), unique=True).map("".join)
texts = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "d"]), max_size=12).map("".join)


def undone(now: str, *stretches: tuple[str, str], lines: tuple[int, int] | None = None) -> str | None:
    back = way_back(Text(now), [(Text(one), Text(other)) for one, other in stretches], lines)
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
    assert "changed again since" in conflict.reason
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
        assert "no part of it" in report.conflicts[0].reason
    assert snapshot(bench.root) == {"made": b"one\n"}
