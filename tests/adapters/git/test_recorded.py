"""What git has recorded of files is read without git, and no state of a repository raises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from git_user import git
from handrail.adapters.git.recorded import GitRecords
from handrail.adapters.served.tracked import is_tracked
from handrail.testing import lay_out


@pytest.fixture
def top(tmp_path: Path) -> Path:
    lay_out(tmp_path, {"a": b"a\n", "odd": b"odd\n", "folder/b": b"b\n"})
    (tmp_path / "link").symlink_to("a")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    head = git(tmp_path, "rev-parse", "HEAD").strip()
    for name in ("module", "folder/module"):
        git(tmp_path, "update-index", "--add", "--cacheinfo", f"160000,{head},{name}")
    git(tmp_path, "commit", "--quiet", "-m", "second")
    return tmp_path


@pytest.mark.parametrize("name", ["odd", "link", "module", "folder/module"])
async def test_below_what_is_no_folder_in_the_last_commit_nothing_is_recorded(top: Path, name: str) -> None:
    (top / name).unlink(missing_ok=True)
    lay_out(top, {f"{name}/below/c": b"c\n"})
    below, beside = ((top / each).as_uri() for each in (f"{name}/below/c", "a"))
    records = GitRecords()
    records.unreadable = pytest.fail
    known = git(top, "rev-parse", "HEAD:a").strip()
    assert await records.recorded_ids([below, beside]) == {below: ("", ""), beside: (known, known)}


def write(path: str, content: bytes) -> Callable[[Path], object]:
    return lambda top: (top / ".git" / path).write_bytes(content)


DAMAGED: dict[str, Callable[[Path], object]] = {
    "an empty reference": write("HEAD", b"ref: "),
    "a loop of references": write("HEAD", b"ref: HEAD\n"),
    "a later version": write("config", b"[core]\nrepositoryformatversion = 7\n"),
    "an extension": write("config", b"[core]\nrepositoryformatversion = 1\n[extensions]\nodd = true\n"),
    "damaged settings": write("config", b"[core"),
    "a damaged index": write("index", b"DIRC\0\0\0\4\0\0\0\1odd"),
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
async def test_a_damaged_repository_raises_nothing(top: Path, damage: Callable[[Path], object]) -> None:
    blob = git(top, "rev-parse", "HEAD:a").strip()
    damage(top)
    records, uri = GitRecords(), (top / "a").as_uri()
    records.unreadable = lambda _: None
    await records.recorded_ids([uri])
    await records.uncommitted_files([top.as_uri()])
    await records.content(uri, blob)
    is_tracked(top, "folder")
