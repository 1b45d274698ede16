"""The surroundings of a turn, with real git."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from handrail.adapters.surroundings import LocalSurroundings, branch


def git(folder: Path, *args: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    kept |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}  # which may sign, or run hooks
    command = ("git", "-C", str(folder), *identity, *args)
    return subprocess.run(command, env=kept, capture_output=True, check=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init")
    git(folder, "commit", "--allow-empty", "-m", "One")
    return folder


def test_the_branch_of_a_repository_and_of_a_folder_in_it(repository: Path) -> None:
    git(repository, "switch", "-c", "feature/one")
    (repository / "inner").mkdir()
    assert branch(repository) == branch(repository / "inner") == "feature/one"


def test_the_branch_of_a_linked_work_tree(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-b", "two", str(tmp_path / "linked"))
    assert branch(tmp_path / "linked") == "two"
    assert branch(repository) == "main"


def test_a_commit_that_no_branch_leads_to(repository: Path) -> None:
    git(repository, "switch", "--detach")
    assert git(repository, "rev-parse", "HEAD").startswith(branch(repository))


def test_without_a_branch(tmp_path: Path) -> None:
    assert branch(tmp_path) == ""
    for content in (b"", b"nonsense\n", b"root:x:0:0\n", b"\xff\xfe", b"gitdir: ../none\n"):
        (tmp_path / ".git").write_bytes(content)
        assert branch(tmp_path) == ""
    (tmp_path / ".git").unlink()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_bytes(b"root:x:0:0\n")
    assert branch(tmp_path) == ""


async def test_what_is_told(repository: Path) -> None:
    told = await LocalSurroundings(lambda: (repository,), lambda: datetime(2026, 11, 21, tzinfo=UTC))()
    assert told.machine["date"] == "2026-11-21"
    assert told.machine["shell"] in ("bash", "sh")
    assert [(each.path, each.branch) for each in told.folders] == [(str(repository), "main")]


def test_a_link_to_somebody_elses_file_is_not_a_branch(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("0123456789abcdef0123456789abcdef01234567\n")
    (tmp_path / "work" / ".git").mkdir(parents=True)
    (tmp_path / "work" / ".git" / "HEAD").symlink_to(tmp_path / "token")
    assert branch(tmp_path / "work") == ""


def test_a_branch_is_read_from_files_only(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "HEAD")
    assert branch(tmp_path) == ""
