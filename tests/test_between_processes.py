"""
Several processes edit one file at once: every edit that is told as landed is in the file.

`HANDRAIL_ROUNDS` and `HANDRAIL_PROCESSES` make it longer: `HANDRAIL_ROUNDS=20 HANDRAIL_PROCESSES=12`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from holder import held_by_another_process

ROUNDS = int(os.environ.get("HANDRAIL_ROUNDS", "1"))
PROCESSES = int(os.environ.get("HANDRAIL_PROCESSES", "6"))


@dataclass(frozen=True)
class Ended:
    """What one process said of its edit, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        report = json.loads(self.out)
        assert isinstance(report, dict)
        return report

    @property
    def landed(self) -> bool:
        (outcome,) = self.report["outcomes"]
        assert (outcome["status"] == "landed") == (self.code == 0), self.out + self.err
        return bool(outcome["status"] == "landed")


@dataclass(frozen=True)
class Desk:
    """A folder with one file, in which each of many processes has a line of its own to change."""

    root: Path
    state: Path

    def handrail(self, *arguments: str, stdin: str) -> Ended:
        command = [sys.executable, "-P", "-m", "handrail", *arguments, "--workspace", str(self.root)]
        environment = {**os.environ, "XDG_STATE_HOME": str(self.state), "NO_COLOR": "1"}
        done = subprocess.run(
            command, input=stdin.encode(), env=environment, capture_output=True, check=False, timeout=300
        )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    def at_once(self, commands: list[tuple[str, ...]], replies: list[str]) -> list[Ended]:
        with ThreadPoolExecutor(len(commands)) as pool:
            ended = [
                pool.submit(self.handrail, *command, stdin=reply)
                for command, reply in zip(commands, replies, strict=True)
            ]
            return [each.result() for each in ended]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "work").mkdir()
    return Desk(tmp_path / "work", tmp_path / "state")


RUN, APPLY = ("run", "-", "--json"), ("apply", "-", "--json")


def reply(path: str, number: int, found: str = "old", wanted: str = "new") -> str:
    return f"{path}\n<<<<<<< SEARCH\n{found} {number}\n=======\n{wanted} {number}\n>>>>>>> REPLACE\n"


def text(landed: list[bool], found: str = "old", wanted: str = "new") -> str:
    return "".join(f"{wanted if done else found} {number}\n\n" for number, done in enumerate(landed))


@pytest.mark.parametrize("round_number", range(ROUNDS))
@pytest.mark.parametrize("command", [RUN, APPLY], ids=["run", "apply"])
def test_every_edit_that_is_told_as_landed_is_in_the_file(
    desk: Desk, command: tuple[str, ...], round_number: int
) -> None:
    path = desk.root / "a.txt"
    path.write_text(text([False] * PROCESSES), encoding="utf-8")
    replies = [reply("a.txt", number) for number in range(PROCESSES)]
    ended = desk.at_once([command] * PROCESSES, replies)
    landed = [each.landed for each in ended]
    assert path.read_text(encoding="utf-8") == text(landed), [each.out for each in ended]
    assert all(landed), "each has lines of its own, so there is room for all"
    assert [each.name for each in desk.root.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("command", [RUN, APPLY], ids=["run", "apply"])
def test_a_folder_that_somebody_keeps_locked_is_a_failure_with_its_reason(
    desk: Desk, command: tuple[str, ...]
) -> None:
    path = desk.root / "a.txt"
    path.write_text(text([False]), encoding="utf-8")
    with held_by_another_process(desk.root) as holder:
        ended = desk.handrail(*command, stdin=reply("a.txt", 0))
    assert not ended.landed
    (outcome,) = ended.report["outcomes"]
    assert outcome["failure"]["code"] == "busy"
    assert f"process {holder} (" in outcome["failure"]["message"]
    assert path.read_text(encoding="utf-8") == text([False])
    assert [each.name for each in desk.root.iterdir()] == ["a.txt"]
    assert desk.handrail(*command, stdin=reply("a.txt", 0)).landed, "nothing is left of the lock"


def test_of_those_who_change_the_same_line_one_lands(desk: Desk) -> None:
    path = desk.root / "a.txt"
    path.write_text("old 0\n", encoding="utf-8")
    replies = [reply("a.txt", 0, wanted=f"by {number}:") for number in range(3)]
    ended = desk.at_once([RUN, APPLY, APPLY], replies)
    (winner,) = [number for number, each in enumerate(ended) if each.landed]
    assert path.read_text(encoding="utf-8") == f"by {winner}: 0\n"


def test_of_those_who_make_the_same_file_one_lands(desk: Desk) -> None:
    made = "*** Begin Patch\n*** Add File: new/a.txt\n+by {}\n*** End Patch\n"
    ended = desk.at_once([RUN, APPLY, APPLY], [made.format(number) for number in range(3)])
    (winner,) = [number for number, each in enumerate(ended) if each.landed]
    assert (desk.root / "new" / "a.txt").read_text(encoding="utf-8") == f"by {winner}\n"


def test_a_file_is_moved_once_and_with_all_that_landed_in_it(desk: Desk) -> None:
    """Whoever edits it meanwhile lands before it is moved, or not at all."""
    (desk.root / "a.txt").write_text(text([False] * 3), encoding="utf-8")
    update = "*** Update File: a.txt\n*** Move to: below/b.txt\n@@\n-old 0\n+new 0\n"
    moved = f"*** Begin Patch\n{update}*** End Patch\n"
    ended = desk.at_once([APPLY, RUN, APPLY], [moved, reply("a.txt", 1), reply("a.txt", 2)])
    landed = [each.landed for each in ended]
    files = {each.name: each.read_text(encoding="utf-8") for each in desk.root.rglob("*.txt")}
    assert files == {"b.txt" if landed[0] else "a.txt": text(landed)}
