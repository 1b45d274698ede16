"""An edit is made as its question showed it, or the question is asked again."""

from __future__ import annotations

import asyncio

import pytest

from bench import Bench
from handrail.ports import ALLOW, DENY, Question
from handrail.testing import answer, call, lay_out

DEBUG_IN_PROD = "[dev]\na\nb\nc\nd\ne\nf\n[prod]\na\nb\nc\ndebug=0\nd\ne\nf\n"
SECTIONS = "[dev]\na\nb\nc\ndebug=0\nd\ne\nf\n[prod]\na\nb\nc\nd\ne\nf\n"


class Meanwhile:
    """Says yes to the first question, after the file has changed; no to others."""

    def __init__(self, bench: Bench, text: str) -> None:
        self.bench = bench
        self.text = text
        self.asked: list[Question] = []

    async def ask(self, question: Question) -> str | None:
        self.asked.append(question)
        if len(self.asked) > 1:
            return DENY
        (self.bench.root / ".vimrc").write_text(self.text)
        return ALLOW


async def edit(bench: Bench, before: str, meanwhile: str, **arguments: str) -> tuple[int, str]:
    """How many questions were asked, and the text of the file after the turn."""
    lay_out(bench.root, {".vimrc": before.encode()})
    approver = Meanwhile(bench, meanwhile)
    bench.approver = approver  # type: ignore[assignment]  # a test double
    arguments = arguments or {"old_string": "debug=0", "new_string": "debug=1"}
    bench.says(answer("", call("patch", path=".vimrc", **arguments)), answer("Done."))
    await bench.turn()
    return len(approver.asked), (bench.root / ".vimrc").read_text()


@pytest.mark.parametrize(
    ("before", "meanwhile"),
    [
        ("[dev]\ndebug=0\n[prod]\n", "[dev]\n[prod]\ndebug=0\n"),  # other rows around it
        ("debug=0\n", "[prod]\ndebug=0\n"),
        ("debug=0\n", "debug=0\n[prod]\n"),
        # the same rows around it, in another part
        (
            SECTIONS,
            SECTIONS.replace("debug=0\n", "", 1).replace("[prod]\na\nb\nc\n", "[prod]\na\nb\nc\ndebug=0\n"),
        ),
        (SECTIONS, "zero\n" + SECTIONS.replace("[prod]", "[test]")),  # changed above and below
    ],
)
async def test_an_edit_elsewhere_is_asked_about_again(bench: Bench, before: str, meanwhile: str) -> None:
    assert await edit(bench, before, meanwhile) == (2, meanwhile)


@pytest.mark.parametrize("place", ["start", "end", "nowhere"])
async def test_an_edit_that_has_only_shifted_is_made(bench: Bench, place: str) -> None:
    added = {"start": f"1\n2\n{SECTIONS}", "end": f"{SECTIONS}1\n2\n", "nowhere": SECTIONS}[place]
    assert await edit(bench, SECTIONS, added) == (1, added.replace("debug=0", "debug=1"))


class AfterYes:
    """Says yes to an edit at once; to the command before it only then, after the file has changed."""

    def __init__(self, bench: Bench, text: str) -> None:
        self.bench = bench
        self.text = text
        self.asked: list[Question] = []
        self.allowed = asyncio.Event()

    async def ask(self, question: Question) -> str | None:
        if question.tool == "terminal":
            await self.allowed.wait()
            beside = self.bench.root / "beside"
            beside.write_text(self.text)
            beside.replace(self.bench.root / ".vimrc")  # at once: half of it would be another text
            return ALLOW
        self.asked.append(question)
        self.allowed.set()
        return ALLOW if len(self.asked) == 1 else DENY


@pytest.mark.parametrize(
    ("edit", "meanwhile", "questions"),
    [
        (call("write_file", path=".vimrc", content="a\nB\n"), "a\nb\nmine\n", 2),
        (call("patch", path=".vimrc", old_string="b", new_string="B", replace_all=True), "a\nb\nb\n", 2),
        (
            call("patch", mode="v4a", patch="*** Begin Patch\n*** Delete File: .vimrc\n*** End Patch\n"),
            "a\nb\nmine\n",
            2,
        ),
        (call("patch", path=".vimrc", old_string="b", new_string="B"), "a\nb\n", 1),
    ],
)
async def test_an_allowed_edit_is_asked_about_again_if_another_call_came_between(
    bench: Bench, edit: dict[str, object], meanwhile: str, questions: int
) -> None:
    lay_out(bench.root, {".vimrc": b"a\nb\n"})
    approver = AfterYes(bench, meanwhile)
    bench.approver = approver  # type: ignore[assignment]  # a test double
    bench.says(answer("", call("terminal", command="echo > made.txt"), edit), answer("Done."))
    await bench.turn()
    assert len(approver.asked) == questions
    if questions > 1:
        assert (bench.root / ".vimrc").read_text() == meanwhile
