"""Whatever state git is in: what a command changes is in the checkpoint, or was told before not to be."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.kit import changed, during, plan, shadow, step, user_git
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.files.disk import uri_of
from handrail.adapters.git import program
from handrail.adapters.worktrees import stats
from handrail.core.checkpoint import Kind
from handrail.ports import CheckpointError

NAMES = ("a", "b", "deep/c", "deep/er/d", "deep/er/e", "run.sh")
LONG_AGO = (1_000_000_000, 1_000_000_000)
Held = dict[Path, tuple[bytes, int]]


def written(path: Path, raw: bytes) -> None:
    """A file that nobody has reason to read again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)
    os.utime(path, LONG_AGO)


def files(root: Path) -> None:
    for name in NAMES:
        written(root / name, name.encode() * 3 + b"\n")
    (root / "run.sh").chmod(0o755)


def committed(root: Path) -> None:
    files(root)
    user_git(root, "init", "-q")
    user_git(root, "add", "-A")
    user_git(root, "commit", "-q", "-m", "first")


def held(root: Path) -> Held:
    """All plain files but version control's own."""
    found = {}
    for path in root.rglob("*"):
        if ".git" not in path.parts and path.is_file() and not path.is_symlink():
            found[path] = path.read_bytes(), stat.S_IMODE(path.stat().st_mode)
    return found


def act(root: Path) -> None:
    """A command that changes files in all ways that are easy to miss."""
    (root / "a").write_bytes(b"of the command")
    for name in ("b", "deep/c"):  # neither its size nor its time says so
        (root / name).write_bytes(bytes(each ^ 1 for each in (root / name).read_bytes()))
        os.utime(root / name, LONG_AGO)
    (root / "deep" / "er" / "d").unlink()
    (root / "deep" / "er" / "e").chmod(0o600)
    (root / "deep" / "er" / "new").write_bytes(b"new")
    (root / "run.sh").chmod(0o644)


async def assert_kept_or_told(repo: ShadowRepo, root: Path, act: Callable[[Path], None] = act) -> set[Path]:
    """Run *act* as a command; returns what was told before."""
    before = held(root)
    snapshot = await repo.before_command(step())
    told = {root / each.path for each in snapshot.not_covered}
    act(root)
    effects = await repo.after_command(step(), snapshot)
    after = held(root)
    restorations = await plan(repo) if effects.checkpoint else {}
    differing = {path for path in {**before, **after} if before.get(path) != after.get(path)}
    for path in {path for path in differing if told.isdisjoint((path, *path.parents))}:
        found = restorations[uri_of(path)]
        assert found.after is not None
        for image, there in ((found.before, before.get(path)), (found.after, after.get(path))):
            kept = (image.raw, image.mode) if image.raw is not None else None
            assert kept == there, path
    assert differing
    return told


# ---- The user's repository --------------------------------------------------------------------------

Setup = Callable[[Path], None]
SETUPS: dict[str, Setup] = {}


def setup(make: Setup) -> Setup:
    SETUPS[make.__name__.replace("_", " ")] = make
    return make


def objects(root: Path, *revisions: str) -> list[Path]:
    names = [user_git(root, "rev-parse", each).strip() for each in revisions]
    return [root / ".git" / "objects" / each[:2] / each[2:] for each in names]


@setup
def no_repository(root: Path) -> None:
    files(root)


@setup
def a_sound_repository(root: Path) -> None:
    committed(root)


@pytest.mark.parametrize(
    ("where", "how"),
    [
        ("else", "config"),
        ("work/deep", "config"),
        ("", "config"),
        ("missing", "config"),
        ("else", "include"),
        ("else", "--worktree"),
    ],
)
async def test_a_work_tree_that_is_said_to_be_elsewhere(
    repo: ShadowRepo, root: Path, where: str, how: str
) -> None:
    committed(root)
    named = str(root.parent / where)
    (root.parent / "else").mkdir()
    if how == "include":
        (root.parent / "included").write_text(f"[core]\n\tworktree = {named}\n")
        user_git(root, "config", "include.path", str(root.parent / "included"))
    else:
        user_git(root, "config", "extensions.worktreeConfig", "true")
        user_git(root, "config", *([how] if how != "config" else []), "core.worktree", named)
    assert not await assert_kept_or_told(repo, root)


