"""The user is shown each place as it is edited, if that is wanted."""

from __future__ import annotations

from typing import Any

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import EVERY_EDITOR, VSCODE, Habits
from e2e.prompts import v4a
from handrail.testing import answer, call

every_editor = pytest.mark.parametrize("habits", EVERY_EDITOR, ids=lambda habits: habits.name)
vscode = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
PATCH = v4a("*** Update File: a.txt", "@@", " one", "-two", "+TWO")


async def run(stage: Stage, habits: Habits, **settings: Any) -> tuple[Editor, str]:
    """A turn that edits an open document: the editor, and the document."""
    path = stage.put("a.txt", "😀\none\ntwo\n")
    model = stage.script(answer("", call("patch", mode="v4a", patch=PATCH)), answer("Done."))
    editor = await stage.start(habits, settings={**model, **settings})
    uri = editor.desk.open(path)
    editor.desk.type(uri, "zero\n", before="😀")
    editor.desk.tell()
    begun = await editor.request("turn.start", prompt="Shout.")
    report = await editor.request("turn.wait", turn=begun["turn"])
    assert [each["status"] for each in report["outcomes"]] == ["landed"]
    return editor, uri


@every_editor
async def test_each_place_is_shown_and_the_focus_stays(stage: Stage, habits: Habits) -> None:
    editor, uri = await run(stage, habits, follow=True)
    if not habits.capabilities.get("window", {}).get("showDocument", {}).get("support"):
        assert editor.show_requests == []
        assert not any("a.txt" in each.message for each in editor.messages), "it is not said either"
        return
    await editor.until(lambda: editor.show_requests)
    (shown,) = editor.show_requests
    assert (shown.uri, shown.take_focus) == (uri, False)
    assert shown.selection is not None
    assert (shown.selection.start.line, shown.selection.start) == (3, shown.selection.end)


@vscode
async def test_by_default_nothing_is_shown(stage: Stage, habits: Habits) -> None:
    editor, _ = await run(stage, habits)
    assert editor.show_requests == []


@vscode
async def test_a_moved_document_is_shown_and_reported_at_its_new_place(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", "one\ntwo\n")
    patch = v4a("*** Update File: a.txt", "*** Move to: b.txt", "@@", " one", "-two", "+TWO")
    model = stage.script(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    editor = await stage.start(habits, settings={**model, "follow": True})
    report = await editor.turn("Move.")
    new = (stage.root / "b.txt").as_uri()
    assert [(each["status"], each["uri"]) for each in report["outcomes"]] == [("landed", new)]
    await editor.until(lambda: editor.show_requests)
    assert [each.uri for each in editor.show_requests] == [new]
