"""Edits that another agent of the editor has written: they take the road of all edits."""

from __future__ import annotations

import asyncio

import pytest
from pygls.exceptions import JsonRpcException

from e2e.conftest import Stage
from e2e.habits import VSCODE, Habits, opt_in
from e2e.prompts import block, statuses
from handrail.testing import answer

PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n two\n*** End Patch\n"


async def test_edits_land_verified_and_can_be_taken_back(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("The model was asked.")))
    uri = editor.desk.open(stage.put("a.txt", "one\ntwo\n"))
    editor.desk.type(uri, "zero\n", before="one")
    given = await editor.request("turn.apply", edits=PATCH, title="Edits from elsewhere")
    assert statuses(given["report"]) == ["landed"]
    assert editor.desk[uri] == "zero\nONE\ntwo\n"
    assert "a.txt" in given["text"]
    assert "The model was asked" not in given["report"]["answer"]
    (checkpoint,) = await editor.request("checkpoint.list")
    assert checkpoint["label"] == "Edits from elsewhere"
    await editor.request("checkpoint.restore", checkpoint=given["report"]["checkpoint"])
    assert editor.desk[uri] == "zero\none\ntwo\n"
    report = await editor.turn("And now?")
    assert report["answer"] == "The model was asked.", "the next turn has the chosen model again"


async def test_the_result_says_why_an_edit_did_not_land(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits)
    uri = editor.desk.open(stage.put("a.txt", "one\ntwo\n"))
    given = await editor.request("turn.apply", edits=block("a.txt", "nothing like it", "x") + PATCH)
    assert sorted(statuses(given["report"])) == ["landed", "no-match"]
    assert "no-match" in given["text"]
    assert editor.desk[uri] == "ONE\ntwo\n"


@pytest.mark.parametrize("edits", ["", "Please change a.txt."])
async def test_what_holds_no_edit_is_refused_with_how_to_write_one(
    stage: Stage, habits: Habits, edits: str
) -> None:
    editor = await stage.start(habits)
    with pytest.raises(JsonRpcException, match=r"Begin Patch.*whole files, each in a code fence"):
        await editor.request("turn.apply", edits=edits)
    assert await editor.request("session.list") == []


async def test_a_protected_file_is_asked_about_and_giving_up_is_a_no(stage: Stage) -> None:
    stage.put(".env", "KEY=old\n")
    editor = await stage.start(VSCODE, options=opt_in("save", approvals=True))
    asking = asyncio.ensure_future(editor.request("turn.apply", edits=block(".env", "KEY=old", "KEY=new")))
    await editor.until(lambda: editor.questions)
    (question,) = await editor.request("approval.list")
    await editor.request("approval.answer", approval=question["id"], choice="deny")
    given = await asking
    assert statuses(given["report"]) == ["denied"]
    assert (stage.root / ".env").read_text() == "KEY=old\n"


async def test_an_untrusted_workspace_is_not_edited(stage: Stage) -> None:
    stage.put("a.txt", "one\ntwo\n")
    editor = await stage.start(VSCODE, options=opt_in("save", untrusted=True))
    given = await editor.request("turn.apply", edits=PATCH)
    assert given["report"]["checkpoint"] is None
    assert "may only read" in given["text"]
    assert (stage.root / "a.txt").read_text() == "one\ntwo\n"


@pytest.mark.parametrize("begin", ["turn.start", "turn.queue"])
async def test_a_pasted_reply_is_applied_whatever_model_is_chosen(
    stage: Stage, habits: Habits, begin: str
) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("The model was asked.")))
    uri = editor.desk.open(stage.put("a.txt", "one\ntwo\n"))
    started = await editor.request(begin, prompt="@nobody /fix\n\n" + PATCH, pasted=True)
    report = await editor.request("turn.wait", turn=started["turn"])
    assert (statuses(report), report["answer"]) == (["landed"], "@nobody /fix")
    assert editor.desk[uri] == "ONE\ntwo\n"
    assert not [each.message for each in editor.messages if "nobody" in each.message]
    report = await editor.turn("And now?")
    assert report["answer"] == "The model was asked.", "the next turn has the chosen model again"


async def test_a_pasted_text_without_edits_is_refused_with_what_can_be_pasted(
    stage: Stage, habits: Habits
) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("The model was asked.")))
    with pytest.raises(JsonRpcException, match="SEARCH/REPLACE"):
        await editor.request("turn.start", prompt="Please change a.txt.", pasted=True)
    assert await editor.request("session.list") == []