@setup
def missing_blobs(root: Path) -> None:
    committed(root)
    for path in objects(root, "HEAD:a", "HEAD:deep/c"):
        path.unlink()


@setup
def empty_blobs(root: Path) -> None:
    committed(root)
    for path in objects(root, "HEAD:a", "HEAD:deep/c"):
        path.chmod(0o600)
        path.write_bytes(b"")


@setup
def damaged_blobs(root: Path) -> None:
    committed(root)
    for path in objects(root, "HEAD:a", "HEAD:deep/c"):
        raw = bytearray(path.read_bytes())
        raw[-6] ^= 0xFF
        path.chmod(0o600)
        path.write_bytes(raw)


@setup
def a_blob_in_the_place_of_another(root: Path) -> None:
    committed(root)
    ours, theirs = objects(root, "HEAD:a", "HEAD:b")
    ours.chmod(0o600)
    ours.write_bytes(theirs.read_bytes())


@setup
def missing_trees(root: Path) -> None:
    committed(root)
    for path in objects(root, "HEAD:deep", "HEAD^{tree}"):
        path.unlink()


@setup
def no_objects(root: Path) -> None:
    committed(root)
    shutil.rmtree(root / ".git" / "objects")
    (root / ".git" / "objects").mkdir()


@setup
def a_damaged_pack(root: Path) -> None:
    committed(root)
    user_git(root, "gc", "-q")
    (path,) = root.glob(".git/objects/pack/*.pack")
    raw = path.read_bytes()
    path.chmod(0o600)
    path.write_bytes(raw[:20] + bytes(each ^ 0x55 for each in raw[20:-20]) + raw[-20:])


@setup
def a_pack_without_its_index(root: Path) -> None:
    committed(root)
    user_git(root, "gc", "-q")
    for path in root.glob(".git/objects/pack/*.idx"):
        path.unlink()


def origin(root: Path) -> Path:
    folder = root.parent / "origin"
    committed(folder)
    user_git(folder, "config", "uploadpack.allowFilter", "true")
    return folder


@setup
def objects_that_another_repository_had(root: Path) -> None:
    there = origin(root)
    user_git(root.parent, "clone", "-q", "--shared", str(there), str(root))
    shutil.rmtree(there)


@setup
def a_partial_clone(root: Path) -> None:
    there = origin(root)
    user_git(root.parent, "clone", "-q", "--filter=blob:none", "--sparse", f"file://{there}", str(root))
    shutil.rmtree(there)
    for name in NAMES:
        written(root / name, b"of the user\n")


@setup
def a_shallow_clone(root: Path) -> None:
    user_git(root.parent, "clone", "-q", "--depth=1", f"file://{origin(root)}", str(root))


@setup
def an_index_that_is_none(root: Path) -> None:
    committed(root)
    (root / ".git" / "index").write_bytes(b"garbage")


@setup
def an_index_in_two_parts(root: Path) -> None:
    committed(root)
    user_git(root, "update-index", "--split-index")


@setup
def files_that_git_is_not_to_look_at(root: Path) -> None:
    committed(root)
    user_git(root, "update-index", "--skip-worktree", "a", "b", "run.sh")
    user_git(root, "update-index", "--assume-unchanged", "deep/c", "deep/er/d", "deep/er/e")


