"""What is pending after turns, on real files: what is listed, kept, undone, and known to another process."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from bench import Bench
from handrail.adapters.state.review_folder import ReviewFolder
from handrail.agent.review.selection import HunkSelection
from handrail.agent.review.undoing import LATER_TURN, TYPED, YOU_OR_LATER_TURN, undo
from handrail.agent.turns import UnknownId
from handrail.core.policy.rules import Decision, Rule
from handrail.core.review.pending import ReviewMode
from handrail.ports import Terms
from handrail.testing import answer, call, lay_out, snapshot

FIVE = b"one\ntwo\nthree\nfour\nfive\n"
EDITED = b"one\nTWO\nthree\nFOUR\nfive\n"
PATCH = "*** Begin Patch\n*** Update File: a\n@@\n-two\n+TWO\n@@\n-four\n+FOUR\n*** End Patch\n"


def patch(text: str) -> dict[str, object]:
    return call("patch", mode="v4a", patch=text)


async def edited(bench: Bench, text: str = PATCH) -> str:
    """A turn with one patch; its id."""
    bench.says(answer("", patch(text)), answer("Done."))
    report = await bench.turn()
    assert [each.status.value for each in report.outcomes if each.failure] == []
    return report.turn


async def told(bench: Bench) -> list[tuple[str, str, str, str]]:
    """Of each pending hunk its document, what it is, what was there before it, and what is there now."""
    reviews = bench.host.reviews
    await reviews.refresh()
    return [
        (known.path, known.kind.value, "".join(hunk.before), "".join(hunk.rows))
        for known in reviews.shown
        for hunk in known.document.hunks
    ]


def ids(bench: Bench, path: str = "a") -> list[str]:
    (known,) = (each for each in bench.host.reviews.shown if each.path == path)
    return [hunk.id for hunk in known.document.hunks]


BOTH = [("a", "changed", "two\n", "TWO\n"), ("a", "changed", "four\n", "FOUR\n")]


async def test_what_a_turn_has_changed_is_pending(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    turn = await edited(bench)
    assert await told(bench) == BOTH
    (known,) = bench.host.reviews.shown
    assert {hunk.turns for hunk in known.document.hunks} == {(turn,)}
    assert {step.call for hunk in known.document.hunks for step in hunk.steps} == {"c1-1"}


async def test_one_hunk_is_kept_and_the_other_undone(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench)
    first, second = ids(bench)
    assert await bench.host.reviews.keep(HunkSelection(hunks=[first])) == (first,)
    assert await told(bench) == BOTH[1:]
    done = await undo(bench.host.reviews, HunkSelection(hunks=[second]))
    assert (done.hunks, done.conflicts) == ([second], [])
    assert snapshot(bench.root) == {"a": b"one\nTWO\nthree\nfour\nfive\n"}
    assert await told(bench) == []
    with pytest.raises(UnknownId, match="may have been kept, undone or rewritten"):
        await undo(bench.host.reviews, HunkSelection(hunks=[second]))


async def test_an_undo_can_be_taken_back_and_is_pending_again(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench)
    done = await undo(bench.host.reviews, HunkSelection())
    assert snapshot(bench.root) == {"a": FIVE}
    assert done.checkpoint is not None
    await bench.restore(done.checkpoint)
    assert snapshot(bench.root) == {"a": EDITED}


async def test_what_was_typed_beside_hunks_stays_and_moves_them(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench)
    (bench.root / "a").write_bytes(b"zero\n" + EDITED + b"six\n")
    assert await told(bench) == BOTH
    done = await undo(bench.host.reviews, HunkSelection())
    assert done.conflicts == []
    assert snapshot(bench.root) == {"a": b"zero\n" + FIVE + b"six\n"}


async def test_a_hunk_that_was_typed_in_is_a_conflict_with_both_texts_until_all_of_it_is_to_go(
    bench: Bench,
) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench)
    (bench.root / "a").write_bytes(EDITED.replace(b"TWO", b"TWO, typed").replace(b"one", b"ONE"))
    done = await undo(bench.host.reviews, HunkSelection())
    assert len(done.hunks) == 1
    (conflict,) = done.conflicts
    assert (conflict.now, conflict.before) == ("TWO, typed\n", "two\n")
    assert snapshot(bench.root) == {"a": b"ONE\nTWO, typed\nthree\nfour\nfive\n"}
    done = await undo(bench.host.reviews, HunkSelection(hunks=[conflict.hunk]), forced=True)
    assert done.conflicts == []
    assert snapshot(bench.root) == {"a": b"ONE\ntwo\nthree\nfour\nfive\n"}


def update(old: str, new: str, path: str = "a") -> str:
    return f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch\n"


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("typed", [False, True])
async def test_a_turn_is_not_undone_together_with_a_later_one(
    bench: Bench, *, typed: bool, forced: bool
) -> None:
    """Not even where what was typed is to go too: that the later turn goes must be asked for."""
    lay_out(bench.root, {"a": FIVE})
    first = await edited(bench, update("two", "deux"))
    second = await edited(bench, update("deux", "zwei"))
    now = FIVE.replace(b"two", b"zwei, typed" if typed else b"zwei")
    (bench.root / "a").write_bytes(now)
    done = await undo(bench.host.reviews, HunkSelection(turn=first), forced=forced)
    (conflict,) = done.conflicts
    assert conflict.reason == (YOU_OR_LATER_TURN if typed else LATER_TURN)
    assert (done.hunks, conflict.is_typed, snapshot(bench.root)) == ([], False, {"a": now})
    done = await undo(bench.host.reviews, HunkSelection(turn=second), forced=forced)
    if typed and not forced:
        assert [(each.reason, each.is_typed) for each in done.conflicts] == [(TYPED, True)]
        return
    assert (done.conflicts, snapshot(bench.root)) == ([], {"a": FIVE.replace(b"two", b"deux")})
    done = await undo(bench.host.reviews, HunkSelection(turn=first), forced=forced)
    assert (done.conflicts, snapshot(bench.root)) == ([], {"a": FIVE})


async def test_what_was_typed_in_the_changes_of_one_turn_goes_with_it(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    turn = await edited(bench)
    (bench.root / "a").write_bytes(EDITED.replace(b"TWO", b"TWO, typed"))
    (conflict,) = (await undo(bench.host.reviews, HunkSelection(turn=turn))).conflicts
    assert (conflict.reason, conflict.is_typed) == (TYPED, True)
    await undo(bench.host.reviews, HunkSelection(turn=turn), forced=True)
    assert snapshot(bench.root) == {"a": FIVE}


async def test_line_ends_and_marks_of_a_document_are_kept(bench: Bench) -> None:
    before = "\ufeffone\r\ntwo\r\nthree\r\nfour\r\nfive".encode("utf-16-le")
    lay_out(bench.root, {"a": before})
    await edited(bench)
    assert snapshot(bench.root) != {"a": before}
    await undo(bench.host.reviews, HunkSelection())
    assert snapshot(bench.root) == {"a": before}


@pytest.mark.parametrize("content", [b"made\n", b""], ids=["", "empty"])
async def test_a_document_that_was_made_is_one_hunk(bench: Bench, content: bytes) -> None:
    lay_out(bench.root, {"a": FIVE})
    rows = "".join(f"+{row}\n" for row in content.decode().splitlines())
    await edited(bench, f"*** Begin Patch\n*** Add File: new/b\n{rows}*** End Patch\n")
    assert await told(bench) == [("new/b", "created", "", content.decode())]
    done = await undo(bench.host.reviews, HunkSelection(uri=(bench.root / "new/b").as_uri()))
    assert done.conflicts == []
    assert snapshot(bench.root) == {"a": FIVE}
    assert not (bench.root / "new").exists()
    assert await told(bench) == []


async def test_a_document_that_was_made_and_typed_in_is_never_removed(bench: Bench) -> None:
    await edited(bench, "*** Begin Patch\n*** Add File: b\n+made\n*** End Patch\n")
    (bench.root / "b").write_text("made\ntyped\n")
    done = await undo(bench.host.reviews, HunkSelection())
    assert len(done.conflicts) == 1
    assert snapshot(bench.root) == {"b": b"made\ntyped\n"}


async def test_a_document_that_was_removed_comes_back_byte_for_byte(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE.replace(b"\n", b"\r\n")})
    (bench.root / "a").chmod(0o755)
    await edited(bench, "*** Begin Patch\n*** Delete File: a\n*** End Patch\n")
    assert [each[:2] for each in await told(bench)] == [("a", "deleted")]
    done = await undo(bench.host.reviews, HunkSelection())
    assert done.conflicts == []
    assert snapshot(bench.root) == {"a": FIVE.replace(b"\n", b"\r\n")}
    assert (bench.root / "a").stat().st_mode & 0o777 == 0o755


async def test_a_turn_is_undone_and_another_one_stays(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    first = await edited(bench)
    second = await edited(
        bench, PATCH.replace("-two\n+TWO", "-three\n+3").replace("-four\n+FOUR", "-five\n+5")
    )
    await undo(bench.host.reviews, HunkSelection(turn=first))
    assert snapshot(bench.root) == {"a": b"one\ntwo\n3\nfour\n5\n"}
    (known,) = bench.host.reviews.shown
    assert {turn for hunk in known.document.hunks for turn in hunk.turns} == {second}


async def test_what_a_command_has_changed_is_pending(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE, "gone": b"gone\n", "raw": b"\0\1\2"})
    bench.terms = Terms(rules=(Rule(tool="terminal", match="*", decision=Decision.ALLOW),))
    program = (
        "import os; p = open('a').read(); open('a', 'w').write(p.replace('two', 'TWO')); os.remove('gone')"
    )
    program += "; open('raw', 'wb').write(b'\\0\\3'); open('made', 'w').write('made\\n')"
    line = f"{shlex.quote(sys.executable)} -c {shlex.quote(program)}"
    bench.says(answer("", call("terminal", command=line)), answer("Done."))
    await bench.turn()
    assert await told(bench) == [
        BOTH[0],
        ("gone", "deleted", "gone\n", ""),
        ("made", "created", "", "made\n"),
        ("raw", "whole", "", ""),
    ]
    done = await undo(bench.host.reviews, HunkSelection())
    assert done.conflicts == []
    assert snapshot(bench.root) == {"a": FIVE, "gone": b"gone\n", "raw": b"\0\1\2"}
    assert await told(bench) == []


async def test_what_a_command_has_changed_of_ignored_files_is_not_pending(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE, ".gitignore": b"*.log\nbuild/\n", "x.log": b"log\n"})
    bench.terms = Terms(rules=(Rule(tool="terminal", match="*", decision=Decision.ALLOW),))
    line = "echo more >> x.log; mkdir build; echo b > build/b; echo six >> a"
    bench.says(answer("", call("terminal", command=line)), answer("Done."))
    await bench.turn()
    assert await told(bench) == [("a", "changed", "", "six\n")]


async def test_a_restore_leaves_nothing_pending_of_what_it_has_taken_back(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    turn = await edited(bench)
    assert await told(bench) == BOTH
    await bench.restore(turn)
    assert await told(bench) == []


async def test_another_process_knows_what_is_pending_and_what_becomes_of_it(
    bench: Bench, tmp_path: Path
) -> None:
    lay_out(bench.root, {"a": FIVE})
    bench.host.reviews.store = ReviewFolder(lambda: tmp_path / "review")
    await edited(bench)
    (bench.root / "a").write_bytes(b"zero\n" + EDITED)
    other = Bench(bench.root, bench.state)
    other.host.reviews.store = ReviewFolder(lambda: tmp_path / "review")
    assert await told(other) == BOTH
    await other.host.reviews.keep(HunkSelection(hunks=ids(other)[:1]))
    assert await told(bench) == BOTH[1:]
    await undo(bench.host.reviews, HunkSelection())
    assert await told(other) == []
    assert snapshot(bench.root) == {"a": b"zero\none\nTWO\nthree\nfour\nfive\n"}
    assert list((tmp_path / "review").iterdir()) == []


async def test_what_a_restore_brings_back_is_written_down_before_it_ends(
    bench: Bench, tmp_path: Path
) -> None:
    lay_out(bench.root, {"a": FIVE})
    bench.host.reviews.store = ReviewFolder(lambda: tmp_path / "review")
    restored = await bench.restore(await edited(bench))
    assert await told(bench) == []
    await bench.host.reviews.settle()
    assert restored.checkpoint is not None
    await bench.restore(restored.checkpoint)
    other = Bench(bench.root, bench.state)  # as if the first were killed now
    other.host.reviews.store = ReviewFolder(lambda: tmp_path / "review")
    assert await told(other) == BOTH


async def test_a_damaged_store_counts_as_kept(bench: Bench, tmp_path: Path) -> None:
    lay_out(bench.root, {"a": FIVE})
    bench.host.reviews.store = ReviewFolder(lambda: tmp_path / "review")
    await edited(bench)
    (file,) = (tmp_path / "review").iterdir()
    file.write_bytes(file.read_bytes()[:-7])
    other = Bench(bench.root, bench.state)
    other.host.reviews.store = ReviewFolder(lambda: tmp_path / "review")
    assert await told(other) == []
    assert snapshot(bench.root) == {"a": EDITED}


@pytest.mark.parametrize("mode", [ReviewMode.KEEP, ReviewMode.OFF])
async def test_nothing_is_pending_where_the_user_wants_it_so(bench: Bench, mode: ReviewMode) -> None:
    lay_out(bench.root, {"a": FIVE})
    bench.host.reviews.mode = lambda: mode
    await edited(bench)
    assert await told(bench) == []


@pytest.mark.parametrize("stands", ["nothing", "a folder", "no text"])
async def test_a_document_that_is_not_there_any_more_has_nothing_pending_until_it_is(
    bench: Bench, stands: str
) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench)
    (bench.root / "a").unlink()
    if stands == "a folder":
        (bench.root / "a").mkdir()
    elif stands == "no text":
        (bench.root / "a").write_bytes(b"\0\xff\xfe\0")
    assert await told(bench) == []
    if stands == "a folder":
        (bench.root / "a").rmdir()
    (bench.root / "a").write_bytes(EDITED)
    assert await told(bench) == BOTH
