"""What checkpoints ask of the disk, counted: a clock would tell more of the machine than of them."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from dulwich.objects import ObjectID

from adapters.kit import change, git, shadow, step, targets, user_git
from handrail.adapters.checkpoints import pack
from handrail.adapters.checkpoints.packs import SEVERAL, SMALL_BYTES
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.checkpoints.store import SPARES
from handrail.adapters.worktrees import presence, stats
from handrail.core.checkpoint import Image

Counting = Callable[[], Any]
HANGS_S = 60  # then a test fails
KNOWN = (
    "cat-file",
    "commit-tree",
    "config",
    "ls-files",
    "ls-tree",
    "rev-parse",
    "status",
    "update-index",
    "write-tree",
)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Counting:
    """Counts what is asked of the system while a block runs, and has it done."""
    counts: Counter[str] = Counter()
    really_open, really_sync, really_replace = os.open, os.fsync, os.replace
    really_advise = os.posix_fadvise

    def opened(path: Any, flags: int, *args: Any, **given: Any) -> int:
        is_waited_for = threading.current_thread().name != "sync"
        counts["made"] += bool(flags & os.O_CREAT and flags & os.O_EXCL and is_waited_for)
        counts["filled"] += os.path.basename(os.fspath(path)) in SPARES and not flags & os.O_CREAT
        return really_open(path, flags, *args, **given)

    def advised(handle: int, *args: int) -> None:
        if threading.current_thread().name != "sync" and not counts["files synced"]:
            counts["begun before a sync"] += 1
        really_advise(handle, *args)

    def synced(handle: int) -> None:
        counts["folders synced" if stat.S_ISDIR(os.fstat(handle).st_mode) else "files synced"] += 1
        really_sync(handle)

    def replaced(*args: Any, **given: Any) -> None:
        counts["renamed"] += 1
        really_replace(*args, **given)

    @contextmanager
    def count() -> Iterator[Counter[str]]:
        counts.clear()
        yield counts

    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "posix_fadvise", advised)
    monkeypatch.setattr(os, "replace", replaced)
    return count


async def test_a_checkpoint_of_one_file_fills_and_syncs_three(
    repo: ShadowRepo, root: Path, counting: Counting
) -> None:
    (root / "a").write_bytes(b"a")
    await change(repo, step(turn="t-0"), root / "a", b"b")
    once = {"made": 0, "filled": 3, "renamed": 3, "files synced": 3, "folders synced": 1}
    once["begun before a sync"] = 3
    for number in range(1, 3):
        now = step(turn=f"t-{number}")
        await prepared(repo)
        with counting() as counts:
            await repo.ensure(now, targets(root / "a"))
        assert counts == once, "before"
        (root / "a").write_bytes(b"%d" % number)
        await prepared(repo)
        with counting() as counts:
            await repo.record(now, targets(root / "a"))
        assert counts == once, "after"
        assert git(repo, "log", "--format=%H") == git(
            repo, "log", "--format=%H", f"refs/handrail/turns/{now.turn}"
        ), "what is newest"


async def prepared(repo: ShadowRepo) -> None:
    """Wait until the files for the next step are there."""
    async with asyncio.timeout(HANGS_S):
        for path in spares(repo):
            while not path.exists():
                await asyncio.to_thread(os.sched_yield)


def spares(repo: ShadowRepo) -> list[Path]:
    return [repo.folder / name for name in SPARES]


async def test_the_first_step_needs_no_file_beforehand(
    repo: ShadowRepo, root: Path, counting: Counting
) -> None:
    (root / "a").write_bytes(b"a")
    await change(repo, step(turn="t-0"), root / "a", b"b")
    await prepared(repo)
    for path in spares(repo):
        path.unlink()
    with counting() as counts:
        await repo.ensure(step(turn="t-1"), targets(root / "a"))
    assert (counts["made"], counts["filled"]) == (3, 0)
    assert [each.change for each in (await repo.list())[1].paths] == ["changed"]


async def test_once_it_has_settled_its_folder_can_be_removed(
    state: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly, really_open = threading.Event(), os.open

    def opened(path: Any, flags: int, *args: Any, **given: Any) -> int:
        if os.path.basename(os.fspath(path)) in SPARES and flags & os.O_CREAT:
            slowly.wait(HANGS_S)
        return really_open(path, flags, *args, **given)

    repo = shadow(state, root)
    (root / "a").write_bytes(b"a")
    monkeypatch.setattr(os, "open", opened)
    await change(repo, step(turn="t-0"), root / "a", b"b")
    settled = asyncio.ensure_future(repo.settle())
    await asyncio.wait({settled}, timeout=0)
    assert not settled.done()
    slowly.set()
    await settled
    assert [path.exists() for path in spares(repo)] == [True, True, True]


def link(path: Path) -> None:
    os.link(path, path.with_name("copy"))


@pytest.mark.parametrize(
    "spoil",
    [link, lambda path: (path.unlink(), path.mkdir())],
    ids=["with another name", "a folder"],
)
async def test_what_is_in_the_place_of_an_empty_file_is_left_alone(
    repo: ShadowRepo, root: Path, spoil: Callable[[Path], object]
) -> None:
    (root / "a").write_bytes(b"a")
    await change(repo, step(turn="t-0"), root / "a", b"b")
    await prepared(repo)
    spoilt = spares(repo)[1]
    spoil(spoilt)
    content = spoilt.is_dir() or spoilt.read_bytes()
    await change(repo, step(turn="t-1"), root / "a", b"c")
    assert (spoilt.is_dir() or spoilt.read_bytes()) == content
    assert [each.raw for each in await befores(repo, "t-1")] == [b"b"]


async def test_what_a_writer_left_that_died_is_not_added_to(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_bytes(b"a")
    await change(repo, step(turn="t-0"), root / "a", b"b")
    await prepared(repo)
    spares(repo)[0].write_bytes(b"x" * 50_000)
    await repo.ensure(step(turn="t-1"), targets(root / "a"))
    assert git(repo, "fsck", "--strict") == ""
    await prepared(repo)
    assert [path.read_bytes() for path in spares(repo)] == [b"", b"", b""]
    assert [each.raw for each in await befores(shadow(repo.folder.parents[2], root), "t-1")] == [b"b"]


async def befores(repo: ShadowRepo, turn: str) -> list[Image]:
    return [each.before for each in await repo.restore_plan(turn)]


async def test_files_made_beforehand_are_for_their_owner_only(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_bytes(b"a")
    umask = os.umask(0)
    try:
        await change(repo, step(turn="t-0"), root / "a", b"b")
        await prepared(repo)
    finally:
        os.umask(umask)
    assert {stat.S_IMODE(path.stat().st_mode) for path in spares(repo)} == {0o600}
    umask = os.umask(0o277)
    for path in spares(repo):
        path.unlink()
    try:
        await change(repo, step(turn="t-1"), root / "a", b"c")
        await prepared(repo)
    finally:
        os.umask(umask)
    await change(repo, step(turn="t-2"), root / "a", b"d")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in repo.folder.rglob("*") if path.is_file()}
    assert modes == {0o600}


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 4095, 4096, 4097, 70_000])
async def test_contents_of_any_size_come_back(state: Path, repo: ShadowRepo, root: Path, size: int) -> None:
    """Git can read them too, which is looked at after each test."""
    for number, content in enumerate((b"\r\n\f" * size, os.urandom(size))):
        (root / "a").write_bytes(content[:size])
        await change(repo, step(turn=f"t-{number}"), root / "a", b"other")
        (each,) = await shadow(state, root).restore_plan(f"t-{number}")
        assert each.before.raw == content[:size]


async def test_what_is_newest_is_not_written_into_a_copy(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_bytes(b"a")
    await change(repo, step(turn="t-1"), root / "a", b"b")
    newest, copy = repo.folder / "refs/heads/newest", root.parent / "copy"
    os.link(newest, copy)  # as backups are made
    before = copy.read_bytes()
    await change(repo, step(turn="t-2"), root / "a", b"c")
    assert copy.read_bytes() == before
    assert newest.read_bytes() != before


async def test_an_undo_reads_no_index_of_a_pack_that_the_server_wrote(
    repo: ShadowRepo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_bytes(b"0")
    for number in range(1, SEVERAL):
        await change(repo, step(turn=f"t-{number}"), root / "a", b"%d" % number)
    assert len(list(repo.folder.glob("objects/pack/*.pack"))) == SEVERAL - 1
    read = list[Path]()
    really_read = Path.read_bytes

    def noted(path: Path) -> bytes:
        read.append(path)
        return really_read(path)

    monkeypatch.setattr(Path, "read_bytes", noted)
    (each,) = await repo.restore_plan(f"t-{SEVERAL - 1}")
    assert each.after is not None
    assert (each.before.raw, each.after.raw) == (b"%d" % (SEVERAL - 2), b"%d" % (SEVERAL - 1))
    assert [path for path in read if path.suffix == ".idx"] == []


async def test_a_server_looks_at_the_packs_only_once_it_has_written_several(
    repo: ShadowRepo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = list[str]()
    really_list = os.listdir

    def noted(path: Any = ".") -> list[str]:
        looked.append(os.path.basename(os.fspath(path)))
        return really_list(path)

    monkeypatch.setattr(os, "listdir", noted)
    for number in range(2 * SEVERAL):
        (root / "a").write_bytes(b"%d" % number)
        await repo.ensure(step(turn=f"t-{number}"), targets(root / "a"))
    assert looked.count("pack") == 2, "before the first one, and once there were several"
    assert len(list(repo.folder.glob("objects/pack/*.pack"))) <= SEVERAL


async def test_large_packs_are_joined_too_once_they_are_several(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_bytes(b"small")
    await repo.ensure(step(turn="t-small"), targets(root / "a"))
    for number in range(2 * SEVERAL):
        (root / "a").write_bytes(os.urandom(2 * SMALL_BYTES))
        await repo.ensure(step(turn=f"t-{number}"), targets(root / "a"))
    assert len(list(repo.folder.glob("objects/pack/*.pack"))) <= SEVERAL + 1
    assert (await repo.verify()).problems == ()


async def test_packs_of_servers_that_wrote_one_each_are_joined(state: Path, root: Path) -> None:
    for number in range(2 * SEVERAL):
        (root / "a").write_bytes(b"%d" % number)
        repo = shadow(state, root)
        await repo.ensure(step(turn=f"t-{number}"), targets(root / "a"))
    assert len(list(repo.folder.glob("objects/pack/*.pack"))) <= SEVERAL
    assert (await repo.verify()).problems == ()


async def test_an_undo_of_a_turn_whose_pack_git_has_replaced(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_bytes(b"0")
    await change(repo, step(), root / "a", b"1")
    git(repo, "repack", "-a", "-d", "-f")
    (each,) = await repo.restore_plan("t-1")
    assert each.after is not None
    assert (each.before.raw, each.after.raw) == (b"0", b"1")


@pytest.mark.damage
async def test_a_damaged_index_is_found_by_the_server_that_wrote_it(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_bytes(b"0")
    await change(repo, step(), root / "a", b"1")
    for path in repo.folder.glob("objects/pack/*.idx"):
        path.chmod(0o600)
        path.write_bytes(path.read_bytes()[:100])
    problems = (await repo.verify()).problems
    assert any("damaged" in problem and not problem.startswith("git") for problem in problems)


@pytest.mark.damage
async def test_what_is_verified_is_read_from_the_disk(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_bytes(b"0")
    await change(repo, step(), root / "a", b"1")
    assert (await repo.verify()).problems == ()
    newest = ObjectID(git(repo, "rev-parse", "HEAD").strip().encode())
    for path in repo.folder.glob("objects/pack/*.pack"):
        raw, there = bytearray(path.read_bytes()), pack.list_objects(path).extents
        if newest in there:  # of all that is kept, only the commit
            raw[there[newest][1] - 6] ^= 0xFF
        path.chmod(0o600)
        path.write_bytes(raw)
    problems = (await repo.verify()).problems
    assert any("damaged" in problem and not problem.startswith("git") for problem in problems)


async def test_a_snapshot_before_a_command_starts_few_programs(
    repo: ShadowRepo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_bytes(b"a")
    user_git(root, "init", "-q")
    user_git(root, "add", "-A")
    user_git(root, "commit", "-q", "-m", "first")
    monkeypatch.setattr(stats, "TICK_NS", 0)  # as if no file had changed for some time
    started: list[str] = []
    really_start = subprocess.Popen.__init__

    def noted(process: subprocess.Popen[bytes], args: Sequence[str], **given: Any) -> None:
        started.append(next(each for each in args[1:] if each in KNOWN))
        really_start(process, args, **given)

    monkeypatch.setattr(subprocess.Popen, "__init__", noted)
    await repo.before_command(step(1))
    of_user = ["rev-parse", "config", "ls-files"]
    assert started[:3] == of_user, "the first one asks about the user's repository"
    assert sorted(started[3:]) == ["ls-files", "ls-files", "ls-tree", "status", "write-tree"]
    started.clear()
    await repo.before_command(step(2))
    assert started[0] == "status", "nothing has changed"
    assert sorted(started[1:]) == ["ls-files", "ls-tree"], "these run together"
    started.clear()
    (root / "a").write_bytes(b"changed")
    await repo.before_command(step(3))
    assert started[:2] == ["status", "update-index"], "one file has"
    assert sorted(started[2:]) == ["ls-files", "ls-tree", "write-tree"]


async def test_a_borrowed_object_is_looked_for_once(
    repo: ShadowRepo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_bytes(b"a")
    user_git(root, "init", "-q")
    user_git(root, "add", "-A")
    user_git(root, "commit", "-q", "-m", "first")
    monkeypatch.setattr(presence, "RACE_NS", 0)  # as if the folders had not changed for some time
    name = user_git(root, "rev-parse", "HEAD:a").strip()
    path = os.fspath(root / ".git" / "objects" / name[:2] / name[2:])
    looked_at: list[str] = []
    really_look = os.stat

    def noted(path: Any, **given: Any) -> os.stat_result:
        looked_at.append(os.fspath(path))
        return really_look(path, **given)

    monkeypatch.setattr(os, "stat", noted)
    await repo.before_command(step(1))
    assert path in looked_at
    looked_at.clear()
    await repo.before_command(step(2))
    assert path not in looked_at, "its folder is as it was"
    user_git(root, "hash-object", "-w", str(root / "a"))
    os.utime(os.path.dirname(path))
    await repo.before_command(step(3))
    assert path in looked_at, "its folder has changed"


async def test_after_a_command_what_did_not_change_is_looked_at_once(
    repo: ShadowRepo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_bytes(b"a")
    snapshot = await repo.before_command(step(1))
    looked_at: list[str] = []
    really_look = os.lstat

    def noted(path: Any, **given: Any) -> os.stat_result:
        looked_at.append(os.fsdecode(path))
        return really_look(path, **given)

    monkeypatch.setattr(os, "lstat", noted)
    await repo.after_command(step(1), snapshot)
    assert looked_at.count(str(root / "a")) == 1
