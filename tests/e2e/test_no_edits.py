"""An editor that takes no edits from a server: each is offered as a code action that carries it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import READER, Habits
from e2e.test_chat import opened, write
from handrail.testing import answer, call
from handrail.testing.texts import Json

reader = pytest.mark.parametrize("habits", [READER], ids=["reader"])
FIRST = call("patch", path="a.txt", old_string="one", new_string="ONE")
SOON_S = 5.0
SECOND = call("patch", path="a.txt", old_string="three", new_string="THREE")


async def offered(editor: Editor, uri: str) -> list[Json]:
    """The code actions of a document that carry an edit."""
    editor.desk.tell()
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    return [each for each in await editor.quick_fixes(uri, whole) if "edit" in each]


def make(editor: Editor, action: Json) -> None:
    """The user chooses it: the editor makes its edit."""
    editor.desk.apply({"edit": action["edit"]})
    editor.desk.tell()


async def holds(editor: Editor, path: Path, text: str) -> None:
    """A file has *text* by now."""
    async with asyncio.timeout(SOON_S):
        while text not in path.read_text():
            await editor.request("failure.list")


async def lands(editor: Editor, turn: str, *statuses: str) -> None:
    """The turn's report says so by now."""
    await editor.until(lambda: not any(editor.shown_diagnostics(uri) for uri in editor.desk.documents))
    async with asyncio.timeout(SOON_S):
        while True:
            report = await editor.request("turn.wait", turn=turn)
            if [each["status"] for each in report["outcomes"]] == list(statuses):
                return


@reader
async def test_an_edit_is_offered_and_told_as_landed_once_it_is_made(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("", FIRST), answer("Done.")))
    uri = editor.desk.open(stage.put("a.txt", "one\ntwo\nthree\n"))
    editor.desk.type(uri, "zero\n", before="one")
    editor.desk.tell()
    report = await editor.turn("Shout.")
    (outcome,) = report["outcomes"]
    assert (outcome["status"], outcome["failure"]["code"]) == ("failed", "edit-rejected")
    assert editor.edits == [], "it is not asked to edit"
    (shown,) = editor.shown_diagnostics(uri)
    assert "code action" in shown["message"]
    editor.desk.type(uri, "more\n", before="two")  # it is carried over to what is there by then
    (action,) = await offered(editor, uri)
    assert action["title"] == "Make this edit: Edit a.txt"
    make(editor, action)
    assert editor.desk[uri] == "zero\nONE\nmore\ntwo\nthree\n"
    await lands(editor, report["turn"], "landed")
    assert await offered(editor, uri) == []


@reader
async def test_several_edits_of_a_document_are_made_one_by_one(stage: Stage, habits: Habits) -> None:
    model = stage.script(answer("", FIRST), answer("", SECOND), answer("Done."))
    editor = await stage.start(habits, settings=model)
    uri = editor.desk.open(stage.put("a.txt", "one\ntwo\nthree\n"))
    report = await editor.turn("Shout.")
    assert [each["status"] for each in report["outcomes"]] == ["failed", "failed"]
    second = (await offered(editor, uri))[1]
    make(editor, second)
    assert editor.desk[uri] == "one\ntwo\nTHREE\n"
    (first,) = await offered(editor, uri)
    make(editor, first)
    assert editor.desk[uri] == "ONE\ntwo\nTHREE\n"
    await lands(editor, report["turn"], "landed", "landed")


@reader
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first-first", "second-first"])
async def test_each_edit_that_is_made_is_a_change_to_be_reviewed(
    stage: Stage, habits: Habits, order: tuple[int, int]
) -> None:
    model = stage.script(answer("", FIRST, SECOND), answer("Done."))
    editor = await stage.start(habits, settings=model)
    uri = editor.desk.open(stage.put("a.txt", "one\ntwo\nthree\n"))
    report = await editor.turn("Shout.")
    wanted = [("ONE", "THREE")[at] for at in order]
    for new in wanted:
        (fix,) = [each for each in await offered(editor, uri) if new in str(each["edit"])]
        make(editor, fix)
    assert editor.desk[uri] == "ONE\ntwo\nTHREE\n"
    await lands(editor, report["turn"], "landed", "landed")
    hunks = await editor.request("review.list")
    assert [each["range"]["start"]["line"] for each in hunks] == [0, 2]
    await editor.request("checkpoint.restore", checkpoint=report["turn"])
    for fix in await offered(editor, uri):
        make(editor, fix)
    assert editor.desk[uri] == "one\ntwo\nthree\n"


