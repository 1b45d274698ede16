"""What disks, people and programs put in the way of checkpoints: never a byte lost, and always said."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import handrail
from adapters.kit import change, full_disk, git, large, plan, raws, run, shadow, step, targets
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.files.disk import uri_of
from handrail.core.checkpoint import CommandEffects, Kind
from handrail.ports import CheckpointError

# ---- A full disk ------------------------------------------------------------------------------------


@contextmanager
def small_disk(folder: Path, size_bytes: int) -> Iterator[bool]:
    """A disk of its own in *folder*; False if the system does not let us have one."""
    folder.mkdir()
    options = f"size={size_bytes},mode=700"
    command = ("mount", "-t", "tmpfs", "-o", options, "none", os.fspath(folder))
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(("umount", "--lazy", os.fspath(folder)), check=True)


@contextmanager
def room(state: Path, left_bytes: int, *, is_small: bool) -> Iterator[None]:
    """So much and no more can be written: to the disk, or else to any file."""
    if not is_small:
        with full_disk(left_bytes):
            yield
        return
    filler = state / "filler"
    status = os.statvfs(state)
    with filler.open("wb") as file:
        file.write(b"x" * max(0, status.f_bavail * status.f_frsize - left_bytes))
    try:
        yield
    finally:
        filler.unlink()


ROOMS = (0, 1, *range(4096, 49_152, 4096))


async def test_wherever_the_disk_is_full_nothing_is_spent(tmp_path: Path, root: Path) -> None:
    state = tmp_path / "small"
    with small_disk(state, 2_000_000) as is_small:
        repo = shadow(state, root)
        (root / "a").write_bytes(b"a")
        await change(repo, step(), root / "a", b"A")
        before = await repo.list(), await plan(repo)
        (root / "b").write_bytes(os.urandom(50_000))
        for left in ROOMS:
            with (
                room(state, left, is_small=is_small),
                pytest.raises(CheckpointError, match=r"too large|full"),
            ):
                await repo.ensure(step(2), targets(root / "b"))
            assert (await repo.list(), await plan(repo)) == before
            assert not list(repo.folder.glob("new-*"))
        await repo.ensure(step(2), targets(root / "b"))
        assert git(repo, "fsck", "--strict") == ""


async def test_wherever_the_disk_is_full_a_command_is_not_run_or_its_changes_wait(
    tmp_path: Path, root: Path
) -> None:
    state = tmp_path / "small"
    with small_disk(state, 4_000_000) as is_small:
        repo = shadow(state, root)
        (root / "a").write_bytes(os.urandom(50_000))
        raw = (root / "a").read_bytes()
        for left in ROOMS:
            with room(state, left, is_small=is_small), pytest.raises(CheckpointError):
                await repo.before_command(step())
        snapshot = await repo.before_command(step())
        (root / "a").write_bytes(os.urandom(60_000))
        for left in ROOMS:
            with room(state, left, is_small=is_small), pytest.raises(CheckpointError):
                await repo.after_command(step(), snapshot)
        effects = await repo.after_command(step(), snapshot)
        assert kinds(effects) == {"a": Kind.CHANGED}
        assert (await plan(repo))[uri_of(root / "a")].before.raw == raw
        assert git(repo, "fsck", "--strict", "--no-dangling") == ""


# ---- What cannot be read ----------------------------------------------------------------------------


def kinds(effects: CommandEffects) -> dict[str, Kind]:
    return {each.path: each.change for each in effects.changes}


def reasons(effects: CommandEffects) -> dict[str, str]:
    return {each.path: each.reason for each in effects.not_covered}


CLOSED = """
import asyncio, os, sys
from pathlib import Path
from adapters.checkpoints.test_bad_input import closed_folder

