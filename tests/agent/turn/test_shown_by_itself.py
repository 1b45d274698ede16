"""What handrail shows the model by itself obeys the user's rules for reading."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent.tools.test_rules_below import judged, terms
from agent.turn.test_checks import Still
from bench import Bench
from handrail.agent.turn.feedback import feedback
from handrail.agent.turn.skills import skills
from handrail.core.policy.checks import Check, Format
from handrail.core.policy.containment import Sandbox
from handrail.ports import Ports
from handrail.testing import answer, call, lay_out

CHECK = b"sed -n '/new/{n;s/^/a.txt:1: error: /;p}' a.txt"  # quotes the second line
EDIT = call("patch", path="a.txt", old_string="old", new_string="new")


class Clocked(Bench):
    def ports(self) -> Ports:
        return replace(super().ports(), clock=Still())


async def told_of_check(bench: Bench, tool: str) -> list[str]:
    """The results of an edit and of the tool `problems`, with a rule that blocks a file for a tool."""
    lay_out(bench.root, {"a.txt": b"old\nsecret\n", "check": CHECK})
    bench.terms = replace(
        terms((tool, "a.txt", "block"), ("terminal", "sh *", "allow")),
        sandbox=Sandbox.OFF,
        timeout_s=60,
        roots=(bench.root.as_uri(),),
        checks=(Check(command="sh check {files}", format=Format.LINES),),
    )
    bench.says(answer("", EDIT), answer("", call("problems")), answer("Done."))
    await bench.turn()
    return bench.texts()


@pytest.fixture
def clocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clocked:
    monkeypatch.setattr(feedback, "LIMIT_S", 60.0)
    monkeypatch.setattr(feedback, "BEFORE_S", 30.0)
    return Clocked(tmp_path / "work", tmp_path / "state")


async def test_a_check_tells_of_a_file_that_may_be_read(clocked: Clocked) -> None:
    assert all("secret" in text for text in await told_of_check(clocked, "list_files"))


async def test_it_does_not_tell_of_one_that_may_not(clocked: Clocked) -> None:
    assert not any("secret" in text for text in await told_of_check(clocked, "read"))


async def test_a_rule_for_the_tool_holds_for_the_list_of_all_problems(clocked: Clocked) -> None:
    _, listed = await told_of_check(clocked, "problems")
    assert "secret" not in listed


async def test_skills_behind_a_link_obey_a_rule_for_the_link(bench: Bench) -> None:
    lay_out(bench.root, {"shared/x/SKILL.md": b"---\nname: x\ndescription: y\n---\n", ".agents/a": b""})
    (bench.root / ".agents/skills").symlink_to("../shared")
    told = await skills(bench.ports())
    assert told is not None
    assert [skill.name for skill in told.told] == ["x"]
    bench.terms = terms(("*", ".agents/skills/x/**", "block"))
    assert await judged(bench, "read_file", path=".agents/skills/x/SKILL.md") == "blocked"
    told = await skills(bench.ports())
    assert told is not None
    assert not told.told
