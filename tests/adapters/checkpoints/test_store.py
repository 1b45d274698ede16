"""The repository on disk: closed to others, readable with plain git, proof against what goes wrong."""

from __future__ import annotations

import asyncio
import os
import random
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import handrail
from adapters.kit import change, full_disk, git, hold, large, loosened, plan, run, shadow, step, targets
from handrail.adapters.checkpoints import housekeeping
from handrail.adapters.checkpoints.packs import SEVERAL
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.checkpoints.record import SCHEMA
from handrail.adapters.files.disk import uri_of
from handrail.core.checkpoint import Limits
from handrail.ports import CheckpointError


async def test_nothing_is_made_before_something_is_kept(repo: ShadowRepo, state: Path, root: Path) -> None:
    assert await repo.list() == ()
    await repo.ensure(step(), [])
    await repo.record(step(), [])
    with pytest.raises(CheckpointError):
        await repo.restore_plan("t-1")
    with pytest.raises(CheckpointError):
        await repo.ensure(step(), targets(root))
    assert os.listdir(state.parent) == ["work"]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
async def test_only_the_user_can_look_inside(state: Path, root: Path, umask: int) -> None:
    (root / "a").write_bytes(b"a")
    (root / "a").chmod(0o777)
    repo = shadow(state, root)
    os.mkdir(state)
    before = os.umask(umask)
    try:
        await change(repo, step(), root / "a", b"b")
        await change(repo, step(2), root / "a", b"c")
        await repo.settle()
    finally:
        os.umask(before)
    found = {path: stat.S_IMODE(path.stat().st_mode) for path in (state / "handrail").rglob("*")}
    assert {mode for path, mode in found.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in found.items() if path.is_file()} == {0o600}
    assert stat.S_IMODE((state / "handrail").stat().st_mode) == 0o700
    assert stat.S_IMODE(os.stat(state).st_mode) != 0o700, "a folder that was there is not ours to close"


