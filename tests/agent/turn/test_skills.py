"""The model is told what skills a project has, and reads one when it needs it; no other is read for that."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bench import Bench
from handrail.adapters.files.disk import Disk
from handrail.agent.turn.instructions import instructions_for
from handrail.agent.turn.skills import LIMIT_SKILLS, Skills, skills
from handrail.core.conversation.prompt import Mode, Skill
from handrail.core.documents.text import Text
from handrail.core.policy.rules import Decision, Rule
from handrail.ports import Document
from handrail.ports.heads import Heads
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
    return [*found.told]


_opened, _notes = list[str](), list[bool]()


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if _notes and event in ("open", "os.scandir", "os.listdir", "subprocess.Popen"):
        _opened.append(f"{event} {arguments!r}")


sys.addaudithook(_audit)  # cannot be removed


@contextmanager
def opened() -> Iterator[list[str]]:
    """What this process opens, lists or starts meanwhile."""
    _opened.clear()
    _notes.append(True)
    try:
        yield _opened
    finally:
        _notes.clear()


async def test_a_skill_is_used_in_two_steps(bench: Bench) -> None:
    lay(bench, "release", RELEASE)
    path = ".agents/skills/release/SKILL.md"
    told = (await instructions_for(Mode.EDIT, bench.ports())).text
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
    told = (await instructions_for(Mode.EDIT, bench.ports())).text
    assert "</data>" not in told
    assert "\u202e" not in told


async def test_what_has_no_front_matter_or_is_no_text(bench: Bench) -> None:
    lay(bench, "plain", "# How\n")
    lay(bench, "open", "---\nname: x\ndescription: never ends\n")
    lay(bench, "raw", b"\x00\xff\xfe\x00")
    lay(bench, "null", b"---\nname: x\n---\n\0")
    found = await told_of(bench)
    assert [(each.name, each.description) for each in found] == [("open", ""), ("plain", "")]
    (said,) = (await instructions_for(Mode.EDIT, bench.ports())).left_out
    assert said == (
        "The model is not told about these skills, because their files are not text in UTF-8: "
        ".agents/skills/null/SKILL.md, .agents/skills/raw/SKILL.md. Save them as text in UTF-8."
    )


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


@pytest.mark.parametrize(
    "link", [".agents", ".agents/skills", ".agents/skills/a", ".agents/skills/a/SKILL.md"]
)
async def test_nothing_outside_the_workspace_is_read(bench: Bench, tmp_path: Path, link: str) -> None:
    lay_out(tmp_path / "elsewhere", {".agents/skills/a/SKILL.md": RELEASE.encode()})
    (bench.root / link).parent.mkdir(parents=True, exist_ok=True)
    (bench.root / link).symlink_to(tmp_path / "elsewhere" / link)
    ports = bench.ports()
    with opened() as seen:
        assert await skills(ports) == Skills()
    assert not [each for each in seen if "elsewhere" in each or "Popen" in each]


async def test_of_a_skill_only_the_beginning_is_read(bench: Bench) -> None:
    lay(bench, "long", RELEASE.replace("Write", "ä" * 1_000_000))
    (found,) = await told_of(bench)
    assert found.description == "How a version is released"


async def test_a_skill_is_read_again_when_it_has_changed(bench: Bench) -> None:
    for name in ("one", "two"):
        lay(bench, name, RELEASE)
    ports = bench.ports()
    assert await skills(ports)
    lay(bench, "two", RELEASE.replace("version", "book"))
    with opened() as seen:
        found = await skills(ports)
    assert found is not None
    assert [each.description for each in found.told] == [
        "How a version is released",
        "How a book is released",
    ]
    assert [each for each in seen if "SKILL.md" in each and "/one/" in each] == []


async def test_a_skill_is_told_as_the_editor_holds_it(bench: Bench) -> None:
    lay(bench, "release", RELEASE)
    uri = (bench.root / ".agents/skills/release/SKILL.md").as_uri()
    held = Document(uri=uri, text=Text(RELEASE.replace("version", "book")), version=2, unsaved=True)

    class Holding(Disk):
        async def open_documents(self) -> tuple[Document, ...]:
            return (held,)

    bench.editor = Holding()
    (found,) = await told_of(bench)
    assert found.description == "How a book is released"


async def test_ignored_skills_are_left_out(bench: Bench) -> None:
    lay(bench, "mine", RELEASE)
    lay(bench, "ours", RELEASE)
    lay_out(bench.root, {".gitignore": b"mine\n"})
    assert [each.path for each in await told_of(bench)] == [".agents/skills/ours/SKILL.md"]


@pytest.mark.parametrize("names_root", [False, True])
async def test_of_too_many_some_are_told(bench: Bench, names_root: bool) -> None:
    bench.terms = replace(bench.terms, roots=(bench.root.as_uri(),) if names_root else ())
    for number in range(LIMIT_SKILLS + 20):
        lay(bench, f"s{number:03}", RELEASE)
    assert len(await told_of(bench)) == LIMIT_SKILLS
    (said,) = (await instructions_for(Mode.EDIT, bench.ports())).left_out
    assert said.startswith(
        "The model is told about the skills in the first 100 folders of .agents/skills, but not about those "
        "in 20 more"
    )


async def test_of_10_000_skills_only_those_that_are_told_are_read(bench: Bench) -> None:
    """Nor is anything of them when they are not skills but links, pipes or folders."""
    kinds: list[Callable[[Path], object]] = [
        lambda path: path.mkdir(),
        os.mkfifo,
        lambda path: path.symlink_to("/etc/passwd"),
        lambda path: None,
    ]
    for number in range(10_000):
        folder = bench.root / f".agents/skills/s{number:05}"
        folder.mkdir(parents=True)
        if number % 25 == 0:
            (folder / "SKILL.md").write_text(RELEASE)
        else:
            kinds[number % len(kinds)](folder / "SKILL.md")
    ports = bench.ports()
    with opened() as seen:
        found = await skills(ports)
    assert found is not None
    assert [each.path[-14:-9] for each in found.told] == ["00000", "00025", "00050", "00075"]
    assert found.more == 9_900
    assert len([each for each in seen if "SKILL.md" in each]) == 4


async def test_a_project_without_skills_has_none(bench: Bench) -> None:
    assert await told_of(bench) == []
    assert "The project has skills" not in (await instructions_for(Mode.EDIT, bench.ports())).text


async def test_what_takes_too_long_to_list_is_told_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = asyncio.Event()

    async def late(*arguments: object) -> Heads:
        await gate.wait()
        return Heads()

    monkeypatch.setattr(bench.folders, "heads", late)
    monkeypatch.setattr("handrail.agent.turn.skills.LIMIT_S", 0.01)
    told = await instructions_for(Mode.EDIT, bench.ports())
    assert [each for each in told.left_out if "takes too long" in each]
    gate.set()
