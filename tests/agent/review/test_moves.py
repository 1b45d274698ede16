"""A document that the agent moves is one pending change, at its new path."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from agent.review.test_reviews import BOTH, EDITED, FIVE, edited, ids, patch, told
from bench import Bench
from git_user import git
from handrail.adapters.git.recorded import GitRecords
from handrail.adapters.state.review_folder import ReviewFolder
from handrail.agent.review.selection import HunkSelection
from handrail.agent.review.undoing import undo
from handrail.core.policy.rules import Decision, Rule
from handrail.ports import Terms
from handrail.testing import answer, call, lay_out, snapshot

MOVED = FIVE.replace(b"three", b"THREE")


def move(source: str, target: str, rows: str = "-three\n+THREE\n") -> str:
    return f"*** Begin Patch\n*** Update File: {source}\n*** Move to: {target}\n@@\n{rows}*** End Patch\n"


async def command(bench: Bench, line: str) -> None:
    """A turn in which a command runs."""
    bench.terms = Terms(rules=(Rule(tool="terminal", match="*", decision=Decision.ALLOW),))
    bench.says(answer("", call("terminal", command=line)), answer("Done."))
    await bench.turn()


async def test_a_move_is_one_change_and_undo_moves_the_document_back(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE.replace(b"\n", b"\r\n")})
    (bench.root / "a").chmod(0o755)
    await edited(bench, move("a", "new/b"))
    crlf = FIVE.decode().replace("\n", "\r\n")
    assert await told(bench) == [("new/b", "renamed", crlf, crlf.replace("three", "THREE"))]
    (known,) = bench.host.reviews.shown
    assert known.origin is not None
    assert known.origin.path == "a"
    done = await undo(bench.host.reviews, HunkSelection())
    assert done.conflicts == []
    assert snapshot(bench.root) == {"a": FIVE.replace(b"\n", b"\r\n")}
    assert (bench.root / "a").stat().st_mode & 0o777 == 0o755
    assert not (bench.root / "new").exists()
    assert await told(bench) == []


async def test_keep_leaves_the_document_at_its_new_path(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench, move("a", "b"))
    await bench.host.reviews.keep(HunkSelection(hunks=ids(bench, "b")))
    assert await told(bench) == []
    assert snapshot(bench.root) == {"b": MOVED}


async def test_undo_of_a_move_brings_back_the_changes_that_were_pending(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench)
    await edited(bench, move("a", "b"))
    (renamed,) = ids(bench, "b")
    await undo(bench.host.reviews, HunkSelection(hunks=[renamed]))
    assert snapshot(bench.root) == {"a": EDITED}
    assert await told(bench) == BOTH
    await edited(bench, move("a", "b"))
    assert (await undo(bench.host.reviews, HunkSelection())).conflicts == []
    assert snapshot(bench.root) == {"a": FIVE}


async def test_a_moved_document_that_the_user_edited_stays_where_it_is(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench, move("a", "b"))
    (bench.root / "b").write_bytes(MOVED + b"typed\n")
    done = await undo(bench.host.reviews, HunkSelection())
    assert [each.now for each in done.conflicts] == [(MOVED + b"typed\n").decode()]
    assert snapshot(bench.root) == {"b": MOVED + b"typed\n"}
    assert [each[1] for each in await told(bench)] == ["renamed"]


async def test_a_file_at_the_old_path_is_not_overwritten(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench, move("a", "b"))
    (bench.root / "a").write_bytes(b"of the user\n")
    done = await undo(bench.host.reviews, HunkSelection())
    assert len(done.conflicts) == 1
    assert snapshot(bench.root) == {"a": b"of the user\n", "b": MOVED}
    assert [each[1] for each in await told(bench)] == ["renamed"]


async def test_a_second_move_is_still_one_change(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench, move("a", "b"))
    await edited(bench, move("b", "c", "-five\n+FIVE\n"))
    now = MOVED.replace(b"five", b"FIVE")
    assert await told(bench) == [("c", "renamed", FIVE.decode(), now.decode())]
    assert (await undo(bench.host.reviews, HunkSelection())).conflicts == []
    assert snapshot(bench.root) == {"a": FIVE}


async def test_a_move_back_leaves_only_what_was_changed(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench, move("a", "b"))
    await edited(bench, move("b", "a", "-five\n+FIVE\n"))
    assert await told(bench) == [
        ("a", "changed", "three\n", "THREE\n"),
        ("a", "changed", "five\n", "FIVE\n"),
    ]
    assert (await undo(bench.host.reviews, HunkSelection())).conflicts == []
    assert snapshot(bench.root) == {"a": FIVE}


@pytest.mark.parametrize("typed", [MOVED + b"typed\n", MOVED.replace(b"two\n", b"two\ntyped\n")])
async def test_what_the_user_typed_between_two_moves_stays(bench: Bench, typed: bytes) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench, move("a", "b"))
    (bench.root / "b").write_bytes(typed)
    await edited(bench, move("b", "a", "-five\n+FIVE\n"))
    await undo(bench.host.reviews, HunkSelection())
    assert b"typed\n" in (bench.root / "a").read_bytes()


async def test_what_the_user_typed_before_a_moved_document_is_deleted_comes_back(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench, move("a", "b"))
    (bench.root / "b").write_bytes(MOVED + b"typed\n")
    await edited(bench, "*** Begin Patch\n*** Delete File: b\n*** End Patch\n")
    assert (await undo(bench.host.reviews, HunkSelection())).conflicts == []
    assert snapshot(bench.root) == {"b": MOVED + b"typed\n"}


@pytest.mark.parametrize("then", ["move back", "make anew"])
async def test_a_moved_document_that_the_user_has_rewritten_is_the_users(bench: Bench, then: str) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench, move("a", "b"))
    (bench.root / "b").write_bytes(b"MINE#\n")
    assert await told(bench) == []
    if then == "move back":
        await edited(bench, move("b", "a", "-MINE#\n+OURS#\n"))
        assert await told(bench) == [("a", "renamed", "MINE#\n", "OURS#\n")]
    else:
        await edited(bench, "*** Begin Patch\n*** Add File: a\n+new\n*** End Patch\n")
        assert await told(bench) == [("a", "created", "", "new\n")]
    assert (await undo(bench.host.reviews, HunkSelection())).conflicts == []
    assert snapshot(bench.root) == {"b": b"MINE#\n"}


async def test_later_edits_belong_to_the_same_change(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench, move("a", "b"))
    await edited(bench, "*** Begin Patch\n*** Update File: b\n@@\n-one\n+ONE\n*** End Patch\n")
    assert await told(bench) == [("b", "renamed", FIVE.decode(), MOVED.replace(b"one", b"ONE").decode())]
    assert (await undo(bench.host.reviews, HunkSelection())).conflicts == []
    assert snapshot(bench.root) == {"a": FIVE}


async def test_a_moved_document_that_is_then_deleted_is_a_deletion_of_the_first(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench, move("a", "b"))
    await edited(bench, "*** Begin Patch\n*** Delete File: b\n*** End Patch\n")
    assert await told(bench) == [("a", "deleted", FIVE.decode(), "")]
    assert (await undo(bench.host.reviews, HunkSelection())).conflicts == []
    assert snapshot(bench.root) == {"a": FIVE}
    assert await told(bench) == []


async def test_a_document_that_was_made_and_moved_was_made(bench: Bench) -> None:
    await edited(bench, "*** Begin Patch\n*** Add File: a\n+three\n*** End Patch\n")
    await edited(bench, move("a", "b"))
    assert await told(bench) == [("b", "created", "", "THREE\n")]
    assert (await undo(bench.host.reviews, HunkSelection())).conflicts == []
    assert snapshot(bench.root) == {}
    assert await told(bench) == []


async def test_a_move_to_the_path_of_a_deleted_document_is_two_changes(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE, "b": b"other\n"})
    await edited(bench, "*** Begin Patch\n*** Delete File: b\n*** End Patch\n")
    await edited(bench, move("a", "b"))
    assert [each[:2] for each in await told(bench)] == [("a", "deleted"), ("b", "changed")]
    assert (await undo(bench.host.reviews, HunkSelection())).conflicts == []
    assert snapshot(bench.root) == {"a": FIVE, "b": b"other\n"}


async def test_a_move_and_another_document_at_the_old_path_in_one_answer(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    bench.says(
        answer("", patch(move("a", "b")), patch("*** Begin Patch\n*** Add File: a\n+new\n*** End Patch\n")),
        answer("Done."),
    )
    await bench.turn()
    assert snapshot(bench.root) == {"a": b"new\n", "b": MOVED}
    await told(bench)
    assert (await undo(bench.host.reviews, HunkSelection())).conflicts == []
    assert snapshot(bench.root) == {"a": FIVE}


async def test_a_command_that_moves_files_unchanged_moves_them(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE, "same": b"same\n", "alike": b"same\n", "gone": b"gone\n"})
    await command(bench, "mv a b; mv same same2; mv alike alike2; rm gone; echo new > made")
    assert await told(bench) == [
        ("alike", "deleted", "same\n", ""),
        ("alike2", "created", "", "same\n"),
        ("b", "renamed", FIVE.decode(), FIVE.decode()),
        ("gone", "deleted", "gone\n", ""),
        ("made", "created", "", "new\n"),
        ("same", "deleted", "same\n", ""),
        ("same2", "created", "", "same\n"),
    ]
    assert (await undo(bench.host.reviews, HunkSelection())).conflicts == []
    assert snapshot(bench.root) == {"a": FIVE, "same": b"same\n", "alike": b"same\n", "gone": b"gone\n"}


async def test_another_process_knows_of_the_move(bench: Bench, tmp_path: Path) -> None:
    lay_out(bench.root, {"a": FIVE})
    bench.host.reviews.store = ReviewFolder(lambda: tmp_path / "review")
    await edited(bench, move("a", "b"))
    await bench.host.reviews.settle()
    (known,) = bench.host.reviews.shown
    (read,) = await ReviewFolder(lambda: tmp_path / "review").news()
    assert not isinstance(read, str)
    assert (read.kind, read.origin) == (known.kind, known.origin)


@pytest.mark.parametrize("line", ["git add -A", "git add -A && git commit -qm moved"])
async def test_a_move_that_is_staged_or_committed_is_kept(bench: Bench, line: str) -> None:
    lay_out(bench.root, {"a": FIVE})
    git(bench.root, "init", "-q")
    git(bench.root, "add", "-A")
    git(bench.root, "commit", "-qm", "first")
    await edited(bench, move("a", "b"))
    bench.host.reviews.records = GitRecords()
    for part in line.split(" && "):
        git(bench.root, *shlex.split(part)[1:])
    assert await told(bench) == []


async def test_a_restored_move_brings_back_the_changes_that_were_pending(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench)
    assert await told(bench) == BOTH
    turn = await edited(bench, move("a", "b"))
    await bench.restore(turn)
    assert snapshot(bench.root) == {"a": EDITED}
    assert await told(bench) == BOTH


@pytest.mark.parametrize("is_pending", [True, False])
async def test_a_move_that_was_restored_is_pending_again_once_that_is_restored(
    bench: Bench, is_pending: bool
) -> None:
    lay_out(bench.root, {"a": FIVE})
    if is_pending:
        await edited(bench)
    before = await told(bench)
    turn = await edited(bench, move("a", "b"))
    moved = await told(bench)
    assert [each[:2] for each in moved] == [("b", "renamed")]
    report = await bench.restore(turn)
    assert await told(bench) == before
    assert report.checkpoint is not None
    await bench.restore(report.checkpoint)
    assert await told(bench) == moved
    assert (await undo(bench.host.reviews, HunkSelection())).conflicts == []
    assert snapshot(bench.root) == {"a": FIVE}
    assert await told(bench) == []


@pytest.mark.parametrize("how", ["restore", "another program"])
async def test_a_move_that_was_taken_back_and_is_made_once_more_is_one_change(bench: Bench, how: str) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench)
    turn = await edited(bench, move("a", "b"))
    if how == "restore":
        await bench.restore(turn)
    else:  # what nobody has looked at when it is moved again
        (bench.root / "b").unlink()
        (bench.root / "a").write_bytes(EDITED)
    await edited(bench, move("a", "b"))
    now = EDITED.replace(b"three", b"THREE")
    assert await told(bench) == [("b", "renamed", EDITED.decode(), now.decode())]
    assert (await undo(bench.host.reviews, HunkSelection())).conflicts == []
    assert snapshot(bench.root) == {"a": FIVE}


async def test_a_document_that_another_program_moves_back_as_it_was(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench)
    await command(bench, "mv a b")
    (bench.root / "b").rename(bench.root / "a")
    assert await told(bench) == BOTH


async def test_another_document_at_the_old_path_is_not_the_moved_one(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench, move("a", "b"))
    (bench.root / "b").unlink()
    (bench.root / "a").write_bytes(b"of the user\n")
    assert await told(bench) == []
    assert (await undo(bench.host.reviews, HunkSelection())).conflicts == []
    assert snapshot(bench.root) == {"a": b"of the user\n"}


async def test_a_moved_document_that_cannot_be_read_is_not_back_at_its_old_path(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench, move("a", "b"))
    (bench.root / "b").rename(bench.root / "kept")
    os.mkfifo(bench.root / "b")
    (bench.root / "a").write_bytes(FIVE)
    moved = [("b", "renamed", FIVE.decode(), MOVED.decode())]
    assert await told(bench) == moved
    (bench.root / "kept").replace(bench.root / "b")
    assert await told(bench) == moved


async def test_a_deletion_that_was_restored_is_not_redone_by_what_cannot_be_read(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE, "c": b"one\n"})
    other = await edited(bench, "*** Begin Patch\n*** Update File: c\n-one\n+ONE\n*** End Patch\n")
    await bench.restore(await edited(bench, "*** Begin Patch\n*** Delete File: a\n*** End Patch\n"))
    (bench.root / "a").unlink()
    os.mkfifo(bench.root / "a")
    await bench.restore(other)
    assert await told(bench) == []


async def test_undo_gives_a_document_its_old_encoding_again(bench: Bench) -> None:
    config = b"root = true\n[latin/*]\ncharset = latin1\n"
    files = {".editorconfig": config, "latin/a": "é\nthree\n".encode("latin-1"), "b": "é\nthree\n".encode()}
    lay_out(bench.root, files)
    await edited(bench, move("latin/a", "c"))
    await edited(bench, move("b", "latin/d"))
    moved = {"c": "é\nTHREE\n".encode(), "latin/d": "é\nTHREE\n".encode("latin-1")}
    assert snapshot(bench.root) == {".editorconfig": config, **moved}
    assert (await undo(bench.host.reviews, HunkSelection())).conflicts == []
    assert snapshot(bench.root) == files
