"""A checkpoint keeps every byte, name, mode and unsaved text."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adapters.kit import change, git, plan, run, step, targets
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.checkpoints.tree import stored_name
from handrail.adapters.files.disk import uri_of
from handrail.core.checkpoint import CheckpointPath, Image, Kind, Restoration, Target, Unsaved
from handrail.core.documents.text import Text


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\n",
        b"a\r\nb\n\rc",
        b"\xef\xbb\xbfa",
        b"caf\xe9",
        bytes(range(256)) * 300,
        b"tree 4\0",
        b"\0" * 100_000,
    ],
)
async def test_every_byte_and_the_mode_are_kept(repo: ShadowRepo, root: Path, raw: bytes) -> None:
    path = root / "a"
    path.write_bytes(raw)
    path.chmod(0o750)
    await change(repo, step(), path, b"something else")
    (restoration,) = await repo.restore_plan("t-1")
    assert restoration == Restoration(
        uri=uri_of(path),
        before=Image(raw=raw, mode=0o750),
        after=Image(raw=b"something else", mode=0o750),
    )


async def test_a_checkpoint_is_named_for_its_turn(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_bytes(b"")
    assert await repo.ensure(step(turn="t-x"), targets(root / "a")) == "t-x"


async def test_a_new_file_was_absent_and_its_folders_too(repo: ShadowRepo, root: Path) -> None:
    (root / "there").mkdir()
    path = root / "there" / "x" / "y" / "a"
    await change(repo, step(), path, b"a")
    (restoration,) = await repo.restore_plan("t-1")
    assert restoration.before == Image(raw=None)
    assert restoration.after is not None
    assert restoration.after.raw == b"a"
    assert restoration.made_folders == (uri_of(path.parent), uri_of(path.parent.parent))


async def test_a_deleted_file_is_absent_afterwards(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_bytes(b"a")
    await change(repo, step(), root / "a", None)
    (restoration,) = await repo.restore_plan("t-1")
    assert (restoration.before.raw, restoration.after) == (b"a", Image(raw=None))


async def test_a_program_is_one_for_git_too(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_bytes(b"")
    (root / "a").chmod(0o755)
    await repo.ensure(step(), targets(root / "a"))
    assert git(repo, "ls-tree", "refs/handrail/turns/t-1", "before/a").startswith("100755 blob ")


async def test_the_unsaved_text_is_kept_with_its_version(repo: ShadowRepo, root: Path) -> None:
    path = root / "a"
    path.write_bytes(b"on disk")
    before = Unsaved(text=Text("typed é\r\n", "utf-16-le", True), version=7)
    after = Unsaved(text=Text("typed è\r\n", "utf-16-le", True), version=8)
    await repo.ensure(step(), [Target(uri=uri_of(path), unsaved=before)])
    await repo.record(step(), [Target(uri=uri_of(path), unsaved=after)])
    (restoration,) = await repo.restore_plan("t-1")
    mode = stat.S_IMODE(path.stat().st_mode)
    assert restoration.before == Image(raw=b"on disk", mode=mode, unsaved=before)
    assert restoration.after == Image(raw=b"on disk", mode=mode, unsaved=after)
    (checkpoint,) = await repo.list()
    assert checkpoint.paths == (CheckpointPath(uri=uri_of(path), path="a", change=Kind.CHANGED),)
    for folder, unsaved in (("unsaved", before), ("unsaved-after", after)):
        shown = run("git", "--git-dir", str(repo.folder), "show", f"refs/handrail/turns/t-1:{folder}/a")
        assert shown == unsaved.text.raw


async def test_a_text_that_is_saved_by_the_time_it_is_kept_is_not_unsaved(
    repo: ShadowRepo, root: Path
) -> None:
    path = root / "a"
    path.write_bytes(b"one")
    await repo.ensure(step(), targets(path))
    path.write_bytes(b"two")
    saved_meanwhile = Target(uri=uri_of(path), unsaved=Unsaved(text=Text("two"), version=2))
    await repo.record(step(), [saved_meanwhile])
    (restoration,) = await repo.restore_plan("t-1")
    assert restoration.after == Image(raw=b"two", mode=stat.S_IMODE(path.stat().st_mode))


@pytest.mark.parametrize(
    "text",
    [
        Text("→ in Latin-1", "latin-1"),
        Text("half a pair: \ud800"),
        Text("half a pair: \ud800", "utf-8", True),
        Text("\ufeffa mark of its own", "utf-8", True),
        Text("a", "no-such-encoding"),
        Text("a", "utf-8-sig", True),
        Text("", "utf-16-be", True),
    ],
)
async def test_text_that_cannot_be_saved_is_kept_all_the_same(
    repo: ShadowRepo, root: Path, text: Text
) -> None:
    unsaved = Unsaved(text=text, version=1)
    await repo.ensure(step(), [Target(uri=uri_of(root / "a"), unsaved=unsaved)])
    (restoration,) = await repo.restore_plan("t-1")
    assert restoration.before == Image(raw=None, unsaved=unsaved)


async def test_a_document_without_a_file_is_kept(repo: ShadowRepo) -> None:
    unsaved = Unsaved(text=Text("notes"), version=3)
    uri = "untitled:Untitled-1/\u00e4\ud800"
    await repo.ensure(step(), [Target(uri=uri, unsaved=unsaved)])
    assert await repo.restore_plan("t-1") == (
        Restoration(uri=uri, before=Image(raw=None, unsaved=unsaved), after=None),
    )


async def test_links_are_followed_and_spellings_are_one(repo: ShadowRepo, root: Path) -> None:
    (root / "real").write_bytes(b"a")
    (root / "soft").symlink_to("real")
    os.link(root / "real", root / "hard")
    spellings = (root / "soft", root / "real", root / "x" / ".." / "real", root / "hard")
    await repo.ensure(step(), targets(*spellings))
    found = await plan(repo)
    assert list(found) == [uri_of(root / "soft"), uri_of(root / "hard")]
    assert {restoration.before.raw for restoration in found.values()} == {b"a"}
    record = json.loads(git(repo, "show", "refs/handrail/turns/t-1:checkpoint.json"))
    assert [entry["link"] for entry in record["entries"]] == ["real", None]
    assert [entry["path"] for entry in record["entries"]] == ["real", "hard"]


async def test_a_link_that_leads_nowhere_is_an_absent_file(repo: ShadowRepo, root: Path) -> None:
    (root / "soft").symlink_to("missing")
    await change(repo, step(), root / "soft", b"a")
    (restoration,) = await repo.restore_plan("t-1")
    assert restoration.before == Image(raw=None)
    assert (root / "soft").is_symlink()


NAMES = [
    b"new\nline",
    b"quo\"te'`$(x)",
    b"caf\xe9",
    b"caf\xc3\xa9",
    b" ",
    b"%41",
    b"A",
    b"back\\slash",
    b"back\\.git\\slash",
    b".gitmodules",
    b".gitattributes",
    b".GIT",
    b"git~1",
    b".git\xe2\x80\x8c",
    b"\x7f\x01",
    b"-rf",
    b"checkpoint.json",
    b"x" * 255,
    b"\xff" * 255,
]


async def test_every_name_can_be_kept(repo: ShadowRepo, root: Path) -> None:
    paths = [root / os.fsdecode(name) for name in NAMES]
    paths += [root / ".git" / "config", root / "sub" / ".git" / "HEAD", root / "sub" / ".git " / "x"]
    for number, path in enumerate(paths):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"%d" % number)
    (root / ".gitmodules").write_bytes(b'[submodule "..\\..\\x"]\n\tpath = ../x\n\turl = -u\n')
    kept = [path.read_bytes() for path in paths]
    await repo.ensure(step(), targets(*paths))
    assert [each.before.raw for each in await repo.restore_plan("t-1")] == kept
    (checkpoint,) = await repo.list()
    shown = {each.path for each in checkpoint.paths}
    assert len(shown) == len(paths)
    assert {"caf\u00e9", uri_of(root / os.fsdecode(b"caf\xe9"))} <= shown


@given(st.binary(min_size=1, max_size=60).filter(lambda raw: not {0, 47} & set(raw)))
@example(b"%41")
@example(b"\\~")
@example(b".Git")
def test_a_stored_name_tells_the_name(raw: bytes) -> None:
    stored = stored_name(os.fsdecode(raw))
    assert unquote_to_bytes(stored.encode("utf-8")) == raw
    assert not stored.lower().startswith(".git")
    assert stored.isprintable()


async def test_a_nested_repository_is_left_alone_and_its_files_are_kept(repo: ShadowRepo, root: Path) -> None:
    nested = root / "nested"
    run("git", "init", "-q", str(nested))
    (nested / "a").write_bytes(b"a")
    (nested / ".gitignore").write_bytes(b"*\n")
    (root / ".gitattributes").write_bytes(b"* text=auto eol=crlf\n")
    before = sorted(str(path) for path in nested.rglob("*"))
    await change(repo, step(), nested / "a", b"b")
    assert sorted(str(path) for path in nested.rglob("*")) == before
    (restoration,) = await repo.restore_plan("t-1")
    assert restoration.before.raw == b"a"


async def test_a_path_that_is_a_file_and_then_a_folder_in_one_step(repo: ShadowRepo, root: Path) -> None:
    path = root / "x"
    (path / "y").mkdir(parents=True)
    (path / "y" / "a").write_bytes(b"1")
    await change(repo, step(), path / "y" / "a", None)
    (path / "y").rmdir()
    (root / "x").rmdir()
    (root / "x").write_bytes(b"2")
    await change(repo, step(), path, None)
    (root / "x").mkdir()
    (path / "y").write_bytes(b"3")
    await change(repo, step(), path / "y", b"4")
    assert [each.before.raw for each in await repo.restore_plan("t-1")] == [b"1", b"2", b"3"]
    git(repo, "gc", "-q", "--prune=now")
    assert [each.before.raw for each in await repo.restore_plan("t-1")] == [b"1", b"2", b"3"]