@setup
def settings_that_have_git_look_less(root: Path) -> None:
    files(root)
    user_git(root, "init", "-q")
    hook = root.parent / "hook"
    hook.write_text("#!/bin/sh\nprintf 'token\\0'\n")
    hook.chmod(0o755)
    minimal = {"checkStat": "minimal", "trustctime": "false", "fileMode": "false", "ignoreStat": "true"}
    for name, value in (minimal | {"fsmonitor": str(hook), "untrackedCache": "true"}).items():
        user_git(root, "config", f"core.{name}", value)
    user_git(root, "add", "-A")
    user_git(root, "update-index", "--fsmonitor")
    user_git(root, "status")


@setup
def all_is_ignored(root: Path) -> None:
    committed(root)
    (root.parent / "excluded").write_text("*\n")
    user_git(root, "config", "core.excludesFile", str(root.parent / "excluded"))
    (root / ".git" / "info" / "exclude").write_text("*\n")
    written(root / "not tracked", b"new")


@setup
def a_git_file_that_leads_nowhere(root: Path) -> None:
    files(root)
    (root / ".git").write_text("gitdir: /nonexistent\n")


@setup
def a_git_file_that_leads_elsewhere(root: Path) -> None:
    there = origin(root)
    files(root)
    (root / ".git").write_text(f"gitdir: {there}/.git\n")


@setup
def a_work_tree_that_git_has_forgotten(root: Path) -> None:
    there = origin(root)
    root.rmdir()
    user_git(there, "worktree", "add", "-q", str(root))
    shutil.rmtree(there / ".git" / "worktrees")


@setup
def settings_that_cannot_be_read(root: Path) -> None:
    committed(root)
    (root / ".git" / "config").write_text("[what\n")


@setup
def a_nested_repository_that_is_none(root: Path) -> None:
    committed(root)
    (root / "deep" / ".git").write_text("gitdir: /nonexistent\n")


@setup
def an_entry_for_a_submodule_that_is_none(root: Path) -> None:
    committed(root)
    user_git(root, "rm", "-q", "-r", "--cached", "deep")
    user_git(root, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},deep")


@setup
def a_repository_of_sha256(root: Path) -> None:
    files(root)
    user_git(root, "init", "-q", "--object-format=sha256")
    user_git(root, "add", "-A")


@setup
def other_permissions(root: Path) -> None:
    committed(root)
    for name, mode in {"a": 0o600, "b": 0o664, "deep/c": 0o444, "run.sh": 0o700}.items():
        (root / name).chmod(mode)


@pytest.mark.parametrize("given", SETUPS)
async def test_whatever_the_users_git_is_like(repo: ShadowRepo, root: Path, given: str) -> None:
    SETUPS[given](root)
    assert not await assert_kept_or_told(repo, root)


async def test_objects_that_go_missing_between_two_commands(repo: ShadowRepo, root: Path) -> None:
    committed(root)
    snapshot = await repo.before_command(step(turn="t-0"))
    (root / "a").write_bytes(b"of another command")
    await repo.after_command(step(turn="t-0"), snapshot)
    for path in objects(root, "HEAD:b", "HEAD:deep/c"):
        path.unlink()
    assert not await assert_kept_or_told(repo, root)


async def test_names_that_git_keeps_nothing_of_are_told(repo: ShadowRepo, root: Path) -> None:
    committed(root)
    refused = {".GIT/x", "deep/.gIt/y"}
    kept = {"git~1", ".git /z", ".git./z", ".git:x", "C:x", "a\\b", ".gitmodules.", ".g\u200cit/x"}
    for name in refused | kept:
        written(root / name, b"before")

    def act(root: Path) -> None:
        for name in refused | kept:
            (root / name).write_bytes(b"of the command")

    assert await assert_kept_or_told(repo, root, act) == {root / name for name in refused}


# ---- What git would wait for ------------------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "PATIENCE_S", 0.6)


