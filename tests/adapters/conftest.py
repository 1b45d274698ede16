"""A workspace folder, a state folder beside it, and the adapters that work on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.kit import shadow
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
def repo(state: Path, root: Path) -> ShadowRepo:
    return shadow(state, root)
