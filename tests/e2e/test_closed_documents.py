"""
Closed documents that are edited, made and moved through the editor: what it does late, or by half, is told as
for an open document, and can be undone.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import VSCODE
from e2e.prompts import statuses, v4a
from e2e.test_truth import SHORT_S, corrected, nothing_is_open, started
from handrail.testing import answer, call, snapshot
from handrail.testing.behaviours import Reaction, Response, half
from handrail.testing.texts import Json

TEXT = "one\ntwo\nthree\nfour\nfive\nsix\n"
TWO_HUNKS = v4a("*** Update File: a.txt", "@@", "-two", "+TWO", "@@", "-six", "+SIX")
MOVE = v4a("*** Update File: a.txt", "*** Move to: b.txt", "@@", "-two", "+TWO")
MOVED = {"b.txt": TEXT.replace("two", "TWO").encode()}
LATE = [Response.NULL, Response.FALSE, Response.TRUE]


async def start(stage: Stage, tool: dict[str, object], closed: str) -> Editor:
    settings = {"edits": {"closedDocuments": closed}, **stage.script(answer("", tool), answer("Done."))}
    return await started(stage, VSCODE, timeout_s=SHORT_S, settings=settings)


async def restore(editor: Editor, report: Json) -> Json:
    restored: Json = await editor.request("checkpoint.restore", checkpoint=report["turn"])
    assert (restored["conflicts"], restored["partial"]) == ([], [])
    return restored


# ---- By half --------------------------------------------------------------------------------------


@pytest.mark.parametrize("opened", [True, False], ids=["open", "closed"])
@pytest.mark.parametrize("closed", ["auto", "editor"])
async def test_half_an_edit_is_taken_back(stage: Stage, opened: bool, closed: str) -> None:
    editor = await start(stage, call("patch", mode="v4a", patch=TWO_HUNKS), closed)
    path = stage.put("a.txt", TEXT)
    if opened:
        editor.desk.open(path)
    editor.behaviours = [half]
    report = await editor.turn("Do it.")
    assert statuses(report) == ["not-as-written"] * 2
    for outcome in report["outcomes"]:
        message = outcome["failure"]["message"]
        assert message == (
            "The editor applied only 1 of 2 changes of this edit. The part that landed was reverted."
        )
        assert outcome["failure"]["steps"] == ["Read the document again.", "Then send the whole edit again."]
    assert (editor.desk[path.as_uri()], path.read_text()) == (TEXT, TEXT)


@pytest.mark.parametrize("opened", [True, False], ids=["open", "closed"])
async def test_the_half_of_an_edit_that_may_stay_is_told_as_landed(stage: Stage, opened: bool) -> None:
    editor = await start(stage, call("patch", mode="v4a", patch=TWO_HUNKS, partial=True), "auto")
    path = stage.put("a.txt", TEXT)
    if opened:
        editor.desk.open(path)
    editor.behaviours = [half]
    report = await editor.turn("Do it.")
    assert statuses(report) == ["landed", "not-as-written"]
    assert editor.desk[path.as_uri()] == TEXT.replace("two", "TWO")
    assert path.read_text() == (TEXT if opened else TEXT.replace("two", "TWO"))
    await restore(editor, report)
    assert (editor.desk[path.as_uri()], path.read_text()) == (TEXT, TEXT)


async def test_the_other_half_of_an_edit_that_shows_late_is_corrected(stage: Stage) -> None:
    """What the editor makes later than half of it is told when it shows."""
    editor = await start(stage, call("patch", mode="v4a", patch=TWO_HUNKS, partial=True), "auto")
    path = stage.put("a.txt", TEXT)
    editor.behaviours = [half]
    report = await editor.turn("Do it.")
    assert statuses(report) == ["landed", "not-as-written"]
    editor.desk.type(path.as_uri(), "SIX", instead="six")
    editor.desk.tell()
    await corrected(editor, report, ["landed", "landed"])


# ---- Late -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("response", LATE, ids=lambda response: response.name)
@pytest.mark.parametrize("content", ["new\n", "new"], ids=["ended", "not-ended"])
async def test_a_file_that_is_made_late_is_told_as_made(
    stage: Stage, response: Response, content: str
) -> None:
    editor = await start(stage, call("write_file", path="n.txt", content=content), "editor")
    gate = asyncio.Event()
    editor.behaviours = [Reaction(applies=gate, response=response)]
    report = await editor.turn("Do it.")
    assert statuses(report)[0] in ("edit-rejected", "not-as-written")
    assert snapshot(stage.root) == {}
    gate.set()
    await corrected(editor, report, ["landed"])
    await nothing_is_open(editor, (stage.root / "n.txt").as_uri())
    assert snapshot(stage.root) == {"n.txt": content.encode()}
    await restore(editor, report)
    assert snapshot(stage.root) == {}


@pytest.mark.parametrize("response", LATE, ids=lambda response: response.name)
async def test_a_file_that_is_made_late_at_its_new_path_is_moved(stage: Stage, response: Response) -> None:
    editor = await start(stage, call("patch", mode="v4a", patch=MOVE), "editor")
    path = stage.put("a.txt", TEXT)
    path.chmod(0o750)
    gate = asyncio.Event()
    editor.behaviours = [Reaction(applies=gate, response=response)]
    report = await editor.turn("Do it.")
    assert "landed" not in statuses(report)
    gate.set()
    await corrected(editor, report, ["landed"])
    assert snapshot(stage.root) == MOVED
    assert mode_of(stage.root / "b.txt") == 0o750
    await restore(editor, report)
    assert snapshot(stage.root) == {"a.txt": TEXT.encode()}
    assert mode_of(path) == 0o750


async def test_a_file_that_was_changed_before_it_was_made_late_at_its_new_path_stays(stage: Stage) -> None:
    editor = await start(stage, call("patch", mode="v4a", patch=MOVE), "editor")
    path = stage.put("a.txt", TEXT)
    gate = asyncio.Event()
    editor.behaviours = [Reaction(applies=gate, response=Response.NULL)]
    report = await editor.turn("Do it.")
    path.write_text("mine\n")
    gate.set()
    await corrected(editor, report, ["stale-document"])
    assert snapshot(stage.root) == {"a.txt": b"mine\n", **MOVED}


async def test_another_new_file_with_the_same_text_is_not_the_one_that_failed(stage: Stage) -> None:
    editor = await start(stage, call("write_file", path="n.txt", content="new\n"), "editor")
    editor.behaviours = [Reaction(applies=asyncio.Event(), response=Response.NULL)]
    report = await editor.turn("Do it.")
    editor.desk.open(stage.put("other.txt", "new\n"))
    await editor.request("failure.list")
    assert statuses(await editor.request("turn.wait", turn=report["turn"])) == ["edit-rejected"]


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777
