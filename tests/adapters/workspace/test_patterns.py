"""Patterns of .gitignore mean what they mean to pathspec, and no name and no file makes them slow."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from handrail.adapters.workspace import listing, patterns

PATTERNS = st.text("ab*?/!.[]-\\", min_size=1, max_size=14)
PATHS = st.lists(st.text("ab.", min_size=1, max_size=6), min_size=1, max_size=4).map("/".join)
BOMBS = [
    "*a" * 40 + "b",
    "**/a" * 40 + "/b",
    "**/*a*a*a*a*a*a*a*a*a*a*a*a*b/**/c",
    "a?" * 100 + "*a" * 100,
    "[a-b]*" * 50 + "c",
    "**/" * 500 + "b",
    "*" * 3_000 + "b",
    "*/" * 1_000 + "b",
    "{a,b}" * 8 + "*a" * 30 + "b",
]
NAMES = ["a" * 250, "/".join(["a" * 100] * 30), "a/" * 1_500 + "a", "ab" * 120]


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of what a class within brackets may once mean
@settings(max_examples=1_000)
@given(st.lists(PATTERNS, min_size=1, max_size=3), PATHS)
def test_they_mean_the_same(lines: list[str], path: str) -> None:
    try:
        plain = GitIgnoreSpec.from_lines(lines, backend="simple")
    except (ValueError, re.error):  # as pathspec raises for some ranges
        return
    assert patterns.spec(lines).check_file(path).include == plain.check_file(path).include


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("name", NAMES)
def test_no_name_takes_long(bomb: str, name: str) -> None:
    """Tried in every way these would take longer than anybody lives; the bound is far from both."""
    began = time.process_time()
    patterns.spec([bomb]).match_file(name)
    listing.Glob(bomb).takes(name)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("kind", ["fifo", "device", "folder", "large", "bomb", "link"])
@pytest.mark.parametrize("name", [".gitignore", ".ignore"])
def test_an_ignore_file_that_is_none_holds_nothing_up(tmp_path: Path, name: str, kind: str) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / ("a" * 200)).write_text("")
    match kind:
        case "fifo":
            os.mkfifo(root / name)
        case "device":
            (root / name).symlink_to("/dev/zero")
        case "folder":
            (root / name).mkdir()
        case "large":
            (root / name).write_bytes(b"b*\n" * 1_000_000)
        case "bomb":
            (root / name).write_text("".join(f"{bomb}\n" for bomb in BOMBS))
        case _:
            (tmp_path / "rules").write_text("*\n")
            (root / name).symlink_to(tmp_path / "rules")
    found = list(listing.walk(root, lambda name: name == ".git"))
    assert root / ("a" * 200) in found


def test_an_exclude_file_of_git_that_is_none(tmp_path: Path) -> None:
    (tmp_path / ".git" / "info").mkdir(parents=True)
    os.mkfifo(tmp_path / ".git" / "info" / "exclude")
    (tmp_path / "a").write_text("")
    assert list(listing.walk(tmp_path, lambda name: name == ".git")) == [tmp_path / "a"]
