"""What failed in a turn that is restored was meant for documents as they are no more."""

from __future__ import annotations

import pytest

from bench import Bench
from handrail.adapters.state.session_log import SessionLog
from handrail.agent.archive import Archive
from handrail.testing import answer, call, lay_out


def lands(path: str, old: str = "one", new: str = "1") -> dict[str, object]:
    return call("patch", path=path, old_string=old, new_string=new)


def fails(path: str) -> dict[str, object]:
    return call("patch", path=path, old_string="threee", new_string="something")


def failed(bench: Bench) -> list[tuple[str, str]]:
    """Turn and path of each open failure."""
    return [(known.mutation.turn, known.mutation.path) for known in bench.host.ledger.open]


@pytest.fixture
async def turns(bench: Bench) -> list[str]:
    """Two turns of a session with two steps each, which land and fail; and a turn that only fails."""
    bench.host.archive = Archive(journals=SessionLog(lambda: bench.state.parent / "sessions"))
    lay_out(
        bench.root, {"a.txt": b"one\ntwo\n", "b.txt": b"one\ntwo\nthree\n", "c.txt": b"one\ntwo\nthree\n"}
    )
    bench.says(
        answer("", fails("b.txt"), lands("a.txt")),
        answer("", fails("c.txt"), lands("b.txt")),
        answer("Done."),
        answer("", fails("b.txt"), lands("a.txt", "two", "2")),
        answer("", lands("b.txt", "two", "2")),
        answer("Done."),
        answer("", call("patch", path="c.txt", old_string="absent", new_string="x")),
        answer("Done."),
    )
    found = [(await bench.turn("s-1" if number else None)).turn for number in range(3)]
    expected = [(found[0], "b.txt"), (found[0], "c.txt"), (found[2], "c.txt")]
    assert failed(bench) == expected, "a repeat is counted with the first attempt"
    return found


async def test_the_failures_of_a_turn_go_with_it(bench: Bench, turns: list[str]) -> None:
    await bench.restore(turns[0])
    assert failed(bench) == [(turns[2], "c.txt")]


async def test_those_of_other_turns_stay(bench: Bench, turns: list[str]) -> None:
    await bench.restore(turns[1])
    assert [turn for turn, _ in failed(bench)] == [turns[0], turns[0], turns[2]]


async def test_those_of_later_turns_go_with_what_follows(bench: Bench, turns: list[str]) -> None:
    """Even of a turn that changed nothing, so that it has no checkpoint."""
    await bench.restore(turns[1], following=True)
    assert [turn for turn, _ in failed(bench)] == [turns[0], turns[0]]


async def test_those_of_some_documents_go_with_them(bench: Bench, turns: list[str]) -> None:
    await bench.restore(turns[0], uris=[(bench.root / "b.txt").as_uri()])
    assert failed(bench) == [(turns[0], "c.txt"), (turns[2], "c.txt")]


async def test_those_of_earlier_steps_stay(bench: Bench, turns: list[str]) -> None:
    await bench.restore(f"{turns[0]}.2")
    assert failed(bench) == [(turns[0], "b.txt"), (turns[2], "c.txt")]


async def test_those_of_a_document_that_was_left_alone_stay(bench: Bench, turns: list[str]) -> None:
    (bench.root / "b.txt").write_bytes(b"1 and more\n2\n")
    report = await bench.restore(turns[0])
    assert [each.uri for each in report.conflicts] == [(bench.root / "b.txt").as_uri()]
    assert failed(bench) == [(turns[0], "b.txt"), (turns[2], "c.txt")]


async def test_some_lines_alone_close_nothing(bench: Bench, turns: list[str]) -> None:
    await bench.restore(turns[0], uris=[(bench.root / "b.txt").as_uri()], lines=(0, 0))
    assert len(failed(bench)) == 3


async def test_those_of_turns_that_are_out_of_the_conversation_go(bench: Bench, turns: list[str]) -> None:
    await bench.restore(turns[2], conversation=True, files=False)
    assert [turn for turn, _ in failed(bench)] == [turns[0], turns[0]]
