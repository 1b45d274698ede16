"""Documents that are pending as a whole, with what was pending in them before; and what ends badly."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from agent.review.test_reviews import BOTH, EDITED, FIVE, PATCH, edited, ids, told
from bench import Bench
from handrail.adapters.files.disk import Disk
from handrail.adapters.state import lock
from handrail.adapters.state.review_folder import ReviewFolder
from handrail.agent.review.selection import HunkSelection
from handrail.agent.review.undoing import LATER_TURN_IN_WHOLE, SEVERAL_TURNS, undo
from handrail.core.checkpoint import Limits
from handrail.core.documents.change import Change, Landing
from handrail.core.policy.rules import Decision, Rule
from handrail.ports import Terms
from handrail.testing import answer, call, lay_out, snapshot

DELETE = "*** Begin Patch\n*** Delete File: a\n*** End Patch\n"
ADD = "*** Begin Patch\n*** Add File: b\n+made\n*** End Patch\n"


async def command(bench: Bench, program: str) -> str:
    """A turn in which a command runs; its id."""
    bench.terms = Terms(rules=(Rule(tool="terminal", match="*", decision=Decision.ALLOW),))
    line = f"{shlex.quote(sys.executable)} -c {shlex.quote(program)}"
    bench.says(answer("", call("terminal", command=line)), answer("Done."))
    return (await bench.turn()).turn


@pytest.mark.parametrize("typed", [b"", b"zero\n"], ids=["", "typed"])
async def test_below_a_deletion_is_what_was_pending_before(bench: Bench, typed: bytes) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench)
    (bench.root / "a").write_bytes(typed + EDITED)
    await edited(bench, DELETE)
    (deleted,) = ids(bench)
    assert [each[1] for each in await told(bench)] == ["deleted"]
    await undo(bench.host.reviews, HunkSelection(hunks=[deleted]))
    assert snapshot(bench.root) == {"a": typed + EDITED}
    assert await told(bench) == BOTH
    await edited(bench, DELETE)
    done = await undo(bench.host.reviews, HunkSelection())
    assert done.conflicts == []
    assert snapshot(bench.root) == {"a": typed + FIVE}
    assert await told(bench) == []


async def test_what_was_kept_before_a_deletion_stays_kept(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench)
    await bench.host.reviews.keep(HunkSelection(hunks=ids(bench)[:1]))
    await edited(bench, DELETE)
    await undo(bench.host.reviews, HunkSelection())
    assert snapshot(bench.root) == {"a": FIVE.replace(b"two", b"TWO")}


async def test_below_a_text_that_has_become_binary_is_what_was_pending_before(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench)
    await command(bench, "open('a', 'wb').write(bytes([0, 255, 254, 0]))")
    assert [each[1] for each in await told(bench)] == ["whole"]
    await undo(bench.host.reviews, HunkSelection())
    assert snapshot(bench.root) == {"a": FIVE}


async def test_of_a_document_that_was_made_a_later_turn_is_undone_alone(bench: Bench) -> None:
    await edited(bench, ADD)
    later = "*** Begin Patch\n*** Update File: b\n@@\n made\n+more\n*** End Patch\n"
    turn = await edited(bench, later)
    done = await undo(bench.host.reviews, HunkSelection(turn=turn))
    assert done.conflicts == []
    assert snapshot(bench.root) == {"b": b"made\n"}
    assert await told(bench) == [("b", "created", "", "made\n")]
    await undo(bench.host.reviews, HunkSelection())
    assert snapshot(bench.root) == {}


async def test_a_document_in_which_another_turn_wrote_too_is_not_undone_as_a_whole_for_one_turn(
    bench: Bench,
) -> None:
    lay_out(bench.root, {"a": FIVE, "c": bytes([0, 255])})
    write = "open('c', 'wb').write(bytes([{}, 0, 255]))"
    move = "*** Begin Patch\n*** Update File: a\n*** Move to: moved\n@@\n-two\n+TWO\n*** End Patch\n"
    later = "*** Begin Patch\n*** Update File: {}\n@@\n {}\n+more\n*** End Patch\n"
    first = [await edited(bench, ADD), await command(bench, write.format(1)), await edited(bench, move)]
    second = [
        await edited(bench, later.format("b", "made")),
        await command(bench, write.format(2)),
        await edited(bench, later.format("moved", "five")),
    ]
    now = snapshot(bench.root)
    refused = dict.fromkeys((first[0], first[2]), LATER_TURN_IN_WHOLE)
    refused |= dict.fromkeys((first[1], second[1]), SEVERAL_TURNS)
    for turn, reason in refused.items():
        (conflict,) = (await undo(bench.host.reviews, HunkSelection(turn=turn))).conflicts
        assert (conflict.reason, conflict.is_typed) == (reason, False)
        assert snapshot(bench.root) == now
    for turn in (second[0], second[2], first[0], first[2]):
        assert (await undo(bench.host.reviews, HunkSelection(turn=turn))).conflicts == []
    await undo(bench.host.reviews, HunkSelection())
    assert snapshot(bench.root) == {"a": FIVE, "c": bytes([0, 255])}


async def test_a_made_document_with_several_changes_becomes_binary(bench: Bench) -> None:
    await edited(bench, ADD)
    (bench.root / "b").write_text("made\nuser1\nuser2\nuser3\n")
    await told(bench)
    await edited(bench, "*** Begin Patch\n*** Update File: b\n@@\n-user3\n+agent\n*** End Patch\n")
    await command(bench, "open('b', 'wb').write(bytes([0, 255, 254, 0]))")
    assert {each[:2] for each in await told(bench)} == {("b", "created")}


async def test_a_link_that_a_command_makes_leaves_what_is_pending_in_its_target(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench)
    await command(bench, "import os; os.symlink('a', 'l')")
    assert await told(bench) == BOTH


async def test_rows_at_the_end_are_not_joined(bench: Bench) -> None:
    lay_out(bench.root, {"a": b"one\ntwo"})
    await command(bench, "open('a', 'a').write('\\nthree\\n')")
    (bench.root / "a").write_bytes(b"one\ntwo\nthree\nfour\n")
    await undo(bench.host.reviews, HunkSelection())
    assert snapshot(bench.root) == {"a": b"one\ntwo\nfour\n"}


async def test_a_made_document_that_goes_and_comes_back_is_pending_again(bench: Bench) -> None:
    await edited(bench, ADD)
    (bench.root / "b").rename(bench.root / "c")
    assert await told(bench) == []
    (bench.root / "c").rename(bench.root / "b")
    assert await told(bench) == [("b", "created", "", "made\n")]


async def test_what_the_user_has_removed_and_the_agent_makes_anew_is_made(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench)
    (bench.root / "a").unlink()
    await told(bench)
    await edited(bench, ADD.replace("File: b", "File: a"))
    await undo(bench.host.reviews, HunkSelection())
    assert snapshot(bench.root) == {}


async def test_a_restore_of_a_restore_brings_back_what_was_pending(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    turn = await edited(bench)
    restored = await bench.restore(turn)
    assert await told(bench) == []
    assert restored.checkpoint is not None
    await bench.restore(restored.checkpoint)
    assert await told(bench) == BOTH
    done = await undo(bench.host.reviews, HunkSelection())
    assert done.checkpoint is not None
    await bench.restore(done.checkpoint)
    assert await told(bench) == BOTH


async def test_what_was_decided_by_looking_holds_after_a_restart(bench: Bench, tmp_path: Path) -> None:
    lay_out(bench.root, {"a": FIVE})
    bench.host.reviews.store = ReviewFolder(lambda: tmp_path / "review")
    await edited(bench)
    (bench.root / "a").write_bytes(EDITED.replace(b"TWO", b"mine"))
    assert await told(bench) == BOTH[1:]
    await bench.host.reviews.settle()
    (bench.root / "a").write_bytes(EDITED.replace(b"TWO", b"TWOmine"))
    other = Bench(bench.root, bench.state)
    other.host.reviews.store = ReviewFolder(lambda: tmp_path / "review")
    assert await told(other) == BOTH[1:]


class Busy(Disk):
    """The disk, on which something else happens right after the next change."""

    def __init__(self) -> None:
        super().__init__()
        self.then: Callable[[], Awaitable[object]] | None = None

    async def apply(self, changes: Sequence[Change], label: str) -> tuple[Landing, ...]:
        found = await super().apply(changes, label)
        then, self.then = self.then, None
        if then is not None:
            await then()
        return found


async def test_what_is_kept_while_another_change_is_undone_stays_kept(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    bench.editor = busy = Busy()
    await edited(bench)
    first, second = ids(bench)

    async def keep() -> None:
        await bench.host.reviews.keep(HunkSelection(hunks=[second]))

    busy.then = keep
    await undo(bench.host.reviews, HunkSelection(hunks=[first]))
    assert await told(bench) == []
    assert snapshot(bench.root) == {"a": FIVE.replace(b"four", b"FOUR")}


async def test_a_store_that_others_write_to_forgets_nothing(bench: Bench, tmp_path: Path) -> None:
    lay_out(bench.root, {"a": FIVE})
    folder = tmp_path / "review"
    bench.host.reviews.store = ReviewFolder(lambda: folder)
    await edited(bench)
    (folder / "gone.json.z").symlink_to("nowhere")
    assert await told(bench) == BOTH
    await asyncio.to_thread(folder.chmod, 0o000)
    try:
        assert await told(bench) == BOTH
    finally:
        folder.chmod(0o700)


async def test_a_review_that_fails_stops_no_turn(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(bench.root, {"a": FIVE})

    async def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(bench.host.reviews, "_add_landings", broken)
    await edited(bench, PATCH)
    assert snapshot(bench.root) == {"a": EDITED}


@pytest.mark.parametrize("how", ["restore", "restore twice", "another program"])
async def test_what_was_pending_in_a_removed_document_is_pending_once_it_is_back(
    bench: Bench, how: str
) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench)
    turn = await edited(bench, DELETE)
    removed = await told(bench)
    assert [each[:2] for each in removed] == [("a", "deleted")]
    if how == "another program":
        (bench.root / "a").write_bytes(EDITED)
    else:
        report = await bench.restore(turn)
    assert await told(bench) == BOTH
    if how == "restore twice":
        assert report.checkpoint is not None
        await bench.restore(report.checkpoint)
        assert await told(bench) == removed
    assert (await undo(bench.host.reviews, HunkSelection())).conflicts == []
    assert snapshot(bench.root) == {"a": FIVE}


async def test_a_removed_document_that_somebody_makes_anew_is_not_pending(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    await edited(bench)
    await edited(bench, DELETE)
    (bench.root / "a").write_bytes(b"of the user\n")
    assert await told(bench) == []


@pytest.mark.parametrize("how", ["changed", "created", "removed"])
async def test_what_is_no_text_is_not_pending_once_it_is_restored(bench: Bench, how: str) -> None:
    raw, other = bytes(range(256)), bytes(reversed(range(256)))
    lay_out(bench.root, {} if how == "created" else {"a": raw})
    act = "p.unlink()" if how == "removed" else f"p.write_bytes(bytes.fromhex('{other.hex()}'))"
    turn = await command(bench, f"import pathlib; p = pathlib.Path('a'); {act}")
    pending = await told(bench)
    assert [each[0] for each in pending] == ["a"]
    report = await bench.restore(turn)
    assert await told(bench) == []
    if how == "created":
        assert report.checkpoint is not None
        await bench.restore(report.checkpoint)
        assert await told(bench) == pending


@pytest.mark.parametrize("mode", ["keep", "off"])
async def test_where_nothing_is_pending_a_second_restore_makes_nothing_pending(
    bench: Bench, mode: str
) -> None:
    lay_out(bench.root, {"a": FIVE})
    report = await bench.restore(await edited(bench, DELETE))
    assert await told(bench) == []
    bench.host.reviews.mode = lambda: mode
    assert report.checkpoint is not None
    await bench.restore(report.checkpoint)
    assert bench.host.reviews.pending == {}


async def test_a_restore_stands_though_what_is_pending_cannot_be_written(bench: Bench) -> None:
    lay_out(bench.root, {"a": FIVE})
    turn = await edited(bench, DELETE)

    class Full(ReviewFolder):
        async def write(self, documents: Sequence[object]) -> None:
            raise OSError("No space left on device")

    bench.host.reviews.store = Full(lambda: bench.root.parent / "full")
    await bench.restore(turn)
    assert snapshot(bench.root) == {"a": FIVE}


# ---- Checkpoints that cannot be used, now or ever ----------------------------------------------------


async def deleted(bench: Bench) -> str:
    """A document that a turn has deleted; the turn's id."""
    lay_out(bench.root, {"a": FIVE})
    turn = await edited(bench, DELETE)
    assert [each[1] for each in await told(bench)] == ["deleted"]
    return turn


