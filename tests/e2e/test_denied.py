"""What the user says no to is told as that: it is no failure, and no problem of any document."""

from __future__ import annotations

import pytest

from e2e.conftest import Stage
from e2e.habits import VSCODE, Habits
from e2e.prompts import patch, statuses
from handrail.testing import answer, call

vscode = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
V4A = "*** Begin Patch\n{}\n*** End Patch\n"
OPTIONS = {"handrail": {"approvals": True, "turnUpdates": True}}

EDITS = {
    "patch": patch(".env", "KEY=one", "KEY=two"),
    "write_file": call("write_file", path=".env", content="KEY=two\n"),
    "a file that is not there": call("write_file", path=".env.local", content="KEY=two\n"),
    "delete": call("patch", mode="v4a", patch=V4A.format("*** Delete File: .env")),
    "move": call("patch", mode="v4a", patch=V4A.format("*** Update File: .env\n*** Move to: b.txt")),
    "several files": call(
        "patch",
        mode="v4a",
        patch=V4A.format("*** Update File: a.txt\n-one\n+1\n*** Update File: .env\n-KEY=one\n+KEY=two"),
    ),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
@pytest.mark.parametrize("says", ["deny", None], ids=["no", "no answer in time"])
@vscode
async def test_a_denied_edit_is_no_failure(
    stage: Stage, habits: Habits, edit: dict[str, object], says: str | None
) -> None:
    stage.put(".env", "KEY=one\n")
    stage.put("a.txt", "one\n")
    stage.put("c.txt", "one\n")
    settings = stage.script(answer("", edit, patch("c.txt", "one", "1")), answer("Done."))
    editor = await stage.start(habits, settings=settings, options=OPTIONS)
    report = await stage.turn(editor, "Edit.", says)
    *denied, last = statuses(report)
    assert (set(denied), last) == ({"denied"}, "landed")
    assert all(each["failure"]["code"] == "denied" for each in report["outcomes"][:-1]), "why it is not there"
    assert (stage.root / ".env").read_text() == "KEY=one\n"
    assert (stage.root / "a.txt").read_text() == "one\n"
    assert [each for each in editor.published if each["diagnostics"]] == []
    assert await editor.request("failure.list") == []
    assert editor.progressed[-1]["message"] == f"1 edit landed, {len(denied)} denied"
    assert not [each for each in editor.traffic if "window/logMessage" in each and "denied" in each]


@vscode
async def test_a_denied_command_is_no_failure(stage: Stage, habits: Habits) -> None:
    settings = stage.script(answer("", call("terminal", command="touch made.txt")), answer("Done."))
    editor = await stage.start(habits, settings=settings, options=OPTIONS)
    editor.answers = ["deny"]
    report = await editor.turn("Run.")
    assert report["outcomes"] == []
    assert not (stage.root / "made.txt").exists()
    assert editor.published == []
    assert editor.progressed[-1]["message"] == "finished", "no edit was tried"


@vscode
async def test_what_a_rule_blocks_is_a_failure(stage: Stage, habits: Habits) -> None:
    """Shown where the editor has the document open, however it spells it."""
    path = stage.put("a.txt", "one\n")
    link = stage.root / "link.txt"
    link.symlink_to(path)
    rules = [{"tool": "patch", "match": "a.txt", "verdict": "block"}]
    settings = stage.script(answer("", patch("a.txt", "one", "1")), answer("Done."))
    editor = await stage.start(habits, settings={**settings, "approvals": rules})
    uri = editor.desk.open(link)
    assert uri != path.as_uri()
    report = await editor.turn("Edit.")
    assert statuses(report) == ["blocked"]
    assert [each["code"] for each in editor.shown_diagnostics(uri)] == ["blocked"]
    assert editor.shown_diagnostics(path.as_uri()) == []
    (known,) = await editor.request("failure.list")
    assert known["uri"] == report["outcomes"][0]["uri"] == uri
    editor.desk.close(uri)
    editor.desk.open(path)
    await editor.until(lambda: editor.shown_diagnostics(path.as_uri()))
    assert editor.shown_diagnostics(uri) == []
    (dismiss,) = await editor.quick_fixes(path.as_uri(), editor.shown_diagnostics(path.as_uri())[0]["range"])
    await editor.choose(dismiss)
    assert editor.shown_diagnostics(path.as_uri()) == []
