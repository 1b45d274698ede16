"""The review document in every editor: what it shows, comments in it, and what becomes of them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from e2e.client import Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import EVERY_EDITOR, VSCODE, Habits
from e2e.prompts import v4a
from handrail.testing import answer, call
from handrail.testing.behaviours import Reaction, Response
from handrail.testing.texts import Json

every_editor = pytest.mark.parametrize("habits", EVERY_EDITOR, ids=lambda habits: habits.name)
vscode = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
INVALID_PARAMS = -32602
REQUEST_FAILED = -32803
LABEL = "Make it loud."
FIVE = "one\ntwo\nthree\nfour\nfive\n"
EDITED = "one\nTWO\nthree\nFOUR\nfive\n"
PATCH = v4a("*** Update File: a.txt", "@@", "-two", "+TWO", "@@", "-four", "+FOUR")
MADE = f"Made in the turn `{LABEL}`."
HUNKS = ["### `a.txt:2` · +1 −1", "### `a.txt:4` · +1 −1"]


@pytest.fixture
async def editor(stage: Stage, habits: Habits) -> Editor:
    """An editor in which a turn has made two changes."""
    stage.put("a.txt", FIVE)
    model = stage.script(
        answer("", call("patch", mode="v4a", patch=PATCH)), answer("Done."), answer("I see."), answer("Yes.")
    )
    found = await stage.start(habits, settings=model)
    found.desk.open(stage.root / "a.txt")
    await found.turn(LABEL)
    return found


async def opened(editor: Editor) -> str:
    """The review document, opened in the editor: its URI."""
    found = await editor.request("review.open")
    uri: str = found["uri"]
    if uri not in editor.desk.documents:
        editor.desk.open(uri)
        assert editor.desk[uri] == found["text"]
    return uri


async def shows(editor: Editor, uri: str, *rows: str) -> str:
    """The text of the review document once it has these rows."""
    await editor.until(lambda: all(f"{row}\n" in editor.desk[uri] for row in rows))
    return editor.desk[uri]


def headings(text: str) -> list[str]:
    return [row for row in text.splitlines() if row.startswith("#")]


async def actions(editor: Editor, uri: str, row: str) -> dict[str, Json]:
    """The code actions at the first row that begins so, by their titles."""
    line = next(at for at, each in enumerate(editor.desk[uri].splitlines()) if each.startswith(row))
    place = {"line": line, "character": 0}
    return {each["title"]: each for each in await editor.quick_fixes(uri, {"start": place, "end": place})}


def asked(stage: Stage, editor: Editor) -> str:
    """What the user's latest message was, as the session has it."""
    journals = sorted(stage.state.rglob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
    entries = [json.loads(row) for row in journals[-1].read_text("utf-8").splitlines()]
    return str([each["prompt"] for each in entries if each.get("type") == "begun" or "prompt" in each][-1])


@every_editor
async def test_it_shows_turns_documents_and_changes(editor: Editor) -> None:
    text = editor.desk[await opened(editor)]
    assert headings(text) == ["# Review", "## `a.txt`", *HUNKS]
    assert "2 changes in one document.\n" in text
    assert "- `Make it loud.`: 2 changes\n" in text
    assert f"{HUNKS[0]}\n\n{MADE}\n\n```diff\n-two\n+TWO\n```\n" in text


@every_editor
async def test_its_actions_keep_and_undo_and_it_follows(editor: Editor, stage: Stage) -> None:
    a, uri = (stage.root / "a.txt").as_uri(), await opened(editor)
    found = await actions(editor, uri, "-two")
    assert list(found) == [
        "Keep this change",
        "Undo this change",
        "Undo this change and say why…",
        "Go to this change",
        "Keep all changes in all documents",
        "Undo all changes in all documents",
    ]
    await editor.choose(found["Undo this change"])
    await editor.until(lambda: editor.desk[a] == EDITED.replace("TWO", "two"))
    await editor.until(lambda: headings(editor.desk[uri]) == ["# Review", "## `a.txt`", HUNKS[1]])
    await editor.choose((await actions(editor, uri, "- `Make"))["Keep the changes of this turn"])
    await shows(editor, uri, "No changes are pending.")
    assert editor.desk[a] == EDITED.replace("TWO", "two")
    assert await editor.request("review.list") == []


@every_editor
async def test_comments_are_sent_as_one_turn_and_show_what_answered_them(
    editor: Editor, stage: Stage
) -> None:
    uri = await opened(editor)
    editor.desk.type(uri, "\nWhy so loud?\n", after="+TWO\n```\n")
    editor.desk.type(uri, "A constant, please.\n", after="+FOUR\n")
    editor.desk.tell()
    sent = await editor.choose((await actions(editor, uri, "Why so"))["Send these 2 comments"])
    assert sent["comments"] == 2
    report = await editor.request("turn.wait", turn=sent["turn"])
    assert (report["state"], report["answer"]) == ("finished", "I see.")
    text = await shows(editor, uri, "> Why so loud?", "> A constant, please.")
    await editor.until(lambda: editor.desk[uri].count("This was answered in") == 2)
    assert headings(text) == ["# Review", "## `a.txt`", *HUNKS]
    prompt = asked(stage, editor)
    assert (
        "## 1. a.txt, line 2\n\nYour change:\n\n```diff\n-two\n+TWO\n```\n\nMy comment:\n\nWhy so" in prompt
    )
    assert "My comment on the line `+FOUR`:\n\nA constant, please." in prompt
    with expect_error(REQUEST_FAILED, "No comment is left to send"):
        await editor.request("review.send")


@every_editor
async def test_the_turn_that_made_a_change_has_the_session_that_answers(editor: Editor) -> None:
    (session,) = await editor.request("session.list")
    hunk = (await editor.request("review.list"))[0]
    place = await editor.request("review.comment", hunk=hunk["id"], text="Why?")
    uri = await opened(editor)
    assert editor.desk[uri].splitlines()[place["line"]] == "Why?"
    sent = await editor.request("review.send")
    assert sent["session"] == session["session"]


@every_editor
async def test_what_is_typed_is_never_touched(editor: Editor, stage: Stage) -> None:
    a, uri = (stage.root / "a.txt").as_uri(), await opened(editor)
    editor.desk.type(uri, "not d", after="+FOUR\n```\n")
    editor.desk.tell()
    editor.desk.type(a, "zero\n", before="one")
    editor.desk.tell()
    text = await shows(editor, uri, "### `a.txt:3` · +1 −1", "### `a.txt:5` · +1 −1")
    assert "+FOUR\n```\nnot d\n" in text
    editor.desk.type(uri, "one", after="not d")
    await editor.request("review.keep", all=True)
    text = await shows(editor, uri, "### `a.txt:5` · +1 −1 · kept")
    assert "+FOUR\n```\nnot done\n" in text
    assert "TWO" not in text


@every_editor
async def test_an_undo_in_the_editor_writes_no_comment(editor: Editor) -> None:
    uri = await opened(editor)
    before = editor.desk[uri]
    await editor.request("review.keep", all=True)
    await shows(editor, uri, "No changes are pending.")
    while editor.desk[uri] != before:
        editor.desk.undo(uri)
    editor.desk.tell()
    assert not [title for title in await actions(editor, uri, "# Review") if title.startswith("Send")]
    await editor.request("review.open")
    assert headings(await shows(editor, uri, "No changes are pending.")) == ["# Review"]


@every_editor
async def test_undo_and_say_why(editor: Editor, stage: Stage) -> None:
    a = (stage.root / "a.txt").as_uri()
    line = {"line": 1, "character": 0}
    found = {each["title"]: each for each in await editor.quick_fixes(a, {"start": line, "end": line})}
    await editor.choose(found["Undo this change and say why…"])
    await editor.until(lambda: editor.desk[a] == EDITED.replace("TWO", "two"))
    shown = await editor.until(lambda: editor.documents_opened[-1:])
    uri = await opened(editor)
    assert shown == [uri]
    text = editor.desk[uri]
    assert headings(text) == ["# Review", "## `a.txt`", "### `a.txt:2` · +1 −1 · undone", HUNKS[1]]
    editor.desk.type(uri, "Too loud.", after="+TWO\n```\n")
    editor.desk.tell()
    sent = await editor.request("review.send")
    await editor.request("turn.wait", turn=sent["turn"])
    assert (
        "Your change, which I have undone:\n\n```diff\n-two\n+TWO\n```\n\nMy comment:\n\nToo loud."
        in asked(stage, editor)
    )
    text = await shows(editor, uri, "## Comments that were sent", "On `a.txt:2`:", "> Too loud.")
    assert headings(text) == ["# Review", "## `a.txt`", HUNKS[1], "## Comments that were sent"]


@every_editor
async def test_lines_of_any_document_are_commented_on(editor: Editor, stage: Stage) -> None:
    b = editor.desk.open(stage.put("b.txt", "x\ny\nz\n"))
    place = {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}}
    found = {each["title"]: each for each in await editor.quick_fixes(b, place)}
    action = found["Comment on these lines…"]
    await editor.choose(action)
    uri = await opened(editor)
    assert "### `b.txt:2`\n\n```text\ny\n```\n\n" in editor.desk[uri]
    editor.desk.type(uri, "Why y?", after="```text\ny\n```\n")
    editor.desk.tell()
    editor.desk.type(b, "w\n", before="x")
    editor.desk.tell()
    await editor.request("review.send")
    assert "## 1. b.txt, line 3\n\nThese lines:\n\n```text\ny\n```\n\nMy comment:\n\nWhy y?" in asked(
        stage, editor
    )


