"""Checks of the user's that are contained, by bubblewrap and by Landlock: what they see and may do."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from agent.turn.test_taken_back import Contained, landlocked, namespaces
from handrail.adapters.containment import containment
from handrail.agent.turn.feedback import feedback
from handrail.core.conversation.message import UserMessage
from handrail.core.ledger.report import Notice
from handrail.core.policy.checks import Check, Format
from handrail.core.policy.containment import Sandbox
from handrail.ports import Ports, Terms
from handrail.testing import answer, call, lay_out, snapshot

# Finds fault with its input if that is the new text, and tries to change and to learn what it must not.
TRIES = (
    "echo x > made; echo x > a.txt; cat .env; "
    "if grep -q new; then echo 'a.txt:1: error: New.'; fi; cat .env 2>/dev/null | sed 's/^/a.txt:2: /'"
)


class Still:
    """A clock that stands still: nothing is ever too late."""

    def now(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()


class Checked(Contained):
    """A bench with contained commands, and time for them."""

    def ports(self) -> Ports:
        return replace(super().ports(), clock=Still())


@pytest.fixture(
    params=[pytest.param("bubblewrap", marks=namespaces), pytest.param("Landlock", marks=landlocked)]
)
def by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What contains commands."""
    if request.param == "Landlock":
        monkeypatch.setattr(containment, "find", lambda *_: (None, "not here"))
    return str(request.param)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """How busy the machine is does not matter here: what is awaited in a turn is awaited long enough."""
    monkeypatch.setattr(feedback, "LIMIT_S", 60.0)
    monkeypatch.setattr(feedback, "BEFORE_S", 30.0)


@pytest.fixture
def bench(by: str, tmp_path: Path) -> Iterator[Checked]:
    root = tmp_path / "work"
    lay_out(root, {"a.txt": b"old\nrow\n", ".env": b"KEY=1\n"})
    made = Checked(root, tmp_path / "state")
    yield made
    made.containment.close()


def checking(bench: Checked, check: Check) -> None:
    terms = Terms(sandbox=Sandbox.AUTO, timeout_s=60, checks=(check,), roots=(bench.root.as_uri(),))
    bench.terms = terms


@pytest.mark.parametrize("is_stdin", [True, False], ids=["stdin", "files"])
async def test_a_contained_check_reads_the_new_text_and_nothing_else(
    bench: Checked, *, is_stdin: bool
) -> None:
    line = "cat {files} | { " + TRIES + "; }"
    stdin = TRIES if is_stdin else ""
    checking(bench, Check(command=line, format=Format.LINES, files=("*.txt",), stdin=stdin))
    edit = call("patch", path="a.txt", old_string="old", new_string="new")
    bench.says(answer("", edit), answer("Done."))
    await bench.turn()
    (text,) = bench.texts()
    assert text.endswith("\nAfter your edits, there is a new problem:\na.txt:1: error: New. (cat)")
    assert snapshot(bench.root) == {"a.txt": b"new\nrow\n", ".env": b"KEY=1\n"}
    assert bench.approver.asked == []


