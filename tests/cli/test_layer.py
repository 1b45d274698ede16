"""`handrail layer` as people run it: what commands left outside all checkpoints is listed and taken over."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from handrail.adapters.state.home import own_folder

pytestmark = pytest.mark.skipif(not hasattr(os, "mknod"), reason="there are layers on Linux only")
ID = "2026-01-02-ab/data-12"


@dataclass
class Shell:
    """A workspace, and the command line on it."""

    root: Path
    state: Path

    def layer(self, *argv: str, code: int = 0) -> str:
        command = [sys.executable, "-m", "handrail", "layer", *argv, "--workspace", str(self.root)]
        environment = {**os.environ, "XDG_STATE_HOME": str(self.state), "NO_COLOR": "1"}
        ended = subprocess.run(
            command, capture_output=True, text=True, env=environment, check=False, stdin=subprocess.DEVNULL
        )
        assert ended.returncode == code, (ended.stdout, ended.stderr)
        return ended.stdout if code == 0 else ended.stderr


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A workspace in whose `data` a command has written one file and removed another, in a layer."""
    found = Shell(tmp_path / "work", tmp_path / "state")
    (found.root / "data").mkdir(parents=True)
    (found.root / "data" / "old.txt").write_text("old\n")
    layer = own_folder(found.state) / "layers" / ID
    layer.mkdir(parents=True)
    (layer / "new\x1b.txt").write_text("new\n")
    (layer / "evil\nwritten   harmless").write_text("new\n")
    os.mknod(layer / "old.txt", stat.S_IFCHR, 0)
    (layer.parent / "folders.txt").write_text(f"{layer.name}: {found.root / 'data'}\n")
    return found


def test_it_is_listed_and_taken_over(shell: Shell) -> None:
    listed = shell.layer("list")
    assert f"{ID}\n  2 to write, 1 to remove in {shell.root / 'data'}, " in listed
    assert f"handrail layer copy {ID} --workspace {shell.root}" in listed
    said = shell.layer("copy", ID, "--yes")
    assert len(os.listdir(shell.root / "data")) == 2
    assert "\x1b" not in listed + said
    assert "written   harmless" not in said.splitlines()
    assert said.endswith(f"2 written, 1 removed in {shell.root / 'data'}\n")


def test_it_can_be_copied_elsewhere(shell: Shell, tmp_path: Path) -> None:
    report = json.loads(shell.layer("copy", ID, "--yes", "--json", "--to", str(tmp_path / "there")))
    assert report["folder"] == str(tmp_path / "there")
    assert {each["change"] for each in report["paths"]} == {"written"}, "there is nothing to be removed"
    assert len(os.listdir(tmp_path / "there")) == 2
    assert os.listdir(shell.root / "data") == ["old.txt"]


def test_where_nothing_is_to_be_done_nothing_is_asked(shell: Shell, tmp_path: Path) -> None:
    there = tmp_path / "there"
    shell.layer("copy", ID, "--yes", "--to", str(there))
    assert shell.layer("copy", ID, "--to", str(there)) == f"nothing to do in {there}\n"


def test_nobody_there_to_ask_is_a_no(shell: Shell) -> None:
    assert "--yes" in shell.layer("copy", ID, code=2)
    assert os.listdir(shell.root / "data") == ["old.txt"]


def test_one_that_is_not_there_is_said_so(shell: Shell) -> None:
    assert "handrail layer list" in shell.layer("copy", "nonsense", "--yes", code=2)


def test_a_target_that_is_no_folder_is_said_so(shell: Shell) -> None:
    target = shell.root / "file"
    target.write_text("mine\n")
    assert str(target) in shell.layer("copy", ID, "--yes", "--to", str(target), code=2)
    assert target.read_text() == "mine\n"


def test_without_layers_it_says_so(shell: Shell, tmp_path: Path) -> None:
    other = Shell(tmp_path / "other", shell.state)
    other.root.mkdir()
    said = f"There is nothing to copy: no layer of {other.root} differs from its folder.\n"
    assert other.layer("list") == said
    assert json.loads(other.layer("list", "--json")) == []
    (found,) = json.loads(other.layer("list", "--all", "--json"))
    assert found["id"] == ID


def test_without_layers_of_any_workspace_it_says_so(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "work", tmp_path / "state")
    shell.root.mkdir()
    assert shell.layer("list", "--all") == "There is nothing to copy: no layer differs from its folder.\n"
