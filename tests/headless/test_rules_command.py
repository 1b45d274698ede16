"""`handrail rules` as people run it: real processes on a real folder, a yes typed on a real terminal."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from handrail.testing import lay_out

pytestmark = pytest.mark.usefixtures("either_way")

CALL = {"name": "terminal", "arguments": {"command": "touch ran.txt"}}
HANDRAIL = (sys.executable, "-m", "handrail")


@dataclass
class Shell:
    """A folder, and the command line on it, with a model that runs one command."""

    root: Path
    state: Path
    script: Path

    @property
    def environment(self) -> Mapping[str, str]:
        return {**os.environ, "XDG_STATE_HOME": str(self.state)}

    def rules(self, *argv: str, code: int = 0) -> str:
        command = [*HANDRAIL, "rules", *argv, "--workspace", str(self.root)]
        ended = subprocess.run(command, capture_output=True, text=True, env=self.environment, check=False)
        assert ended.returncode == code, (ended.stdout, ended.stderr)
        return ended.stdout if code == 0 else ended.stderr

    def turn(self, typed: bytes) -> str:
        """Run a turn on a terminal on which *typed* answers the question, if there is one; what it shows."""
        model = ("--model", f"scripted:{self.script}")
        command = (*HANDRAIL, "run", "Do it.", *model, "--workspace", str(self.root))
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(sys.executable, command, self.environment)
        shown = b""
        with contextlib.suppress(OSError):  # Linux says EIO at the end of a terminal
            while piece := os.read(terminal, 1024):
                shown += piece
                if typed and b"/N]" in shown:
                    os.write(terminal, typed)
                    typed = b""
        os.waitpid(pid, 0)
        os.close(terminal)
        return shown.decode()


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    lay_out(tmp_path / "work", {"a.txt": b"one\n"})
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"calls": [CALL]}, {"text": "Done."}]))
    return Shell(tmp_path / "work", tmp_path / "state", script)


def test_a_rule_is_listed_and_removed_and_then_asked_about_again(shell: Shell) -> None:
    assert shell.rules("list") == "This workspace has no rules from your answers.\n"
    assert "/N]" in shell.turn(b"a\n")
    assert (shell.root / "ran.txt").exists()
    (rule,) = json.loads(shell.rules("list", "--json"))
    assert rule["text"] in shell.rules("list").replace("\n  ", "\n")
    assert "touch ran.txt" in rule["text"]
    assert "/N]" not in shell.turn(b"")

    (shell.root / "ran.txt").unlink()
    removed = f"removed    {rule['id']}\nThis workspace has no rules from your answers.\n"
    assert shell.rules("remove", rule["id"]) == removed
    assert "/N]" in shell.turn(b"n\n")
    assert not (shell.root / "ran.txt").exists()


def test_an_unknown_rule_is_named(shell: Shell) -> None:
    said = shell.rules("remove", "rule-1", code=2)
    assert "rule-1" in said
    assert "`handrail rules list` lists the rules." in said
