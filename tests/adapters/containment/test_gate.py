"""What is decided for commands that Landlock holds while they write, without any command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.adapters.containment import calls, landlock, pool
from handrail.adapters.containment.calls import Gate
from handrail.adapters.containment.ground import Kind, Marked
from handrail.adapters.containment.landlock import READ, WRITE
from handrail.adapters.containment.permissions import Permissions
from handrail.adapters.containment.pool import Pool
from handrail.adapters.containment.profile import View
from handrail.adapters.containment.system import Home
from handrail.core.policy.containment import Need

pytestmark = pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="Landlock is Linux's")
NO_HOME = Home(home=None, seen=(), cached=(), settings=())


def rules(**given: list[str]) -> Permissions:
    return Permissions.of({"areas": [], "allowed": [], "hidden": [], "closed": [], **given})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("src/a.py", "sub/.env", "sub/b.py", "data/kept", ".git/HEAD", ".git/hooks/x", "AGENTS.md"):
        (tmp_path / "work" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "work" / name).touch()
    return tmp_path / "work"


def made(root: Path, tmp_path: Path, **more: object) -> tuple[Permissions, dict[str, int]]:
    """The rules of a command, and what Landlock allows it in the workspace."""
    view = View(
        roots=(str(root),),
        home=NO_HOME,
        hidden="",
        is_writable=True,
        marked=(
            Marked(f"{root}/sub/.env", Kind.SECRET, is_folder=False),
            Marked(f"{root}/.git", Kind.KEPT, is_folder=True),
            Marked(f"{root}/AGENTS.md", Kind.LATER, is_folder=False),
        ),
        kept=(f"{root}/data",),
        **more,  # type: ignore[arg-type]  # fields of the view
    )
    folder = tmp_path / f"rules{len(list(tmp_path.iterdir()))}"
    folder.mkdir()
    given = landlock._of_work(view, str(folder / "tmp"), folder)
    paths: list[tuple[str, int]] = given["paths"]  # type: ignore[assignment]  # as it is written down
    allowed = {path[len(str(root)) :]: rights for path, rights in paths if path.startswith(str(root))}
    return Permissions.of(given), allowed  # type: ignore[arg-type]  # the lists among it


def test_only_trees_that_hold_nothing_closed_are_allowed(root: Path, tmp_path: Path) -> None:
    found, allowed = made(root, tmp_path)
    written = {path for path, rights in allowed.items() if rights & WRITE}
    assert written == {"/src", "/sub/b.py"}
    assert {path for path, rights in allowed.items() if rights == READ} == {"/.git", "/AGENTS.md", "/data"}
    assert "/sub/.env" not in allowed
    for name in (".git/HEAD", ".git/new", "AGENTS.md", "data/kept", "data/new", "sub/.env", "../out"):
        assert not found.may_write(os.path.normpath(root / name)), name
    assert found.may_write(f"{root}/new/deep/file")
    assert found.may_change_entry(f"{root}/src")
    assert not found.may_change_entry(f"{root}/sub"), "what is closed would move with it"
    assert not found.may_change_entry(str(root))


def test_a_repository_that_is_opened_keeps_what_git_runs(root: Path, tmp_path: Path) -> None:
    found, _ = made(root, tmp_path, needs=frozenset({Need.REPOSITORY}))
    assert found.may_change_entry(f"{root}/.git/index.lock")
    for name in ("hooks", "hooks/new", "config", "config.worktree", "info/attributes"):
        assert not found.may_change_entry(f"{root}/.git/{name}"), name


def test_what_is_opened_may_be_written_and_what_lies_beside_it_not(root: Path, tmp_path: Path) -> None:
    found, allowed = made(root, tmp_path, opened=(f"{root}/sub/.env", f"{root}/.git/hooks/x"))
    assert allowed["/sub/.env"] & WRITE
    assert allowed["/.git/hooks/x"] & WRITE
    assert not found.may_write(f"{root}/.git/hooks/y")


@pytest.mark.parametrize("area", ["/usr/src/app", "/opt/app", "/lib-app"])
def test_a_workspace_among_the_folders_of_the_system_is_one(area: str, tmp_path: Path) -> None:
    """Containers often have it there."""
    gate = Gate(rules(areas=[area]), Pool(os.fspath(tmp_path)))
    assert not f"{area}/x".startswith(gate.elsewhere)
    assert len(gate.elsewhere) == len(calls.OF_THE_SYSTEM) - 1


def test_what_is_new_is_taken_from_the_pool_and_then_made(root: Path, tmp_path: Path) -> None:
    pool.make_spares(tmp_path / "new")
    found = Pool(os.fspath(tmp_path / "new"))
    at = os.open(root, os.O_PATH)
    for number in range(pool.FOLDERS):
        assert found.folder(at, f"made{number}", 0o750)
    assert not found.folder(at, "one more", 0o750)
    assert (root / "made0").stat().st_mode & 0o777 == 0o750
    opened = found.file(at, "file", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    os.write(opened, b"text")
    os.close(opened)
    assert ((root / "file").read_text(), (root / "file").stat().st_mode & 0o777) == ("text", 0o400)
    with pytest.raises(FileExistsError):
        found.file(at, "AGENTS.md", os.O_WRONLY | os.O_CREAT, 0o600)
    os.close(at)