asyncio.run(closed_folder(Path(sys.argv[1]), Path(sys.argv[2])))
"""


def as_anybody() -> None:
    """Give up the right of root to read what is closed, for this process and those that it starts."""
    of_files, of_folders, drop = 1, 2, 24
    for right in (of_files, of_folders):
        if sys.platform == "linux" and os.geteuid() == 0:
            ended = ctypes.CDLL(None, use_errno=True).prctl(drop, right, 0, 0, 0)
            assert ended == 0, errno.errorcode[ctypes.get_errno()]


@pytest.mark.parametrize("has_git", [True, False])
def test_a_folder_that_cannot_be_read_is_not_taken_for_empty(
    state: Path, root: Path, tmp_path: Path, *, has_git: bool
) -> None:
    """Run in a process that may not read it: a command opens it, and what was in it is not the command's."""
    paths = (Path(handrail.__file__).parents[1], Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.fspath, paths))}
    if not has_git:
        environment["PATH"] = os.fspath(tmp_path)
    command = (sys.executable, "-c", CLOSED, os.fspath(state), os.fspath(root))
    ended = subprocess.run(command, env=environment, capture_output=True, preexec_fn=as_anybody, check=False)
    assert ended.returncode == 0, ended.stderr.decode()


async def closed_folder(state: Path, root: Path) -> None:
    repo = shadow(state, root)
    closed, inside = root / "closed", root / "closed" / "deep" / "theirs"
    inside.parent.mkdir(parents=True)
    for path in (inside, root / "unreadable", root / "open"):
        path.write_bytes(b"of the user")
    (root / "unreadable").chmod(0)
    for mode in (0o000, 0o100, 0o400):
        closed.chmod(mode)
        if mode == 0:
            with pytest.raises(CheckpointError, match="permission is denied"):
                await repo.ensure(step(), targets(inside))
            with pytest.raises(CheckpointError, match="unreadable: permission is denied"):
                await repo.ensure(step(), targets(root / "unreadable"))
            assert await repo.list() == ()
        now = step(turn=f"t-{mode}")
        snapshot = await repo.before_command(now)
        assert {"closed", "unreadable"} & {each.path.split("/")[0] for each in snapshot.not_covered}
        closed.chmod(0o700)
        (root / "unreadable").chmod(0o600)
        (root / "open").write_bytes(b"%d" % mode)
        effects = await repo.after_command(now, snapshot)
        found = kinds(effects)
        if mode and "unreadable" in found:  # known from the round before; its permissions have changed
            assert found.pop("unreadable") is Kind.CHANGED
        assert found == {"open": Kind.CHANGED}, f"what was there is not taken for new: {effects}"
        # What git kept of the file in the round before may still be known to be what it holds.
        assert {"closed"} <= {path.split("/")[0] for path in reasons(effects)} <= {"closed", "unreadable"}
        (root / "unreadable").chmod(0)
        assert inside.read_bytes() == b"of the user"


async def test_what_was_ignored_is_not_new_because_it_is_ignored_no_more(
    repo: ShadowRepo, root: Path
) -> None:
    (root / ".gitignore").write_bytes(b"build/\n")
    (root / "build").mkdir()
    (root / "build" / "theirs").write_bytes(b"of the user")
    large(root / "large", 5_000_000_000)
    snapshot = await repo.before_command(step())
    (root / ".gitignore").unlink()
    large(root / "large", 10)
    (root / "build" / "made").write_bytes(b"of the command")
    effects = await repo.after_command(step(), snapshot)
    assert kinds(effects) == {".gitignore": Kind.DELETED}
    unknown = "changed by the command; its earlier text is unknown"
    assert reasons(effects) == {"build": unknown, "large": unknown}
    assert list(await plan(repo)) == [uri_of(root / ".gitignore")], "taking it back removes nothing"


async def test_a_large_file_is_said_to_be_left_out_and_not_read(repo: ShadowRepo, root: Path) -> None:
    large(root / "large", 5_000_000_000)
    (root / "small").write_bytes(b"1")
    snapshot = await repo.before_command(step())
    assert [(each.path, each.reason) for each in snapshot.not_covered] == [
        ("large", "it has 5,000,000,000 bytes, more than the limit of 20,000,000")
    ]
    (root / "small").write_bytes(b"2")
    effects = await repo.after_command(step(), snapshot)
    assert kinds(effects) == {"small": Kind.CHANGED}
    assert reasons(effects) == {"large": "it has 5,000,000,000 bytes, more than the limit of 20,000,000"}


