"""What a command changes is found, kept and can be taken back; real git, real files."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import handrail
from adapters.kit import change, changed, during, git, left_out, names, plan, raws, shadow, step, user_git
from handrail.adapters.checkpoints.commands import NOTES, Commands
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.files.disk import uri_of
from handrail.core.checkpoint import Kind


async def test_every_kind_of_change_is_found_and_kept(repo: ShadowRepo, tree: Path) -> None:
    before = (tree / "a").read_bytes()

    def act() -> None:
        (tree / "a").write_bytes(b"a of the command")
        (tree / "deep" / "c").unlink()
        (tree / "made" / "here").mkdir(parents=True)
        (tree / "made" / "here" / "x").write_bytes(b"x")
        (tree / "x.log").write_bytes(b"ignored")

    effects = await during(repo, act)
    assert changed(effects) == {
        "a": Kind.CHANGED,
        "deep/c": Kind.DELETED,
        "made/here/x": Kind.CREATED,
        "x.log": Kind.CREATED,
    }
    assert effects.checkpoint == "t-1"
    found = await plan(repo)
    assert raws(found[uri_of(tree / "a")]) == (before, b"a of the command")
    assert raws(found[uri_of(tree / "deep" / "c")]) == (b"deep/c\r\n", None)
    made = tree / "made" / "here"
    assert raws(found[uri_of(made / "x")]) == (None, b"x")
    assert found[uri_of(made / "x")].made_folders == (uri_of(made), uri_of(made.parent))


@pytest.mark.parametrize("ignores", [True, False], ids=["ignored", "seen"])
async def test_documents_that_are_written_for_people_are_no_commands_doing(
    repo: ShadowRepo, tree: Path, ignores: bool
) -> None:
    own = tree / ".handrail"
    own.mkdir()
    if ignores:
        (own / ".gitignore").write_text("*\n")
    (own / "chat.md").write_bytes(b"what was said")
    effects = await during(repo, lambda: (own / "chat.md").write_bytes(b"and answered"))
    assert (effects.changes, effects.not_covered, effects.checkpoint) == ((), (), None)


async def test_what_the_user_had_changed_before_is_no_change(repo: ShadowRepo, tree: Path) -> None:
    for number in range(3):
        (tree / "a").write_bytes(b"typed %d" % number)
        (tree / f"new {number}").write_bytes(b"")
        effects = await during(repo, lambda: None)
        assert (effects.changes, effects.checkpoint) == ((), None)
    assert await repo.list() == ()


async def test_the_users_repository_is_not_touched(repo: ShadowRepo, root: Path) -> None:
    user_git(root, "init", "-q")
    (root / "a").write_bytes(b"a")
    user_git(root, "add", "-A")
    before = {name: (root / name).read_bytes() for name in names(root) if (root / name).is_file()}
    times = {name: (root / name).stat().st_mtime_ns for name in names(root)}
    await during(repo, lambda: (root / "a").write_bytes(b"a"))
    times["a"] = (root / "a").stat().st_mtime_ns
    assert {name: (root / name).read_bytes() for name in names(root) if (root / name).is_file()} == before
    assert {name: (root / name).stat().st_mtime_ns for name in names(root)} == times


def written_long_ago(path: Path, raw: bytes) -> None:
    """A file that git, once it has been added, has no reason to read again."""
    path.write_bytes(raw)
    os.utime(path, (1_000_000_000, 1_000_000_000))


@pytest.mark.parametrize("attributes", ["* text=auto", "*.txt eol=crlf", "*.txt filter=lfs", "*.txt ident"])
async def test_contents_are_kept_as_they_are_whatever_git_converts(
    repo: ShadowRepo, root: Path, attributes: str
) -> None:
    user_git(root, "init", "-q")
    user_git(root, "config", "filter.lfs.clean", "sed s/^/cleaned/")
    user_git(root, "config", "filter.lfs.smudge", "sed s/^cleaned//")
    raw = b"one\r\ntwo $Id: mine $\r\n"
    (root / ".gitattributes").write_text(attributes + "\n")
    written_long_ago(root / "a.txt", raw)
    user_git(root, "add", "-A")
    effects = await during(repo, (root / "a.txt").unlink)
    assert changed(effects) == {"a.txt": Kind.DELETED}
    assert raws((await plan(repo))[uri_of(root / "a.txt")]) == (raw, None)


@pytest.mark.parametrize("found", ["not tracked", "ignored", "above", "in a folder"])
async def test_attributes_that_the_index_does_not_know_convert_as_well(
    state: Path, root: Path, found: str
) -> None:
    user_git(root, "init", "-q")
    inside = root / "inside" if found == "above" else root
    folder = inside / "folder" if found == "in a folder" else inside
    folder.mkdir(parents=True, exist_ok=True)
    attributes = (folder if found == "in a folder" else root) / ".gitattributes"
    attributes.write_text("* text eol=crlf\n")
    if found == "ignored":
        (root / ".gitignore").write_text(".gitattributes\n")
    written_long_ago(folder / "a", b"one\r\n")
    user_git(root, "add", "--", str(folder / "a"))
    repo = shadow(state, inside)
    await during(repo, (folder / "a").unlink)
    assert raws((await plan(repo))[uri_of(folder / "a")]) == (b"one\r\n", None)


async def test_line_ends_that_the_users_git_converts_are_kept(repo: ShadowRepo, root: Path) -> None:
    user_git(root, "init", "-q")
    user_git(root, "config", "core.autocrlf", "true")
    written_long_ago(root / "a", b"one\r\ntwo\r\n")
    user_git(root, "add", "-A")
    await during(repo, (root / "a").unlink)
    assert raws((await plan(repo))[uri_of(root / "a")]) == (b"one\r\ntwo\r\n", None)


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
async def test_files_that_git_is_told_not_to_look_at_are_kept(
    repo: ShadowRepo, root: Path, flag: str
) -> None:
    user_git(root, "init", "-q")
    (root / "a").write_bytes(b"committed")
    user_git(root, "add", "-A")
    user_git(root, "update-index", flag, "a")
    (root / "a").write_bytes(b"on the disk")
    await during(repo, lambda: (root / "a").write_bytes(b"of the command"))
    assert raws((await plan(repo))[uri_of(root / "a")]) == (b"on the disk", b"of the command")


@pytest.mark.parametrize("commits", [0, 1])
async def test_nested_repositories_are_covered(repo: ShadowRepo, tree: Path, commits: int) -> None:
    nested = tree / "nested"
    nested.mkdir()
    user_git(nested, "init", "-q")
    (nested / "n").write_bytes(b"n")
    if commits:
        user_git(nested, "add", "-A")
        user_git(nested, "commit", "-q", "-m", "first")
    (nested / "m").write_bytes(b"m")

    def act() -> None:
        (nested / "n").write_bytes(b"N")
        (nested / "m").unlink()

    effects = await during(repo, act)
    assert changed(effects) == {"nested/n": Kind.CHANGED, "nested/m": Kind.DELETED}
    assert raws((await plan(repo))[uri_of(nested / "m")]) == (b"m", None)


async def test_a_submodule_is_covered(repo: ShadowRepo, root: Path, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    user_git(tmp_path / "sub", "init", "-q")
    (tmp_path / "sub" / "s").write_bytes(b"s")
    user_git(tmp_path / "sub", "add", "-A")
    user_git(tmp_path / "sub", "commit", "-q", "-m", "first")
    user_git(root, "init", "-q")
    user_git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "sub"), "sub")
    effects = await during(repo, lambda: (root / "sub" / "s").write_bytes(b"S"))
    assert changed(effects) == {"sub/s": Kind.CHANGED}


async def test_a_folder_inside_a_repository(state: Path, root: Path) -> None:
    user_git(root, "init", "-q")
    for name in ("inside", "beside"):
        (root / name).mkdir()
        (root / name / "a").write_bytes(b"a")
    user_git(root, "add", "-A")
    repo = shadow(state, root / "inside")

    def act() -> None:
        for name in ("inside", "beside"):
            (root / name / "a").write_bytes(b"b")

    assert changed(await during(repo, act)) == {"a": Kind.CHANGED}


async def test_a_folder_that_its_repository_ignores(state: Path, root: Path) -> None:
    user_git(root, "init", "-q")
    (root / ".gitignore").write_bytes(b"build\n")
    (root / "build").mkdir()
    (root / "build" / "a").write_bytes(b"a")
    repo = shadow(state, root / "build")
    assert changed(await during(repo, (root / "build" / "a").unlink)) == {"a": Kind.DELETED}


async def test_two_folders(state: Path, tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder in folders:
        folder.mkdir()
        (folder / "a").write_bytes(b"a")
    user_git(folders[0], "init", "-q")
    repo = shadow(state, *folders)
    effects = await during(repo, lambda: [(folder / "a").unlink() for folder in folders])
    assert changed(effects) == {"one/a": Kind.DELETED, "other/a": Kind.DELETED}


async def test_what_is_not_covered_is_said(
    repo: ShadowRepo, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail.adapters.worktrees.sorting.LIMIT_FILE_BYTES", 1000)
    (tree / "build").mkdir()
    (tree / "build" / "x").write_bytes(b"")
    (tree / "large").write_bytes(b"x" * 1001)
    os.mkfifo(tree / "pipe")
    snapshot = await repo.before_command(step())
    said = {each.path: each.reason for each in snapshot.not_covered}
    assert said["large"] == "it has 1,001 bytes, more than the limit of 1,000"
    assert said["build"] == "git ignores this folder"
    (tree / "large").write_bytes(b"y" * 1002)
    effects = await repo.after_command(step(), snapshot)
    assert (
        left_out(effects)["large"]
        == "changed by the command, and it has 1,002 bytes, more than the limit of 1,000"
    )
    assert effects.changes == ()


async def test_what_a_file_held_is_kept_although_what_it_holds_now_cannot_be(
    repo: ShadowRepo, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail.adapters.worktrees.sorting.LIMIT_FILE_BYTES", 1000)
    monkeypatch.setattr("handrail.adapters.worktrees.sorting.LIMIT_IGNORED_BYTES", 1000)
    for name in ("new file", "x.log", "pipe"):
        (tree / name).write_bytes(b"before")

    def act() -> None:
        for name in ("deep/c", "new file", "x.log"):
            (tree / name).write_bytes(b"x" * 1001)
        (tree / "pipe").unlink()
        os.mkfifo(tree / "pipe")
        (tree / "large").write_bytes(b"x" * 1001)

    effects = await during(repo, act)
    changes = changed(effects)
    assert changes == dict.fromkeys(("deep/c", "new file", "x.log", "pipe"), Kind.CHANGED)
    assert "and it is a pipe" in left_out(effects)["pipe"]
    assert (
        left_out(effects)["large"]
        == "changed by the command, and it has 1,001 bytes, more than the limit of 1,000"
    )
    found = await plan(repo)
    for name in ("new file", "x.log"):
        assert raws(found[uri_of(tree / name)]) == (b"before", b"x" * 1001)
    restoration = found[uri_of(tree / "pipe")]
    assert (restoration.before.raw, restoration.after) == (b"before", None)


async def test_secret_files_keep_their_mode(repo: ShadowRepo, tree: Path) -> None:
    (tree / "x.log").write_bytes(b"secret")
    (tree / "x.log").chmod(0o600)
    await during(repo, (tree / "x.log").unlink)
    (restoration,) = await repo.restore_plan("t-1")
    assert (restoration.before.raw, restoration.before.mode) == (b"secret", 0o600)


async def test_a_file_becomes_a_folder_and_a_folder_a_file(repo: ShadowRepo, tree: Path) -> None:
    def act() -> None:
        (tree / "a").unlink()
        (tree / "a").mkdir()
        (tree / "a" / "x").write_bytes(b"x")
        (tree / "deep" / "c").unlink()
        (tree / "deep").rmdir()
        (tree / "deep").write_bytes(b"now a file")

    effects = await during(repo, act)
    assert changed(effects) == {
        "a": Kind.DELETED,
        "a/x": Kind.CREATED,
        "deep": Kind.CREATED,
        "deep/c": Kind.DELETED,
    }


NAMES = [b"new\nline", b"quo\"te'`$(x)", b"caf\xe9", b" ", b"-rf", b"back\\slash", b"tab\t", b":(top)x", b"*"]


async def test_every_name_is_found(repo: ShadowRepo, tree: Path) -> None:
    paths = [tree / os.fsdecode(name) for name in NAMES]
    for path in paths:
        path.write_bytes(b"1")
    await during(repo, lambda: [path.unlink() for path in paths])
    found = await plan(repo)
    assert {uri: raws(each) for uri, each in found.items()} == {uri_of(path): (b"1", None) for path in paths}


async def test_what_a_command_and_a_tool_changed_in_one_step(repo: ShadowRepo, tree: Path) -> None:
    await change(repo, step(), tree / "a", b"of the tool")
    await during(repo, lambda: (tree / "a").write_bytes(b"of the command"))
    (restoration,) = await repo.restore_plan("t-1")
    assert restoration.after is not None
    assert restoration.after.raw == b"of the command"
    assert restoration.before.raw is not None
    assert restoration.before.raw.startswith(b"a")


async def test_the_callers_environment_does_not_reach_git(
    repo: ShadowRepo, root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (root / "a").write_bytes(b"a\r\n")
    (tmp_path / "config").write_text("[core]\n\tautocrlf = input\n\thooksPath = /nowhere\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere")
    await during(repo, (root / "a").unlink)
    monkeypatch.undo()
    (restoration,) = await repo.restore_plan("t-1")
    assert restoration.before.raw == b"a\r\n"


async def test_an_index_lock_of_a_dead_process_is_no_obstacle(
    repo: ShadowRepo, state: Path, tree: Path
) -> None:
    await during(repo, lambda: None)
    (scratch,) = (repo.folder.parent / "trees").iterdir()
    (scratch / "index.lock").write_bytes(b"")
    assert changed(await during(repo, (tree / "a").unlink)) == {"a": Kind.DELETED}
    assert git(repo, "fsck", "--strict", "--no-dangling") == ""


async def test_a_damaged_scratch_store_is_made_anew(repo: ShadowRepo, tree: Path) -> None:
    await during(repo, lambda: None)
    (scratch,) = (repo.folder.parent / "trees").iterdir()
    (scratch / "index").write_bytes(b"garbage")
    assert changed(await during(repo, (tree / "a").unlink)) == {"a": Kind.DELETED}


DYING = """
import asyncio, os, sys
from datetime import UTC, datetime
from pathlib import Path
from handrail.adapters.checkpoints.commands import NOTES, Commands
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.core.checkpoint import StepId

