"""Which files differ from the last commit, as git itself would say, without git being asked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from git_user import git
from handrail.adapters.git.recorded import GitRecords
from handrail.adapters.git.uncommitted import find_uncommitted
from handrail.testing import lay_out

FILES = {
    f"{name}.txt": f"{name}\n".encode() for name in ("same", "edited", "staged", "both", "gone", "removed")
}


@pytest.fixture
def top(tmp_path: Path) -> Path:
    lay_out(tmp_path, {**FILES, "below/same.txt": b"same\n", "below/edited.txt": b"edited\n"})
    (tmp_path / "link").symlink_to("same.txt")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    return tmp_path


def change(top: Path) -> None:
    for name in ("edited", "staged", "both", "below/edited"):
        (top / f"{name}.txt").write_text("EDITED\n")
    git(top, "add", "staged.txt", "both.txt")
    (top / "both.txt").write_text("edited again\n")
    (top / "gone.txt").unlink()
    git(top, "rm", "--quiet", "removed.txt")
    lay_out(top, {"new.txt": b"new\n", "untracked.txt": b"?\n"})
    git(top, "add", "new.txt")
    (top / "link").unlink()
    (top / "link").symlink_to("edited.txt")


def told_by_git(top: Path) -> list[str]:
    return sorted(set(git(top, "diff", "--name-only", "HEAD").splitlines()) - {"link"})


def names(top: Path, folder: Path) -> list[str]:
    return [path.relative_to(top).as_posix() for path in find_uncommitted(top, folder)]


def test_they_are_those_that_git_tells(top: Path) -> None:
    assert names(top, top) == told_by_git(top) == []
    change(top)
    assert names(top, top) == told_by_git(top)
    assert names(top, top / "below") == ["below/edited.txt"]
    found = {path.name: blob for path, blob in find_uncommitted(top, top).items()}
    assert found["both.txt"] == git(top, "rev-parse", "HEAD:both.txt").strip()
    assert found["new.txt"] == ""


def test_a_file_that_was_only_touched_has_not_changed(top: Path) -> None:
    os.utime(top / "same.txt", (1, 1))
    assert names(top, top) == []


def test_what_was_edited_in_the_moment_of_the_commit_has_changed(top: Path) -> None:
    """The same size and, where clocks are coarse, the same time."""
    before = (top / "same.txt").stat()
    (top / "same.txt").write_text("SAME\n")
    os.utime(top / "same.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    os.utime(top / ".git/index", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert names(top, top) == ["same.txt"]


def test_before_the_first_commit_all_that_is_staged_is_new(tmp_path: Path) -> None:
    lay_out(tmp_path, {"a.txt": b"a\n"})
    git(tmp_path, "init", "--quiet")
    assert find_uncommitted(tmp_path, tmp_path) == {}
    git(tmp_path, "add", ".")
    assert find_uncommitted(tmp_path, tmp_path) == {tmp_path / "a.txt": ""}


def test_what_a_sparse_checkout_leaves_out_is_not_deleted(top: Path) -> None:
    git(top, "update-index", "--skip-worktree", "gone.txt")
    (top / "gone.txt").unlink()
    assert names(top, top) == []


async def test_a_program_that_the_repository_names_is_not_run(top: Path) -> None:
    lay_out(top, {".gitattributes": b"* filter=bad\n"})
    git(top, "config", "filter.bad.clean", f"touch {top}/ran")
    (top / "edited.txt").write_text("EDITED\n")
    found = await GitRecords().uncommitted_files([top.as_uri(), (top / "nowhere").as_uri()])
    assert [*found.files] == [(top / "edited.txt").as_uri()]
    assert found.unread == ()
    assert not (top / "ran").exists()


@pytest.mark.parametrize("wrong", ["damaged", "a pipe"])
async def test_what_git_left_damaged_is_told_as_unread(top: Path, wrong: str) -> None:
    change(top)
    if wrong == "damaged":
        (top / ".git/index").write_bytes(b"DIRC damaged")
    else:
        (top / ".git/index").unlink()
        os.mkfifo(top / ".git/index")
    found = await GitRecords().uncommitted_files([top.as_uri(), (top / "below").as_uri()])
    assert (found.files, found.unread) == ({}, (str(top),))
    found = await GitRecords().uncommitted_files([top.parent.as_uri(), "untitled:x"])
    assert (found.files, found.unread) == ({}, ())