# ---- Names and kinds --------------------------------------------------------------------------------


async def test_a_file_that_became_a_link_to_outside(repo: ShadowRepo, root: Path, tmp_path: Path) -> None:
    """The path leads to another file now, which is kept as what it is, and not as the one that was there."""
    (tmp_path / "outside").write_bytes(b"outside")
    (root / "a").write_bytes(b"a")
    await repo.ensure(step(1), targets(root / "a"))
    (root / "a").unlink()
    (root / "a").symlink_to(tmp_path / "outside")
    await repo.ensure(step(2), targets(root / "a"))
    assert [each.before.raw for each in await repo.restore_plan("t-1")] == [b"a", b"outside"]
    assert (tmp_path / "outside").read_bytes() == b"outside"


async def test_a_command_makes_a_file_a_link_to_outside(repo: ShadowRepo, root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"outside")
    (root / "a").write_bytes(b"a")
    snapshot = await repo.before_command(step())
    (root / "a").unlink()
    (root / "a").symlink_to(tmp_path / "outside")
    effects = await repo.after_command(step(), snapshot)
    assert (kinds(effects), reasons(effects)) == ({"a": Kind.CHANGED}, {})
    (restoration,) = await repo.restore_plan("t-1")
    assert restoration.after is not None
    assert restoration.before.raw == b"a"
    assert restoration.after.raw == os.fsencode(tmp_path / "outside"), "the link, not what it leads to"


async def test_a_name_in_other_letters_is_another_file_or_the_same(repo: ShadowRepo, root: Path) -> None:
    (root / "Readme").write_bytes(b"1")
    snapshot = await repo.before_command(step())
    os.rename(root / "Readme", root / "README")
    effects = await repo.after_command(step(), snapshot)
    await change(repo, step(2), root / "README", b"2")
    found = await plan(repo)
    if (root / "readme").exists():  # this disk makes no difference
        assert [each.before.raw for each in found.values()] == [b"1"]
        return
    assert kinds(effects) == {"Readme": Kind.DELETED, "README": Kind.CREATED}
    assert found[uri_of(root / "Readme")].before.raw == b"1"
    assert found[uri_of(root / "README")].before.raw is None
    tree = git(repo, "ls-tree", "-r", "--name-only", "refs/handrail/turns/t-1~1").split()
    assert tree == ["after/README", "before/Readme", "checkpoint.json"]


# ---- The store ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", [b"", b"garbage", b"ref: refs/heads/other\n", None])
async def test_a_damaged_head_is_mended(
    repo: ShadowRepo, state: Path, root: Path, head: bytes | None
) -> None:
    (root / "a").write_bytes(b"a")
    await change(repo, step(), root / "a", b"b")
    if head is None:
        (repo.folder / "HEAD").unlink()
    else:
        (repo.folder / "HEAD").write_bytes(head)
    again = shadow(state, root)
    assert [each.before.raw for each in await again.restore_plan("t-1")] == [b"a"]
    await change(again, step(turn="t-2"), root / "a", b"c")
    assert [each.id for each in await again.list()] == ["t-2", "t-1"]
    assert git(again, "log", "--format=%s") == "Patch a file\n"


@pytest.mark.damage
async def test_a_store_without_its_objects_is_not_taken_for_an_empty_one(
    repo: ShadowRepo, state: Path, root: Path
) -> None:
    for turn in ("t-1", "t-2"):
        await change(repo, step(turn=turn), root / "a", turn.encode())
    shutil.rmtree(repo.folder / "objects")
    other = shadow(state, root)
    with pytest.raises(
        CheckpointError, match=r"None of the 2 checkpoints in .* can be read: they are damaged"
    ):
        await other.list()
    with pytest.raises(CheckpointError, match="damaged"):
        await other.restore_plan("t-1")
    assert {each.partition(":")[0] for each in (await other.verify()).problems} >= {"t-1", "t-2"}
    await change(other, step(turn="t-3"), root / "a", b"three")
    assert [each.id for each in await other.list()] == ["t-3"], "work goes on"
    (restoration,) = await other.restore_plan("t-3")
    assert restoration.before.raw == b"t-2"


