"""
Editors that are slow because of their users.

An editor may do nothing else while a question waits for its user. Emacs reads on only when more arrives if
its user quits one, and tells of edits only when its user pauses. None of this says that an edit has failed.
"""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import EMACS, NEOVIM, VIM, Habits, opt_in
from e2e.prompts import patch, statuses
from handrail.testing import answer, behaviours, call
from handrail.testing.texts import Json

TEXT = "one\ntwo\nthree\n"
TIMEOUT_S = 0.3
THINKS_S = 5 * TIMEOUT_S  # longer than the server waits for an answer and for the change
PATIENT_S = 2.0  # of which an editor gets the half to tell of an edit

blocking = pytest.mark.parametrize("habits", [EMACS, NEOVIM, VIM], ids=["emacs", "neovim", "vim"])
when_it_ends = pytest.mark.parametrize("says", ["No", "Show", None], ids=["no", "show", "dismissed"])


class Blocked:
    """Makes an editor handle no edit while a message is shown, which the user answers after a while."""

    def __init__(self, editor: Editor, says: str | None, *, edits_before: int = 0) -> None:
        self._editor, self._says = editor, says
        self._free, self._edits_before = asyncio.Event(), edits_before
        self.shown = 0
        self._free.set()
        editor.behaviours = [self._apply] * 20
        editor.handle("window/showMessageRequest", self._ask)

    async def _ask(self, params: object) -> Json | None:
        editor = self._editor
        self.shown += 1
        self._free.clear()
        editor.questions.append({"asked": True})
        editor.news.set()
        await editor.until(lambda: len(editor.edits) > self._edits_before)
        await asyncio.sleep(THINKS_S)
        self._free.set()
        return None if self._says is None else {"title": self._says}

    async def _apply(self, editor: Editor, given: Json) -> Json | None:
        await self._free.wait()
        return await editor.obey(given)


async def wait_for_more(editor: Editor, given: Json, *, then: behaviours.Behaviour) -> Json | None:
    """It handles the edit only once something else has arrived, as Emacs after its user has quit."""
    read = sum(each.startswith("←") for each in editor.traffic)
    await editor.until(lambda: sum(each.startswith("←") for each in editor.traffic) > read)
    return await then(editor, given)


def outcome_texts(editor: Editor) -> list[Json]:
    """All diagnostics that were ever published."""
    return [each for told in editor.published for each in told["diagnostics"]]


@blocking
@when_it_ends
async def test_an_edit_waits_for_the_user_s_answer(stage: Stage, habits: Habits, says: str | None) -> None:
    calls = (patch("a.txt", "two\n", "TWO\n"), call("terminal", command="touch made.txt"))
    settings = stage.script(answer("", *calls), answer("Done."))
    editor = await stage.start(habits, settings=settings, options=opt_in(), timeout_s=TIMEOUT_S)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    blocked = Blocked(editor, says)
    turn = (await editor.start_turn("Do it."))["turn"]
    await editor.until(lambda: editor.desk[uri] != TEXT)
    for each in await editor.request("approval.list"):
        await editor.request("approval.answer", approval=each["id"], choice="deny")
    report = await editor.request("turn.wait", turn=turn)
    assert blocked.shown == 1
    assert statuses(report) == ["landed"]
    assert editor.desk[uri] == TEXT.replace("two", "TWO")
    assert outcome_texts(editor) == []
    assert len(editor.edits) == 1


@blocking
async def test_an_editor_that_answers_in_the_meantime_is_not_waited_for(stage: Stage, habits: Habits) -> None:
    """Its message stays, and it has shown that this does not block it: so its silence is one."""
    calls = (patch("a.txt", "one\n", "ONE\n"), patch("a.txt", "two\n", "TWO\n"))
    command = call("terminal", command="touch made.txt")
    settings = stage.script(answer("", *calls, command), answer("Done."))
    editor = await stage.start(habits, settings=settings, options=opt_in(), timeout_s=TIMEOUT_S)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    editor.behaviours = [Editor.obey, behaviours.hang]
    editor.handle("window/showMessageRequest", ask_for_ever)
    turn = (await editor.start_turn("Do it."))["turn"]
    (shown,) = await editor.published_diagnostics(uri, 1)
    assert shown["code"] == "edit-rejected"
    (question,) = await editor.request("approval.list")
    await editor.request("approval.answer", approval=question["id"], choice="deny")
    report = await editor.request("turn.wait", turn=turn)
    assert statuses(report)[:2] == ["landed", "edit-rejected"]


@blocking
async def test_a_turn_is_stopped_although_the_editor_never_answers(stage: Stage, habits: Habits) -> None:
    calls = (patch("a.txt", "one\n", "ONE\n"), call("terminal", command="touch made.txt"))
    settings = stage.script(answer("", *calls), answer("Done."))
    editor = await stage.start(habits, settings=settings, options=opt_in(), timeout_s=TIMEOUT_S)
    editor.desk.open(stage.put("a.txt", TEXT))
    editor.behaviours = [behaviours.hang]
    editor.handle("window/showMessageRequest", ask_for_ever)
    turn = (await editor.start_turn("Do it."))["turn"]
    await editor.until(lambda: len(editor.edits) == 1)
    await editor.request("turn.cancel", turn=turn)
    report = await editor.request("turn.wait", turn=turn)
    assert report["state"] == "cancelled"
    assert statuses(report) == ["edit-rejected"]


async def ask_for_ever(params: object) -> Json | None:
    """Its user never looks at the message."""
    await asyncio.Event().wait()
    return None


@pytest.mark.parametrize("then", [Editor.obey, behaviours.refuse], ids=["applies", "refuses"])
async def test_an_editor_that_waits_for_more(
    stage: Stage, habits: Habits, then: behaviours.Behaviour
) -> None:
    settings = stage.script(answer("", patch("a.txt", "two\n", "TWO\n")), answer("Done."))
    editor = await stage.start(habits, settings=settings)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    editor.behaviours = [partial(wait_for_more, then=then)]
    report = await editor.turn("Do it.")
    failures = [] if then is Editor.obey else ["edit-rejected"]
    assert statuses(report) == (failures or ["landed"])
    assert [each["code"] for each in editor.shown_diagnostics(uri)] == failures
    if failures:
        assert "did not answer" not in report["outcomes"][0]["failure"]["message"]


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
