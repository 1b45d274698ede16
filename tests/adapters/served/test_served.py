"""Where documents are written for people, and that nobody else's folder is ever used for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail.adapters.files.files import path_of
from handrail.adapters.served.folder import ServedFolder
from handrail.ports.errors import ServedError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def served(tmp_path: Path, *roots: Path) -> ServedFolder:
    return ServedFolder(state=tmp_path / "state", roots=lambda: roots)


async def written(
    folder: ServedFolder, name: str = "question-1.md", text: str = "text\n"
) -> tuple[Path, str]:
    found = await folder.write(name, text)
    path = path_of(found.uri)
    assert path is not None
    assert path.read_text() == text
    return path, found.note


def git(root: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True).stdout


async def test_the_folder_is_for_the_user_alone_and_ignores_itself(tmp_path: Path, root: Path) -> None:
    git(root, "init")
    path, note = await written(served(tmp_path, root))
    assert (path, note) == (root / ".handrail" / "question-1.md", "")
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600
    assert git(root, "status", "--porcelain") == b""


async def test_it_is_ours_after_a_restart_and_made_anew_when_deleted(tmp_path: Path, root: Path) -> None:
    first = served(tmp_path, root)
    path, _ = await written(first)
    first.close()
    second = served(tmp_path, root)
    assert (await written(second, "question-2.md"))[0].parent == path.parent
    assert not path.exists(), "what an earlier server asked is no question any more"
    shutil.rmtree(path.parent)
    assert (await written(second))[0] == path
    assert (path.parent / ".gitignore").read_text() == "*\n"


def a_link(root: Path) -> None:
    (root.parent / "elsewhere").mkdir()
    (root / ".handrail").symlink_to(root.parent / "elsewhere")


def a_file(root: Path) -> None:
    (root / ".handrail").write_text("")


def of_a_clone(root: Path) -> None:
    (root / ".handrail").mkdir()
    (root / ".handrail" / ".owner").write_text("0" * 32)
    (root / ".handrail" / "question-1.md").write_text("forged\n")


def in_the_index(root: Path) -> None:
    (root / ".handrail").mkdir()
    (root / ".handrail" / "a.md").write_text("")
    git(root, "init")
    git(root, "add", "-f", ".handrail")
    shutil.rmtree(root / ".handrail")


def in_an_index_of_version_4(root: Path) -> None:
    in_the_index(root)
    (root / ".handraid").write_text("")
    git(root, "add", "-f", ".handraid")
    git(root, "update-index", "--index-version", "4")


def read_only(root: Path) -> None:
    root.chmod(0o500)


FOREIGN = [a_link, a_file, of_a_clone, in_the_index, in_an_index_of_version_4]
if os.geteuid() != 0:  # the superuser writes everywhere
    FOREIGN.append(read_only)


@pytest.mark.parametrize("lay", FOREIGN)
async def test_a_folder_of_somebody_else_is_not_touched(
    tmp_path: Path, root: Path, lay: Callable[[Path], None]
) -> None:
    lay(root)
    before = sorted((path, path.is_file() and path.read_bytes()) for path in root.rglob("*"))
    folder = served(tmp_path, root)
    path, note = await written(folder)
    assert path.is_relative_to(tmp_path / "state")
    assert note.startswith("handrail writes its documents to")
    assert (await written(folder, "question-2.md"))[1] == "", "it is said once"
    after = sorted(
        (path, path.is_file() and path.read_bytes())
        for path in root.rglob("*")
        if lay not in (in_the_index, in_an_index_of_version_4) or ".handrail" not in path.parts
    )
    assert [each for each in before if each in after] == before
    assert not list((tmp_path / "elsewhere").glob("*")) if lay is a_link else True


async def test_ours_that_git_has_come_to_track_is_left(tmp_path: Path, root: Path) -> None:
    git(root, "init")
    folder = served(tmp_path, root)
    await written(folder)
    git(root, "add", "-f", ".handrail")
    path, note = await written(folder, "question-2.md")
    assert path.is_relative_to(tmp_path / "state")
    assert "tracked by git" in note


async def test_a_workspace_below_the_top_of_a_repository(tmp_path: Path, root: Path) -> None:
    git(root, "init")
    (root / "sub" / ".handrail").mkdir(parents=True)
    (root / "sub" / ".handrail" / "a.md").write_text("")
    git(root, "add", "-f", ".")
    shutil.rmtree(root / "sub" / ".handrail")
    assert "tracked by git" in (await written(served(tmp_path, root / "sub")))[1]


@pytest.mark.parametrize("where", ["home", "top", "none"])
async def test_home_and_no_folder_at_all(
    tmp_path: Path, root: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(root))
    roots = {"home": (root,), "top": (Path("/"),), "none": ()}[where]
    path, note = await written(served(tmp_path, *roots))
    assert path.is_relative_to(tmp_path / "state")
    assert note


async def test_in_the_state_folder_if_the_user_wants_so(tmp_path: Path, root: Path) -> None:
    folder = served(tmp_path, root)
    folder.use_workspace(False)
    path, note = await written(folder)
    assert path.is_relative_to(tmp_path / "state")
    assert (note, list(root.iterdir())) == ("", [])


async def test_one_server_writes_in_a_workspace(tmp_path: Path, root: Path) -> None:
    first, second = served(tmp_path, root), served(tmp_path, root)
    ours, _ = await written(first)
    theirs, _ = await written(second)
    assert theirs.is_relative_to(tmp_path / "state")
    assert ours.exists()
    first.close()
    assert (await written(second))[0] == ours


async def test_a_link_in_the_folder_is_replaced_and_not_followed(tmp_path: Path, root: Path) -> None:
    folder = served(tmp_path, root)
    path, _ = await written(folder)
    victim = tmp_path / "victim"
    victim.write_text("kept\n")
    path.unlink()
    path.symlink_to(victim)
    uri = path.as_uri()
    assert not await folder.holds(uri, "kept\n")
    await written(folder)
    assert not path.is_symlink()
    assert victim.read_text() == "kept\n"


@pytest.mark.parametrize("name", ["../x.md", "a/b.md", "", ".owner", "x" * 200, "a\nb", "/etc/passwd"])
async def test_only_plain_names_are_written(tmp_path: Path, root: Path, name: str) -> None:
    with pytest.raises(ServedError):
        await served(tmp_path, root).write(name, "text")


async def test_only_what_was_written_here_is_removed(tmp_path: Path, root: Path) -> None:
    other = root / "other.md"
    other.write_text("kept\n")
    folder = served(tmp_path, root)
    path, _ = await written(folder)
    await folder.remove(other.as_uri())
    await folder.remove(path.as_uri())
    assert (other.exists(), path.exists()) == (True, False)
