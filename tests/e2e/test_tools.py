"""Tools as three editors see them: what is read of unsaved text, and questions to the user."""

from __future__ import annotations

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import Habits, opt_in
from handrail.testing import answer, call


def results(editor: Editor) -> list[str]:
    """The first line of each result, as the client is told."""
    events = [each["event"] for each in editor.updates]
    return [event["summary"] for event in events if event["kind"] == "toolResult"]


async def test_a_search_finds_what_was_typed_and_not_yet_saved(stage: Stage, habits: Habits) -> None:
    settings = stage.script(answer("", call("search", pattern="needle")), answer("Done."))
    editor = await stage.start(habits, settings=settings, options=opt_in("save"))
    uri = editor.desk.open(stage.put("a.txt", "needle on disk\n"))
    stage.put("b.txt", "needle\n")
    editor.desk.type(uri, "typed needle\n", before="needle on disk\n")
    editor.desk.tell()
    await editor.turn("Search.")
    assert results(editor) == ["3 lines in 2 files."]


@pytest.mark.parametrize(
    ("own", "says"),
    [(True, "Tabs"), (True, "deny"), (True, "Neither ☃"), (False, "Tabs"), (False, "deny")],
)
async def test_the_user_is_asked_to_choose(stage: Stage, habits: Habits, own: bool, says: str) -> None:
    inquiry = call("ask_user", question="Tabs or spaces?", choices=["Tabs", "Spaces"])
    settings = stage.script(answer("", inquiry), answer("Done."))
    editor = await stage.start(habits, settings=settings, options=opt_in("save", approvals=own))
    editor.answers = [says]
    report = await editor.turn("Ask.")
    assert report["state"] == "finished"
    asked = editor.questions[0]
    if own:
        assert (asked["kind"], asked["subject"]) == ("question", "Tabs or spaces?")
        assert asked["choices"] == ["deny", "Tabs", "Spaces"]
        assert asked["takesText"] is True
    else:
        assert asked["message"] == "handrail: The model asks: Tabs or spaces?"
        assert [each["title"] for each in asked["actions"]] == ["No answer", "Show"]
    (told,) = results(editor)
    told_of = {"Tabs": "The user chose: Tabs", "deny": "The user did not answer."}
    assert told.startswith(told_of.get(says, "The user answered in their own words: Neither ☃"))