@every_editor
async def test_it_is_the_same_after_its_server_was_killed(
    editor: Editor, stage: Stage, habits: Habits
) -> None:
    uri = await opened(editor)
    editor.desk.save((stage.root / "a.txt").as_uri())
    editor.desk.type(uri, "Why so loud?\n", after="+TWO\n```\n")
    editor.desk.tell()
    before = editor.desk[uri]
    await editor.request("review.list")
    stage.running[-1].kill()
    await editor.wait_closed_quietly()
    editor.has_left = True
    again = await stage.start(habits, settings=stage.script(*3 * [answer("I see.")]))
    again.desk.open(uri, before)
    again.desk.open(stage.root / "a.txt")
    await again.request("review.open")
    assert headings(again.desk[uri]) == ["# Review", "## `a.txt`", *HUNKS]
    sent = await again.choose((await actions(again, uri, "Why so"))["Send this comment"])
    assert sent["comments"] == 1
    await shows(again, uri, "> Why so loud?")


@every_editor
async def test_killed_before_an_update_is_recorded_its_lines_are_no_comments(
    stage: Stage, habits: Habits
) -> None:
    stage.put("a.txt", FIVE)
    model = stage.script(answer("", call("patch", mode="v4a", patch=PATCH)), answer("Done."))
    editor = await stage.start(habits, settings=model)
    uri = await opened(editor)
    await editor.request("review.list")
    (note,) = stage.state.rglob("served-review.md.json")
    early = note.read_bytes()
    await editor.turn(LABEL)
    before = await shows(editor, uri, *HUNKS)
    await editor.request("review.open")  # all of it is recorded
    stage.running[-1].kill()
    await editor.wait_closed_quietly()
    editor.has_left = True
    note.write_bytes(early)
    again = await stage.start(habits, settings=model)
    again.desk.open(uri, before)
    await again.request("review.open")
    assert await again.request("review.comments") == []
    assert again.desk[uri] == before


