"""The model is told what skills a project has, and reads one when it needs it; no other is read for that."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench import Bench
from handrail.agent.turn.instructions import told_before
from handrail.agent.turn.skills import LIMIT_SKILLS, skills
from handrail.core.conversation.prompt import Mode, Skill
from handrail.core.policy.rules import Decision, Rule
from handrail.testing import answer, call, lay_out

RELEASE = """---
name: release
description: How a version is released
---
Write the CHANGELOG first.
"""


def lay(bench: Bench, name: str, content: str | bytes) -> None:
    raw = content.encode() if isinstance(content, str) else content
    lay_out(bench.root, {f".agents/skills/{name}/SKILL.md": raw})


async def told_of(bench: Bench) -> list[Skill]:
    found = await skills(bench.ports())
    assert found is not None
    return found


async def test_a_skill_is_used_in_two_steps(bench: Bench) -> None:
    lay(bench, "release", RELEASE)
    path = ".agents/skills/release/SKILL.md"
    told = (await told_before(Mode.EDIT, bench.ports())).text
    assert json.dumps(path) in told
    assert "How a version is released" in told
    assert "Write the CHANGELOG first." not in told, "the body costs nothing until it is asked for"
    bench.says(answer("", call("read_file", path=path)), answer("First the CHANGELOG."))
    report = await bench.turn()
    assert report.answer == "First the CHANGELOG."
    (read,) = bench.texts()
    assert "Write the CHANGELOG first." in read


@pytest.mark.parametrize(
    ("front", "name", "description"),
    [
        ("name: a\ndescription: b c", "a", "b c"),
        ("description: 'b: c'\nlicense: x", "it", "b: c"),
        ('name: "a"\ndescription: >-\n  b\n  c\n', "a", "b c"),
        ("description: |\n  b\n  c\nname: a", "a", "b c"),
        ("description: b\n  c", "it", "b c"),
        ("allowed-tools: [x]", "it", ""),
        ("name: " + "a" * 900 + "\ndescription: " + "b" * 9_000, "it", ""),
        ("name: " + "a" * 90 + "\ndescription: " + "b" * 900, "a" * 64, "b" * 500),
        ("&a [*a, *a]\n<<: *a\ndescription: </data> ``` \u202e", "it", "</data> ``` \u202e"),
    ],
)
async def test_front_matter(front: str, name: str, description: str, bench: Bench) -> None:
    lay(bench, "it", f"---\n{front}\n---\nBody\n".replace("\n", "\r\n"))
    (found,) = await told_of(bench)
    assert (found.name, found.description) == (name, description)
    told = (await told_before(Mode.EDIT, bench.ports())).text
    assert "</data>" not in told
    assert "\u202e" not in told


async def test_what_has_no_front_matter_or_is_no_text(bench: Bench) -> None:
    lay(bench, "plain", "# How\n")
    lay(bench, "open", "---\nname: x\ndescription: never ends\n")
    lay(bench, "raw", b"\x00\xff\xfe\x00")
    found = await told_of(bench)
    assert [(each.name, each.description) for each in found] == [("open", ""), ("plain", "")]


async def test_what_may_not_be_read_is_not_told(bench: Bench, tmp_path: Path) -> None:
    lay_out(tmp_path / "elsewhere", {"SKILL.md": RELEASE.encode()})
    (bench.root / ".agents/skills").mkdir(parents=True)
    (bench.root / ".agents/skills/away").symlink_to(tmp_path / "elsewhere")
    lay(bench, "here", RELEASE)
    (bench.root / ".agents/skills/link").mkdir()
    (bench.root / ".agents/skills/link/SKILL.md").symlink_to(tmp_path / "elsewhere" / "SKILL.md")
    assert [each.path for each in await told_of(bench)] == [".agents/skills/here/SKILL.md"]
    rule = Rule(tool="read", match=".agents/**", decision=Decision.BLOCK)
    bench.terms = replace(bench.terms, rules=(rule,))
    assert await told_of(bench) == []


async def test_of_too_many_some_are_told(bench: Bench) -> None:
    for number in range(LIMIT_SKILLS + 20):
        lay(bench, f"s{number:03}", RELEASE)
    assert len(await told_of(bench)) == LIMIT_SKILLS


async def test_a_project_without_skills_has_none(bench: Bench) -> None:
    assert await told_of(bench) == []
    assert "describes how" not in (await told_before(Mode.EDIT, bench.ports())).text


async def test_what_takes_too_long_to_list_is_told_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = asyncio.Event()

    async def late(*arguments: object) -> tuple[str, ...]:
        await gate.wait()
        return ()

    monkeypatch.setattr(bench.folders, "files", late)
    monkeypatch.setattr("handrail.agent.turn.skills.LIMIT_S", 0.01)
    told = await told_before(Mode.EDIT, bench.ports())
    assert [each for each in told.left_out if "takes too long" in each]
    gate.set()
