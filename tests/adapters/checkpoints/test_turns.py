"""Checkpoints of turns and steps, in one workspace or several."""

from __future__ import annotations

import asyncio
import os
import re
from datetime import timedelta
from pathlib import Path

import pytest

from adapters.kit import NOON, change, git, plan, shadow, step, targets
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.files.disk import uri_of
from handrail.adapters.state.home import state_folder, workspace_folder
from handrail.core.checkpoint import Checkpoint, CheckpointPath, CheckpointStep, Kind, StepId, Target, Unsaved
from handrail.core.documents.text import Text
from handrail.ports import CheckpointError


async def test_once_for_each_path_and_step(repo: ShadowRepo, root: Path) -> None:
    path = root / "a"
    path.write_bytes(b"0")
    await change(repo, step(1), path, b"1")
    await change(repo, step(1), path, b"2")
    assert (await plan(repo))[uri_of(path)].before.raw == b"0"
    await change(repo, step(2), path, b"3")
    (turn,), (second,) = await repo.restore_plan("t-1"), await repo.restore_plan("t-1.2")
    assert (turn.before.raw, second.before.raw) == (b"0", b"2")
    assert turn.after is not None
    assert second.after is not None
    assert turn.after.raw == second.after.raw == b"3"


async def test_the_last_recorded_image_counts(repo: ShadowRepo, root: Path) -> None:
    path = root / "a"
    path.write_bytes(b"0")
    await change(repo, step(1), path, b"1")
    await repo.ensure(step(2), targets(path))
    (restoration,) = await repo.restore_plan("t-1")
    assert restoration.after is not None
    assert restoration.after.raw == b"1"


async def test_a_step_is_taken_back_with_what_follows(repo: ShadowRepo, root: Path) -> None:
    for number, name in enumerate("abc", 1):
        (root / name).write_bytes(b"old")
        await change(repo, step(number), root / name, b"new")
    assert list(await plan(repo, "t-1.2")) == [uri_of(root / "b"), uri_of(root / "c")]
    assert list(await plan(repo, "t-1.3")) == [uri_of(root / "c")]


async def test_a_step_is_one_commit_however_often_it_grows(repo: ShadowRepo, root: Path) -> None:
    for name in "abc":
        (root / name).write_bytes(b"old")
        await change(repo, step(1), root / name, b"new")
    await change(repo, step(2), root / "a", b"newer")
    assert git(repo, "rev-list", "--count", "refs/handrail/turns/t-1") == "2\n"
    tree = git(repo, "ls-tree", "-r", "--name-only", "refs/handrail/turns/t-1~1").split()
    after, before = [f"after/{name}" for name in "abc"], [f"before/{name}" for name in "abc"]
    assert tree == [*after, *before, "checkpoint.json"]
    assert git(repo, "show", "refs/handrail/turns/t-1:before/a") == "new"


async def test_a_step_may_be_recorded_after_the_next_has_begun(repo: ShadowRepo, root: Path) -> None:
    for name in "ab":
        (root / name).write_bytes(b"old")
    await repo.ensure(step(1), targets(root / "a"))
    await repo.ensure(step(2), targets(root / "b"))
    (root / "a").write_bytes(b"new")
    await repo.record(step(1), targets(root / "a"))
    found = await plan(repo)
    assert list(found) == [uri_of(root / "a"), uri_of(root / "b")]
    after = found[uri_of(root / "a")].after
    assert after is not None
    assert after.raw == b"new"
    assert git(repo, "rev-list", "--count", "refs/handrail/turns/t-1") == "2\n"


