"""A workspace folder, a state folder beside it, and the adapters that work on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.kit import shadow, user_git
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.files.disk import Disk
from handrail.ports import Editor


@pytest.fixture
def disk() -> Editor:
    return Disk()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def repo(state: Path, root: Path) -> ShadowRepo:
    return shadow(state, root)


@pytest.fixture(params=["plain", "git", "git with changes"])
def tree(request: pytest.FixtureRequest, root: Path) -> Path:
    """A folder with files; as a git repository, as one with changes, or as none."""
    (root / "deep").mkdir()
    for name in ("a", "b", "deep/c"):
        (root / name).write_bytes(name.encode() + b"\r\n")
    (root / ".gitignore").write_bytes(b"*.log\nbuild/\n")
    if request.param != "plain":
        user_git(root, "init", "-q")
        user_git(root, "add", "-A")
        user_git(root, "commit", "-q", "-m", "first")
    if request.param == "git with changes":
        (root / "a").write_bytes(b"a, changed\n")
        (root / "new").write_bytes(b"new")
        (root / "b").unlink()
    return root