async def test_a_check_that_cannot_be_contained_is_said_once(
    bench: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hold(*_: object) -> None:  # what was possible just before no longer is
        raise containment.CannotContainError("the state folder cannot be used: no space left on the disk")

    monkeypatch.setattr(containment.Containment, "hold", hold)
    checking(bench, Check(command="true {files}", format=Format.LINES))
    bench.says(answer("", call("patch", path="a.txt", old_string="old", new_string="new")), answer("Done."))
    await bench.turn()
    (said,) = {event.text for event in bench.events if isinstance(event, Notice) and "check" in event.text}
    assert said == (
        "handrail.checks: The check `true` gave no result: the command was not run because it could not be "
        "contained: the state folder cannot be used: no space left on the disk."
    )


async def test_each_workspace_folder_is_checked_by_itself(bench: Checked) -> None:
    roots = [bench.root / name for name in ("one", "two", "three")]
    for root in roots:
        lay_out(root, {"a.txt": b"old\n"})
    uris = [root.as_uri() for root in roots]
    bench.folders.set_folders(uris)
    line = "grep -Hn new {files} | sed 's/:new/: error: New./'"
    checking(bench, Check(command=line, format=Format.LINES))
    bench.terms = replace(bench.terms, roots=tuple(uris))
    edits = [call("patch", path=str(root / "a.txt"), old_string="old", new_string="new") for root in roots]
    bench.says(answer("", *edits), answer("Done."))
    await bench.turn()
    told = bench.texts()[-1].partition("After your edits, there are 3 new problems:\n")[2]
    assert [row.partition("a.txt")[2] for row in told.split("\n")] == [":1: error: New. (grep)"] * 3


async def test_in_a_terminal_a_file_that_no_check_is_for_is_not_said_to_need_an_editor(
    bench: Checked,
) -> None:
    checking(bench, Check(command="true {files}", format=Format.LINES, files=("*.py",)))
    bench.terms = replace(bench.terms, is_headless=True)
    bench.says(answer("", call("problems", path="a.txt")), answer("Done."))
    await bench.turn()
    assert bench.texts() == ["Unknown: no check reports on a.txt."]


async def test_a_check_that_does_not_end_is_ended_and_not_run_again(bench: Checked) -> None:
    checking(bench, Check(command="sleep 1000", format=Format.LINES))
    bench.terms = replace(bench.terms, timeout_s=0.2)
    steps = [call("patch", path="a.txt", old_string=old, new_string="new") for old in ("old", "row")]
    bench.says(answer("", steps[0]), answer("", steps[1]), answer("Done."))
    await bench.turn()
    first, second = bench.texts()
    assert first.endswith("in a.txt. The check `sleep` took longer than 0.2 s and was stopped.")
    assert "Not known" not in second
    told = [each.text for each in bench.events if isinstance(each, Notice)]
    assert told == ["handrail.checks: The check `sleep` took longer than 0.2 s and was stopped."]


def is_sleeping(folder: Path) -> bool:
    """Whether a `sleep 1000` runs in a folder."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            is_meant = os.readlink(process / "cwd") == os.fspath(folder)
            if is_meant and (process / "cmdline").read_bytes() == b"sleep\x001000\x00":
                return True
    return False


@pytest.mark.parametrize("by", [pytest.param("bubblewrap", marks=namespaces)], indirect=True)
async def test_a_check_that_was_ended_for_the_users_sake_is_tried_again(bench: Checked) -> None:
    line = (
        "if grep -q old {files}; then exit 0; fi; test -e go || sleep 1000; "
        "grep -Hn new {files} | sed 's/:new/: error: New./'"
    )
    checking(bench, Check(command=line, format=Format.LINES))
    edit = call("patch", path="a.txt", old_string="old", new_string="new")
    bench.says(answer("", edit), answer("Done."), answer("I see."))

    async def save() -> None:
        """Once the check runs, in its sandbox, replace a protected file until it was ended for that."""
        while not is_sleeping(bench.root):  # noqa: ASYNC110  # nothing reports its start
            await asyncio.sleep(0.01)
        while not any(isinstance(each, Notice) for each in bench.events):
            (bench.root / "saved").write_bytes(b"KEY=2\n")
            (bench.root / "saved").replace(bench.root / ".env")
            await asyncio.sleep(0.01)
        (bench.root / "go").touch()

    saving = asyncio.create_task(save())
    report = await bench.turn()
    await saving
    (text,) = bench.texts()
    assert text.endswith(f"was stopped because the protected file {bench.root / '.env'} was replaced.")
    assert report.answer == "I see."
    (told,) = [each.text for each in bench.history() if isinstance(each, UserMessage)][1:]
    assert told == "After your edits, there is a new problem:\na.txt:1: error: New. (if)"