@every_editor
async def test_closed_unsaved_it_is_what_it_was(editor: Editor) -> None:
    uri = await opened(editor)
    editor.desk.type(uri, "Why so loud?\n", after="+TWO\n```\n")
    editor.desk.tell()
    await editor.request("review.keep", all=True)
    await shows(editor, uri, "### `a.txt:2` · +1 −1 · kept")
    editor.desk.close(uri)
    text = editor.desk[await opened(editor)]
    assert headings(text) == ["# Review"]
    with expect_error(REQUEST_FAILED, "No comment is left to send"):
        await editor.request("review.send")


@every_editor
async def test_saved_and_closed_its_comments_are_there(editor: Editor) -> None:
    uri = await opened(editor)
    editor.desk.type(uri, "Why so loud?\n", after="+TWO\n```\n")
    editor.desk.tell()
    editor.desk.save(uri)
    editor.desk.close(uri)
    sent = await editor.request("review.send")
    assert sent["comments"] == 1
    text = editor.desk[await opened(editor)]
    assert "\n> Why so loud?\n" in text
    assert "\nWhy so loud?\n" not in text


CHANGES = "+TWO\n```\n"


async def sent(editor: Editor) -> Json:
    """What was sent, once it is answered."""
    found: Json = await editor.request("review.send")
    await editor.request("turn.wait", turn=found["turn"])
    return found