@pytest.mark.parametrize(
    "name",
    [
        ".git/HEAD",
        ".git/config",
        ".git/index",
        ".git/info/attributes",
        ".git/info/exclude",
        ".git/objects/info/alternates",
        ".git/packed-refs",
        ".git/refs/heads/main",
        ".gitattributes",
        ".gitignore",
        ".gitmodules",
        "deep/.git",
        "deep/.gitattributes",
        "deep/.gitignore",
    ],
)
@pytest.mark.usefixtures("impatient")
async def test_a_pipe_in_the_place_of_a_file_of_gits(repo: ShadowRepo, root: Path, name: str) -> None:
    committed(root)
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).unlink(missing_ok=True)
    os.mkfifo(root / name)
    assert await assert_kept_or_told(repo, root) <= {root / name}


@pytest.mark.parametrize("name", ["HEAD", "config", "index", "info/exclude", "packed-refs"])
@pytest.mark.usefixtures("impatient")
async def test_a_file_of_gits_without_end(repo: ShadowRepo, root: Path, name: str) -> None:
    committed(root)
    path = root / ".git" / name
    path.unlink(missing_ok=True)
    if name == "index":
        path.touch()
        os.truncate(path, 1 << 40)
    else:
        path.symlink_to("/dev/zero")
    assert not await assert_kept_or_told(repo, root)


@pytest.mark.usefixtures("impatient")
async def test_a_repository_with_a_pipe_below(repo: ShadowRepo, root: Path) -> None:
    committed(root)
    (root / "nested").mkdir()
    committed(root / "nested")
    (root / "nested" / ".git" / "HEAD").unlink()
    os.mkfifo(root / "nested" / ".git" / "HEAD")
    assert not await assert_kept_or_told(repo, root)


@pytest.mark.usefixtures("impatient")
async def test_a_pipe_that_the_command_itself_makes_is_told(repo: ShadowRepo, root: Path) -> None:
    committed(root)
    with pytest.raises(
        CheckpointError, match="gitignore is a pipe, a socket or a device, and git or ripgrep could hang"
    ):
        await during(repo, lambda: os.mkfifo(root / ".gitignore"))


async def test_a_large_folder_with_such_a_pipe_is_not_taken_for_covered(
    state: Path, root: Path, monkeypatch: pytest.MonkeyPatch, impatient: None
) -> None:
    monkeypatch.setattr("handrail.adapters.worktrees.plain.LIMIT_FILES", 2)
    files(root)
    os.mkfifo(root / "deep" / ".gitignore")
    with pytest.raises(CheckpointError, match=r"deep/.gitignore is a pipe"):
        await shadow(state, root).before_command(step())


# ---- Many files -------------------------------------------------------------------------------------


async def test_where_permissions_alone_are_not_looked_at_it_is_told(
    repo: ShadowRepo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail.adapters.worktrees.stats.LIMIT_FILES", 2)
    files(root)
    snapshot = await repo.before_command(step())
    assert (snapshot.not_covered, snapshot.crowded) == ((), (".",))
    (root / "a").write_bytes(b"of the command")
    (root / "new").write_bytes(b"new")
    (root / "deep" / "er" / "d").chmod(0o755)  # git notices this
    effects = await repo.after_command(step(), snapshot)
    assert changed(effects) == {"a": Kind.CHANGED, "deep/er/d": Kind.CHANGED, "new": Kind.CREATED}


@pytest.mark.parametrize("count", [0, 1, stats.AT_ONCE, 2 * stats.AT_ONCE + 1])
def test_metadata_is_read_as_it_was_written(count: int) -> None:
    seen = {f"folder/{number}": (33188, 10**18 + number, 1, number) for number in range(count)}
    assert stats.from_json(stats.to_json(seen)) == seen


def test_metadata_that_lacks_a_number_is_damaged() -> None:
    written = stats.to_json({"a": (33188, 10**18, 1, 2)})
    assert written is not None
    with pytest.raises(ValueError, match="2 files have 4 numbers"):
        stats.from_json({**written, "names": "a\0b"})
