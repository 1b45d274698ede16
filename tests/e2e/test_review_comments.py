"""Comments on changes as a client lists, changes and deletes them; none is lost by a restart or a kill."""

from __future__ import annotations

import pytest

from e2e.client import Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import VSCODE, Habits, opt_in
from e2e.test_chat import killed
from e2e.test_review_page import FIVE, LABEL, PATCH, opened
from handrail.testing import answer, call
from handrail.testing.texts import Json

FAILED = -32803
SETTINGS = (answer("", call("patch", mode="v4a", patch=PATCH)), answer("Done."), answer("I see."))


@pytest.fixture
def habits() -> Habits:
    return VSCODE


async def started(stage: Stage, habits: Habits) -> Editor:
    return await stage.start(habits, settings=stage.script(*SETTINGS), options=opt_in("review", "save"))


@pytest.fixture
async def editor(stage: Stage, habits: Habits) -> Editor:
    """An editor in which a turn has made two changes."""
    stage.put("a.txt", FIVE)
    found = await started(stage, habits)
    found.desk.open(stage.root / "a.txt")
    await found.turn(LABEL)
    return found


async def comments(editor: Editor) -> list[Json]:
    found: list[Json] = await editor.request("review.comments")
    return found


async def test_nothing_is_written_for_a_list_without_comments(editor: Editor, stage: Stage) -> None:
    before = sorted(stage.root.rglob("*"))
    assert await comments(editor) == []
    assert sorted(stage.root.rglob("*")) == before


async def test_comments_are_listed_with_their_places_wherever_they_were_written(
    editor: Editor, stage: Stage
) -> None:
    uri = (stage.root / "a.txt").as_uri()
    first, second = await editor.request("review.list")
    await editor.request("review.comment", hunk=first["id"], text="Why?\nReally.")
    here = {"start": {"line": 4, "character": 0}, "end": {"line": 4, "character": 2}}
    await editor.request("review.comment", uri=uri, range=here, text="And this?")
    review = await opened(editor)
    editor.desk.type(review, "\nLouder.\n", after="+FOUR\n```\n")
    editor.desk.tell()
    found = {each["text"]: each for each in await comments(editor)}
    assert found.keys() == {"Why?\nReally.", "Louder.", "And this?"}
    assert found["Why?\nReally."] | {"id": ""} == {
        "id": "",
        "text": "Why?\nReally.",
        "uri": uri,
        "range": first["range"],
        "hunk": first["id"],
    }
    assert (found["Louder."]["hunk"], found["Louder."]["range"]) == (second["id"], second["range"])
    assert "hunk" not in found["And this?"] or found["And this?"]["hunk"] is None
    assert found["And this?"]["range"]["start"] == {"line": 4, "character": 0}
    await editor.until(lambda: editor.reviewed and editor.reviewed[-1]["comments"] == 3)
    # They move along with their lines, and stay when their change does not.
    editor.desk.type(uri, "zero\n", before="one")
    editor.desk.tell()
    await editor.request("review.keep", hunks=[first["id"]])
    moved = {each["text"]: each for each in await comments(editor)}
    assert moved["Louder."]["range"]["start"]["line"] == second["range"]["start"]["line"] + 1
    assert moved["Why?\nReally."].get("hunk") is None


async def test_a_comment_is_changed_and_deleted(editor: Editor, stage: Stage) -> None:
    first, second = await editor.request("review.list")
    for hunk, text in ((first, "Why?"), (second, "Louder.")):
        await editor.request("review.comment", hunk=hunk["id"], text=text)
    why, louder = await comments(editor)
    await editor.request("review.edit", comment=why["id"], text="Why so\nloud?", was="Why?")
    assert [each["text"] for each in await comments(editor)] == ["Why so\nloud?", "Louder."]
    review = await opened(editor)
    assert "\nWhy so\nloud?\n" in editor.desk[review]
    with expect_error(FAILED, "changed in the review document"):
        await editor.request("review.edit", comment=why["id"], text="", was="Why?")
    await editor.request("review.edit", comment=louder["id"], text="")
    assert [each["text"] for each in await comments(editor)] == ["Why so\nloud?"]
    assert "Louder." not in editor.desk[review]
    await editor.until(lambda: editor.reviewed and editor.reviewed[-1]["comments"] == 1)
    with expect_error(FAILED, "does not exist"):
        await editor.request("review.edit", comment=louder["id"], text="Again.")
    sent = await editor.request("review.send")
    await editor.request("turn.wait", turn=sent["turn"])
    assert await comments(editor) == []
    await editor.until(lambda: editor.reviewed and editor.reviewed[-1]["comments"] == 0)


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "closed"])
async def test_no_comment_is_lost_when_the_server_is_killed(
    editor: Editor, stage: Stage, habits: Habits, is_open: bool
) -> None:
    """Neither is its place, even where the change was in unsaved text that went with the editor."""
    first, second = await editor.request("review.list")
    if is_open:
        await opened(editor)
    await editor.request("review.comment", hunk=first["id"], text="Why?")
    await editor.request("review.comment", hunk=second["id"], text="Louder.")
    before = await comments(editor)
    assert [each["hunk"] for each in before] == [first["id"], second["id"]]
    is_saved = not is_open
    if is_saved:
        editor.desk.save(first["uri"])
    await killed(stage, editor)
    again = await started(stage, habits)
    now = await comments(again)
    if not is_saved:
        before = [{name: value for name, value in each.items() if name != "hunk"} for each in before]
    assert now == before