@every_editor
async def test_room_is_made_in_the_open_document(editor: Editor, stage: Stage) -> None:
    first, second = await editor.request("review.list")
    uri = await opened(editor)
    place = await editor.request("review.comment", hunk=first["id"], text="Why?")
    await shows(editor, uri, "Why?")
    assert editor.desk[uri].splitlines()[place["line"]] == "Why?"
    done = await editor.request("review.undo", hunks=[second["id"]], sayWhy=True)
    rows = editor.desk[uri].split("\n")
    assert rows[done["why"]["line"] - 2 :][:3] == ["+FOUR", "```", ""]
    assert "### `a.txt:4` · +1 −1 · undone" in rows


@every_editor
async def test_a_comment_is_sent_once_however_often_it_is_sent(editor: Editor, stage: Stage) -> None:
    uri = await opened(editor)
    editor.desk.type(uri, "Why?\n", after=CHANGES)
    editor.desk.tell()
    calls = [editor.request("review.send") for _ in range(3)]
    found = await asyncio.gather(*calls, return_exceptions=True)
    assert len([each for each in found if isinstance(each, dict)]) == 1


@every_editor
@pytest.mark.parametrize("response", [Response.FALSE, Response.ERROR])
async def test_a_comment_that_the_editor_does_not_let_go_is_sent_once(
    editor: Editor, response: Response
) -> None:
    uri = await opened(editor)
    editor.desk.type(uri, "Why?\n", after=CHANGES)
    editor.desk.tell()
    editor.behaviours = [Reaction(applies=asyncio.Event(), response=response)] * 9
    await sent(editor)
    editor.behaviours = []
    await editor.request("review.open")
    text = await shows(editor, uri, "> Why?")
    assert "\nWhy?\n" not in text
    with expect_error(REQUEST_FAILED, "No comment is left to send"):
        await editor.request("review.send")


@every_editor
async def test_an_undo_in_the_editor_sends_nothing_again(editor: Editor) -> None:
    uri = await opened(editor)
    editor.desk.type(uri, "Why?\n", after=CHANGES)
    editor.desk.tell()
    await sent(editor)
    await shows(editor, uri, "> Why?")
    while "> Why?" in editor.desk[uri]:
        editor.desk.undo(uri)
    editor.desk.tell()
    with expect_error(REQUEST_FAILED, "No comment is left to send"):
        await editor.request("review.send")


@every_editor
async def test_a_saved_comment_is_not_sent_again(editor: Editor) -> None:
    uri = await opened(editor)
    editor.desk.type(uri, "Why?\n", after=CHANGES)
    editor.desk.tell()
    editor.desk.save(uri)
    await sent(editor)
    editor.desk.close(uri)
    with expect_error(REQUEST_FAILED, "No comment is left to send"):
        await editor.request("review.send")


@every_editor
async def test_what_no_model_has_read_is_a_draft_again(editor: Editor, stage: Stage) -> None:
    uri = await opened(editor)
    editor.desk.type(uri, "Why?\n", after=CHANGES)
    editor.desk.tell()
    stage.script()  # the model has nothing more to say, and fails
    (stage.folder / "script.json").write_text("[]")
    begun = await editor.request("review.send")
    report = await editor.request("turn.wait", turn=begun["turn"])
    assert report["state"] != "finished"
    await editor.until(lambda: any("drafts again" in each.message for each in editor.messages))
    assert "\nWhy?\n" in editor.desk[uri]
    assert "> Why?" not in editor.desk[uri]
    assert "Send this comment" in await actions(editor, uri, "Why?")


@vscode
async def test_a_model_that_only_takes_pasted_replies_is_sent_nothing(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits)
    await opened(editor)
    with expect_error(
        REQUEST_FAILED, "`paste`, which cannot answer comments. Choose another one with `/model`"
    ):
        await editor.request("review.send")


@every_editor
async def test_a_general_comment_is_answered_where_the_changes_were_made(
    editor: Editor, stage: Stage
) -> None:
    (session,) = await editor.request("session.list")
    uri = await opened(editor)
    editor.desk.type(uri, "Please mind the docs.\n", after="# Review\n")
    editor.desk.tell()
    assert (await sent(editor))["session"] == session["session"]
    assert "## 1. In general\n\nPlease mind the docs." in asked(stage, editor)