async def test_what_is_known_to_be_as_it_was_is_left_out(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_bytes(b"a")
    (root / "b").write_bytes(b"b")
    await repo.ensure(step(), targets(root / "a", root / "b"))
    await repo.record(step(), targets(root / "a"))
    assert list(await plan(repo)) == [uri_of(root / "b")]
    (checkpoint,) = await repo.list()
    assert checkpoint.paths == (CheckpointPath(uri=uri_of(root / "b"), path="b", change=Kind.CHANGED),)


async def test_the_list_says_what_became_of_each_path(repo: ShadowRepo, root: Path) -> None:
    for name in ("changed", "deleted"):
        (root / name).write_bytes(b"old")
    await change(repo, step(1, label="First"), root / "changed", b"new")
    await change(repo, step(2, label="Second"), root / "deleted", None)
    await change(repo, step(2), root / "new" / "created", b"new")
    assert await repo.list() == (
        Checkpoint(
            id="t-1",
            session="s-1",
            turn="t-1",
            label="First",
            time="2026-01-01T12:00:00+00:00",
            root=str(root),
            steps=(
                CheckpointStep(id="t-1.1", paths=("changed",)),
                CheckpointStep(id="t-1.2", paths=("deleted", "new/created")),
            ),
            paths=(
                CheckpointPath(uri=uri_of(root / "changed"), path="changed", change=Kind.CHANGED),
                CheckpointPath(uri=uri_of(root / "deleted"), path="deleted", change=Kind.DELETED),
                CheckpointPath(uri=uri_of(root / "new/created"), path="new/created", change=Kind.CREATED),
            ),
        ),
    )


async def test_the_newest_turn_comes_first_whatever_the_clock_says(state: Path, root: Path) -> None:
    times = iter([NOON, NOON - timedelta(days=400), NOON, NOON])
    repo = shadow(state, root, clock=lambda: next(times))
    (root / "a").write_bytes(b"a")
    for number, turn in enumerate(["t-b", "t-a", "t-c"], 1):
        await repo.ensure(step(turn=turn, session=f"s-{number % 2}"), targets(root / "a"))
    (root / "a").write_bytes(b"b")
    await repo.record(step(turn="t-b"), targets(root / "a"))
    await repo.ensure(step(turn="t-0"), targets(root / "a"))
    assert [each.id for each in await repo.list()] == ["t-0", "t-c", "t-a", "t-b"]
    assert [each.id for each in await repo.list("s-1")] == ["t-0", "t-c", "t-b"]
    assert await repo.list("no such session") == ()


@pytest.mark.parametrize(
    "turn",
    ["t.1", "a/b", "..", "x.lock", "ä", "a b~^:?*[\\", "@{", "-", "\ud800", "%41", "A", "a\nb"],
)
async def test_any_string_can_name_a_turn(repo: ShadowRepo, root: Path, turn: str) -> None:
    (root / "a").write_bytes(b"a")
    session = StepId(session=turn, turn=turn, number=3, label=turn + "\0\r\n")
    assert await repo.ensure(session, targets(root / "a")) == turn
    assert [each.before.raw for each in await repo.restore_plan(turn)] == [b"a"]
    assert [each.before.raw for each in await repo.restore_plan(f"{turn}.3")] == [b"a"]
    (checkpoint,) = await repo.list(turn)
    assert (checkpoint.id, checkpoint.label) == (turn, turn + "\0\r\n")


@pytest.mark.parametrize("name", ["t-9", "t-1.2", "t-1.x", "", ".", ".1", "../HEAD"])
async def test_an_unknown_id_tells_the_known_ones(repo: ShadowRepo, root: Path, name: str) -> None:
    (root / "a").write_bytes(b"a")
    with pytest.raises(CheckpointError, match="no checkpoints yet"):
        await repo.restore_plan(name)
    for number in range(1, 8):
        await repo.ensure(step(turn=f"t-{number}"), targets(root / "a"))
    expected = f"This workspace has no checkpoint {name}. The newest are: t-7, t-6, t-5, t-4, t-3."
    with pytest.raises(CheckpointError, match=re.escape(expected)):
        await repo.restore_plan(name)


async def test_everything_is_there_after_a_restart(repo: ShadowRepo, state: Path, root: Path) -> None:
    (root / "a").write_bytes(b"0")
    await change(repo, step(1), root / "a", b"1")
    again = shadow(state, root)
    assert await again.restore_plan("t-1") == await repo.restore_plan("t-1")
    await change(again, step(1), root / "a", b"2")
    await change(again, step(2), root / "a", b"3")
    (restoration,) = await repo.restore_plan("t-1")
    assert restoration.before.raw == b"0"
    assert await again.list() == await repo.list()


async def test_many_at_once_are_kept_one_after_the_other(repo: ShadowRepo, root: Path) -> None:
    paths = [root / str(number) for number in range(30)]
    for path in paths:
        path.write_bytes(path.name.encode())
    await asyncio.gather(*(repo.ensure(step(), targets(path)) for path in paths))
    assert len(await repo.restore_plan("t-1")) == 30


async def test_two_servers_share_a_repository(state: Path, root: Path) -> None:
    (root / "a").write_bytes(b"a")
    servers = [shadow(state, root) for _ in range(6)]
    calls = [
        server.ensure(step(turn=f"t-{number}"), targets(root / "a")) for number, server in enumerate(servers)
    ]
    await asyncio.gather(*calls)
    assert {each.id for each in await servers[0].list()} == {f"t-{number}" for number in range(6)}
    assert git(servers[0], "fsck", "--strict", "--no-dangling") == ""
    assert sorted(os.listdir(servers[0].folder.parent)) == ["checkpoints.git", "lock"]


# ---- Workspaces -------------------------------------------------------------------------------------


async def test_two_folders_and_what_lies_outside(state: Path, tmp_path: Path) -> None:
    one, other, outside = tmp_path / "one", tmp_path / "other", tmp_path / "outside"
    for folder in (one, other, outside):
        folder.mkdir()
        (folder / "a").write_bytes(folder.name.encode())
    repo = shadow(state, one, other)
    await repo.ensure(step(), targets(one / "a", other / "a", outside / "a"))
    assert [each.before.raw for each in await repo.restore_plan("t-1")] == [b"one", b"other", b"outside"]
    (checkpoint,) = await repo.list()
    assert [each.path for each in checkpoint.paths] == ["one/a", "other/a", str(outside / "a")]
    assert (checkpoint.root, repo.folder.parent.name.rpartition("-")[0]) == (str(one), "one")
    assert git(repo, "show", "refs/handrail/turns/t-1:before/other/a") == "other"
    assert git(repo, "show", f"refs/handrail/turns/t-1:before/%outside{outside}/a") == "outside"
    assert git(repo, "fsck", "--strict") == ""


async def test_folders_that_change_in_a_step_do_not_mix(state: Path, tmp_path: Path) -> None:
    roots = [tmp_path / "main"]
    for name in ("main", "one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_bytes(name.encode())
    (tmp_path / "deeper" / "one").mkdir(parents=True)
    (tmp_path / "deeper" / "one" / "a").write_bytes(b"deeper")
    repo = ShadowRepo(state, lambda: roots, lambda: NOON)
    roots[1:] = [tmp_path / "one"]
    await repo.ensure(step(), targets(tmp_path / "one" / "a"))
    roots[1:] = [tmp_path / "deeper" / "one"]
    await repo.ensure(step(), targets(tmp_path / "deeper" / "one" / "a"))
    git(repo, "gc", "-q", "--prune=now")
    assert [each.before.raw for each in await repo.restore_plan("t-1")] == [b"one", b"deeper"]


async def test_a_workspace_has_its_own_checkpoints(state: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "a" / "app", tmp_path / "b" / "app"
    for folder in (one, other):
        folder.mkdir(parents=True)
        (folder / "a").write_bytes(b"")
    await shadow(state, one).ensure(step(), targets(one / "a"))
    assert await shadow(state, other).list() == ()
    with pytest.raises(CheckpointError, match="This workspace has no checkpoint t-1"):
        await shadow(state, other).restore_plan("t-1")
    (tmp_path / "link").symlink_to(one)
    assert len(await shadow(state, tmp_path / "link").list()) == 1, "by the folder's real path"


async def test_without_a_folder_there_is_a_place_as_well(state: Path) -> None:
    repo = shadow(state)
    unsaved = Unsaved(text=Text("a"), version=1)
    await repo.ensure(step(), [Target(uri="untitled:1", unsaved=unsaved)])
    assert repo.folder == state / "handrail" / "no-folder" / "checkpoints.git"
    assert len(await repo.restore_plan("t-1")) == 1


@pytest.mark.parametrize("inside", ["work/state", "work/.", "link/state"])
async def test_nothing_is_kept_inside_the_workspace(root: Path, inside: str) -> None:
    (root / "a").write_bytes(b"a")
    (root.parent / "link").symlink_to(root)
    repo = shadow(root.parent / inside, root)
    with pytest.raises(CheckpointError, match=r"inside the workspace folder .* XDG_STATE_HOME"):
        await repo.ensure(step(), targets(root / "a"))
    assert os.listdir(root) == ["a"]


def test_the_state_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_folder() == tmp_path
    monkeypatch.delenv("XDG_STATE_HOME")
    usual = state_folder()
    monkeypatch.setenv("XDG_STATE_HOME", "relative/paths/are/to/be/ignored")
    assert state_folder() == usual
    assert usual.is_absolute()


def test_workspace_folders_are_readable_and_distinct(tmp_path: Path) -> None:
    folders = ("My App", "my-app", "..x", "é" * 90)
    names = [workspace_folder(tmp_path, [tmp_path / name]).name for name in folders]
    assert len(set(names)) == 4
    assert [name.rpartition("-")[0] for name in names] == ["My-App", "my-app", "x", "folder"]
