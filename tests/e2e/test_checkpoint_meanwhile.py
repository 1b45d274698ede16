"""What the user does while a command runs is theirs: no restore takes it back with what the command did."""

from __future__ import annotations

import asyncio
import os

import pytest

from e2e.client import Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import VSCODE, Habits, opt_in
from e2e.prompts import patch
from handrail.testing import answer, call
from handrail.testing.texts import Json

pytestmark = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])


async def saving_during(stage: Stage, habits: Habits, line: str) -> tuple[Editor, Json]:
    """A turn that runs a command; before *line*, the user types into `a.txt` and saves it."""
    path = stage.put("a.txt", "one\ntwo\n")
    for name in ("begun", "go"):
        os.mkfifo(stage.folder / name)
    command = call("terminal", command=f"echo > ../begun; cat ../go; {line}")
    settings = stage.script(answer("", command), answer("Done."))
    editor = await stage.start(habits, settings=settings, options=opt_in("save", approvals=True))
    editor.answers = ["allow"]
    uri = editor.desk.open(path)
    turn = asyncio.create_task(editor.turn("Run it."))
    await asyncio.to_thread((stage.folder / "begun").read_bytes)
    editor.desk.type(uri, "mine\n", before="two")
    editor.desk.save(uri)
    await editor.request("checkpoint.list")  # by the time of the answer the server has heard all of that
    await asyncio.to_thread((stage.folder / "go").write_bytes, b"")
    return editor, await turn


async def test_what_the_user_saves_is_kept(stage: Stage, habits: Habits) -> None:
    editor, report = await saving_during(stage, habits, "echo made > made.txt")
    path = stage.root / "a.txt"
    assert [each["uri"] for each in report["outcomes"]] == [(stage.root / "made.txt").as_uri()]
    await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert path.read_text() == editor.desk[path.as_uri()] == "one\nmine\ntwo\n"
    assert not (stage.root / "made.txt").exists()


async def test_what_the_command_changes_afterwards_is_its_own(stage: Stage, habits: Habits) -> None:
    _, report = await saving_during(stage, habits, "echo three >> a.txt")
    assert [each["uri"] for each in report["outcomes"]] == [(stage.root / "a.txt").as_uri()]


async def test_the_checkpoint_of_a_running_turn_is_not_removed(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", "one\n")
    (stage.folder / "go").touch()
    command = call("terminal", command="cat ../go")
    settings = stage.script(answer("", patch("a.txt", "one", "ONE")), answer("", command), answer("Done."))
    options = opt_in("save", approvals=True)
    editor = await stage.start(habits, settings=settings, options=options)
    other = await stage.start(habits, settings=settings, options=options)
    editor.answers = [None]
    turn = (await editor.start_turn("Edit, and run it."))["turn"]
    await editor.until(lambda: editor.questions)
    for each in (editor, other):
        with expect_error(-32803, f"{turn} is still running"):
            await each.request("checkpoint.prune", checkpoints=[turn])
    await editor.request("turn.cancel", turn=turn)
    await editor.request("turn.wait", turn=turn)
    assert (await other.request("checkpoint.prune", checkpoints=[turn]))["removed"] == [turn]
