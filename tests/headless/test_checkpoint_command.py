"""`handrail checkpoint` as people run it: real processes on a real folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from e2e.servers import run_handrail
from handrail.testing import answer, call, lay_out, script, snapshot

pytestmark = pytest.mark.usefixtures("either_way")

BLOCK = "{path}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


@dataclass
class Shell:
    """A folder, and the command line on it."""

    root: Path
    state: Path

    def run(self, *argv: str, given: str = "", code: int = 0) -> str:
        ended = self._ended(argv, given.encode())
        assert ended.returncode == code, (ended.stdout, ended.stderr)
        return ended.stdout.decode() if code == 0 else (ended.stdout + ended.stderr).decode()

    def both(self, *argv: str) -> str:
        """All that is shown, whatever the exit code."""
        ended = self._ended(argv)
        return (ended.stdout + ended.stderr).decode()

    def _ended(self, argv: Sequence[str], given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        environment = {**os.environ, "XDG_STATE_HOME": str(self.state)}
        return run_handrail([*argv, "--workspace", str(self.root)], environment=environment, given=given)

    def json(self, *argv: str) -> Any:
        return json.loads(self.run("checkpoint", *argv, "--json"))

    def turn(self, path: str, old: str, new: str) -> str:
        block = BLOCK.format(path=path, old=old, new=new)
        checkpoint = json.loads(self.run("run", "-", "--json", given=block))["checkpoint"]
        assert isinstance(checkpoint, str)
        return checkpoint


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    lay_out(tmp_path / "work", {"a.txt": b"one\ntwo\n", "b.txt": b"b\n"})
    return Shell(tmp_path / "work", tmp_path / "state")


def test_nothing_is_sound(shell: Shell) -> None:
    assert shell.json("verify") == {"checkpoints": 0, "problems": []}
    shell.run("checkpoint", "diff", shell.turn("a.txt", "one", "ONE"))
    shutil.rmtree(next(shell.state.glob("handrail/*/checkpoints.git")))
    assert shell.json("verify") == {"checkpoints": 0, "problems": []}


def test_every_action(shell: Shell) -> None:
    first = shell.turn("a.txt", "one", "ONE")
    second = shell.turn("b.txt", "b", "B")
    assert [each["id"] for each in shell.json("list")] == [second, first]

    shown = shell.json("show", first)
    assert shown["id"] == first
    assert "-one\n+ONE\n" in shown["diff"]
    assert "changed  a.txt" in shell.run("checkpoint", "show", first)
    assert "+ONE" in shell.run("checkpoint", "diff", first)
    assert shell.json("diff", first, "--against", "now")["text"].count("+++ b/") == 2
    assert shell.json("diff", first, "--against", "now", "--file", "b.txt")["text"].count("+++ b/") == 1
    assert shell.json("verify") == {"checkpoints": 2, "problems": []}

    shell.run("checkpoint", "restore", first, "--following", "--file", "a.txt")
    assert snapshot(shell.root) == {"a.txt": b"one\ntwo\n", "b.txt": b"B\n"}

    assert "answer y or give --yes" in shell.run("checkpoint", "prune", first, code=2)
    assert "has no checkpoint t-none. " in shell.run("checkpoint", "prune", first, "t-none", code=2)
    assert shell.json("prune", first, "--yes")["removed"] == [first]
    assert shell.json("prune")["removed"] == []
    assert len(shell.json("list")) == 2, "the second turn, and what preceded the restore"
    assert "has no checkpoint" in shell.run("checkpoint", "show", first, code=2)


def test_a_step_is_undone_with_the_later_steps_of_its_turn(shell: Shell) -> None:
    steps = [call("patch", path=f"{old}.txt", old_string=old, new_string=old.upper()) for old in ("a", "b")]
    lay_out(shell.root, {"a.txt": b"a\none\n"})
    model = script(shell.root.parent / "script.json", *(answer("", step) for step in steps), answer("Done."))
    turn = json.loads(shell.run("run", "x", "--model", model, "--json"))["checkpoint"]
    shown = shell.run("checkpoint", "show", turn)
    assert f"\n  step     {turn}.1  a.txt\n  step     {turn}.2  b.txt\n" in shown
    assert "step" not in shell.run("checkpoint", "show", shell.turn("a.txt", "one", "ONE")), (
        "there is only one"
    )
    assert "a.txt" not in shell.run("checkpoint", "diff", f"{turn}.2")
    shell.run("checkpoint", "restore", f"{turn}.2")
    assert snapshot(shell.root) == {"a.txt": b"A\nONE\n", "b.txt": b"b\n"}
    shell.run("checkpoint", "restore", f"{turn}.1")
    assert snapshot(shell.root) == {"a.txt": b"a\nONE\n", "b.txt": b"b\n"}


def test_a_restore_is_taken_back_whole_and_no_limit_removes_it(shell: Shell) -> None:
    reply = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n*** Delete File: b.txt\n"
    reply += "*** Add File: new/c.txt\n+made\n*** End Patch\n"
    before = snapshot(shell.root)
    turn = json.loads(shell.run("run", "-", "--json", given=reply))["checkpoint"]
    after = snapshot(shell.root)
    assert set(after) == {"a.txt", "new/c.txt"}
    own = shell.json("restore", turn)["checkpoint"]
    assert snapshot(shell.root) == before
    assert not (shell.root / "new").exists()
    assert shell.json("prune")["removed"] == []
    again = shell.json("restore", own)
    assert (again["conflicts"], snapshot(shell.root)) == ([], after)
    assert shell.json("restore", again["checkpoint"])["conflicts"] == []
    assert snapshot(shell.root) == before
    assert [each["id"] for each in shell.json("list")][-2:] == [own, turn]


def test_a_checkpoint_of_another_root_is_refused(shell: Shell, tmp_path: Path) -> None:
    turn = shell.turn("a.txt", "one", "ONE")
    lay_out(tmp_path / "other", {"a.txt": b"ONE\ntwo\n"})
    other = Shell(tmp_path / "other", shell.state)
    said = other.run("checkpoint", "restore", turn, code=2)
    assert f"This workspace has no checkpoint {turn}. It has no checkpoints yet." in said
    assert snapshot(other.root) == {"a.txt": b"ONE\ntwo\n"}


def test_some_lines_of_a_file(shell: Shell) -> None:
    turn = shell.turn("a.txt", "one", "ONE")
    command = ("checkpoint", "restore", turn, "--file", "a.txt", "--lines")
    assert "unchanged  a.txt" in shell.run(*command, "2-9")
    assert "restored   a.txt" in shell.run(*command, "1")
    assert snapshot(shell.root)["a.txt"] == b"one\ntwo\n"
    assert "--lines needs exactly one --file" in shell.run(*command[:3], "--lines", "1-2", code=2)
    (shell.root / "a.txt").write_bytes(b"mine\ntwo\n")
    assert "    -mine\n    +one\n" in shell.run("checkpoint", "restore", turn, code=1)
    for wrong in ("2-1", "0-1", "first"):
        assert f"{wrong!r} is not a line or a range of lines" in shell.run(*command, wrong, code=2)


def test_the_conversation_goes_back_as_well(shell: Shell) -> None:
    first = shell.turn("a.txt", "one", "ONE")
    shown = shell.run("checkpoint", "restore", first, "--no-files", "--conversation")
    assert "now has 0 turns" in shown
    assert snapshot(shell.root)["a.txt"] == b"ONE\ntwo\n"
    undo = shown.split(" undo this with: handrail ")[1].split(" --workspace")[0].split()
    assert undo[-1] == "--conversation"
    found = json.loads(shell.run(*undo, "--json"))
    assert [turn["turn"] for turn in found["conversation"]["turns"]] == [first]
    assert "--no-files needs --conversation" in shell.run(
        "checkpoint", "restore", first, "--no-files", code=2
    )


@pytest.mark.damage
def test_damage_is_an_exit_code(shell: Shell) -> None:
    shell.turn("a.txt", "one", "ONE")
    (repository,) = shell.state.glob("handrail/*/checkpoints.git")
    for path in repository.glob("objects/pack/*"):
        path.write_bytes(b"garbage")
    assert "damaged" in shell.run("checkpoint", "verify", code=1)


NAMES = ("d/x\nFORGED.txt", "d/y\r\n  FORGED.txt", "d/z\n    FORGED.txt")


def test_no_file_name_can_look_like_a_line_of_handrail(shell: Shell) -> None:
    calls = [
        each
        for name in NAMES
        for each in (
            call("write_file", path=name, content="x\n"),
            call("patch", path=name, old_string="nowhere", new_string="y"),
            call("patch", path=f"{name}.none", old_string="x", new_string="y"),
            call("read_file", path=f"{name}.none"),
            call("write_file", path=f".git/{name}", content="x\n"),
            call("write_file", path=f"../{name}", content="x\n"),
            call("ask_user", question=f"Change {name}?", choices=["Yes", f"No, {name}"]),
        )
    ]
    command = call("terminal", command="echo y >> 'd/x\nFORGED.txt'\nFORGED=1")
    model = script(
        shell.state.parent / "script.json", answer("", *calls), answer("", command), answer("Done.")
    )
    told = [shell.both("run", "Do it.", *yes, "--model", model) for yes in ((), ("--yes",))]
    (checkpoint,) = (row.split()[1] for row in told[-1].splitlines() if row.startswith("checkpoint "))
    told += [shell.both("review", "list"), shell.both("session", "list")]
    told += [shell.both("checkpoint", each, checkpoint) for each in ("show", "diff", "restore")]
    rows = [row for text in told for row in text.split("\n")]
    assert any("FORGED" in row for row in rows)
    assert [row for row in rows if row[:6].lstrip().startswith("F")] == []


def test_a_name_that_is_not_utf_8_is_told_in_one_way(shell: Shell) -> None:
    (shell.root / "d").mkdir()
    Path(os.fsdecode(os.fsencode(shell.root) + b"/d/\xff.txt")).write_bytes(b"one\n")
    command = call("terminal", command="for each in d/*; do echo two >> $each; done")
    model = script(shell.state.parent / "script.json", answer("", command), answer("Done."))
    told = shell.both("run", "Do it.", "--yes", "--model", model)
    (checkpoint,) = (row.split()[1] for row in told.splitlines() if row.startswith("checkpoint "))
    named = [told, *(shell.both("checkpoint", each, checkpoint) for each in ("show", "restore"))]
    assert all(f"{shell.root.as_uri()}/d/%FF.txt" in each for each in named)
    assert not any("udcff" in each for each in named)


def test_a_file_name_with_line_ends_stays_in_one_line(shell: Shell) -> None:
    model = script(
        shell.state.parent / "script.json",
        answer("", call("write_file", path="d/x\nrestored   a.txt", content="x\n")),
        answer("Done."),
    )
    told = shell.run("run", "Do it.", "--yes", "--model", model)
    (checkpoint,) = (row.split()[1] for row in told.splitlines() if row.startswith("checkpoint "))
    told += shell.run("review", "list")
    told += shell.run("checkpoint", "list")
    told += shell.run("checkpoint", "restore", checkpoint)
    rows = [row for row in told.splitlines() if "a.txt" in row]
    assert [row for row in rows if row.startswith("restored")] == []
    assert "deleted    d/x\\nrestored   a.txt" in rows
