"""Limits, locks and housekeeping: what is kept stays whole, what is too much goes, the oldest first."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import handrail
from adapters.kit import NOON, change, git, loosened, shadow, step, targets
from handrail.adapters.checkpoints import housekeeping
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.checkpoints.store import Store
from handrail.adapters.checkpoints.turns import REFS
from handrail.adapters.state import lock
from handrail.core.checkpoint import Limits, StepId
from handrail.ports import CheckpointError


def pinned(turn: str) -> StepId:
    return StepId(session="s-1", turn=turn, number=1, label="Before restoring", pinned=True)


def used(repo: ShadowRepo) -> int:
    """What checkpoints take on the disk; locks beside them are no checkpoints."""
    files = [path for path in repo.folder.parent.rglob("*") if path.is_file() and "lock" not in path.name]
    return sum(path.stat().st_blocks * 512 for path in files)


async def ids(repo: ShadowRepo) -> list[str]:
    return [each.id for each in await repo.list()]


async def keep(repo: ShadowRepo, root: Path, turn: StepId, size_bytes: int) -> None:
    (root / "a").write_bytes(os.urandom(size_bytes))
    await repo.ensure(turn, targets(root / "a"))


# ---- Size -------------------------------------------------------------------------------------------


async def test_the_oldest_go_first_and_pinned_ones_stay(repo: ShadowRepo, root: Path) -> None:
    limit = 1_000_000
    repo.set_limits(Limits(max_bytes=limit))
    await keep(repo, root, pinned("r-1"), 100_000)
    for number in range(1, 31):
        await keep(repo, root, step(turn=f"t-{number}"), 100_000)
        assert used(repo) <= limit
    kept = await ids(repo)
    assert kept[0] == "t-30"
    assert kept[-1] == "r-1"
    numbers = [int(name.removeprefix("t-")) for name in kept[:-1]]
    assert numbers == list(range(30, 30 - len(numbers), -1))
    assert len(numbers) >= 5
    for name in kept:
        (restoration,) = await repo.restore_plan(name)
        assert restoration.before.raw is not None


async def test_what_else_is_kept_of_a_workspace_does_not_count(repo: ShadowRepo, root: Path) -> None:
    journals = repo.folder.parent / "sessions"
    journals.mkdir(parents=True)
    (journals / "s-1.jsonl").write_bytes(os.urandom(2_000_000))
    repo.set_limits(Limits(max_bytes=1_000_000))
    for number in (1, 2):
        await keep(repo, root, step(turn=f"t-{number}"), 100_000)
    assert await ids(repo) == ["t-2", "t-1"]
    assert (await repo.prune(None)).bytes_used < 1_000_000


async def test_a_limit_makes_room_in_packs_too(repo: ShadowRepo, root: Path) -> None:
    for number in range(1, 11):
        await keep(repo, root, step(turn=f"t-{number}"), 100_000)
    git(repo, "repack", "-q", "-ad")
    repo.set_limits(Limits(max_bytes=800_000))
    await keep(repo, root, step(turn="t-11"), 100_000)
    assert used(repo) <= 800_000
    kept = await ids(repo)
    assert kept == [f"t-{number}" for number in range(11, 11 - len(kept), -1)]
    assert len(kept) >= 4, "no more than must be goes"
    assert git(repo, "fsck", "--strict") == ""


async def test_what_cannot_fit_is_refused_and_nothing_pinned_is_lost(repo: ShadowRepo, root: Path) -> None:
    await keep(repo, root, pinned("r-1"), 500_000)
    repo.set_limits(Limits(max_bytes=400_000))
    with pytest.raises(
        CheckpointError,
        match=r"^The checkpoints take up 0\.\d MB; 0\.1 MB more are needed, but the limit is 0\.4 MB\. "
        r"Raise handrail\.checkpoints\.maxSize, which is in megabytes\. Or, in a terminal",
    ) as full:
        await keep(repo, root, step(turn="t-1"), 1000)
    assert str(full.value).endswith(
        "Or, in a terminal, remove checkpoints of restores and undos with `handrail checkpoint prune ID`; "
        "`handrail checkpoint list` shows their IDs."
    )
    with pytest.raises(
        CheckpointError, match=r"^The checkpoints take up 0\.\d MB, but the limit is 0\.4 MB\."
    ):
        await repo.prune(None)  # as `handrail checkpoint prune` without an ID
    assert await ids(repo) == ["r-1"]
    repo.set_limits(Limits())
    await keep(repo, root, step(turn="t-1"), 1000)
    repo.set_limits(Limits(max_bytes=900_000))
    with pytest.raises(CheckpointError, match=r"1\.1 MB more are needed, but the limit is 0\.9 MB\."):
        await keep(repo, root, step(turn="t-2"), 1_000_000)


async def test_a_limit_that_no_setting_changes_names_what_has_one(repo: ShadowRepo, root: Path) -> None:
    for is_setting, way_on in (
        (True, "Raise handrail.checkpoints.maxSize, which is in megabytes."),
        (
            False,
            "`handrail apply` always has this limit, as it reads no settings. Use `handrail run - --model "
            "paste` instead, and raise the setting checkpoints.maxSize, which is in megabytes.",
        ),
    ):
        repo.set_limits(Limits(max_bytes=100_000, is_setting=is_setting))
        with pytest.raises(CheckpointError, match=r"the limit is 0\.1 MB") as full:
            await keep(repo, root, step(turn="t-1"), 400_000)
        assert str(full.value).endswith(f"the limit is 0.1 MB. {way_on}")


async def test_the_turn_that_is_written_is_not_removed_for_itself(repo: ShadowRepo, root: Path) -> None:
    repo.set_limits(Limits(max_bytes=1_000_000))
    for number in range(1, 8):
        await keep(repo, root, step(number), 100_000)
    with pytest.raises(
        CheckpointError,
        match=r"the limit is 1 MB\. Raise handrail\.checkpoints\.maxSize, which is in megabytes\.$",
    ):
        await keep(repo, root, step(8), 400_000)
    (checkpoint,) = await repo.list()
    assert len(checkpoint.steps) == 7


def restoring(turn: str, *restored: str) -> StepId:
    return replace(pinned(turn), restores=restored)


@pytest.mark.parametrize(
    ("restored", "left"), [("t-1", ["t-1", "t-2", "t-3", "t-4"]), ("t-3", ["t-3", "t-4"])]
)
async def test_a_restore_does_not_remove_what_it_reads(
    repo: ShadowRepo, root: Path, restored: str, left: list[str]
) -> None:
    for number in range(1, 5):
        await keep(repo, root, step(turn=f"t-{number}"), 200_000)
    repo.set_limits(Limits(max_bytes=1_000_000))
    await keep(repo, root, restoring("r-1", restored), 200_000)
    assert sorted(await ids(repo)) == ["r-1", *left]
    (root / "a").write_bytes(os.urandom(200_000))
    await repo.record(restoring("r-1", restored), targets(root / "a"))
    assert sorted(await ids(repo)) == ["r-1", *left]
    (restoration, *_) = await repo.restore_plan(restored)
    assert restoration.before.raw is not None
    await keep(repo, root, step(turn="t-5"), 1000)
    assert used(repo) <= 1_000_000, "what was too much goes with the next step"
    assert "t-1" not in await ids(repo)


async def test_a_restore_does_not_remove_a_turn_that_is_too_old(state: Path, root: Path) -> None:
    now = NOON
    repo = ShadowRepo(state, lambda: (root,), lambda: now)
    for number in (1, 2):
        await keep(repo, root, step(turn=f"t-{number}"), 1000)
    now += timedelta(days=31)
    after_start = ShadowRepo(state, lambda: (root,), lambda: now)
    await keep(after_start, root, restoring("r-1", "t-2"), 1000)
    assert sorted(await ids(after_start)) == ["r-1", "t-2"]


@pytest.mark.parametrize("is_restore", [False, True])
async def test_what_is_refused_removes_nothing(repo: ShadowRepo, root: Path, *, is_restore: bool) -> None:
    await keep(repo, root, pinned("r-1"), 500_000)
    for number in range(1, 4):
        await keep(repo, root, step(turn=f"t-{number}"), 100_000)
    repo.set_limits(Limits(max_bytes=900_000))
    writing = restoring("r-2", "t-1") if is_restore else step(turn="t-4")
    with pytest.raises(CheckpointError, match=r"the limit is 0\.9 MB"):
        await keep(repo, root, writing, 600_000)
    assert sorted(await ids(repo)) == ["r-1", "t-1", "t-2", "t-3"]


async def test_housekeeping_removes_nothing_below_the_limit(repo: ShadowRepo, root: Path) -> None:
    for number in range(1, 10):
        await keep(repo, root, step(turn=f"t-{number}"), 100_000)
    repo.set_limits(Limits(max_bytes=1_000_000))
    assert 900_000 < used(repo) < 1_000_000
    await repo.prune(None)
    assert len(await ids(repo)) == 9


async def test_the_store_of_snapshots_goes_before_any_checkpoint(repo: ShadowRepo, root: Path) -> None:
    await keep(repo, root, step(turn="t-1"), 10_000)
    (root / "large").write_bytes(os.urandom(800_000))
    taken = await repo.before_command(step(turn="t-2"))
    repo.set_limits(Limits(max_bytes=1_000_000))
    await repo.after_command(step(turn="t-2"), taken)
    assert (repo.folder.parent / "trees").exists()
    await keep(repo, root, step(turn="t-3"), 100_000)
    assert not (repo.folder.parent / "trees").exists()
    assert await ids(repo) == ["t-3", "t-1"]


# ---- Age --------------------------------------------------------------------------------------------


async def test_what_is_too_old_goes_before_the_next_turn_is_written(state: Path, root: Path) -> None:
    now = NOON
    for number, days in enumerate((0, 5, 31), 1):
        now = NOON + timedelta(days=days)
        repo = shadow(state, root, clock=lambda at=now: at)
        await keep(repo, root, pinned("r-1") if number == 1 else step(turn=f"t-{number}"), 100)
        if number == 1:
            await keep(repo, root, step(turn="t-1"), 100)
    assert await ids(repo) == ["t-3", "t-2", "r-1"]
    assert git(repo, "fsck", "--strict", "--no-dangling") == ""


async def test_a_clock_that_jumps_back_removes_nothing(state: Path, root: Path) -> None:
    await keep(shadow(state, root), root, step(turn="t-1"), 100)
    earlier = shadow(state, root, clock=lambda: NOON - timedelta(days=4000))
    await keep(earlier, root, step(turn="t-2"), 100)
    await earlier.tidy()
    assert await ids(earlier) == ["t-2", "t-1"]


# ---- Pruning by hand --------------------------------------------------------------------------------


async def test_chosen_checkpoints_are_removed_with_all_that_only_they_held(
    repo: ShadowRepo, root: Path
) -> None:
    for number in range(1, 4):
        await keep(repo, root, step(turn=f"t-{number}"), 50_000)
    before = used(repo)
    pruned = await repo.prune(["t-3", "t-1"])
    assert pruned.removed == ("t-3", "t-1")
    assert pruned.bytes_used == used(repo) < before - 100_000
    assert await ids(repo) == ["t-2"]
    assert git(repo, "fsck", "--strict") == ""
    assert git(repo, "log", "--format=%s") == "Patch a file\n", "what git shows first is there"
    with pytest.raises(CheckpointError, match="no checkpoint t-9"):
        await repo.prune(["t-2", "t-9"])
    assert await ids(repo) == ["t-2"]
    await repo.prune(["t-2"])
    assert await ids(repo) == []


async def test_no_checkpoint_of_a_list_without_any_is_removed(state: Path, root: Path) -> None:
    await keep(shadow(state, root), root, step(turn="t-1"), 100)
    later = shadow(state, root, clock=lambda: NOON + timedelta(days=31))
    assert (await later.prune([])).removed == ()
    assert (await later.prune(None)).removed == ("t-1",)


# ---- Housekeeping -----------------------------------------------------------------------------------


async def test_a_step_that_grows_leaves_no_garbage(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_bytes(b"0")
    for number in range(1, 4):
        await change(repo, step(number), root / "a", b"%d" % number)
    assert git(repo, "fsck", "--strict") == "", "nothing dangles"


async def test_idle_time_packs_and_sweeps(
    repo: ShadowRepo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail.adapters.checkpoints.housekeeping.PACKS_LIMIT", 0)
    for number in range(1, 21):
        (root / "a").write_bytes(b"".join(b"line %d of %d\n" % (line, number) for line in range(200)))
        await change(repo, step(turn=f"t-{number}"), root / "a", b"changed\n" * number)
    strays = [repo.folder / name for name in ("new-1", "objects/pack/tmp_pack_x")]
    for stray in [*strays, repo.folder / "packed-refs.lock"]:
        stray.parent.mkdir(exist_ok=True)
        stray.write_bytes(b"half")
    before = [await repo.restore_plan(name) for name in await ids(repo)]
    again = shadow(repo.folder.parents[2], root)
    await keep(again, root, step(turn="t-21"), 10)
    await again.tidy()
    assert not [stray for stray in [*strays, repo.folder / "packed-refs.lock"] if stray.exists()]
    assert git(repo, "count-objects").startswith("0 objects")
    assert [await repo.restore_plan(name) for name in (await ids(repo))[1:]] == before
    assert git(repo, "fsck", "--strict") == ""
    objects = sum(path.stat().st_size for path in repo.folder.rglob("objects/pack/*"))
    assert objects / 21 <= 10_000


async def test_what_is_written_while_git_packs_is_not_lost(repo: ShadowRepo, root: Path) -> None:
    """Another server writes at any moment: what git did not see yet is not removed with what it did see."""
    for number in range(1, 6):
        await keep(repo, root, step(turn=f"t-{number}"), 70_000)
    store = Store(repo.folder)
    refs = [repo.folder / REFS / f"t-{number}" for number in (4, 5)]
    heads = [ref.read_bytes() for ref in refs]
    (repo.folder / "refs" / "heads" / "newest").write_bytes(heads[0])
    refs[1].unlink()  # when git looks, its pack is there already, and it is not
    packing = housekeeping.pack(store)
    refs[1].write_bytes(heads[1])
    assert packing is not None
    await keep(repo, root, step(turn="t-6"), 70_000)
    await change(repo, step(2, turn="t-1"), root / "a", b"later")
    housekeeping.retire(store, packing)
    store.close()
    assert len(list((repo.folder / "objects" / "pack").glob("*.pack"))) < 6
    assert set(await ids(repo)) == {f"t-{number}" for number in range(1, 7)}
    for name in await ids(repo):
        assert all(each.before.raw for each in await repo.restore_plan(name))
    assert (await repo.verify()).problems == ()


async def test_verify_says_what_is_damaged(repo: ShadowRepo, root: Path) -> None:
    for number in (1, 2):
        await keep(repo, root, step(turn=f"t-{number}"), 100)
    assert (await repo.verify()).problems == ()
    assert (await repo.verify()).checkpoints == 2
    loosened(repo)
    blob = git(repo, "rev-parse", "refs/handrail/turns/t-1:before/a").strip()
    path = repo.folder / "objects" / blob[:2] / blob[2:]
    raw = path.read_bytes()
    path.write_bytes(b"garbage")
    problems = (await repo.verify()).problems
    assert [each for each in problems if each.startswith("t-1: ") and blob in each]
    assert not [each for each in problems if each.startswith("t-2: ")]
    path.write_bytes(raw)


async def test_a_damaged_object_is_written_anew_when_it_is_needed_again(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_bytes(b"the same")
    await repo.ensure(step(turn="t-1"), targets(root / "a"))
    blob = git(repo, "rev-parse", "refs/handrail/turns/t-1:before/a").strip()
    loosened(repo)
    (repo.folder / "objects" / blob[:2] / blob[2:]).write_bytes(b"")
    await repo.ensure(step(turn="t-2"), targets(root / "a"))
    for name in ("t-1", "t-2"):
        (restoration,) = await repo.restore_plan(name)
        assert restoration.before.raw == b"the same"


@pytest.mark.damage
@pytest.mark.parametrize("content", [b"the same", b"the same\n" * 20_000], ids=["small", "large"])
async def test_what_is_damaged_in_its_pack_is_written_anew_when_it_is_needed_again(
    state: Path, repo: ShadowRepo, root: Path, content: bytes
) -> None:
    (root / "a").write_bytes(content)
    await repo.ensure(step(turn="t-1"), targets(root / "a"))
    (pack,) = repo.folder.glob("objects/pack/*.pack")
    pack.chmod(0o600)
    pack.write_bytes(bytes(byte ^ 0xFF for byte in pack.read_bytes()))
    await repo.ensure(step(turn="t-2"), targets(root / "a"))
    for of in (repo, shadow(state, root)):
        (restoration,) = await of.restore_plan("t-2")
        assert restoration.before.raw == content


# ---- Locks ------------------------------------------------------------------------------------------

HOLDER = """
import sys, time
from pathlib import Path
from handrail.adapters.state import lock
with lock.hold(Path(sys.argv[1]), writes=True):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(lock: Path) -> subprocess.Popen[str]:
    """A process that holds the lock until its standard input ends."""
    environment = {**os.environ, "PYTHONPATH": str(Path(handrail.__file__).parents[1])}
    command = [sys.executable, "-c", HOLDER, str(lock)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


async def test_a_writer_waits_for_another_process(repo: ShadowRepo, root: Path) -> None:
    await keep(repo, root, step(turn="t-1"), 10)
    with holder(repo.folder.parent / "lock") as process:
        (root / "a").write_bytes(b"b")
        waiting = asyncio.ensure_future(repo.ensure(step(turn="t-2"), targets(root / "a")))
        done, _ = await asyncio.wait([waiting], timeout=0.2)
        assert not done
        assert process.stdin is not None
        process.stdin.close()
        assert await waiting == "t-2"


async def test_who_waits_in_vain_is_told_for_whom(
    repo: ShadowRepo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep(repo, root, step(turn="t-1"), 10)
    monkeypatch.setattr(lock, "WAIT_S", 0.1)
    with holder(repo.folder.parent / "lock") as process:
        with pytest.raises(CheckpointError, match=f"has been in use by process {process.pid} since 2"):
            await repo.ensure(step(turn="t-2"), targets(root / "a"))
        assert process.stdin is not None
        process.stdin.close()
    await repo.ensure(step(turn="t-2"), targets(root / "a"))
    assert await ids(repo) == ["t-2", "t-1"]


def test_an_earlier_writer_is_not_named_for_those_who_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "WAIT_S", 0.0)
    with lock.hold(tmp_path / "lock", writes=True):
        pass
    said = f"^The folder {tmp_path} is in use by another process. Try again.$"
    with lock.hold(tmp_path / "lock", writes=False), pytest.raises(CheckpointError, match=said):
        lock.hold(tmp_path / "lock", writes=True).__enter__()


async def test_the_lock_of_a_killed_process_is_no_obstacle(repo: ShadowRepo, root: Path) -> None:
    await keep(repo, root, step(turn="t-1"), 10)
    with holder(repo.folder.parent / "lock") as process:
        process.kill()
        process.wait()
        await repo.ensure(step(turn="t-2"), targets(root / "a"))
    assert (repo.folder.parent / "lock").read_text().startswith(f"process {os.getpid()} ")
