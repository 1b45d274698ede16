"""A terminal as the only client: settings, sessions, and the command that goes on; real processes."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from e2e.servers import run_handrail
from handrail.testing import answer, call, lay_out, script

pytestmark = pytest.mark.usefixtures("either_way")

HERE = {"PYTHONIOENCODING": "ascii", "COLUMNS": "20"}  # a narrow terminal that knows no other letters


@dataclass
class Shell:
    """A folder in a repository, and the command line in it."""

    folder: Path

    def run(self, *argv: str, code: int = 0) -> str:
        places = {"XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config"}
        places = {name: str(self.folder / each) for name, each in places.items()}
        environment = {**os.environ, **places, **HERE}
        ended = run_handrail(argv, environment=environment, folder=self.folder / "work" / "sub")
        assert ended.returncode == code, (ended.stdout, ended.stderr)
        return (ended.stdout if code == 0 else ended.stderr).decode()

    def sessions(self, *argv: str) -> Any:
        return json.loads(self.run("session", *argv, "--json"))


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    lay_out(tmp_path / "work", {".git/HEAD": b"ref: refs/heads/main\n", "a.txt": b"one\n", "sub/b.txt": b""})
    edit = call("patch", path="a.txt", old_string="one", new_string="two")
    command = call("terminal", command="touch ran.txt")
    script(tmp_path / "script.json", answer("", edit, command), answer("Döne."), answer("Again."))
    lay_out(tmp_path / "config" / "handrail", {"config.toml": b'sandbox = "off"\nmode = "ask"\n'})
    return Shell(tmp_path)


def test_a_session_is_gone_on_with_listed_named_forked_and_deleted(shell: Shell) -> None:
    model = f"scripted:{shell.folder / 'script.json'}"
    shown = shell.run("run", "Do it ☃.", "--model", model, "--mode=edit", "--approve", "terminal:touch *")
    assert (shell.folder / "work" / "a.txt").read_bytes() == b"two\n", "the top of the repository"
    assert (shell.folder / "work" / "ran.txt").exists(), "it was approved"
    assert "D\\xf6ne." in shown
    (again,) = [
        line.partition(": ")[2] for line in shown.splitlines() if line.startswith("  continue with: ")
    ]
    *command, prompt = shlex.split(again)
    assert prompt == "PROMPT"
    assert command[0] == "handrail"
    assert command[-6:] == ["--model", model, "--mode", "edit", "--approve", "terminal:touch *"]
    assert "Again." in shell.run(*command[1:], "And on.")

    (one,) = shell.sessions("list")
    assert (one["title"], one["turns"]) == ("Do it ☃.", 2)
    assert [turn["prompt"] for turn in shell.sessions("show", one["session"])["turns"]] == [
        "Do it ☃.",
        "And on.",
    ]
    refused = shell.run("session", "fork", one["session"], "t-none", code=2)
    assert f"has no turn 't-none'. `handrail session show {one['session']}` lists its turns." in refused
    assert "session list" not in refused
    shell.run("session", "rename", one["session"], "Mine")
    fork = shell.sessions("fork", one["session"])["session"]
    listed = shell.run("session", "list", "--limit", "1")
    assert fork in listed
    assert one["session"] not in listed
    assert "Older sessions" in listed
    assert "--yes" in shell.run("session", "delete", fork, code=2), "nobody is there to say yes"
    assert "session ID 's-none'" in shell.run("session", "delete", fork, "s-none", code=2)
    assert "session ID 's-none'" in shell.run("session", "delete", fork, "s-none", "--yes", code=2)
    assert fork in shell.run("session", "list"), "nothing is deleted if one of them does not exist"
    shell.run("session", "delete", fork, "--yes")
    assert "Mine" in shell.run("session", "list")
    named = (("show", fork), ("fork", fork, "t-1"), ("rename", fork, "x"), ("delete", fork, "--yes"))
    for argv in (*(("session", *each) for each in named), ("run", "--session", fork, "x")):
        assert "`handrail session list`" in shell.run(*argv, code=2)
    assert "error: The title is empty." in shell.run("session", "rename", one["session"], " ", code=2)


def test_a_session_that_could_not_be_stored_is_not_offered_for_continuing(shell: Shell) -> None:
    script(shell.folder / "yes.json", answer("Yes."))
    model = ("--model", f"scripted:{shell.folder / 'yes.json'}")
    assert "continue with: handrail run --session" in shell.run("run", "Do it.", *model)
    (sessions,) = (shell.folder / "state").rglob("sessions")
    for file in sessions.iterdir():
        file.unlink()
    sessions.rmdir()
    sessions.write_text("No folder.")  # as if it must not be written, which root always may
    shown = shell.run("run", "Do it.", *model)
    assert "continue with" not in shown
    assert "could not be stored, so it cannot be continued" in shown


def test_what_is_wrong_is_said_before_anything_is_done(shell: Shell) -> None:
    for argv, said in (
        (("run", "x", "--set", "windoww=1"), "Did you mean `context.window`"),
        (("run", "x", "--set", "context.window"), "NAME=VALUE"),
        (("run", "x", "--set", "context.window=x"), "must be a whole number"),
        (("session", "resume", "s-1", "x", "--approve", "npm test"), "does not name a tool"),
        (("session", "list", "--limit", "0"), "not a number of 1 or more"),
    ):
        assert said in shell.run(*argv, code=2)
    (shell.folder / "config" / "handrail" / "config.toml").write_text("mode = ")
    assert "is not valid TOML" in shell.run("checkpoint", "list", code=2)
    assert not (shell.folder / "state").exists()
