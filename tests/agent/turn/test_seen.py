"""A document that the model has read and that others change since is named to it before its next edit."""

from __future__ import annotations

from bench import Bench
from handrail.core.conversation.message import UserMessage
from handrail.testing import answer, call, lay_out

READ = call("read_file", path="a.txt")
ROWS = b"one\ntwo\nthree\nfour\n"
TOLD = "a.txt has changed since you last read or edited it, at line {}. You did not make this change."


def replace(old: str, new: str) -> dict[str, object]:
    return call("patch", path="a.txt", old_string=old, new_string=new)


def told(bench: Bench) -> list[str]:
    """What the model was told by messages, the prompt left out."""
    return [each.text for each in bench.history() if isinstance(each, UserMessage)][1:]


async def test_a_change_of_the_users_is_told_once_and_before_the_next_edit(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": ROWS})
    file = bench.root / "a.txt"
    bench.says(
        answer("", READ),
        answer("", call("list_files")),
        answer("", replace("two", "2")),
        answer("Done."),
        acts={1: lambda: file.write_bytes(ROWS.replace(b"three", b"3"))},
    )
    await bench.turn()
    (text,) = told(bench)
    assert text.startswith(TOLD.format(3))
    assert file.read_bytes() == b"one\n2\n3\nfour\n"
    assert not [result for result in bench.texts() if "has changed since" in result]


async def test_a_change_while_the_model_thinks_is_told_with_the_edit(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": ROWS})
    file = bench.root / "a.txt"
    bench.says(
        answer("", READ),
        answer("", replace("two", "2")),
        answer("Done."),
        acts={1: lambda: file.write_bytes(ROWS.replace(b"three", b"3"))},
    )
    await bench.turn()
    assert not told(bench)
    assert TOLD.format(3) in bench.texts()[-1]


async def test_the_turns_own_changes_are_not_told(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": ROWS, "b.txt": b"b\n"})
    bench.says(
        answer("", READ),
        answer("", replace("two", "2")),
        answer("", call("write_file", path="a.txt", content="one\n")),
        answer("", call("terminal", command="echo more >> a.txt")),
        answer("", replace("one", "ONE")),
        answer("Done."),
    )
    await bench.turn()
    assert (bench.root / "a.txt").read_bytes() == b"ONE\nmore\n"
    assert not told(bench)
    assert not [result for result in bench.texts() if "has changed since" in result]


async def test_line_ends_and_what_was_never_read_are_not_told(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": ROWS, "b.txt": b"b\n"})
    file, other = bench.root / "a.txt", bench.root / "b.txt"

    def act() -> None:
        file.write_bytes(ROWS.replace(b"\n", b"\r\n"))
        other.write_bytes(b"c\n")

    bench.says(answer("", READ), answer("", READ), answer("Done."), acts={1: act})
    await bench.turn()
    assert not told(bench)
