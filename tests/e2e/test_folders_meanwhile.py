"""Workspace folders that are added and removed while a question of a turn is open."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import VSCODE, Habits, opt_in
from e2e.prompts import patch
from handrail.testing import answer, call

pytestmark = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])

GONE = "is no longer in the workspace, so this call was not run."
CHANGED = "The workspace folders changed after this call was checked, so it was not run."


def change_folders(editor: Editor, *, added: tuple[Path, ...] = (), removed: tuple[Path, ...] = ()) -> None:
    """The user adds and removes workspace folders."""
    change = {
        name: [{"uri": each.as_uri(), "name": each.name} for each in folders]
        for name, folders in (("added", added), ("removed", removed))
    }
    editor.notify("workspace/didChangeWorkspaceFolders", {"event": change})


async def results(editor: Editor, stage: Stage, **folders: tuple[Path, ...]) -> list[str]:
    """The results of a turn's calls; the folders change while its question is open, which is then allowed."""
    editor.answers = [None]
    begun = await editor.start_turn("Do it.")
    await editor.until(lambda: editor.questions)
    (asked,) = await editor.request("approval.list")
    change_folders(editor, **folders)
    await editor.request("approval.answer", approval=asked["id"], choice="allow")
    await editor.request("turn.wait", turn=begun["turn"])
    events = [each["event"] for each in editor.updates]
    return [each["summary"] for each in events if each["kind"] == "toolResult"]


CALLS = {
    "relative": (patch("more/.env", "one", "1"), "more/.env"),
    "written": (call("write_file", path="more/.env", content="1\n"), "more/.env"),
    "command": (call("terminal", command="touch made.txt", folder="more"), "more"),
    "read by a command": (call("terminal", command="cat ../more/.env"), "more/.env"),
}


@pytest.mark.parametrize(("asks", "named"), CALLS.values(), ids=CALLS)
async def test_a_call_in_a_folder_that_was_removed_says_so(
    stage: Stage, habits: Habits, asks: dict[str, object], named: str
) -> None:
    more = stage.folder / "more"
    more.mkdir()
    (more / ".env").write_text("one\n")
    settings = stage.script(answer("", asks), answer("Done."))
    editor = await stage.start(
        habits, settings=settings, folders=[stage.root, more], options=opt_in(approvals=False)
    )
    (result,) = await results(editor, stage, removed=(more,))
    assert f"The folder of {named} {GONE}" in result
    assert (more / ".env").read_text() == "one\n"
    assert not (more / "made.txt").exists()


async def test_a_call_says_so_when_the_last_folder_was_removed(stage: Stage, habits: Habits) -> None:
    stage.put(".env", "one\n")
    settings = stage.script(answer("", patch(".env", "one", "1")), answer("Done."))
    editor = await stage.start(habits, settings=settings, options=opt_in(approvals=False))
    (result,) = await results(editor, stage, removed=(stage.root,))
    assert f"The folder of .env {GONE}" in result


async def test_a_folder_that_was_added_is_named_as_the_reason(stage: Stage, habits: Habits) -> None:
    more = stage.folder / "more"
    more.mkdir()
    stage.put(".env", "one\n")
    settings = stage.script(answer("", patch(".env", "one", "1")), answer("Done."))
    editor = await stage.start(habits, settings=settings, options=opt_in(approvals=False))
    (result,) = await results(editor, stage, added=(more,))
    assert CHANGED in result
