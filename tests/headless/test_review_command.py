"""`handrail review` as people run it: each command a process of its own, on what earlier ones have left."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from e2e.servers import run_handrail
from handrail.headless.commands import review
from handrail.testing import lay_out

FIVE = "one\ntwo\nthree\nfour\nfive\n"
EDITED = "one\nTWO\nthree\nFOUR\nfive\n"
REPLY = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+TWO\n@@\n-four\n+FOUR\n*** End Patch\n"


@dataclass
class Shell:
    """A folder, and the command line on it."""

    root: Path
    state: Path

    @property
    def environment(self) -> Mapping[str, str]:
        return {**os.environ, "XDG_STATE_HOME": str(self.state)}

    def handrail(self, *argv: str, code: int = 0) -> str:
        ended = run_handrail([*argv, "--workspace", str(self.root)], environment=self.environment)
        assert ended.returncode == code, (ended.stdout, ended.stderr)
        return ended.stdout.decode() if code == 0 else (ended.stdout + ended.stderr).decode()

    def listed(self, *argv: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.handrail("review", "list", "--json", *argv))
        return found

    @property
    def text(self) -> str:
        return (self.root / "a.txt").read_text()


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    root = tmp_path / "work"
    root.mkdir()
    lay_out(root, {"a.txt": FIVE.encode(), "b.txt": b"b\n"})
    return Shell(root=root, state=tmp_path / "state")


def test_the_changes_of_a_turn_are_listed_shown_kept_and_undone(shell: Shell) -> None:
    assert shell.handrail("review", "list") == "No changes are pending.\n"
    assert shell.handrail("review", "show") == "No changes are pending.\n"
    kept = shell.handrail("review", "keep", "--file", "c.txt")
    assert kept == "Nothing was kept: no such changes are pending.\n"
    said = shell.handrail("run", REPLY)
    assert "or review its changes (2) one by one with: handrail review list --turn t-" in said
    first, second = shell.listed()
    lines = shell.handrail("review", "list").splitlines()
    (turn,) = first["turns"]
    assert lines == [f"{first['id']}  a.txt:2  +1 -1  {turn}", f"{second['id']}  a.txt:4  +1 -1  {turn}"]
    assert shell.handrail("review", "show", first["id"]).splitlines() == [lines[0], "-two", "+TWO"]
    assert shell.handrail("review", "keep", first["id"]) == f"kept       {first['id']}\n"
    assert shell.handrail("review", "undo", "--all") == f"undone     {second['id']}\n"
    assert shell.text == EDITED.replace("FOUR", "four")
    assert shell.listed() == []


def test_a_file_or_a_turn_is_meant(shell: Shell) -> None:
    shell.handrail("run", REPLY)
    shell.handrail("run", "*** Begin Patch\n*** Update File: b.txt\n@@\n-b\n+B\n*** End Patch\n")
    (other,) = shell.listed("--file", "b.txt")
    assert other["after"] == "B\n"
    (turn,) = other["turns"]
    assert len(shell.listed()) == 3
    shell.handrail("review", "undo", "--turn", turn)
    assert (shell.root / "b.txt").read_text() == "b\n"
    shell.handrail("review", "undo", "--file", "a.txt")
    assert (shell.text, shell.listed()) == (FIVE, [])


def test_what_was_typed_in_a_change_is_a_conflict_with_both_texts(shell: Shell) -> None:
    shell.handrail("run", REPLY)
    (shell.root / "a.txt").write_text(EDITED.replace("TWO", "TWO, typed"))
    said = shell.handrail("review", "undo", "--all", code=1)
    assert "You edited lines that the agent wrote" in said
    assert "\nTo undo it, handrail would have made this change:\n-TWO, typed\n+two\n" in said
    assert "give --typed" in said
    assert shell.text == "one\nTWO, typed\nthree\nfour\nfive\n"
    (left,) = shell.listed()
    assert left["editedByUser"] is True
    shell.handrail("review", "undo", "--typed", left["id"])
    assert shell.text == FIVE


def test_a_form_feed_ends_no_line(shell: Shell) -> None:
    shell.handrail("run", REPLY.replace("+TWO", "+TWO\f2"))
    (first, _) = shell.listed()
    assert "a.txt:2  +1 -1" in shell.handrail("review", "show", first["id"])


@pytest.mark.parametrize(
    ("kind", "said"),
    [("changed", "a:1  +1 -0"), ("created", "a  created +1 -0"), ("whole", "a  changed (not a text file)")],
)
def test_each_kind_of_change_has_words(kind: str, said: str) -> None:
    start = {"line": 0, "character": 0}
    hunk = {"id": "h", "uri": "a", "range": {"start": start, "end": start}, "kind": kind, "turns": ["t"]}
    texts = {"before": "", "after": "" if kind == "whole" else "one\n", "editedByUser": False}
    (found,) = review.read([hunk | texts])
    assert found.show(str) == f"h  {said}  t"


def test_wrong_calls_are_told(shell: Shell) -> None:
    shell.handrail("run", REPLY)
    assert "Say which changes: give ids" in shell.handrail("review", "keep", code=2)
    assert "may have been kept, undone or rewritten" in shell.handrail("review", "undo", "h-old", code=2)
    assert "may have been kept, undone or rewritten" in shell.handrail("review", "show", "h-old", code=1)
    assert shell.text == EDITED
