"""
Whatever a background command, other commands and edits do to a workspace in turn, all of it is taken back.

Acts are drawn at random; what the background command does is told to it by a file. `HANDRAIL_ACTS` says how
many games are played.
"""

from __future__ import annotations

import os
import random

import pytest

from agent.tools.test_background import begin, turn, until
from bench import Bench
from handrail.agent.turn.command import background
from handrail.testing import call, lay_out, snapshot

GAMES = int(os.environ.get("HANDRAIL_ACTS", "3"))
FILES = {f"{name}.txt": f"{name}\n".encode() * 3 for name in "abcd"}
# Does what is written to `../act`, line by line, and removes that when it has.
OBEYS = "while :; do if [ -e ../act ]; then sh ../act; rm ../act; fi; sleep 0.01; done"
ACTS = (
    "echo {n} >> log",
    "echo {n} > made/{n}.txt",
    "echo {n} >> a.txt",
    "echo {n} > b.txt",
    "rm -f b.txt",
    "rm -f log",
    "mkdir -p deep/er && cp a.txt deep/er/",
    "rm -rf deep",
    "mv c.txt moved.txt || mv moved.txt c.txt",
)


async def acted(bench: Bench, line: str) -> None:
    act = bench.root.parent / "act"
    beside = act.with_suffix(".new")
    beside.write_text(f"mkdir -p made\n{line} 2> /dev/null\n")
    beside.replace(act)
    await until(lambda: not act.exists())


@pytest.mark.parametrize("seed", range(GAMES))
async def test_all_of_it_is_taken_back(bench: Bench, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "FIRST_S", 0.01)
    chance = random.Random(seed)
    lay_out(bench.root, FILES)
    before = snapshot(bench.root)
    await turn(bench, begin(OBEYS))
    first, written, played = "", "d", list[str]()
    for number in range(chance.randint(4, 8)):
        act = chance.choice(ACTS).format(n=number)
        who = chance.choice(("background", "background", "command", "edit"))
        played.append(f"{who}: {act}")
        if who == "background":
            await acted(bench, act)
        elif who == "command":
            await turn(bench, call("terminal", command=f"mkdir -p made; {act}; true"), session="s-1")
        else:
            edit = call("patch", path="d.txt", old_string=written, new_string=f"d{number}", replace_all=True)
            await turn(bench, edit, session="s-1")
            written = f"d{number}"
    if chance.random() < 0.7:
        await turn(bench, call("stop", command="b1"), session="s-1")
    else:
        await bench.host.close()
    kept = await bench.repo.list()
    if kept:
        first = kept[-1].id
        report = await bench.restore(first, following=True)
        assert report.conflicts == (), played
    assert snapshot(bench.root) == before, played