async def test_git_shows_the_history(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_bytes(b"one\n")
    await change(repo, step(1, label="Patch a: « first »"), root / "a", b"two\n")
    await change(repo, step(2, label="Patch a again"), root / "a", b"three\n")
    log = git(repo, "log", "-p", "refs/handrail/turns/t-1")
    shown = ("Patch a: « first »", "Patch a again", "Turn: t-1", "Step: 2", "-one\n+two", "-two\n+three")
    assert [text for text in shown if text not in log] == []
    assert "Date:   Thu Jan 1 12:00:00 2026 +0000" in log
    newest = git(repo, "log", "--format=%s")
    assert newest == "Patch a again\nPatch a: « first »\n", "the newest turn, without being told which"


async def test_gits_own_housekeeping_does_no_harm(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_bytes(b"0")
    for number in range(1, 6):
        await change(repo, step(number), root / "a", b"%d" % number)
    before = await repo.list(), await repo.restore_plan("t-1.3")
    git(repo, "gc", "-q", "--prune=now")
    assert not (repo.folder / "refs/handrail/turns/t-1").exists(), "refs are packed now"
    assert (await repo.list(), await repo.restore_plan("t-1.3")) == before
    await change(repo, step(6), root / "a", b"6")
    await change(repo, step(turn="t-2"), root / "a", b"7")
    assert len((await repo.list())[1].steps) == 6
    modes = {stat.S_IMODE(path.stat().st_mode) for path in repo.folder.rglob("*") if path.is_file()}
    assert modes <= {0o600, 0o400}


@pytest.mark.parametrize(
    "foreign",
    [
        ["commit-graph", "write", "--reachable", "--split"],
        ["repack", "-q", "-adb"],
        ["repack", "-q", "-adb", "--write-midx"],
        ["multi-pack-index", "write"],
        ["repack", "-q", "-d", "--geometric=2", "--write-midx"],
    ],
    ids=["graphs", "bitmap", "midx-of-repack", "midx", "geometric"],
)
async def test_what_git_keeps_about_objects_that_go_goes_too(
    repo: ShadowRepo, root: Path, foreign: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_bytes(b"0")
    for number in (1, 2, 3):
        await change(repo, step(turn=f"t-{number}"), root / "a", b"%d" % number)
    await repo.ensure(step(turn="t-4"), targets(root / "a"))
    git(repo, *foreign)
    (root / "a").write_bytes(b"4")
    await repo.record(step(turn="t-4"), targets(root / "a"))  # commits the step again
    assert (await repo.verify()).problems == ()
    git(repo, *foreign)
    await repo.prune(["t-1", "t-2"])
    assert (await repo.verify()).problems == ()
    for number in range(5, 5 + 2 * SEVERAL):
        await change(repo, step(turn=f"t-{number}"), root / "a", b"%d" % number)
    monkeypatch.setattr(housekeeping, "PACKS_LIMIT", 0)
    await repo.tidy()
    assert (await repo.verify()).problems == ()
    there = {path.name for path in (repo.folder / "objects" / "pack").iterdir()}
    assert {Path(name).stem + ".pack" for name in there} <= there, "nothing is left of a pack that is gone"
    assert git(repo, "log", "--format=%s", "refs/handrail/turns/t-4") == "Patch a file\n"
    assert (await plan(repo, "t-3"))[uri_of(root / "a")].before.raw == b"2"


async def test_a_graph_that_cannot_be_removed_keeps_nothing_from_being_written(
    repo: ShadowRepo, root: Path, tmp_path: Path
) -> None:
    (root / "a").write_bytes(b"0")
    await repo.ensure(step(), targets(root / "a"))
    (repo.folder / "objects" / "info" / "commit-graphs").symlink_to(tmp_path)
    (root / "a").write_bytes(b"1")
    await repo.record(step(), targets(root / "a"))
    for number in range(2, 2 + 2 * SEVERAL):
        await change(repo, step(turn=f"t-{number}"), root / "a", b"%d" % number)
    assert len(list(repo.folder.glob("objects/pack/*.pack"))) <= SEVERAL


async def test_packing_for_room_leaves_no_graph_of_what_went(repo: ShadowRepo, root: Path) -> None:
    chance = random.Random(1)
    (root / "a").write_bytes(chance.randbytes(300_000))
    for number in range(1, 9):
        await change(repo, step(turn=f"t-{number}"), root / "a", chance.randbytes(300_000))
    git(repo, "gc", "-q", "--prune=now")
    assert (repo.folder / "objects" / "info" / "commit-graph").exists()
    repo.set_limits(Limits(max_bytes=1_500_000))
    assert (await repo.prune(None)).removed
    assert (await repo.verify()).problems == ()


@pytest.mark.damage
@pytest.mark.parametrize("left", [None, 100], ids=["gone", "cut"])
async def test_a_large_document_is_kept_again_if_only_this_server_could_find_it(
    repo: ShadowRepo, state: Path, root: Path, left: int | None
) -> None:
    for name in ("a", "b"):
        (root / name).write_bytes(b"x" * 200_000)
    await change(repo, step(turn="t-1"), root / "a", b"1")
    for path in repo.folder.glob("objects/pack/*.idx"):
        raw = path.read_bytes()
        path.unlink()
        if left is not None:
            path.write_bytes(raw[:left])
    await change(repo, step(turn="t-2"), root / "b", b"2")
    (each,) = await shadow(state, root).restore_plan("t-2")
    assert each.before.raw == b"x" * 200_000


# ---- What goes wrong --------------------------------------------------------------------------------


async def test_a_failed_attempt_counts_for_nothing(repo: ShadowRepo, root: Path) -> None:
    good, bad = root / "good", root / "bad"
    good.write_bytes(b"0")
    bad.mkdir()
    with pytest.raises(CheckpointError, match=r"No checkpoint could be taken of bad: it is a folder\."):
        await repo.ensure(step(), targets(good, bad))
    assert await repo.list() == ()
    good.write_bytes(b"1")
    bad.rmdir()
    await repo.ensure(step(), targets(good, bad))
    found = await plan(repo)
    assert [found[uri_of(path)].before.raw for path in (good, bad)] == [b"1", None]


async def test_a_failed_attempt_leaves_what_was_kept_before(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_bytes(b"a")
    os.mkfifo(root / "pipe")
    await repo.ensure(step(), targets(root / "a"))
    before = await repo.list()
    for number in (1, 2):
        with pytest.raises(CheckpointError, match="pipe"):
            await repo.ensure(step(number), targets(root / "pipe"))
    assert await repo.list() == before


async def test_a_state_folder_that_is_none_spends_nothing(state: Path, root: Path) -> None:
    (root / "a").write_bytes(b"a")
    hold(state, b"a file of the user")
    os.chmod(state, 0o640)
    repo = shadow(state, root)
    with pytest.raises(CheckpointError, match="cannot be used"):
        await repo.ensure(step(), targets(root / "a"))
    assert await repo.list() == ()
    assert stat.S_IMODE(os.stat(state).st_mode) == 0o640
    hold(state, None)
    hold(state / "handrail", b"another")
    os.chmod(state / "handrail", 0o640)
    with pytest.raises(CheckpointError, match="cannot be used"):
        await repo.ensure(step(), targets(root / "a"))
    assert stat.S_IMODE(os.stat(state / "handrail").st_mode) == 0o640
    hold(state / "handrail", None)
    await repo.ensure(step(), targets(root / "a"))
    assert [each.before.raw for each in await repo.restore_plan("t-1")] == [b"a"]


async def test_a_full_disk_spends_nothing(repo: ShadowRepo, state: Path, root: Path) -> None:
    (root / "a").write_bytes(b"a")
    (root / "b").write_bytes(os.urandom(50_000))
    await repo.ensure(step(), targets(root / "a"))
    before = await repo.list()
    for limit_bytes in (0, 10, 100, 1000, 20_000):
        with full_disk(limit_bytes), pytest.raises(CheckpointError, match="too large"):
            await repo.ensure(step(), targets(root / "b"))
        assert await repo.list() == before
        assert await shadow(state, root).list() == before
    stray = ("tmp_obj", "ref-")
    assert not [path for path in repo.folder.rglob("*") if path.name.startswith(stray)]
    await repo.ensure(step(), targets(root / "b"))
    assert len(await repo.restore_plan("t-1")) == 2


async def test_a_full_disk_while_the_repository_is_made_leaves_no_half(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_bytes(b"a")
    with full_disk(10), pytest.raises(CheckpointError):
        await repo.ensure(step(), targets(root / "a"))
    assert os.listdir(repo.folder.parent) == ["lock"]
    await repo.ensure(step(), targets(root / "a"))


async def test_a_file_that_is_too_large_is_refused_unread(repo: ShadowRepo, root: Path) -> None:
    large(root / "large", 5_000_000_000)
    with pytest.raises(CheckpointError, match="large: it has 5,000,000,000 bytes"):
        await repo.ensure(step(), targets(root / "large"))
    assert await repo.list() == ()


async def test_only_what_was_kept_can_be_recorded(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_bytes(b"a")
    (root / "b").write_bytes(b"b")
    with pytest.raises(CheckpointError, match="a was changed before a checkpoint was taken"):
        await repo.record(step(), targets(root / "a"))
    await repo.ensure(step(), targets(root / "a"))
    with pytest.raises(CheckpointError, match="b was changed before a checkpoint was taken"):
        await repo.record(step(), targets(root / "b"))
    with pytest.raises(CheckpointError, match="a was changed before a checkpoint was taken"):
        await repo.record(step(2), targets(root / "a"))


KEEPER = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from handrail.adapters.files.files import uri_of
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.core.checkpoint import StepId, Target

async def main(state, root):
    repo = ShadowRepo(state, lambda: [root], lambda: datetime.now(UTC))
    for number in range(1, 100_000):
        (root / "a").write_bytes(b"%d" % number)
        step = StepId(session="s", turn=f"t-{number // 3}", number=number % 3 + 1, label="")
        await repo.ensure(step, [Target(uri=uri_of(root / "a"))])
        print(step.turn, step.number, number, flush=True)

asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
"""


@pytest.mark.parametrize("said", [1, 2, 7, 20])
def test_what_was_said_to_be_kept_survives_a_kill(state: Path, root: Path, said: int) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(handrail.__file__).parents[1])}
    command = [sys.executable, "-c", KEEPER, str(state), str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as keeper:
        assert keeper.stdout is not None
        lines = [keeper.stdout.readline() for _ in range(said)]
        keeper.kill()
        lines += [line for line in keeper.stdout if line.endswith("\n")]
    repo = shadow(state, root)
    assert git(repo, "fsck", "--strict", "--no-dangling") == ""
    for turn, number, content in map(str.split, lines):
        restoration = asyncio.run(repo.restore_plan(f"{turn}.{number}"))[0]
        assert restoration.before.raw == content.encode()
    asyncio.run(repo.ensure(step(turn="t-next"), targets(root / "a")))


@pytest.mark.damage
@pytest.mark.parametrize("damage", [b"", b"garbage", None])
async def test_damage_is_said_and_does_not_spread(state: Path, root: Path, damage: bytes | None) -> None:
    repo = shadow(state, root)
    (root / "a").write_bytes(b"first")
    await change(repo, step(turn="t-1"), root / "a", b"second")
    damaged = loosened(repo)
    await change(repo, step(turn="t-2"), root / "a", b"third")
    for path in damaged:
        if path.exists():  # else it was needed again
            hold(path, damage)
    again = shadow(state, root)
    with pytest.raises(CheckpointError, match="damaged"):
        await again.restore_plan("t-1")
    assert [each.id for each in await again.list()] == ["t-2"]
    assert [each.before.raw for each in await again.restore_plan("t-2")] == [b"second"]
    with pytest.raises(CheckpointError, match="damaged"):
        await again.ensure(step(2, turn="t-1"), targets(root / "a"))
    await again.ensure(step(turn="t-3"), targets(root / "a"))


@pytest.mark.damage
async def test_a_blob_that_is_not_what_its_name_says_is_not_restored(state: Path, root: Path) -> None:
    repo = shadow(state, root)
    (root / "a").write_bytes(b"mine")
    (root / "b").write_bytes(b"not mine")
    await repo.ensure(step(), targets(root / "a", root / "b"))
    loosened(repo)
    name, other = (git(repo, "rev-parse", f"refs/handrail/turns/t-1:before/{each}").strip() for each in "ab")
    folder = repo.folder / "objects"
    (folder / name[:2] / name[2:]).write_bytes((folder / other[:2] / other[2:]).read_bytes())
    with pytest.raises(CheckpointError, match=f"damaged: object {name}"):
        await repo.restore_plan("t-1")


@pytest.mark.damage
@pytest.mark.parametrize("damage", [b"garbage\n", b"", b"0" * 39 + b"1\n"])
async def test_a_damaged_ref_is_not_taken_for_a_new_turn(state: Path, root: Path, damage: bytes) -> None:
    repo = shadow(state, root)
    (root / "a").write_bytes(b"a")
    await repo.ensure(step(), targets(root / "a"))
    (repo.folder / "refs/handrail/turns/t-1").write_bytes(damage)
    with pytest.raises(CheckpointError, match="damaged"):
        await repo.ensure(step(2), targets(root / "a"))
    assert (repo.folder / "refs/handrail/turns/t-1").read_bytes() == damage


@pytest.mark.parametrize("newest", [b"garbage\n", b"", b"0" * 39 + b"1\n"])
async def test_a_damaged_newest_ref_does_not_keep_the_next_turn_from_being_kept(
    repo: ShadowRepo, root: Path, newest: bytes
) -> None:
    (root / "a").write_bytes(b"a")
    await repo.ensure(step(turn="t-1"), targets(root / "a"))
    await repo.ensure(step(turn="t-2"), targets(root / "a"))
    (repo.folder / "refs/heads/newest").write_bytes(newest)
    await repo.ensure(step(2, turn="t-1"), targets(root / "a"))
    await repo.ensure(step(turn="t-3"), targets(root / "a"))
    assert [each.id for each in await repo.list()] == ["t-3", "t-2", "t-1"]


async def test_a_record_of_a_later_version_is_not_guessed_at(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_bytes(b"a")
    await repo.ensure(step(), targets(root / "a"))
    record = git(repo, "show", "refs/handrail/turns/t-1:checkpoint.json")
    commands = """
        blob=$(git hash-object -w --stdin)
        tree=$(printf '100644 blob %s\\tcheckpoint.json\\n' $blob | git mktree)
        git update-ref refs/handrail/turns/t-1 $(git -c user.name=x -c user.email=x commit-tree $tree -m x)
    """
    later = record.replace('"schema": 1', f'"schema": {SCHEMA + 1}')
    run("sh", "-ec", commands, given=later, GIT_DIR=str(repo.folder))
    with pytest.raises(CheckpointError, match="newer version"):
        await repo.restore_plan("t-1")
    run("sh", "-ec", commands, given='{"schema": 1}', GIT_DIR=str(repo.folder))
    with pytest.raises(CheckpointError, match="damaged"):
        await repo.restore_plan("t-1")


@pytest.mark.damage
@pytest.mark.parametrize("suffix", [".pack", ".idx"])
@pytest.mark.parametrize("damage", [b"", b"garbage", b"PACK", b"\xfftOc\0\0\0\2", "cut", "flipped", None])
async def test_a_damaged_pack_hides_only_what_it_holds(
    state: Path, root: Path, suffix: str, damage: bytes | str | None
) -> None:
    repo = shadow(state, root)
    (root / "a").write_bytes(os.urandom(70_000))
    await repo.ensure(step(turn="t-1"), targets(root / "a"))
    (pack,) = (repo.folder / "objects" / "pack").glob("*.pack")
    for number in (2, 3):
        (root / "a").write_bytes(b"%d" % number)
        await repo.ensure(step(turn=f"t-{number}"), targets(root / "a"))
    hold(pack.with_suffix(suffix), damaged(pack.with_suffix(suffix).read_bytes(), damage))
    again = shadow(state, root)
    with pytest.raises(CheckpointError, match="damaged: object"):
        await again.restore_plan("t-1")
    assert (await again.verify()).problems
    for number in (2, 3, 4):
        if number == 4:
            (root / "a").write_bytes(b"4")
            await again.ensure(step(turn="t-4"), targets(root / "a"))
        (restoration,) = await again.restore_plan(f"t-{number}")
        assert restoration.before.raw == b"%d" % number
    assert [each.id for each in await again.list()][:3] == ["t-4", "t-3", "t-2"]


def damaged(raw: bytes, damage: bytes | str | None) -> bytes | None:
    if damage == "cut":
        return raw[: len(raw) // 2]
    if damage == "flipped":
        return bytes(byte ^ 0xFF for byte in raw)
    assert not isinstance(damage, str)
    return damage


@pytest.mark.damage
@pytest.mark.parametrize("part", range(8))
async def test_a_byte_that_is_wrong_anywhere_in_a_pack(state: Path, root: Path, part: int) -> None:
    for number in range(SEVERAL):  # so many that their packs are made one
        await change(shadow(state, root), step(turn=f"t-{number}"), root / "a", b"%d\n" % number * 9)
    (pack,) = (state / "handrail").glob("*/checkpoints.git/objects/pack/*.pack")
    sound = pack.read_bytes()
    pack.chmod(0o600)
    for at in range(part * len(sound) // 8, (part + 1) * len(sound) // 8, 29):
        pack.write_bytes(sound[:at] + bytes([sound[at] ^ 0xFF]) + sound[at + 1 :])
        repo = shadow(state, root)  # as after a restart, so that nothing is remembered
        for each in await repo.list():
            with suppress(CheckpointError):
                await repo.restore_plan(each.id)
        await repo.verify()
    await change(repo, step(turn="t-new"), root / "a", b"new")
    (restoration,) = await repo.restore_plan("t-new")
    assert restoration.after is not None
    assert restoration.after.raw == b"new"


@pytest.mark.damage
@pytest.mark.parametrize("number", [0xFFFFFFFF, 0x7FFFFFFF, 0x10000, 0])
@pytest.mark.parametrize("is_packed_by_git", [False, True], ids=["ours", "of-git"])
async def test_an_index_with_a_wrong_number_is_damage_like_any_other(
    state: Path, root: Path, number: int, *, is_packed_by_git: bool
) -> None:
    for turn in range(SEVERAL):  # so many that their packs are made one
        await change(shadow(state, root), step(turn=f"t-{turn}"), root / "a", b"%d\n" % turn * 9)
    repo = shadow(state, root)
    if is_packed_by_git:
        git(repo, "repack", "-q", "-a", "-d", "-f", "--depth=50")
    (index,) = repo.folder.glob("objects/pack/*.idx")
    sound = index.read_bytes()
    index.chmod(0o600)
    count = int.from_bytes(sound[FAN_OUT_AT + 4 * 255 : FAN_OUT_AT + 4 * 256], "big")
    offsets_at = FAN_OUT_AT + 4 * 256 + (20 + 4) * count
    for at in (*range(FAN_OUT_AT, FAN_OUT_AT + 4 * 256, 4 * 15), *range(offsets_at, len(sound) - 40, 4 * 7)):
        index.write_bytes(sound[:at] + number.to_bytes(4, "big") + sound[at + 4 :])
        again = shadow(state, root)  # as after a restart, so that nothing is remembered
        with suppress(CheckpointError):
            for each in await again.list():
                with suppress(CheckpointError):
                    assert (await again.restore_plan(each.id))[0].before.raw != b""
    assert (await again.verify()).problems


FAN_OUT_AT = 8  # of an index: how many names begin with at most each byte
