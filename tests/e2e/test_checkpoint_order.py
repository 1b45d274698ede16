"""
The five tests of the report on checkpoint order: concurrent and sequential calls, with and without an editor.

A blocked call leaves no checkpoint and uses none up; an allowed one beside it is kept as it was before.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable

import pytest

from e2e.conftest import Stage
from e2e.habits import VSCODE, opt_in
from e2e.prompts import patch
from e2e.servers import run_handrail
from e2e.shadow import Shadow
from handrail.testing import answer, call, script
from handrail.testing.texts import Json

Run = Callable[[list[Json]], Awaitable[Json]]


@pytest.fixture(params=["editor", "headless"])
def run(request: pytest.FixtureRequest, stage: Stage) -> Run:
    """Runs a turn with the answers of a scripted model, and gives its report."""

    async def in_editor(answers: list[Json]) -> Json:
        unattended = opt_in(unattended=True)
        editor = await stage.start(VSCODE, settings=stage.script(*answers), options=unattended)
        return await editor.turn("Do it.")

    async def headless(answers: list[Json]) -> Json:
        model = script(stage.folder / "script.json", *answers)
        command = ("run", "Do it.", "--json", "--model", model, "--workspace", str(stage.root))
        environment = {**os.environ, "XDG_STATE_HOME": str(stage.state)}
        ended = await asyncio.to_thread(run_handrail, command, environment=environment)
        found: Json = json.loads(ended.stdout)
        return found

    return in_editor if request.param == "editor" else headless


def turn(plan: str, *calls: Json) -> list[Json]:
    """The answers of a model that makes the calls at once, or one at each step."""
    if plan == "concurrent":
        return [answer("", *calls), answer("Done.")]
    return [*(answer("", each) for each in calls), answer("Done.")]


def changing(tool: str, path: str) -> Json:
    if tool == "patch":
        return patch(path, "one", "ONE")
    return call("write_file", path=path, content="ONE\ntwo\n")


@pytest.fixture(autouse=True)
def files(stage: Stage) -> None:
    stage.put(".git/config", "one\ntwo\n")
    stage.put("a.txt", "one\ntwo\n")


pytestmark = pytest.mark.parametrize("plan", ["concurrent", "sequential"])
both_tools = pytest.mark.parametrize("tool", ["write_file", "patch"])


@both_tools
async def test_a_blocked_call_makes_no_checkpoint(stage: Stage, run: Run, plan: str, tool: str) -> None:
    blocked = changing(tool, ".git/config")
    report = await run(turn(plan, blocked, call("read_file", path="a.txt")))
    assert [each["failure"]["code"] for each in report["outcomes"]] == ["blocked"]
    assert report.get("checkpoint") is None
    assert Shadow(stage.state).turns == []


async def test_a_command_that_may_not_run_makes_no_checkpoint(stage: Stage, run: Run, plan: str) -> None:
    """Nobody answers the question, which is a no."""
    command = call("terminal", command="rm a.txt")
    report = await run(turn(plan, command, call("read_file", path="a.txt")))
    assert (report["outcomes"], report.get("checkpoint")) == ([], None)
    assert (stage.root / "a.txt").exists()
    assert Shadow(stage.state).turns == []
    assert not list(stage.state.glob("handrail/*/trees"))
    assert not list(stage.state.glob("handrail/*/commands/*"))


@pytest.mark.parametrize("command_first", [True, False])
async def test_a_command_that_may_not_run_takes_nothing_from_an_allowed_call(
    stage: Stage, run: Run, plan: str, command_first: bool
) -> None:
    calls = [call("terminal", command="rm a.txt"), changing("write_file", "a.txt")]
    report = await run(turn(plan, *(calls if command_first else reversed(calls))))
    assert [each["status"] for each in report["outcomes"]] == ["landed"]
    shadow = Shadow(stage.state)
    assert len(shadow.turns) == 1
    assert shadow.files(report["checkpoint"]) == {"before/a.txt": "one\ntwo\n", "after/a.txt": "ONE\ntwo\n"}


@both_tools
@pytest.mark.parametrize("blocked_first", [True, False])
async def test_a_blocked_call_takes_nothing_from_an_allowed_one(
    stage: Stage, run: Run, plan: str, tool: str, blocked_first: bool
) -> None:
    calls = [changing(tool, ".git/config"), changing(tool, "a.txt")]
    report = await run(turn(plan, *(calls if blocked_first else reversed(calls))))
    assert sorted(each["status"] for each in report["outcomes"]) == ["failed", "landed"]
    shadow = Shadow(stage.state)
    assert len(shadow.turns) == 1
    assert shadow.files(report["checkpoint"]) == {"before/a.txt": "one\ntwo\n", "after/a.txt": "ONE\ntwo\n"}


@both_tools
async def test_a_failed_snapshot_uses_nothing_up(stage: Stage, run: Run, plan: str, tool: str) -> None:
    """The state folder is none at first; a later turn keeps what the first one could not."""
    stage.state.write_text("a file where the folder should be")
    report = await run(turn(plan, changing(tool, "a.txt")))
    assert [each["failure"]["code"] for each in report["outcomes"]] == ["tool-failed"]
    assert (stage.root / "a.txt").read_text() == "one\ntwo\n"
    stage.state.unlink()
    report = await run(turn(plan, changing(tool, "a.txt")))
    assert Shadow(stage.state).files(report["checkpoint"])["before/a.txt"] == "one\ntwo\n"
