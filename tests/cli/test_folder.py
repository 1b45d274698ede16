"""Which folder a command works on if it names none."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.cli.folder import workspace_here
from handrail.testing import lay_out


@pytest.mark.parametrize(
    ("files", "here", "found"),
    [
        (["a/b/x"], "a/b", "a/b"),
        ([".git/HEAD", "a/b/x"], "a/b", "."),
        ([".git/HEAD", "a/.git", "a/b/x"], "a/b", "a"),
        ([".git/HEAD"], ".git", "."),
        ([".git/config", "a/x"], "a", "a"),
        (["home/.git/HEAD", "home/a/x"], "home/a", "home/a"),
        (["home/.git/HEAD", "home/x"], "home", "home"),
    ],
)
def test_it_is_the_top_of_the_repository(files: list[str], here: str, found: str, tmp_path: Path) -> None:
    lay_out(tmp_path, dict.fromkeys(files, b""))
    assert workspace_here(tmp_path / here, tmp_path / "home") == tmp_path / found
