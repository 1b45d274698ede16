"""What commands and others do to work trees: repositories come, go and move, links replace folders."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from adapters.kit import changed, during, left_out, plan, raws, shadow, step, user_git
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.files.disk import uri_of
from handrail.core.checkpoint import EditorActivity, Kind


@pytest.fixture
def nested(tree: Path) -> Path:
    """A repository inside the folder, with a commit and a file that is in none."""
    nested = tree / "nested"
    nested.mkdir()
    user_git(nested, "init", "-q")
    (nested / "n").write_bytes(b"n")
    user_git(nested, "add", "-A")
    user_git(nested, "commit", "-q", "-m", "first")
    (nested / "m").write_bytes(b"m")
    return nested


async def test_a_folder_becomes_a_link_to_where_it_went(repo: ShadowRepo, tree: Path) -> None:
    def act() -> None:
        (tree / "deep").rename(tree / "moved")
        (tree / "deep").symlink_to("moved")

    assert changed(await during(repo, act)) == {
        "deep": Kind.CREATED,
        "deep/c": Kind.DELETED,
        "moved/c": Kind.CREATED,
    }
    found = await plan(repo)
    assert raws(found[uri_of(tree) + "/deep/c"]) == (b"deep/c\r\n", None)


async def test_a_nested_repository_is_removed(repo: ShadowRepo, tree: Path, nested: Path) -> None:
    def act() -> None:
        shutil.rmtree(nested)
        (tree / "a").write_bytes(b"of the command")

    effects = await during(repo, act)
    assert changed(effects) == {"a": Kind.CHANGED, "nested/n": Kind.DELETED, "nested/m": Kind.DELETED}
    assert (
        left_out(effects)["nested/.git"] == "removed by the command; checkpoints do not include repositories"
    )
    assert raws((await plan(repo))[uri_of(nested / "m")]) == (b"m", None)


async def test_what_a_nested_repository_has_in_an_ignored_folder(repo: ShadowRepo, nested: Path) -> None:
    (nested / "build").mkdir()
    for name in ("build/kept", "build/empty", "build/other"):
        (nested / name).write_bytes(b"" if name == "build/empty" else b"kept\r\n")
    (nested / ".gitignore").write_bytes(b"build/\n")
    user_git(nested, "add", "-f", "build/kept", "build/empty")
    effects = await during(repo, lambda: shutil.rmtree(nested))
    assert changed(effects).keys() == {
        *("nested/n", "nested/m", "nested/.gitignore", "nested/build/kept", "nested/build/empty"),
        "nested/build/other",
    }
    found = await plan(repo)
    assert raws(found[uri_of(nested / "build" / "kept")]) == (b"kept\r\n", None)


async def test_a_nested_repository_becomes_part_of_the_outer_one(
    repo: ShadowRepo, tree: Path, nested: Path
) -> None:
    def act() -> None:
        shutil.rmtree(nested / ".git")
        (nested / "m").write_bytes(b"of the command")
        (nested / "new").write_bytes(b"")

    effects = await during(repo, act)
    assert changed(effects) == {"nested/m": Kind.CHANGED, "nested/new": Kind.CREATED}
    found = await plan(repo)
    assert raws(found[uri_of(nested / "m")]) == (b"m", b"of the command")


async def test_a_folder_becomes_a_repository(repo: ShadowRepo, tree: Path) -> None:
    def act() -> None:
        user_git(tree / "deep", "init", "-q")
        (tree / "deep" / "c").write_bytes(b"of the command")
        (tree / "deep" / "new").write_bytes(b"")

    effects = await during(repo, act)
    assert changed(effects) == {"deep/c": Kind.CHANGED, "deep/new": Kind.CREATED}
    assert raws((await plan(repo))[uri_of(tree / "deep" / "c")]) == (b"deep/c\r\n", b"of the command")


@pytest.mark.parametrize("gets", [True, False], ids=["gets one", "loses it"])
async def test_the_folder_itself_gets_or_loses_a_repository(state: Path, root: Path, gets: bool) -> None:
    inside = root / "inside"
    inside.mkdir()
    (inside / "a").write_bytes(b"a")
    user_git(root, "init", "-q")
    if not gets:
        user_git(inside, "init", "-q")
    repo = shadow(state, inside)

    def act() -> None:
        if gets:
            user_git(inside, "init", "-q")
        else:
            shutil.rmtree(inside / ".git")
        (inside / "b").write_bytes(b"b")

    assert changed(await during(repo, act)) == {"b": Kind.CREATED}


async def test_a_repository_that_is_removed_or_moved_is_told(repo: ShadowRepo, root: Path) -> None:
    user_git(root, "init", "-q")
    assert left_out(await during(repo, lambda: (root / "a").write_bytes(b"a"))) == {}
    effects = await during(repo, lambda: (root / ".git").rename(root.parent / "elsewhere"))
    assert left_out(effects).keys() == {".git"}


async def test_a_file_that_a_command_opened_to_all_is_closed_again(repo: ShadowRepo, tree: Path) -> None:
    """Git knows whether it was a program; that everybody might write to it is nothing to be guessed."""
    (tree / "b").write_bytes(b"")
    for name in ("a", "b"):
        (tree / name).chmod(0o644)
    await during(repo, lambda: [(tree / "a").chmod(0o777), (tree / "b").chmod(0o755)])
    assert {each.before.mode for each in await repo.restore_plan("t-1")} == {0o644}


async def test_what_the_user_saved_meanwhile_is_theirs(repo: ShadowRepo, tree: Path) -> None:
    snapshot = await repo.before_command(step())
    for name in ("a", "deep/c"):
        (tree / name).write_bytes(b"new")
    effects = await repo.after_command(step(), snapshot, EditorActivity(saved=[uri_of(tree / "a")]))
    assert changed(effects) == {"deep/c": Kind.CHANGED}
    assert "saved in the editor" in left_out(effects)["a"]
    assert (await plan(repo)).keys() == {uri_of(tree / "deep" / "c")}


async def test_what_a_large_file_held_when_it_was_small_is_not_brought_back(
    repo: ShadowRepo, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail.adapters.worktrees.sorting.LIMIT_FILE_BYTES", 1000)
    await during(repo, lambda: None)
    (tree / "a").write_bytes(b"x" * 1001)
    effects = await during(repo, (tree / "a").unlink)
    assert (effects.changes, effects.checkpoint) == ((), None)
    assert (
        left_out(effects)["a"]
        == "changed by the command, and it has 1,001 bytes, more than the limit of 1,000"
    )


@pytest.mark.parametrize("command", ["removes", "moves"])
async def test_once_nothing_runs_what_files_held_is_borrowed_no_longer(
    repo: ShadowRepo, tree: Path, command: str
) -> None:
    before = (tree / "a").read_bytes()
    await during(repo, lambda: None)
    await repo.tidy()
    (store,) = (repo.folder.parent / "trees").iterdir()
    assert not (store / "objects" / "info" / "alternates").exists()

    def act() -> None:
        if command == "moves":
            tree.rename(tree.with_name("elsewhere"))
            tree.mkdir()
        else:
            shutil.rmtree(tree / ".git", ignore_errors=True)
            (tree / "a").unlink()
            (tree / "deep" / "c").unlink()

    effects = await during(repo, act)
    assert {"a", "deep/c"} <= changed(effects).keys()
    found = await plan(repo)
    assert raws(found[uri_of(tree / "a")]) == (before, None)
    assert raws(found[uri_of(tree / "deep" / "c")]) == (b"deep/c\r\n", None)
    assert changed(await during(repo, lambda: (tree / "z").write_bytes(b"z"))) == {"z": Kind.CREATED}
