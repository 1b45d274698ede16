"""Changes of files that are not text, also while an editor shows one of them as text."""

from __future__ import annotations

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import NEOVIM, VSCODE, Habits, opt_in
from handrail.agent.restore.reasons import OPEN
from handrail.testing import answer, call
from handrail.testing.texts import Json

OLD, NEW = bytes(range(128, 256)), bytes(8) + bytes(range(256))
SHOWN = "\ufffd" * 8  # what an editor makes of it
both = pytest.mark.parametrize("habits", [VSCODE, NEOVIM], ids=lambda habits: habits.name)


async def copied(stage: Stage, habits: Habits, name: str) -> Editor:
    """An editor in which a command of a turn has copied bytes to the file *name*, which is open as text."""
    stage.put("other.bin", NEW)
    copy = call("terminal", command=f"cp other.bin {name}")
    editor = await stage.start(
        habits,
        settings=stage.script(answer("", copy), answer("Done.")),
        options=opt_in(approvals=True),
        environment={"HANDRAIL_SANDBOX": "off"},
    )
    editor.answers = ["allow"]
    await editor.turn("Copy it.")
    editor.desk.open((stage.root / name).as_uri(), SHOWN)
    return editor


async def undone(editor: Editor) -> list[str]:
    """Undoes everything; the reasons why something was not undone."""
    done: Json = await editor.request("review.undo", all=True)
    return [each["reason"] for each in done["conflicts"]]


@both
async def test_a_file_that_was_changed_is_undone_once_it_is_no_longer_open(
    stage: Stage, habits: Habits
) -> None:
    path = stage.put("dot.bin", OLD)
    editor = await copied(stage, habits, "dot.bin")
    (reason,) = await undone(editor)
    assert reason == OPEN
    assert path.read_bytes() == NEW
    editor.desk.close(path.as_uri())
    assert (await undone(editor), path.read_bytes()) == ([], OLD)


@both
async def test_a_file_that_was_made_is_removed_once_it_is_no_longer_open(
    stage: Stage, habits: Habits
) -> None:
    path = stage.root / "new.bin"
    editor = await copied(stage, habits, "new.bin")
    (reason,) = await undone(editor)
    assert reason.startswith("This file, or what it was before the change, cannot be read as text.")
    assert path.read_bytes() == NEW
    editor.desk.close(path.as_uri())
    assert (await undone(editor), path.exists()) == ([], False)


@pytest.mark.parametrize(
    ("name", "what"), [("dot.bin", "not a text file"), ("new.bin", "created")], ids=["changed", "made"]
)
async def test_no_rows_are_counted_in_it(stage: Stage, name: str, what: str) -> None:
    stage.put("dot.bin", OLD)
    editor = await copied(stage, VSCODE, name)
    uri = (stage.root / name).as_uri()
    lens, _ = await editor.call("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert lens["command"]["title"] == f"✎ {what}: Keep"
    start = {"line": 0, "character": 0}
    titles = [each["title"] for each in await editor.quick_fixes(uri, {"start": start, "end": start})]
    assert titles[:2] == [f"Keep this change ({what})", f"Undo this change ({what})"]
    page = await editor.request("review.open")
    assert "−0" not in page["text"]
