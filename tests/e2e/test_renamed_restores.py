"""Restores, differences from now and messages for the model follow a document that the user has renamed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import EVERY_EDITOR, VSCODE, Habits
from e2e.prompts import block, fence, statuses, v4a
from handrail.testing import answer, call, snapshot
from handrail.testing.texts import Json

every_editor = pytest.mark.parametrize("habits", EVERY_EDITOR, ids=lambda habits: habits.name)
vscode = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])

TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"
EDITED = TEXT.replace("two", "TWO")


@pytest.fixture
async def editor(stage: Stage, habits: Habits) -> Editor:
    return await stage.start(habits)


@pytest.fixture
async def uri(stage: Stage, editor: Editor) -> str:
    """An open document with an edit of a turn, saved."""
    document = editor.desk.open(stage.put("a.txt", TEXT))
    assert statuses(await editor.turn(block("a.txt", "two", "TWO"))) == ["landed"]
    editor.desk.save(document)
    return document


async def newest(editor: Editor) -> str:
    return str((await editor.request("checkpoint.list"))[0]["id"])


async def restore(editor: Editor, **options: object) -> Json:
    checkpoint = options.pop("checkpoint", None) or await newest(editor)
    report = await editor.request("checkpoint.restore", checkpoint=checkpoint, **options)
    return {name: report[name] for name in report if report[name] and name != "checkpoint"}


def close_all(editor: Editor) -> None:
    for uri in list(editor.desk.documents):
        editor.desk.save(uri)
        editor.desk.close(uri)


def rename(editor: Editor, old: Path, new: Path) -> None:
    """Renames a file or a folder as the explorer of an editor does, in which no document is open."""
    close_all(editor)
    old.rename(new)
    editor.notify("workspace/didRenameFiles", {"files": [{"oldUri": old.as_uri(), "newUri": new.as_uri()}]})


@every_editor
@pytest.mark.parametrize("typed", ["", "typed\n"])
async def test_in_an_open_document(editor: Editor, uri: str, typed: str) -> None:
    if typed:
        editor.desk.type(uri, typed, before="eight")
    new = editor.desk.rename(uri, "b.txt")
    before = editor.desk[new]
    assert await restore(editor) == {"restored": [new]}
    assert editor.desk[new] == before.replace("TWO", "two")
    redone = await editor.request("checkpoint.redo")
    assert redone["restored"] == [new]
    assert editor.desk[new] == before


@every_editor
async def test_in_a_document_that_was_renamed_twice(editor: Editor, uri: str) -> None:
    new = editor.desk.rename(editor.desk.rename(uri, "b.txt"), "c.txt")
    assert await restore(editor, uris=[uri]) == {"restored": [new]}
    assert editor.desk[new] == TEXT


@every_editor
async def test_by_its_new_name(editor: Editor, uri: str) -> None:
    new = editor.desk.rename(uri, "b.txt")
    assert await restore(editor, uris=[new]) == {"restored": [new]}


@every_editor
async def test_by_a_server_that_was_started_since(stage: Stage, habits: Habits, uri: str) -> None:
    ((first, _),) = stage.editors
    first.desk.type(uri, "typed\n", before="eight")
    new = first.desk.rename(uri, "b.txt")
    first.desk.save(new)
    first.has_left = True
    stage.running[0].kill()
    with suppress(ConnectionError):
        await first.wait_closed()
    first.hang_up()
    editor = await stage.start(habits)
    editor.desk.open(stage.root / "b.txt")
    assert await restore(editor) == {"restored": [new]}
    assert editor.desk[new] == TEXT.replace("eight", "typed\neight")


@vscode
@pytest.mark.parametrize("change", ["", "nine\n"])
async def test_of_a_closed_file(stage: Stage, editor: Editor, uri: str, change: str) -> None:
    old, new = stage.root / "a.txt", stage.root / "b c.txt"
    rename(editor, old, new)
    new.write_text(EDITED + change)
    assert await restore(editor) == {"restored": [new.as_uri()]}
    assert snapshot(stage.root) == {"b c.txt": (TEXT + change).encode()}


@vscode
async def test_in_a_folder_that_was_renamed(stage: Stage, editor: Editor) -> None:
    stage.put("old/in it/a.txt", TEXT)
    made = fence("old/made/new.txt", "made\n")
    report = await editor.turn(f"{block('old/in it/a.txt', 'two', 'TWO')}\n{made}")
    assert statuses(report) == ["landed", "landed"]
    rename(editor, stage.root / "old", stage.root / "new")
    there = (stage.root / "new" / "in it" / "a.txt").as_uri()
    created = (stage.root / "new" / "made" / "new.txt").as_uri()
    assert await restore(editor) == {"restored": [there], "deleted": [created]}
    assert snapshot(stage.root) == {"new/in it/a.txt": TEXT.encode()}
    assert not (stage.root / "new" / "made").exists()


@vscode
async def test_of_a_file_whose_name_another_has_by_now(stage: Stage, editor: Editor, uri: str) -> None:
    new = stage.root / "b.txt"
    rename(editor, stage.root / "a.txt", new)
    stage.put("a.txt", "another\n")
    assert await restore(editor) == {"restored": [new.as_uri()]}
    assert snapshot(stage.root) == {"a.txt": b"another\n", "b.txt": TEXT.encode()}


@vscode
async def test_not_of_a_file_that_the_turn_found_in_its_place(stage: Stage, editor: Editor) -> None:
    stage.put("a.txt", TEXT)
    await editor.turn(block("a.txt", "one", "ONE"))
    rename(editor, stage.root / "a.txt", stage.root / "b.txt")
    stage.put("a.txt", TEXT)
    await editor.turn(block("a.txt", "two", "TWO"))
    close_all(editor)
    (stage.root / "a.txt").unlink()
    found = await restore(editor)
    assert [Path(each["uri"]).name for each in found["conflicts"]] == ["a.txt"]
    assert (stage.root / "b.txt").read_text() == TEXT.replace("one", "ONE")


@every_editor
async def test_of_a_file_that_the_turn_created(stage: Stage, editor: Editor) -> None:
    assert statuses(await editor.turn(fence("made.txt", TEXT))) == ["landed"]
    uri = editor.desk.open(stage.root / "made.txt")
    new = editor.desk.rename(uri, "kept.txt")
    assert await restore(editor) == {"deleted": [new]}
    assert snapshot(stage.root) == {}


@every_editor
async def test_of_one_that_the_turn_moved(stage: Stage, editor: Editor) -> None:
    stage.put("a.txt", TEXT)
    await editor.turn(v4a("*** Update File: a.txt", "*** Move to: b.txt", "@@", "-two", "+TWO"))
    uri = editor.desk.open(stage.root / "b.txt")
    new = editor.desk.rename(uri, "c.txt")
    assert await restore(editor) == {"restored": [(stage.root / "a.txt").as_uri()], "deleted": [new]}
    assert snapshot(stage.root) == {"a.txt": TEXT.encode()}


@every_editor
async def test_with_what_later_turns_changed(editor: Editor, uri: str) -> None:
    first = await newest(editor)
    new = editor.desk.rename(uri, "b.txt")
    editor.desk.type(new, "typed\n", before="five")
    editor.desk.save(new)
    assert statuses(await editor.turn(block("b.txt", "eight", "EIGHT"))) == ["landed"]
    assert await restore(editor, checkpoint=first) == {"restored": [new]}
    assert editor.desk[new] == TEXT.replace("five", "typed\nfive").replace("eight", "EIGHT")
    await editor.request("checkpoint.redo")
    assert await restore(editor, checkpoint=first, following=True) == {"restored": [new]}
    assert editor.desk[new] == TEXT.replace("five", "typed\nfive")


@every_editor
async def test_that_conflicts_is_told_by_its_new_name(editor: Editor, uri: str) -> None:
    new = editor.desk.rename(uri, "b.txt")
    await editor.request("review.list")
    editor.desk.type(new, "again ", before="TWO")
    editor.desk.tell()
    ((conflict,),) = (await restore(editor)).values()
    assert conflict["uri"] == new
    assert "have changed since" in conflict["reason"]


@every_editor
async def test_not_of_a_copy_that_was_open_before(stage: Stage, editor: Editor) -> None:
    copy = editor.desk.open(stage.put("b.txt", EDITED))
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    await editor.turn(block("a.txt", "two", "TWO"))
    editor.desk.close(uri)
    (stage.root / "a.txt").unlink()
    (conflict,) = (await restore(editor))["conflicts"]
    assert Path(conflict["uri"]).name == "a.txt"
    assert editor.desk[copy] == EDITED


@every_editor
async def test_not_of_another_document_that_was_opened(stage: Stage, editor: Editor, uri: str) -> None:
    editor.desk.close(uri)
    (stage.root / "a.txt").unlink()
    other = editor.desk.open(stage.put("b.txt", "one\nTWO\nand another\ntext that\nhas little\nof it\n"))
    (conflict,) = (await restore(editor))["conflicts"]
    assert conflict["uri"] == uri
    assert editor.desk[other].startswith("one\nTWO\n")


@every_editor
async def test_closes_its_failures(stage: Stage, editor: Editor) -> None:
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    report = await editor.turn(f"{block('a.txt', 'two', 'TWO')}\n{block('a.txt', 'many words', 'MORE')}")
    assert statuses(report) == ["landed", "no-match"]
    new = editor.desk.rename(uri, "b.txt")
    await editor.published_diagnostics(new, 1)
    assert await restore(editor, uris=[uri]) == {"restored": [new]}
    assert await editor.request("failure.list") == []


@every_editor
@pytest.mark.parametrize("by", ["all", "old", "new"])
async def test_the_difference_from_now(editor: Editor, uri: str, by: str) -> None:
    new = editor.desk.rename(uri, "b.txt")
    only = {"all": {}, "old": {"uri": uri}, "new": {"uri": new}}[by]
    found = await editor.request("checkpoint.diff", checkpoint=await newest(editor), against="now", **only)
    head = "--- a/a.txt\n+++ b/b.txt\n@@ -1,5 +1,5 @@\n"
    assert found["text"] == f"{head} one\n-two\n+TWO\n three\n four\n five\n"


@every_editor
async def test_the_difference_from_now_over_later_turns(editor: Editor, uri: str) -> None:
    first = await newest(editor)
    new = editor.desk.rename(uri, "b.txt")
    assert statuses(await editor.turn(block("b.txt", "eight", "EIGHT"))) == ["landed"]
    found = await editor.request("checkpoint.diff", checkpoint=first, against="now", uri=new)
    assert found["text"].count("--- ") == 1
    assert "-two\n+TWO\n" in found["text"]
    assert "-eight\n+EIGHT\n" in found["text"]


@vscode
async def test_the_model_is_told_the_new_name(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", TEXT)
    read = answer("", call("read_file", path="a.txt"))
    editor = await stage.start(habits, settings=stage.script(read, answer("Done."), answer("I see.")))
    report = await editor.turn("Read.")
    rename(editor, stage.root / "a.txt", stage.root / "b.txt")
    await editor.turn("Go on.", session=report["session"])
    told = "a.txt has been renamed to b.txt since you last read or edited it. You did not make this change."
    assert any(told in path.read_text() for path in stage.state.rglob("*.jsonl"))