@pytest.mark.damage
@pytest.mark.parametrize(
    "left", ["spare-0", "refs/handrail/turns/t-0", "config", "refs/heads", "objects/pack"]
)
async def test_a_store_that_was_removed_but_for_a_part_is_made_anew(
    repo: ShadowRepo, root: Path, left: str
) -> None:
    """A folder is not gone if a file appears in it while it is removed."""
    (root / "a").write_bytes(b"one")
    await change(repo, step(1, turn="t-0"), root / "a", b"two")
    await repo.settle()
    kept = repo.folder / left
    for path in sorted(repo.folder.rglob("*"), reverse=True):
        if not kept.is_relative_to(path) and not path.is_relative_to(kept):
            path.rmdir() if path.is_dir() else path.unlink()
    await change(repo, step(1, turn="t-1"), root / "a", b"three")
    assert raws((await plan(repo, "t-1"))[uri_of(root / "a")]) == (b"two", b"three")
    assert git(repo, "log", "--format=%s") == "Patch a file\n"


async def test_what_another_project_keeps_is_not_ours(repo: ShadowRepo, state: Path, root: Path) -> None:
    other = root.parent / "other"
    other.mkdir()
    theirs = shadow(state, other)
    for folder, shadowed, turn in ((root, repo, "t-1"), (other, theirs, "t-2")):
        (folder / "a").write_bytes(b"a")
        await change(shadowed, step(turn=turn), folder / "a", b"b")
    commit = git(theirs, "rev-parse", "refs/handrail/turns/t-2").strip()
    own = git(repo, "rev-parse", "refs/handrail/turns/t-1").strip()
    for name in ("t-2", "t-2.1", commit, own, "refs/handrail/turns/t-2", "../t-2"):
        with pytest.raises(CheckpointError, match=r"This workspace has no checkpoint .*\. It has t-1\."):
            await repo.restore_plan(name)
    assert (root / "a").read_bytes() == (other / "a").read_bytes() == b"b"


async def test_a_snapshot_that_was_damaged_meanwhile_is_said(repo: ShadowRepo, root: Path) -> None:
    for name in "ab":
        (root / name).write_bytes(name.encode())
    snapshot = await repo.before_command(step())
    for name in "ab":
        (root / name).write_bytes(b"of the command")
    for path in (repo.folder.parent / "trees").glob("*/objects/??/*"):
        path.chmod(0o600)
        path.write_bytes(b"garbage")
    with pytest.raises(CheckpointError, match=r"git [a-z-]+ failed in .*: "):
        await repo.after_command(step(), snapshot)
    assert await repo.list() == ()
    again = await repo.before_command(step())
    (root / "a").write_bytes(b"2")
    assert kinds(await repo.after_command(step(), again)) == {"a": Kind.CHANGED}


async def test_history_is_readable(repo: ShadowRepo, root: Path) -> None:
    """With plain git, without being told where to look: what each step changed, and of whom it is."""
    (root / "deep").mkdir()
    (root / "deep" / "caf\u00e9.txt").write_text("one\ntwo\n", encoding="utf-8")
    await change(repo, step(1, label="Count in French"), root / "deep" / "caf\u00e9.txt", b"un\ntwo\n")
    await change(repo, step(2, label="Add a file"), root / "new", b"new\n")
    log = run("git", "--git-dir", str(repo.folder), "-c", "core.quotePath=false", "log", "-p").decode()
    shown = ("Count in French", "Add a file", "Session: s-1", "+++ b/after/deep/caf\u00e9.txt", "+un", "+new")
    assert [text for text in shown if text not in log] == []
    assert log.count("\ncommit ") == 1, "one for each step"