async def main(state, root):
    repo = ShadowRepo(state, lambda: [root], lambda: datetime.now(UTC))
    await repo.before_command(StepId(session="s-1", turn="t-1", number=1, label="A command"))
    (root / "a").write_bytes(b"of the command")
    os.kill(os.getpid(), 9)

asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
"""


async def test_what_a_command_changed_is_kept_although_its_server_was_killed(
    repo: ShadowRepo, state: Path, tree: Path
) -> None:
    before = (tree / "a").read_bytes()
    environment = {**os.environ, "PYTHONPATH": str(Path(handrail.__file__).parents[1])}
    command = (sys.executable, "-c", DYING, str(state), str(tree))
    dying = await asyncio.create_subprocess_exec(*command, env=environment)
    assert await dying.wait() == -9
    (checkpoint,) = await repo.list()
    assert [each.path for each in checkpoint.paths] == ["a"]
    assert raws((await plan(repo))[uri_of(tree / "a")]) == (before, b"of the command")
    assert not list((repo.folder.parent / "commands").iterdir())


@pytest.fixture
def no_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    monkeypatch.setenv("PATH", str(tmp_path))
    return monkeypatch


async def test_without_git_small_folders_are_copied(
    repo: ShadowRepo, root: Path, no_git: pytest.MonkeyPatch
) -> None:
    for name in ("changed", "deleted"):
        (root / name).write_bytes(b"\0\r\n" + name.encode())

    def act() -> None:
        (root / "changed").write_bytes(b"of the command")
        (root / "deleted").unlink()
        (root / "new").mkdir()
        (root / "new" / "created").write_bytes(b"")

    effects = await during(repo, act)
    assert changed(effects) == {
        "changed": Kind.CHANGED,
        "deleted": Kind.DELETED,
        "new/created": Kind.CREATED,
    }
    found = await plan(repo)
    assert raws(found[uri_of(root / "deleted")]) == (b"\0\r\ndeleted", None)
    assert found[uri_of(root / "new" / "created")].made_folders == (uri_of(root / "new"),)
    no_git.undo()


async def test_without_git_large_folders_are_said_to_be_left_out(
    repo: ShadowRepo, root: Path, no_git: pytest.MonkeyPatch
) -> None:
    no_git.setattr("handrail.adapters.worktrees.plain.LIMIT_FILES", 1)
    for name in ("a", "b"):
        (root / name).write_bytes(b"")
    snapshot = await repo.before_command(step())
    assert "git is not installed" in snapshot.not_covered[0].reason
    (root / "a").unlink()
    effects = await repo.after_command(step(), snapshot)
    assert effects.changes == ()
    assert "git is not installed" in effects.not_covered[0].reason
    no_git.undo()


async def test_a_step_whose_server_died_is_the_step_that_it_was(repo: ShadowRepo, root: Path) -> None:
    snapshot = await repo.before_command(step())
    home = repo.folder.parent
    (note,) = (home / NOTES).glob("*.json")
    ended = subprocess.Popen(["true"])
    ended.wait()
    note.write_text(json.dumps({**json.loads(note.read_text()), "process": ended.pid}))
    assert Commands(home, (root,)).left_behind() == [(snapshot.id, step())]
