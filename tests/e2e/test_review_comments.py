"""Comments on changes as a client lists, changes and deletes them; none is lost by a restart or a kill."""

from __future__ import annotations

import asyncio

import pytest

from e2e.client import Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import VSCODE, Habits, opt_in
from e2e.test_chat import killed
from e2e.test_review_page import FIVE, LABEL, PATCH, asked, opened
from handrail.testing import answer, behaviours, call
from handrail.testing.texts import Json

FAILED = -32803
SETTINGS = (answer("", call("patch", mode="v4a", patch=PATCH)), answer("Done."), answer("I see."))


@pytest.fixture
def habits() -> Habits:
    return VSCODE


async def started(stage: Stage, habits: Habits, **patience: float) -> Editor:
    options = opt_in("review", "save")
    return await stage.start(habits, settings=stage.script(*SETTINGS), options=options, **patience)


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


@pytest.mark.parametrize("request_name", ["edit", "send"])
async def test_comments_are_changed_and_sent_while_the_editor_stands_still(
    stage: Stage, habits: Habits, request_name: str
) -> None:
    stage.put("a.txt", FIVE)
    editor = await started(stage, habits, timeout_s=600, command_s=0)
    editor.desk.open(stage.root / "a.txt")
    await editor.turn(LABEL)
    first, _ = await editor.request("review.list")
    await editor.request("review.comment", hunk=first["id"], text="Why?")
    review = await opened(editor)
    (why,) = await comments(editor)
    params = {"edit": {"comment": why["id"], "text": "Why so?"}, "send": {}}[request_name]
    gate = asyncio.Event()
    editor.behaviours = [behaviours.wait_for(gate)]
    assert await editor.command(f"handrail.review.{request_name}", params) is None
    await editor.until(lambda: not editor.behaviours)
    gate.set()
    shown = {"edit": "Why so?", "send": "answered in the turn"}[request_name]
    await editor.until(lambda: shown in editor.desk[review])


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


TOP = "".join(f"new {number}\n" for number in range(10))


@pytest.mark.parametrize("how", ["keep", "undo"])
@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("one", f"{TOP}one", 11),
        ("one", f"TWO\n{TOP}two\none", 13),
        ("three", "TWO\ntwo\nthree", 1),
        ("one\n", "", 0),
        ("TWO", "TWO, typed", None),
        ("two", "", None),
    ],
)
async def test_a_comment_on_a_change_that_was_kept_or_undone_has_its_current_lines(  # noqa: PLR0917  # a case
    editor: Editor, stage: Stage, how: str, old: str, new: str, line: int | None
) -> None:
    uri = await opened(editor)
    editor.desk.type(uri, "Too loud.", after="+TWO\n```\n")
    editor.desk.tell()
    (first, *_) = await editor.request("review.list")
    await editor.request(f"review.{how}", hunks=[first["id"]])
    a = (stage.root / "a.txt").as_uri()
    text = editor.desk[a].replace(old, new, 1)
    is_changed = old not in editor.desk[a]
    editor.desk.rewrite(a, text)
    editor.desk.tell()
    wanted = 1 if is_changed else line
    (comment,) = await comments(editor)
    assert (comment["range"]["start"]["line"] if comment.get("range") else None) == wanted
    sent = await editor.request("review.send")
    await editor.request("turn.wait", turn=sent["turn"])
    where = "" if wanted is None else f", line {wanted + 1}"
    assert f"## 1. a.txt{where}\n" in asked(stage, editor)


async def test_a_comment_on_one_of_many_equal_lines_stays_on_it(editor: Editor, stage: Stage) -> None:
    await opened(editor)
    b = editor.desk.open(stage.put("b.txt", "x\n" * 30))
    place = {"start": {"line": 20, "character": 0}, "end": {"line": 21, "character": 0}}
    await editor.request("review.comment", uri=b, range=place, text="here")
    editor.desk.rewrite(b, f"top\n{editor.desk[b]}")
    editor.desk.tell()
    (comment,) = await comments(editor)
    assert comment["range"]["start"]["line"] == 21
