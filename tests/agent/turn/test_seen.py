"""A document that the model has read and that others change since is named to it before its next edit."""

from __future__ import annotations

import pytest

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


async def test_a_change_between_two_turns_is_told_before_the_edit_of_the_later_one(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": ROWS})
    file = bench.root / "a.txt"
    bench.says(
        answer("", READ),
        answer("", replace("two", "2")),
        answer("Done."),
        answer("", replace("four", "4")),
        answer("Done."),
        answer("Nothing to do."),
    )
    session = (await bench.turn()).session
    assert not told(bench)
    file.write_bytes(b"one\n2\n3\nfour\n")
    await bench.turn(session=session)
    asked, text = told(bench)
    assert text.startswith(TOLD.format(3)), "before the model says anything"
    assert file.read_bytes() == b"one\n2\n3\n4\n"
    await bench.turn(session=session)
    assert len(told(bench)) == len([asked, text, "the prompt of the third turn"]), "it is told once"


async def test_what_is_taken_back_between_two_turns_is_told(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": ROWS})
    bench.says(answer("", READ), answer("", replace("two", "2")), answer("Done."), answer("I see."))
    report = await bench.turn()
    assert report.checkpoint is not None
    await bench.restore(report.checkpoint)
    await bench.turn(session=report.session)
    assert told(bench)[-1].startswith(TOLD.format(2))


async def test_another_session_and_what_was_asked_about_are_not_spoken_of(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": ROWS, ".env": b"KEY=1\n"})
    bench.says(
        answer("", READ, call("read_file", path=".env")),
        answer("Done."),
        answer("Hello."),
        answer("Hello."),
    )
    session = (await bench.turn()).session
    assert [each.subject for each in bench.approver.asked] == [".env"]
    for name in ("a.txt", ".env"):
        (bench.root / name).write_bytes(b"changed\n")
    await bench.turn()
    assert not told(bench)
    await bench.turn(session=session)
    assert ["a.txt has changed since" in text for text in told(bench)] == [False, True]


async def test_many_changes_are_told_in_short(bench: Bench) -> None:
    names = [f"f{number:02}.txt" for number in range(30)]
    lay_out(bench.root, dict.fromkeys(names, ROWS))
    reads = [call("read_file", path=name) for name in names]
    bench.says(answer("", *reads), answer("Done."), answer("I see."))
    session = (await bench.turn()).session
    for name in names:
        (bench.root / name).write_bytes(b"one\n")
    await bench.turn(session=session)
    texts = told(bench)[1:]
    assert len(texts) == 11
    assert texts[-1] == f"These have changed, too: {', '.join(names[10:])}."


WRITE = call("write_file", path="a.txt", content="1\ntwo\nthree\nfour\n")
DELETE = call("patch", mode="v4a", patch="*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n")


@pytest.mark.parametrize("told_before", [False, True])
@pytest.mark.parametrize("eol", [b"\n", b"\r\n"])
async def test_a_whole_new_text_keeps_what_others_changed(
    bench: Bench, told_before: bool, eol: bytes
) -> None:
    rows = ROWS.replace(b"\n", eol)
    lay_out(bench.root, {"a.txt": rows})
    file = bench.root / "a.txt"
    between = [answer("", call("list_files"))] if told_before else []
    bench.says(
        answer("", READ),
        *between,
        answer("", WRITE),
        answer("Done."),
        acts={1: lambda: file.write_bytes(rows.replace(b"three", b"3") + b"mine" + eol)},
    )
    await bench.turn()
    assert file.read_bytes() == b"1 two 3 four mine ".replace(b" ", eol)
    assert "Changes that others have made to the file in the meantime were kept." in bench.texts()[-1]


@pytest.mark.parametrize("told_before", [False, True])
@pytest.mark.parametrize(
    ("edit", "changed", "why"),
    [
        (WRITE, b"ONE\ntwo\nthree\nfour\n", ", at line 1, so the new text was not written."),
        (DELETE, ROWS + b"mine\n", ", at line 5, so it was not deleted."),
    ],
)
async def test_a_whole_file_is_not_replaced_or_deleted_over_what_others_changed_there(
    bench: Bench, edit: dict[str, object], changed: bytes, why: str, told_before: bool
) -> None:
    lay_out(bench.root, {"a.txt": ROWS})
    file = bench.root / "a.txt"
    between = [answer("", call("list_files"))] if told_before else []
    bench.says(
        answer("", READ),
        *between,
        answer("", edit),
        answer("", READ),
        answer("", edit),
        answer("Done."),
        acts={1: lambda: file.write_bytes(changed)},
    )
    report = await bench.turn()
    failed, landed = report.outcomes
    assert failed.failure is not None
    assert (failed.failure.code.value, failed.failure.message) == (
        "stale-document",
        f"a.txt has changed since the agent last read or wrote it{why}",
    )
    assert landed.failure is None, "the model has read it again"


@pytest.mark.parametrize("rows", [ROWS, ROWS.removesuffix(b"\n")])
@pytest.mark.parametrize("end", ["", "\n"])
async def test_the_end_of_a_whole_new_text_does_not_matter(bench: Bench, rows: bytes, end: str) -> None:
    lay_out(bench.root, {"a.txt": rows})
    file = bench.root / "a.txt"
    bench.says(
        answer("", READ),
        answer("", call("write_file", path="a.txt", content="1\ntwo\nthree\nfour" + end)),
        answer("Done."),
        acts={1: lambda: file.write_bytes(rows.replace(b"four", b"four\nmine"))},
    )
    await bench.turn()
    assert file.read_bytes() == rows.replace(b"one", b"1").replace(b"four", b"four\nmine")


async def test_a_whole_new_text_that_is_there_already_is_no_conflict(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": ROWS})
    file = bench.root / "a.txt"
    bench.says(
        answer("", READ),
        answer("", WRITE),
        answer("Done."),
        acts={1: lambda: file.write_bytes(ROWS.replace(b"one", b"1"))},
    )
    report = await bench.turn()
    assert [each.failure for each in report.outcomes] == [None]
    assert file.read_bytes() == b"1\ntwo\nthree\nfour\n"


@pytest.mark.parametrize(("first", "last_line"), [(WRITE, b"4"), (replace("one", "1"), b"four")])
async def test_what_others_changed_is_not_known_to_the_model_by_its_own_edit(
    bench: Bench, first: dict[str, object], last_line: bytes
) -> None:
    """A whole text is compared with what the model wrote before as a whole, or else with what it read."""
    lay_out(bench.root, {"a.txt": ROWS})
    file = bench.root / "a.txt"
    bench.says(
        answer("", READ),
        answer("", first),
        answer("", call("write_file", path="a.txt", content="1\ntwo\nthree\n4\n")),
        answer("Done."),
        acts={1: lambda: file.write_bytes(ROWS.replace(b"three", b"3"))},
    )
    await bench.turn()
    assert file.read_bytes() == b"1\ntwo\n3\n" + last_line + b"\n"


def write(content: str) -> dict[str, object]:
    return call("write_file", path="a.txt", content=content)


ADD = "*** Begin Patch\n*** Add File: a.txt\n+one\n+two\n+three\n+four\n*** End Patch\n"
MINE = "one\ntwo\nthree\nfour\nmine\n"


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize(
    "first", [write(ROWS.decode()), write(ROWS.decode().rstrip()), call("patch", mode="v4a", patch=ADD)]
)
@pytest.mark.parametrize("in_one_turn", [False, True])
async def test_a_file_that_the_model_wrote_and_never_read_keeps_what_others_changed(
    bench: Bench, first: dict[str, object], is_there: bool, in_one_turn: bool, end: str
) -> None:
    file = bench.root / "a.txt"
    if is_there and first["name"] == "write_file":
        lay_out(bench.root, {"a.txt": b"another text\nof two lines\n"})
    later = write("1\ntwo\nthree\nfour" + end)
    done = [] if in_one_turn else [answer("Done.")]
    bench.says(
        answer("", first),
        *done,
        answer("", later),
        answer("Done."),
        acts={1: lambda: file.write_text(MINE if file.read_bytes().endswith(b"\n") else MINE[:-1])},
    )
    await bench.turn()
    if not in_one_turn:
        await bench.turn(session="s-1")
    assert file.read_text().rstrip() == "1\ntwo\nthree\nfour\nmine"


async def test_what_others_changed_in_a_file_that_the_model_wrote_is_told(bench: Bench) -> None:
    file = bench.root / "a.txt"
    bench.says(
        answer("", write(ROWS.decode())),
        answer("", replace("two", "2")),
        answer("Done."),
        acts={1: lambda: file.write_bytes(ROWS.replace(b"three", b"3"))},
    )
    await bench.turn()
    assert TOLD.format(3) in bench.texts()[-1]


async def test_a_second_whole_text_is_compared_with_the_first_one(bench: Bench) -> None:
    """Even if the first one was merged with what others had changed, which the model has not read."""
    lay_out(bench.root, {"a.txt": ROWS})
    file = bench.root / "a.txt"
    bench.says(
        answer("", READ),
        answer("", write("1\ntwo\nthree\nfour\n")),
        answer("", write("eins\ntwo\nthree\nfour\n")),
        answer("Done."),
        acts={1: lambda: file.write_text(MINE)},
    )
    await bench.turn()
    assert file.read_text() == MINE.replace("one", "eins")


ANEW = call("write_file", path="a.txt", content="one\n2\nthree\nfour\n")
GONE = "a.txt has been deleted since you last read or edited it. You did not make this change."


async def test_a_file_that_the_user_deletes_while_the_model_thinks_is_not_created_again(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": ROWS})
    file = bench.root / "a.txt"
    bench.says(answer("", READ), answer("", ANEW), answer("", ANEW), answer("Done."), acts={1: file.unlink})
    failed, landed = (await bench.turn()).outcomes
    assert failed.failure is not None
    assert failed.failure.code.value == "stale-document"
    assert "has been deleted or renamed" in failed.failure.message
    assert landed.failure is None, "the model knows it by now"


async def test_a_file_that_the_user_deletes_is_told_once(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": ROWS})
    file = bench.root / "a.txt"
    bench.says(
        answer("", READ),
        answer("", call("list_files")),
        answer("", call("list_files")),
        answer("", ANEW),
        answer("Done."),
        acts={1: file.unlink},
    )
    (landed,) = (await bench.turn()).outcomes
    assert landed.failure is None
    assert told(bench) == [GONE]


async def test_all_files_that_the_user_deletes_at_once_are_named(bench: Bench) -> None:
    names = [f"{letter}.txt" for letter in "abcdefghijklm"]
    lay_out(bench.root, dict.fromkeys(names, ROWS))

    def remove() -> None:
        for name in names:
            (bench.root / name).unlink()

    reads = [call("read_file", path=name) for name in names]
    bench.says(answer("", *reads), answer("", call("list_files")), answer("Done."), acts={1: remove})
    await bench.turn()
    said = "\n".join(told(bench)).split("\n")
    assert [line for line in said if "has been deleted since" in line] == [
        GONE.replace("a.txt", name) for name in names[:10]
    ]
    assert "These have been deleted or renamed, too: k.txt, l.txt, m.txt." in said


async def test_a_file_that_the_user_deletes_between_two_turns_is_told(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": ROWS})
    bench.says(answer("", READ), answer("Done."), answer("I see."))
    session = (await bench.turn()).session
    (bench.root / "a.txt").unlink()
    await bench.turn(session=session)
    assert GONE in told(bench)


@pytest.mark.parametrize(
    "act",
    [
        call("patch", mode="v4a", patch="*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n"),
        call(
            "patch",
            mode="v4a",
            patch="*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n*** End Patch\n",
        ),
        call("terminal", command="rm a.txt"),
    ],
    ids=["delete", "move", "command"],
)
async def test_a_file_that_the_agent_removes_is_not_told_and_can_be_created(
    bench: Bench, act: dict[str, object]
) -> None:
    lay_out(bench.root, {"a.txt": ROWS})
    bench.says(answer("", READ), answer("", act), answer("", ANEW), answer("Done."))
    removed, made = (await bench.turn()).outcomes
    assert (removed.failure, made.failure) == (None, None)
    assert not told(bench)
    assert "has been deleted" not in "".join(bench.texts())
