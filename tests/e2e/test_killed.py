"""A server that is killed after it has written, before it has noted what; and restores after that."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from e2e.client import Behaviour, Editor
from e2e.conftest import Stage
from e2e.habits import Habits, opt_in
from e2e.prompts import patch, statuses, v4a
from e2e.shadow import Shadow
from handrail.testing import answer, behaviours, call, snapshot
from handrail.testing.texts import Json

ROWS = "".join(f"line {number}\n" for number in range(1, 8))
PATCH = v4a(
    "*** Update File: closed.txt",
    "@@",
    "-line 4",
    "+LINE 4",
    "*** Add File: made.txt",
    "+made",
    "*** Add File: deep/made.txt",
    "+made",
    "*** Delete File: gone.txt",
    "*** Update File: moved.txt",
    "*** Move to: deep/moved.txt",
    "@@",
    "-line 4",
    "+LINE 4",
    "*** Update File: open.txt",
    "@@",
    "-line 4",
    "+LINE 4",
)
NAMES = ("closed.txt", "gone.txt", "moved.txt", "open.txt")


async def killed(stage: Stage, habits: Habits, behaviour: Behaviour) -> tuple[str, str, Editor]:
    """
    A turn whose server is killed when the editor is asked to change `open.txt`, the last of its documents.

    Returns:
        The turn, the text of `open.txt` that the editor is left with, and an editor with the next server.
    """
    for name in NAMES:
        stage.put(name, ROWS)
    settings = stage.script(answer("", call("patch", mode="v4a", patch=PATCH)), answer("Done."))
    settings["edits"] = {"closedDocuments": "disk"}
    first = await stage.start(habits, settings=settings)
    first.behaviours = [killing(stage, behaviour)]
    first.desk.open(stage.root / "open.txt")
    turn = (await first.start_turn("Edit all of them."))["turn"]
    text, later = await begun_anew(stage, habits, first)
    return turn, text, later


def killing(stage: Stage, behaviour: Behaviour) -> Behaviour:
    """The server is killed before the editor does anything."""

    async def behave(editor: Editor, given: Json) -> Json:
        stage.running[-1].kill()
        return await behaviour(editor, given)

    return behave


async def begun_anew(stage: Stage, habits: Habits, first: Editor) -> tuple[str, Editor]:
    """Once the server is dead: what the editor holds of `open.txt`, and an editor with the next server."""
    uri = (stage.root / "open.txt").as_uri()
    first.has_left = True
    with suppress(ConnectionError):
        await first.wait_closed()
    text = first.desk[uri]
    first.hang_up()
    settings: Json = {
        "model": f"scripted:{stage.folder / 'script.json'}",
        "edits": {"closedDocuments": "disk"},
    }
    later = await stage.start(habits, settings=settings, options=opt_in())
    later.desk.open(uri, text)
    return text, later


def names(stage: Stage, report: dict[str, Any]) -> dict[str, set[str]]:
    """What a restore came to, by the names of the files."""
    root = f"{stage.root.as_uri()}/"
    found = {kind: {uri.removeprefix(root) for uri in report[kind]} for kind in ("restored", "deleted")}
    return found | {"conflicts": {each["uri"].removeprefix(root) for each in report["conflicts"]}}


async def test_what_was_written_later_by_hand_stays(stage: Stage, habits: Habits) -> None:
    turn, text, editor = await killed(stage, habits, Editor.obey)
    closed, uri = stage.root / "closed.txt", (stage.root / "open.txt").as_uri()
    assert text == closed.read_text() == ROWS.replace("line 4", "LINE 4"), "the turn has got that far"
    editor.desk.type(uri, "typed\n", before="line 7")
    editor.desk.tell()
    closed.write_text("by hand\n" + closed.read_text().replace("line 6", "line six"))
    (stage.root / "deep" / "made.txt").write_text("mine now\n")
    report = await editor.request("checkpoint.restore", checkpoint=turn)
    assert names(stage, report) == {
        "restored": {"closed.txt", "gone.txt", "moved.txt", "open.txt"},
        "deleted": {"made.txt", "deep/moved.txt"},
        "conflicts": {"deep/made.txt"},
    }
    assert editor.desk[uri] == ROWS.replace("line 7", "typed\nline 7")
    found = snapshot(stage.root)
    assert found.pop("open.txt") is not None
    assert found == {
        "closed.txt": ("by hand\n" + ROWS.replace("line 6", "line six")).encode(),
        "deep/made.txt": b"mine now\n",
        "gone.txt": ROWS.encode(),
        "moved.txt": ROWS.encode(),
    }


async def test_where_both_changed_the_same_it_is_a_conflict(stage: Stage, habits: Habits) -> None:
    turn, text, editor = await killed(stage, habits, Editor.obey)
    uri = (stage.root / "open.txt").as_uri()
    editor.desk.type(uri, " and more", after="LINE 4")
    editor.desk.tell()
    report = await editor.request("checkpoint.restore", checkpoint=turn, uris=[uri])
    assert names(stage, report)["conflicts"] == {"open.txt"}
    assert "ended while it was writing this document" in report["conflicts"][0]["reason"]
    assert editor.desk[uri] == text.replace("LINE 4", "LINE 4 and more")


@pytest.mark.parametrize("types", [False, True])
async def test_what_was_never_written_is_left_alone(stage: Stage, habits: Habits, types: bool) -> None:
    async def ignore(editor: Editor, given: Json) -> Json:
        return {"applied": False}

    turn, text, editor = await killed(stage, habits, ignore)
    uri = (stage.root / "open.txt").as_uri()
    assert text == ROWS
    if types:
        editor.desk.type(uri, "typed\n", before="line 7")
        editor.desk.tell()
    held = editor.desk[uri]
    report = await editor.request("checkpoint.restore", checkpoint=turn, uris=[uri])
    assert (report["restored"], report["conflicts"], report["unchanged"]) == ([], [], [uri])
    assert editor.desk[uri] == held
    assert not editor.edits


async def test_a_restore_that_was_killed_is_taken_back_like_a_turn(stage: Stage, habits: Habits) -> None:
    """Its own checkpoint has what it was about to write: what was written by hand since stays."""
    for name in NAMES:
        stage.put(name, ROWS)
    settings = stage.script(answer("", call("patch", mode="v4a", patch=PATCH)), answer("Done."))
    settings["edits"] = {"closedDocuments": "disk"}
    first = await stage.start(habits, settings=settings)
    uri = first.desk.open(stage.root / "open.txt")
    turn = (await first.turn("Edit all of them."))["turn"]
    written = snapshot(stage.root)
    text = first.desk[uri]
    first.behaviours = [killing(stage, Editor.obey)]
    first.send(id=1, method="handrail/checkpoint/restore", params={"checkpoint": turn})
    await first.until(lambda: not first.behaviours)
    back, editor = await begun_anew(stage, habits, first)
    assert back == ROWS, "the restore has got that far"
    editor.desk.type(uri, "typed\n", before="line 7")
    editor.desk.tell()
    (stage.root / "closed.txt").write_text("by hand\n" + ROWS)
    newest, *_ = await editor.request("checkpoint.list")
    report = await editor.request("checkpoint.restore", checkpoint=newest["id"])
    assert report["conflicts"] == []
    assert editor.desk[uri] == text.replace("line 7", "typed\nline 7")
    written["closed.txt"] = b"by hand\n" + written["closed.txt"]
    assert snapshot(stage.root) | {"open.txt": b""} == written | {"open.txt": b""}


async def test_a_note_that_cannot_be_taken_is_no_reason_to_lose_what_was_typed(
    stage: Stage, habits: Habits
) -> None:
    """The repository is out of reach as soon as the editor is asked to edit, and back when all is over."""
    settings = stage.script(answer("", patch("open.txt", "line 4", "LINE 4")), answer("Done."))
    editor = await stage.start(habits, settings=settings)
    uri = editor.desk.open(stage.put("open.txt", ROWS))
    refs = Path("refs/handrail/turns")

    def hide() -> None:
        (store,) = Shadow(stage.state).repositories
        (store / refs).rename(store / "aside")
        (store / refs).write_text("in the way")

    editor.behaviours = [behaviours.act_before(hide)]
    report = await editor.turn("Edit it.")
    assert statuses(report) == ["landed"]
    (store,) = Shadow(stage.state).repositories
    (store / refs).unlink()
    (store / "aside").rename(store / refs)
    assert Shadow(stage.state).files(report["turn"]).keys() >= {
        "before/open.txt",
        "unsaved-intended/open.txt",
    }
    editor.desk.type(uri, "typed\n", before="line 7")
    editor.desk.tell()
    report = await editor.request("checkpoint.restore", checkpoint=report["turn"])
    assert report["restored"] == [uri]
    assert editor.desk[uri] == ROWS.replace("line 7", "typed\nline 7")
