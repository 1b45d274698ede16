"""A workspace folder, a state folder beside it, and the adapters that work on them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.kit import git, shadow
from handrail.adapters.disk import Disk
from handrail.adapters.shadow_repo import ShadowRepo
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
def repo(state: Path, root: Path) -> Iterator[ShadowRepo]:
    """A repository that git finds nothing wrong with at the end of any test."""
    made = shadow(state, root)
    yield made
    if made.folder.exists():
        # A step that grows may leave a tree behind until the next tidying; git calls it dangling.
        said = git(made, "fsck", "--strict", "--no-dangling").splitlines()
        assert [line for line in said if not line.startswith("notice:")] == []
