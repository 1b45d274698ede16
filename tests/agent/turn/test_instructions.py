"""Only instructions that the model may read unasked are sent to it; what is left out is told once."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bench import Bench
from handrail.agent.turn.instructions import instructions_for
from handrail.core.conversation.prompt import Mode
from handrail.core.ledger.report import Notice
from handrail.core.policy.rules import Decision, Rule, read
from handrail.testing import answer, lay_out

SECRET = "the secret of somebody"


def link(bench: Bench, target: Path, at: str = "AGENTS.md") -> None:
    (bench.root / at).symlink_to(target)


def outside(bench: Bench) -> Path:
    folder = bench.state.parent / "elsewhere"
    lay_out(folder, {"AGENTS.md": SECRET.encode(), "id_rsa": SECRET.encode()})
    return folder


def to_a_file_outside(bench: Bench) -> None:
    link(bench, outside(bench) / "id_rsa")


def to_another_link(bench: Bench) -> None:
    (bench.root / "docs").mkdir()
    (bench.root / "docs" / "link").symlink_to(outside(bench) / "id_rsa")
    link(bench, Path("docs/link"))


def through_a_folder_outside(bench: Bench) -> None:
    (bench.root / "docs").symlink_to(outside(bench))
    link(bench, Path("docs/AGENTS.md"))


def to_a_protected_file(bench: Bench) -> None:
    lay_out(bench.root, {".env": f"KEY={SECRET}".encode()})
    link(bench, Path(".env"))


def to_version_control(bench: Bench) -> None:
    lay_out(bench.root, {".git/config": f"[x]\n{SECRET}".encode()})
    link(bench, Path(".git/config"))


def to_our_own_files(bench: Bench) -> None:
    lay_out(bench.root, {".handrail/output.md": SECRET.encode()})
    link(bench, Path(".handrail/output.md"))


def to_this_process(bench: Bench) -> None:
    link(bench, Path("/proc/self/environ"))


@pytest.mark.parametrize(
    "lay",
    [
        to_a_file_outside,
        to_another_link,
        through_a_folder_outside,
        to_a_protected_file,
        to_version_control,
        to_our_own_files,
        to_this_process,
    ],
)
async def test_a_link_does_not_send_what_may_not_be_read(lay: Callable[[Bench], None], bench: Bench) -> None:
    lay(bench)
    told = await instructions_for(Mode.EDIT, bench.ports())
    assert SECRET not in told.text
    assert "PATH=" not in told.text
    assert told.instructions == ()


async def test_what_is_left_out_is_told_once(bench: Bench) -> None:
    to_a_protected_file(bench)
    for _ in range(3):
        bench.says(answer("Done."))
        await bench.turn()
    (notice,) = [event for event in bench.events if isinstance(event, Notice)]
    assert notice.is_warning
    assert notice.text == (
        "AGENTS.md, which leads to .env, is neither read nor sent to the model. Such files may hold secrets "
        "such as passwords, which programs read when they start in this folder. handrail asks you before it "
        "reads such a file, but it never asks about instructions: it leaves them out. To have instructions "
        "sent, put them in an AGENTS.md that is not such a file, and does not lead to one."
    )


async def test_a_link_to_another_file_of_the_workspace_is_read(bench: Bench) -> None:
    lay_out(bench.root, {"docs/rules.md": b"Write in verse."})
    link(bench, Path("docs/rules.md"))
    told = await instructions_for(Mode.EDIT, bench.ports())
    assert "Write in verse." in told.text
    assert told.left_out == ()


@pytest.mark.parametrize("decision", [Decision.ASK, Decision.BLOCK])
async def test_a_rule_holds_for_instructions_as_well(decision: Decision, bench: Bench) -> None:
    lay_out(bench.root, {"AGENTS.md": b"Write in verse."})
    rule = Rule(tool="read", match="AGENTS.md", decision=decision)
    bench.terms = replace(bench.terms, rules=(rule,))
    told = await instructions_for(Mode.EDIT, bench.ports())
    assert "verse" not in told.text
    why = {
        Decision.BLOCK: "Your setting handrail.approvals blocks reading it.",
        Decision.ASK: "Your setting handrail.approvals requires a question before this file is read, but "
        "handrail never asks about instructions: it leaves them out. To have the file sent, add this rule at "
        "the end of handrail.approvals: "
        '{"tool": "read", "match": "AGENTS.md", "verdict": "allow"}.',
    }
    assert told.left_out == (f"AGENTS.md is neither read nor sent to the model. {why[decision]}",)


async def test_of_several_folders_it_is_told_whose_instructions_are_left_out(bench: Bench) -> None:
    roots = [bench.root / name for name in ("one", "two", "three")]
    lay_out(roots[0], {"AGENTS.md": b"Write in verse."})
    lay_out(roots[1], {".env": f"KEY={SECRET}".encode()})
    lay_out(roots[2], {"AGENTS.md": b"caf\xe9\n"})
    (roots[1] / "AGENTS.md").symlink_to(".env")
    bench.folders.replace(roots)
    rule = Rule(tool="read", match="one/AGENTS.md", decision=Decision.BLOCK)
    bench.terms = replace(bench.terms, rules=(rule,), roots=tuple(root.as_uri() for root in roots))
    first, second, third = (await instructions_for(Mode.EDIT, bench.ports())).left_out
    assert first.startswith("one/AGENTS.md is neither read nor sent to the model. Your setting")
    assert second.startswith(
        "two/AGENTS.md, which leads to two/.env, is neither read nor sent to the model. "
    )
    assert third.startswith("three/AGENTS.md is not sent to the model. The file is not valid utf-8: ")


@pytest.mark.parametrize("is_outside", [False, True])
async def test_the_rule_that_is_proposed_has_instructions_sent(is_outside: bool, bench: Bench) -> None:
    if is_outside:
        link(bench, outside(bench) / "AGENTS.md")
    else:
        lay_out(bench.root, {"AGENTS.md": SECRET.encode()})
    asks = {"tool": "read", "match": "**", "verdict": "ask"}
    for given in ([asks], *([] if not is_outside else [[]])):
        bench.terms = replace(bench.terms, rules=rules_of(given))
        (why,) = (await instructions_for(Mode.EDIT, bench.ports())).left_out
        proposed = json.loads(why.partition("handrail.approvals: ")[2].removesuffix("."))
        bench.terms = replace(bench.terms, rules=rules_of([*given, proposed]))
        told = await instructions_for(Mode.EDIT, bench.ports())
        assert SECRET in told.text
        assert told.left_out == ()


def rules_of(given: Sequence[Mapping[str, str]]) -> tuple[Rule, ...]:
    found = read(given)
    assert isinstance(found, tuple)
    return found


@pytest.mark.parametrize("kind", ["fifo", "folder", "device", "nothing"])
async def test_what_is_no_file_is_passed_over(kind: str, bench: Bench) -> None:
    path = bench.root / "AGENTS.md"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    told = await instructions_for(Mode.EDIT, bench.ports())
    assert told.instructions == ()
    assert len(told.left_out) == (kind == "fifo")  # a device is outside the workspace


@pytest.mark.parametrize(
    ("raw", "encoding", "why"),
    [
        (b"Write.\n", "utf-16le", "The file is not valid utf-16-le: it has the byte 0x0A at offset 6."),
        (b"Write.\n\0", "", "The file is not valid utf-8: it has bytes that could not be written back"),
        (b"\xff\xfe\0\0", "", "The file has a UTF-32 byte order mark, which handrail does not support."),
        (b"caf\xe9\n", "", "The file is not valid utf-8: it has the byte 0xE9 at offset 3."),
    ],
)
async def test_only_a_file_that_is_not_in_utf8_is_said_not_to_be(
    raw: bytes, encoding: str, why: str, bench: Bench
) -> None:
    config = f"root = true\n[*]\ncharset = {encoding}\n" if encoding else "root = true\n"
    lay_out(bench.root, {"AGENTS.md": raw, ".editorconfig": config.encode()})
    (said,) = (await instructions_for(Mode.EDIT, bench.ports())).left_out
    assert said.startswith(f"AGENTS.md is not sent to the model. {why}")
    hint = "Save it as text in UTF-8 or, if an .editorconfig names another encoding for it, in that one."
    assert said.endswith(hint)


async def test_why_a_file_cannot_be_read_is_told(bench: Bench) -> None:
    (bench.root / "AGENTS.md").symlink_to("AGENTS.md")
    told = await instructions_for(Mode.EDIT, bench.ports())
    assert told.left_out == (
        "AGENTS.md is not sent to the model. AGENTS.md cannot be read: its symbolic links form a loop.",
    )


@pytest.mark.parametrize(
    ("terms", "said", "unsaid"),
    [
        (
            {},
            ["working in an editor", "up to 600 s", "is asked about each command"],
            ["no editor", "sandbox"],
        ),
        ({"is_headless": True}, ["There is no editor"], ["in an editor", "No user is available"]),
        ({"is_headless": True, "is_unattended": True}, ["There is no editor", "No user is available"], []),
        ({"timeout_s": 900}, ["900 s; with timeout_s up to 900 s"], ["600"]),
        ({"reasons": True}, ["Never assume"], ["How to approach"]),
    ],
    ids=["editor", "terminal", "script", "time", "reasoning"],
)
async def test_only_what_is_true_here_is_told(
    terms: dict[str, object], said: list[str], unsaid: list[str], bench: Bench
) -> None:
    bench.terms = replace(bench.terms, **terms)  # type: ignore[arg-type]  # the names are those of Terms
    told = (await instructions_for(Mode.EDIT, bench.ports())).text
    assert [each for each in said if each not in told] == []
    assert [each for each in unsaid if each in told] == []


async def test_without_tools_that_change_no_command_is_spoken_of(bench: Bench) -> None:
    for mode in (Mode.ASK, Mode.PLAN):
        told = (await instructions_for(mode, bench.ports())).text
        assert "command" not in told.replace("command line", "")