async def test_while_the_checkpoints_are_in_use_a_change_stays_to_review(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await deleted(bench)
    (held,) = bench.state.rglob("lock")
    monkeypatch.setattr(lock, "WAIT_S", 0.05)
    with lock.hold(held, writes=True):
        done = await undo(bench.host.reviews, HunkSelection())
    (conflict,) = done.conflicts
    assert conflict.reason.startswith(f"The folder {held.parent} has been in use by process ")
    assert conflict.reason.endswith(" Try again. The change was not undone, and is still to review.")
    assert snapshot(bench.root) == {}
    await undo(bench.host.reviews, HunkSelection())
    assert (snapshot(bench.root), await told(bench)) == ({"a": FIVE}, [])


async def test_where_an_undo_has_no_room_it_is_told_whether_it_can_be_tried_again(bench: Bench) -> None:
    turn = await deleted(bench)
    bench.repo.set_limits(Limits(max_bytes=1))
    done = await undo(bench.host.reviews, HunkSelection())
    (conflict,) = done.conflicts
    assert "Raise handrail.checkpoints.maxSize, which is in megabytes." in conflict.reason
    assert conflict.reason.endswith(" The change was not undone, and is still to review.")
    assert turn in [each.id for each in await bench.repo.list()]
    bench.repo.set_limits(Limits())
    assert (await undo(bench.host.reviews, HunkSelection())).conflicts == []
    assert snapshot(bench.root) == {"a": FIVE}


@pytest.mark.damage
@pytest.mark.parametrize("lost", ["removed", "damaged", "without its folder"])
async def test_a_change_whose_checkpoint_is_lost_counts_as_kept(bench: Bench, lost: str) -> None:
    turn = await deleted(bench)
    if lost == "removed":
        await bench.repo.prune([turn])
    elif lost == "damaged":
        for path in (each for each in bench.state.rglob("objects/*/*") if each.is_file()):
            path.chmod(0o600)
            path.write_bytes(b"damaged")
    else:
        shutil.rmtree(bench.state)
    done = await undo(bench.host.reviews, HunkSelection())
    (conflict,) = done.conflicts
    assert conflict.reason.endswith(" handrail can no longer undo this change, so it counts as kept.")
    assert await told(bench) == []
    assert snapshot(bench.root) == {}
