"""Snapshots after damage, above the workspace folder, beside writers, and with too many files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from adapters.kit import change, changed, left_out, plan, raws, shadow, step, user_git
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.files.disk import uri_of
from handrail.adapters.worktrees import presence, stats
from handrail.core.checkpoint import Kind


def scratch(state: Path) -> Path:
    (found,) = state.glob("handrail/*/trees/*")
    return found


def commit(root: Path) -> None:
    user_git(root, "init", "-q")
    user_git(root, "add", "-A")
    user_git(root, "commit", "-q", "-m", "first")


@pytest.mark.parametrize("damage", [b"", b"\0" * 41, b"garbage\n", b"0" * 40 + b"\n"], ids=repr)
async def test_the_name_of_the_tree_is_damaged(
    repo: ShadowRepo, root: Path, state: Path, damage: bytes
) -> None:
    for name in "abc":
        (root / name).write_text(f"{name}\n")
    snapshot = await repo.before_command(step(1, turn="t-1"))
    await repo.after_command(step(1, turn="t-1"), snapshot)
    (scratch(state) / "tree").write_bytes(damage)
    snapshot = await repo.before_command(step(1, turn="t-2"))
    (root / "a").write_text("x\n")
    assert changed(await repo.after_command(step(1, turn="t-2"), snapshot)) == {"a": Kind.CHANGED}
    assert raws((await plan(repo, "t-2"))[uri_of(root / "a")]) == (b"a\n", b"x\n")


async def test_objects_of_the_store_are_gone(repo: ShadowRepo, root: Path, state: Path) -> None:
    (root / "d").mkdir()
    (root / "a").write_text("a\n")
    (root / "d" / "b").write_text("b\n")
    snapshot = await repo.before_command(step(1, turn="t-1"))
    were = set((scratch(state) / "objects").glob("??/*"))
    for name in ("a", "d/b"):
        (root / name).write_text("2\n")
    await repo.after_command(step(1, turn="t-1"), snapshot)
    for path in set((scratch(state) / "objects").glob("??/*")) - were:
        path.unlink()
    snapshot = await repo.before_command(step(1, turn="t-2"))
    (root / "a").write_text("c\n")
    assert changed(await repo.after_command(step(1, turn="t-2"), snapshot)) == {"a": Kind.CHANGED}
    assert raws((await plan(repo, "t-2"))[uri_of(root / "a")]) == (b"2\n", b"c\n")


@pytest.mark.parametrize("folder", ["d", "d/e"])
async def test_the_tree_of_a_folder_is_gone_from_the_store(
    repo: ShadowRepo, root: Path, state: Path, folder: str
) -> None:
    (root / "d" / "e").mkdir(parents=True)
    for name in ("a", "d/b", "d/e/c"):
        (root / name).write_text(f"{name}\n")
    snapshot = await repo.before_command(step(1, turn="t-1"))
    await repo.after_command(step(1, turn="t-1"), snapshot)
    store = scratch(state)
    tree = (store / "tree").read_text().strip()
    name = user_git(store, "rev-parse", f"{tree}:{folder}").strip()
    (store / "objects" / name[:2] / name[2:]).unlink()
    snapshot = await repo.before_command(step(1, turn="t-2"))
    (root / "d" / "e" / "c").write_text("changed\n")
    assert changed(await repo.after_command(step(1, turn="t-2"), snapshot)) == {"d/e/c": Kind.CHANGED}
    assert raws((await plan(repo, "t-2"))[uri_of(root / "d/e/c")]) == (b"d/e/c\n", b"changed\n")


async def test_a_file_above_the_folder_keeps_what_the_user_has_not_committed(state: Path, root: Path) -> None:
    folder, outside = root / "sub", root / "outside"
    folder.mkdir()
    (folder / "in").write_text("in\n")
    outside.write_text("committed\n")
    outside.chmod(0o644)
    commit(root)
    outside.write_text("not committed\n")
    repo = shadow(state, folder)
    snapshot = await repo.before_command(step(1))
    outside.chmod(0o600)
    await repo.after_command(step(1), snapshot)
    await change(repo, step(2), outside, b"not committed\nand edited\n")
    assert raws((await plan(repo))[uri_of(outside)])[0] == b"not committed\n"


async def test_a_loose_object_that_a_crash_left_full_of_zeros(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_text("a\n" * 50)
    for name in ("large", "larger"):
        (root / name).write_bytes(os.urandom(18_000_000))  # so that not all objects are read
    commit(root)
    name = user_git(root, "rev-parse", ":a").strip()
    path = root / ".git" / "objects" / name[:2] / name[2:]
    path.chmod(0o600)
    path.write_bytes(bytes(path.stat().st_size))
    snapshot = await repo.before_command(step())
    (root / "a").write_text("changed\n")
    assert changed(await repo.after_command(step(), snapshot)) == {"a": Kind.CHANGED}
    assert raws((await plan(repo))[uri_of(root / "a")])[0] == b"a\n" * 50


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
async def test_a_folder_of_objects_that_is_closed(
    repo: ShadowRepo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presence, "RACE_NS", 0)
    (root / "a").write_text("a\n")
    commit(root)
    snapshot = await repo.before_command(step(1, turn="t-1"))
    await repo.after_command(step(1, turn="t-1"), snapshot)
    name = user_git(root, "rev-parse", ":a").strip()
    folder = root / ".git" / "objects" / name[:2]
    folder.chmod(0)
    try:
        snapshot = await repo.before_command(step(1, turn="t-2"))
        (root / "a").write_text("changed\n")
        assert changed(await repo.after_command(step(1, turn="t-2"), snapshot)) == {"a": Kind.CHANGED}
    finally:
        folder.chmod(0o700)


async def test_permissions_of_many_nested_repositories(repo: ShadowRepo, root: Path) -> None:
    for number in range(20):
        folder = root / f"r{number}"
        folder.mkdir()
        user_git(folder, "init", "-q")
        for name in range(30):
            (folder / f"f{name}").write_text(f"{number} {name}\n")
            (folder / f"f{name}").chmod(0o644)
    snapshot = await repo.before_command(step())
    for path in root.glob("r*/f*"):
        path.chmod(0o664)
    assert len(changed(await repo.after_command(step(), snapshot))) == 600
    restored = (await plan(repo))[uri_of(root / "r7" / "f7")]
    assert restored.after is not None
    assert (restored.before.raw, restored.before.mode, restored.after.mode) == (b"7 7\n", 0o644, 0o664)


async def test_permissions_change_while_the_snapshot_is_taken(
    repo: ShadowRepo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between git's look at a file and ours: one of two snapshots in a row has the change."""
    path = root / "a"
    path.write_text("a\n")
    path.chmod(0o644)
    first = await repo.before_command(step(1))
    path.write_text("in between\n")
    really_read, calls = stats.read_stats, list[int]()

    def read(*args: object) -> stats.Stats:
        calls.append(1)
        if len(calls) == 2:  # what git has found to be changed is looked at again
            path.write_text("a\n")
            path.chmod(0o600)
        return really_read(*args)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(stats, "read_stats", read)
    second = await repo.before_command(step(2), since=first)
    monkeypatch.undo()
    assert len(calls) >= 2
    one = changed(await repo.after_command(step(1), first, until=second))
    other = changed(await repo.after_command(step(2), second))
    assert {**one, **other} == {"a": Kind.CHANGED}