@reader
async def test_an_edit_whose_place_was_changed_is_offered_no_longer(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("", FIRST), answer("Done.")))
    uri = editor.desk.open(stage.put("a.txt", "one\ntwo\n"))
    await editor.turn("Shout.")
    assert len(await offered(editor, uri)) == 1
    editor.desk.type(uri, "mine", instead="one")
    assert await offered(editor, uri) == []


@reader
async def test_an_edit_is_of_whole_lines_since_some_editors_count_bytes(stage: Stage, habits: Habits) -> None:
    edits = [
        call("patch", path="a.txt", old_string=old, new_string=new)
        for old, new in (("two", "TWO"), ("end", "END\nmore"))
    ]
    editor = await stage.start(habits, settings=stage.script(answer("", *edits), answer("Done.")))
    uri = editor.desk.open(stage.put("a.txt", "one\n\U0001f40d two\nthree\n\u00e9nd end\n"))
    await editor.turn("Shout.")
    while fixes := await offered(editor, uri):
        for each in fixes[0]["edit"]["changes"][uri]:
            assert {place["character"] for place in each["range"].values()} == {0}
        make(editor, fixes[0])
    assert editor.desk[uri] == "one\n\U0001f40d TWO\nthree\n\u00e9nd END\nmore\n"


@reader
async def test_a_fix_carries_its_edit(stage: Stage, habits: Habits) -> None:
    old, new = "def  one(x)\n    pass", "def one(x):\n    return x"
    miss = call("patch", path="a.txt", old_string=old, new_string=new)
    editor = await stage.start(habits, settings=stage.script(answer("", miss), answer("Done.")))
    uri = editor.desk.open(stage.put("a.txt", "zero\ndef one(y):\n    pass\n"))
    await editor.turn("Mend.")
    fixes = await offered(editor, uri)
    assert [each["title"].partition(":")[0] for each in fixes] == ["Apply at line 2"]
    make(editor, fixes[0])
    assert editor.desk[uri] == "zero\ndef one(x):\n    return x\n"
    await editor.until(lambda: not editor.shown_diagnostics(uri))


@reader
async def test_what_is_written_before_it_is_reloaded_is_in_the_file_with_the_answer(
    stage: Stage, habits: Habits
) -> None:
    """The editor still holds what it had before the answer, and the user goes on there."""
    editor = await stage.start(habits, settings=stage.script(answer("It says one.")))
    uri = await opened(editor)
    write(editor, uri, "What does it say?\n")
    begun = await editor.request("chat.send", uri=uri)
    await editor.request("turn.wait", turn=begun["turn"])
    path = next((stage.root / ".handrail").glob("chat-*.md"))
    await holds(editor, path, "It says one.\n\n## You\n")
    write(editor, uri, "And now?\n")
    await holds(editor, path, "It says one.\n\n## You\n\nAnd now?\n")


@reader
async def test_closed_documents_are_edited_on_disk(stage: Stage, habits: Habits) -> None:
    path = stage.put("a.txt", "one\n")
    editor = await stage.start(habits, settings=stage.script(answer("", FIRST), answer("Done.")))
    report = await editor.turn("Shout.")
    assert [each["status"] for each in report["outcomes"]] == ["landed"]
    assert path.read_text() == "ONE\n"


@reader
async def test_a_conversation_is_written_for_it_to_reload(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("It says one."), answer("Yes.")))
    uri = await opened(editor)
    write(editor, uri, "What does it say?\n")
    editor.desk.save(uri)
    begun = await editor.request("chat.send", uri=uri)
    await editor.request("turn.wait", turn=begun["turn"])
    path = next((stage.root / ".handrail").glob("chat-*.md"))
    await editor.request("chat.open")  # by when it is answered, the file is written
    assert "It says one.\n\n## You\n" in path.read_text()
    editor.desk.rewrite(uri, path.read_text())  # the editor reloads it
    write(editor, uri, "And now?\n")
    begun = await editor.request("chat.send", uri=uri)
    report = await editor.request("turn.wait", turn=begun["turn"])
    assert report["state"] == "finished"
    await editor.request("chat.open")
    assert "And now?\n\n## handrail\n" in path.read_text()
    assert path.read_text().count("What does it say?") == 2, "the title, and the message"