@every_editor
async def test_an_edited_row_of_a_diff_is_a_comment_on_that_row(editor: Editor, stage: Stage) -> None:
    uri = await opened(editor)
    editor.desk.type(uri, "+Four", instead="+FOUR")
    editor.desk.tell()
    await sent(editor)
    prompt = asked(stage, editor)
    assert "## 1. a.txt, line 4\n" in prompt
    assert "My comment on the line `+FOUR`:\n\n+Four" in prompt


@every_editor
async def test_lines_that_have_changed_are_said_to_have(editor: Editor, stage: Stage) -> None:
    b = editor.desk.open(stage.put("b.txt", "x\ny\nz\n"))
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 2, "character": 1}}
    await editor.request("review.comment", uri=b, range=place, text="About all")
    editor.desk.type(b, "YY", instead="y")
    editor.desk.tell()
    await sent(editor)
    assert "## 1. b.txt\n\nThese lines, which have changed since" in asked(stage, editor)


@vscode
async def test_the_text_of_a_protected_file_is_shown_to_no_one(stage: Stage, habits: Habits) -> None:
    stage.put(".env", "KEY=hunter2\n")
    model = stage.script(
        answer("", call("write_file", path=".env", content="KEY=new\n")), answer("Done."), answer("I see.")
    )
    editor = await stage.start(habits, settings=model)
    await stage.turn(editor, "Write it.", "allow")
    (hunk,) = await editor.request("review.list")
    await editor.request("review.comment", hunk=hunk["id"], text="Why?")
    uri = await opened(editor)
    assert "hunter2" not in editor.desk[uri]
    await sent(editor)
    prompt = asked(stage, editor)
    assert "## 1. .env, line 1" in prompt
    assert "hunter2" not in prompt


@vscode
async def test_a_document_of_the_users_with_such_a_name_is_none_of_ours(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits)
    for name in ("review.md", "docs/code-review.md"):
        editor.desk.open(stage.put(name, "# Mine\n"))
    await editor.request("review.list")
    await editor.leave()
    assert not (stage.root / ".handrail").exists()


@vscode
async def test_lines_outside_the_workspace_are_not_sent(editor: Editor, stage: Stage) -> None:
    outside = stage.folder / "outside.txt"
    outside.write_text("secret\n")
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 6}}
    with expect_error(-32803, "outside the workspace"):
        await editor.request("review.comment", uri=outside.as_uri(), range=place, text="Why?")


@vscode
async def test_a_folder_in_its_place_is_told(editor: Editor, stage: Stage) -> None:
    await editor.request("review.open")
    (stage.root / ".handrail" / "review.md").unlink()
    (stage.root / ".handrail" / "review.md").mkdir()
    with expect_error(-32803, "The document review.md cannot be written"):
        await editor.request("review.open")
    await editor.request("review.keep", all=True)
    assert [each.message for each in editor.messages if "internal" in each.message] == []


@vscode
async def test_lenses_and_links_stand_at_its_places(editor: Editor, stage: Stage) -> None:
    uri = await opened(editor)
    lenses = await editor.call("textDocument/codeLens", {"textDocument": {"uri": uri}})
    rows = editor.desk[uri].splitlines()
    assert [(rows[each["range"]["start"]["line"]], each["command"]["title"]) for each in lenses] == [
        (heading, title) for heading in HUNKS for title in ("Keep", "Undo", "Undo and say why…", "Go to")
    ]
    links = await editor.call("textDocument/documentLink", {"textDocument": {"uri": uri}})
    a = (stage.root / "a.txt").as_uri()
    assert [each["target"] for each in links] == [f"{a}#L2", f"{a}#L4"]
    start, end = (links[0]["range"][each]["character"] for each in ("start", "end"))
    assert rows[links[0]["range"]["start"]["line"]][start:end] == "`a.txt:2`"
    await editor.choose(await _titled(lenses, "Go to"))
    assert await editor.until(lambda: editor.documents_shown[-1:]) == [a]


async def _titled(found: list[Json], title: str) -> Any:
    return next(each for each in found if each["command"]["title"] == title)


@vscode
async def test_wrong_calls_are_told(editor: Editor) -> None:
    with expect_error(INVALID_PARAMS, "hunk, or uri and range"):
        await editor.request("review.comment", text="Why?")
    with expect_error(-32803, "Change 'h-1' is not pending"):
        await editor.request("review.comment", hunk="h-1", text="Why?")
    with expect_error(REQUEST_FAILED, "No comment is left to send"):
        await editor.request("review.send")