async def test_permissions_when_there_are_too_many_files_now(
    repo: ShadowRepo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stats, "LIMIT_FILES", 3)
    for name, mode in (("a", 0o600), ("b", 0o644)):
        (root / name).write_text(name)
        (root / name).chmod(mode)
    first = await repo.before_command(step(1))
    (root / "a").chmod(0o644)
    (root / "b").chmod(0o666)
    for number in range(5):
        (root / f"n{number}").write_text("n")
    second = await repo.before_command(step(2), since=first)
    effects = await repo.after_command(step(1), first, until=second)
    assert {"a", "b"} <= changed(effects).keys() | left_out(effects).keys()


@pytest.mark.parametrize("name", ["present.json", "modes.json", "names"])
@pytest.mark.parametrize(
    "damage", [b"[]", b"null", b"[" * 100_000, b"\xff\0", b"1"], ids=lambda raw: repr(raw[:4])
)
async def test_what_is_noted_beside_the_store_is_damaged(
    repo: ShadowRepo, root: Path, state: Path, name: str, damage: bytes
) -> None:
    (root / "a").write_text("a\n")
    commit(root)
    snapshot = await repo.before_command(step(1, turn="t-1"))
    await repo.after_command(step(1, turn="t-1"), snapshot)
    (scratch(state) / name).write_bytes(damage)
    snapshot = await repo.before_command(step(1, turn="t-2"))
    (root / "a").write_text("x\n")
    assert changed(await repo.after_command(step(1, turn="t-2"), snapshot)) == {"a": Kind.CHANGED}


@pytest.mark.parametrize(
    "given",
    [
        {"process": 10**30},
        {"taken": None},
        {"taken": {"trees": []}},
        {"taken": {"trees": {"/": 1}, "seen": {}}},
        {"taken": {"trees": {}, "seen": {"/": {"a": [1, 2, 3, 4]}}, "left_out": []}},
        {"plain": None},
        {"plain": {"other": 1}},
        {},
    ],
    ids=lambda given: json.dumps(given)[:40],
)
async def test_a_note_of_a_server_that_died_cannot_be_read(
    state: Path, root: Path, given: dict[str, object]
) -> None:
    (root / "a").write_text("a\n")
    before = shadow(state, root)
    await before.before_command(step())
    (note,) = state.glob("handrail/*/commands/*.json")
    read = json.loads(note.read_bytes())
    kept = {name: read[name] for name in ("step", "roots")}
    note.write_text(json.dumps({**kept, "process": 2**22 + 1, **given}))
    repo = shadow(state, root)
    assert await repo.list() == ()
    assert not note.exists(), "it would be in the way of each later server"


async def test_a_note_of_a_server_that_died_is_nested_without_end(state: Path, root: Path) -> None:
    (root / "a").write_text("a\n")
    await shadow(state, root).before_command(step())
    (note,) = state.glob("handrail/*/commands/*.json")
    note.write_bytes(b"[" * 100_000)
    assert await shadow(state, root).list() == ()
    assert not note.exists()
