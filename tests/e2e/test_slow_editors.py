"""
Editors that are slow because of their users.

Emacs tells of edits only when its user pauses; this does not say that an edit has failed.
"""

from __future__ import annotations

import asyncio

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import EMACS, NEOVIM, VIM, Habits, opt_in
from e2e.prompts import patch, statuses
from handrail.testing import answer, behaviours, call
from handrail.testing.texts import Json

TEXT = "one\ntwo\nthree\n"
SOON_S = 5.0  # less than an edit is waited for
PATIENT_S = 2.0  # of which an editor gets the half to tell of an edit

standard = pytest.mark.parametrize("habits", [EMACS, NEOVIM, VIM], ids=["emacs", "neovim", "vim"])


def outcome_texts(editor: Editor) -> list[Json]:
    """All diagnostics that were ever published."""
    return [each for told in editor.published for each in told["diagnostics"]]


@standard
async def test_a_stop_takes_the_question_away_while_an_edit_waits(stage: Stage, habits: Habits) -> None:
    calls = (patch("a.txt", "one\n", "ONE\n"), call("terminal", command="touch made.txt"))
    settings = stage.script(answer("", *calls), answer("Done."))
    editor = await stage.start(habits, settings=settings, options=opt_in())
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    goes_on = asyncio.Event()
    editor.behaviours = [behaviours.Reaction(opens=goes_on)]
    editor.handle("window/showMessageRequest", ask_for_ever)
    turn = (await editor.start_turn("Do it."))["turn"]
    await editor.until(lambda: len(editor.edits) == 1)
    assert len(await editor.request("approval.list")) == 1
    stopping = asyncio.ensure_future(editor.request("turn.cancel", turn=turn))
    async with asyncio.timeout(SOON_S):
        while await editor.request("approval.list"):
            pass
    assert not stopping.done()  # it waits for the edit
    goes_on.set()
    await stopping
    report = await editor.request("turn.wait", turn=turn)
    assert report["state"] == "cancelled"
    assert statuses(report)[:1] == ["landed"]
    assert editor.desk[uri] == TEXT.replace("one", "ONE")


async def ask_for_ever(params: object) -> Json | None:
    """Its user never looks at the message."""
    await asyncio.Event().wait()
    return None


async def test_an_editor_that_tells_of_an_edit_once_its_user_pauses(stage: Stage, habits: Habits) -> None:
    """Emacs has made the edit and said so, and its user types on for longer than a change is waited for."""
    settings = stage.script(answer("", patch("a.txt", "two\n", "TWO\n")), answer("Done."))
    editor = await stage.start(habits, settings=settings, timeout_s=PATIENT_S)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    pauses = asyncio.Event()
    editor.behaviours = [behaviours.Reaction(tells=pauses)]
    asyncio.get_running_loop().call_later(PATIENT_S, pauses.set)
    report = await editor.turn("Do it.")
    assert pauses.is_set()
    assert statuses(report) == ["landed"]
    assert outcome_texts(editor) == []
    assert editor.desk[uri] == TEXT.replace("two", "TWO")
