"""The diagnostic of a failed edit goes with its document when that is renamed, with its quick fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import EVERY_EDITOR, VSCODE, Habits
from e2e.prompts import block, statuses, v4a
from handrail.testing.texts import Json

every_editor = pytest.mark.parametrize("habits", EVERY_EDITOR, ids=lambda habits: habits.name)
vscode = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])

TEXT = "first line\nthe second line of text\nthird line\n"
FAILS = block("a.txt", "the second line of texts", "the second row of text")
FIXED = TEXT.replace("the second line of text", "the second row of text")


@pytest.fixture
async def editor(stage: Stage, habits: Habits) -> Editor:
    return await stage.start(habits)


@pytest.fixture
async def uri(stage: Stage, editor: Editor) -> str:
    """A document with a failed edit."""
    document = editor.desk.open(stage.put("a.txt", TEXT))
    assert statuses(await editor.turn(FAILS)) == ["no-match"]
    await editor.published_diagnostics(document, 1)
    return document


async def fix(editor: Editor, old: str, new: str) -> Json:
    """Makes the edit by the quick fix that is shown at the new name only."""
    (shown,) = await editor.published_diagnostics(new, 1)
    assert editor.shown_diagnostics(old) == []
    actions = await editor.quick_fixes(new, shown["range"])
    (outcome,) = await editor.choose(actions[0])
    await editor.published_diagnostics(new, 0)
    return outcome


@every_editor
@pytest.mark.parametrize("typed", ["", "typed\n"])
async def test_by_the_editor_that_closes_and_opens_it(editor: Editor, uri: str, typed: str) -> None:
    if typed:
        editor.desk.type(uri, typed, before="first")
    new = editor.desk.rename(uri, "b.txt")
    outcome = await fix(editor, uri, new)
    assert (outcome["status"], outcome["uri"]) == ("landed", new)
    assert editor.desk[new] == typed + FIXED


@vscode
async def test_by_the_editor_while_it_is_closed(stage: Stage, editor: Editor, uri: str) -> None:
    old, new = stage.root / "a.txt", stage.root / "b c.txt"
    editor.desk.save(uri)
    editor.desk.close(uri)
    old.rename(new)
    files = [{"oldUri": old.as_uri(), "newUri": new.as_uri()}]
    editor.notify("workspace/didRenameFiles", {"files": files})
    outcome = await fix(editor, uri, new.as_uri())
    assert outcome["status"] == "landed"
    assert new.read_text() == FIXED


@vscode
@pytest.mark.parametrize("is_open", [False, True])
async def test_by_the_editor_with_its_folder(stage: Stage, editor: Editor, is_open: bool) -> None:
    uri = editor.desk.open(stage.put("old/in it/a.txt", TEXT))
    await editor.turn(FAILS.replace("a.txt", "old/in it/a.txt"))
    await editor.published_diagnostics(uri, 1)
    old, new = stage.root / "old", stage.root / "new"
    editor.desk.close(uri)
    old.rename(new)
    there = new / "in it" / "a.txt"
    if is_open:
        editor.desk.open(there)
    editor.notify("workspace/didRenameFiles", {"files": [{"oldUri": old.as_uri(), "newUri": new.as_uri()}]})
    await fix(editor, uri, there.as_uri())


@vscode
@pytest.mark.parametrize("change", ["", "@@\n-first line\n+1st line\n"])
async def test_by_the_agent(stage: Stage, editor: Editor, uri: str, change: str) -> None:
    editor.desk.save(uri)
    report = await editor.turn(v4a("*** Update File: a.txt", "*** Move to: b.txt", *change.splitlines()))
    assert statuses(report) == ["landed"]
    new = (stage.root / "b.txt").as_uri()
    await fix(editor, uri, new)
    assert text_of(editor, new) == FIXED.replace("first", "1st" if change else "first")


def text_of(editor: Editor, uri: str) -> str:
    return editor.desk[uri] if uri in editor.desk.documents else Path(uri.removeprefix("file://")).read_text()


@every_editor
async def test_not_to_a_copy_that_is_opened(stage: Stage, editor: Editor, uri: str) -> None:
    copy = editor.desk.open(stage.put("b.txt", TEXT))
    await editor.request("failure.list")
    assert len(editor.shown_diagnostics(uri)) == 1
    assert editor.shown_diagnostics(copy) == []


@every_editor
async def test_not_to_a_document_with_another_text(stage: Stage, editor: Editor, uri: str) -> None:
    editor.desk.close(uri)
    (stage.root / "a.txt").unlink()
    other = editor.desk.open(stage.put("b.txt", TEXT + "more\n"))
    (known,) = await editor.request("failure.list")
    assert known["uri"] == uri
    assert editor.shown_diagnostics(other) == []
