"""Where the calls that a conversation document shows lead to."""

from __future__ import annotations

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import Habits
from e2e.prompts import patch, v4a
from e2e.test_chat import every_editor, killed, opened, says, shows, vscode
from handrail.testing import answer, call

ROWS = "".join(f"row {number}\n" for number in range(1, 31))


async def targets(editor: Editor, uri: str) -> list[str]:
    """What the calls lead to: the names of files, each with a line."""
    editor.desk.tell()
    found = await editor.call("textDocument/documentLink", {"textDocument": {"uri": uri}})
    return [each["target"].rpartition("/")[2] for each in found]


async def edited(stage: Stage, habits: Habits, *calls: dict[str, object]) -> tuple[Editor, str]:
    """An editor after a turn of these calls, with its conversation."""
    editor = await stage.start(habits, settings=stage.script(answer("I edit.", *calls), answer("Done.")))
    uri = await opened(editor)
    await says(editor, uri, "Edit.\n")
    await shows(editor, uri, "Done.\n")
    return editor, uri


@every_editor
async def test_an_edit_leads_to_its_first_change_where_it_is_now(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", ROWS)
    sections = ("@@", "-row 20", "+ROW 20", "@@", "-row 25", "+ROW 25")
    change = call("patch", mode="v4a", patch=v4a("*** Update File: a.txt", *sections))
    editor, uri = await edited(stage, habits, change)
    assert await targets(editor, uri) == ["a.txt#L20"]
    file = (stage.root / "a.txt").as_uri()
    if file not in editor.desk.documents:
        editor.desk.open(file)
    editor.desk.rewrite(file, f"more\nand more\n{editor.desk[file]}")
    await editor.until(lambda: "and more" in editor.desk[file])
    assert await targets(editor, uri) == ["a.txt#L22"]
    await editor.request("review.keep", all=True)
    editor.desk.rewrite(file, f"still more\n{editor.desk[file]}")
    assert await targets(editor, uri) == ["a.txt#L23"], "it is not pending any longer"


@vscode
async def test_each_edit_leads_to_a_place_of_its_own(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", ROWS)
    two = v4a(
        "*** Update File: a.txt", "@@", "-row 99", "+no", "*** Update File: b.txt", "@@", "-row 9", "+9"
    )
    stage.put("b.txt", ROWS)
    calls = (
        patch("a.txt", "row 12\n", "ROW 12\n"),
        call("patch", mode="v4a", patch=two),
        call("write_file", path="new.txt", content="one\n"),
    )
    editor, uri = await edited(stage, habits, *calls)
    assert await targets(editor, uri) == ["a.txt#L12", "a.txt#L9", "new.txt#L1"]


@vscode
async def test_a_failed_edit_leads_to_the_nearest_place(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", ROWS.replace("row 17", "def value(argument):"))
    editor, uri = await edited(stage, habits, patch("a.txt", "def value(arguments):\n", "def other():\n"))
    assert await targets(editor, uri) == ["a.txt#L17"]
    (failure,) = await editor.request("failure.list")
    await editor.request("failure.dismiss", failure=failure["id"])
    assert await targets(editor, uri) == ["a.txt#L17"]


@vscode
async def test_after_a_restart_an_edit_leads_to_where_it_was(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", ROWS)
    missed = patch("a.txt", "row number 17\n", "ROW\n")
    editor, uri = await edited(stage, habits, patch("a.txt", "row 12\n", "ROW 12\n"), missed)
    (failure,) = await editor.request("failure.list")
    await editor.request("failure.dismiss", failure=failure["id"])
    await editor.request("review.keep", all=True)
    held = editor.desk[uri]
    await killed(stage, editor)
    later = await stage.start(habits, settings=stage.script(answer("Done.")))
    later.desk.open(uri, held)
    await later.request("chat.open")
    assert await targets(later, uri) == ["a.txt#L12", "a.txt#L17"]
