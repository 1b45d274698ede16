"""What did not land: how long it is shown, where, and what can be done with it."""

from __future__ import annotations

import asyncio

import pytest

from e2e.client import Behaviour, Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import VSCODE, Habits, opt_in
from e2e.prompts import block, fence, patch, statuses, v4a
from handrail.testing import answer, behaviours, call
from handrail.testing.texts import Json

pytestmark = pytest.mark.any_client

vscode = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])

TEXT = "".join(f"line number {number}\n" for number in ("one", "two", "three", "four", "five", "six"))
FAILS = block("a.txt", "line numbr four", "line four, mended")
WARNING, HINT = 2, 4


@pytest.fixture
def uri(stage: Stage, editor: Editor) -> str:
    return editor.desk.open(stage.put("a.txt", TEXT))


@pytest.fixture
async def shown(editor: Editor, uri: str) -> Json:
    """The diagnostic of an edit that meant line four."""
    report = await editor.turn(FAILS)
    assert statuses(report) == ["no-match"]
    (shown,) = editor.shown_diagnostics(uri)
    assert shown["range"]["start"]["line"] == 3
    return shown


# ---- How long it is shown -------------------------------------------------------------------------


async def test_a_sibling_changes_nothing(editor: Editor, uri: str) -> None:
    report = await editor.turn(FAILS + block("a.txt", "line number one", "line 1"))
    assert statuses(report) == ["no-match", "landed"]
    (shown,) = editor.shown_diagnostics(uri)
    assert shown["severity"] == WARNING


async def test_what_lands_elsewhere_later_lowers_it(editor: Editor, uri: str, shown: Json) -> None:
    await editor.turn(block("a.txt", "line number one", "line 1"))
    (shown,) = editor.shown_diagnostics(uri)
    assert (shown["severity"], shown["range"]["start"]["line"]) == (HINT, 3)


async def test_what_lands_at_its_place_later_closes_it(editor: Editor, uri: str, shown: Json) -> None:
    await editor.turn(block("a.txt", "line number four", "line 4"))
    assert editor.shown_diagnostics(uri) == []
    assert await editor.request("failure.list") == []


async def test_what_brings_its_text_later_closes_it(editor: Editor, uri: str, shown: Json) -> None:
    await editor.turn(block("a.txt", "line number six", "line six\nline four, mended"))
    assert editor.shown_diagnostics(uri) == []


async def test_rewriting_the_document_later_closes_it(editor: Editor, uri: str, shown: Json) -> None:
    await editor.turn(fence("a.txt", TEXT.replace("one", "1")))
    assert editor.shown_diagnostics(uri) == []


async def test_deleting_the_document_later_closes_it(editor: Editor, uri: str, shown: Json) -> None:
    await editor.turn(v4a("*** Delete File: a.txt"))
    assert editor.shown_diagnostics(uri) == []


async def test_an_edit_of_another_document_changes_nothing(
    stage: Stage, editor: Editor, uri: str, shown: Json
) -> None:
    stage.put("b.txt", TEXT)
    await editor.turn(block("b.txt", "line number four", "line four, mended"))
    (shown,) = editor.shown_diagnostics(uri)
    assert shown["severity"] == WARNING


async def test_the_user_types_it(editor: Editor, uri: str, shown: Json) -> None:
    editor.desk.type(uri, "line four, mended", instead="line number four")
    editor.desk.tell()
    await editor.until(lambda: editor.shown_diagnostics(uri) == [])
    assert await editor.request("failure.list") == []


async def test_the_user_types_it_elsewhere(editor: Editor, uri: str, shown: Json) -> None:
    """What was to be changed still stands where it stood."""
    editor.desk.type(uri, "line four, mended", instead="line number two")
    editor.desk.tell()
    assert len(await editor.request("failure.list")) == 1
    assert [each["range"] for each in editor.shown_diagnostics(uri)] == [shown["range"]]
    editor.desk.type(uri, "line four, mended", instead="line number four")
    editor.desk.tell()
    await editor.until(lambda: editor.shown_diagnostics(uri) == [])


async def test_the_user_types_something_else(editor: Editor, uri: str, shown: Json) -> None:
    """It moves along with its place."""
    editor.desk.type(uri, "line zero\n", before="line number one")
    editor.desk.tell()
    await editor.until(lambda: editor.shown_diagnostics(uri)[0]["range"]["start"]["line"] == 4)
    actions = await editor.quick_fixes(uri, editor.shown_diagnostics(uri)[0]["range"])
    assert actions[0]["title"] == "Apply at line 5: ‘line number four’ → ‘line four, mended’"
    await editor.choose(actions[0])
    assert editor.desk[uri] == "line zero\n" + TEXT.replace("line number four", "line four, mended")


async def test_another_program_writes_it(stage: Stage, editor: Editor) -> None:
    """The document is closed: its file is watched for as long as it has a failure."""
    path = stage.put("a.txt", TEXT)
    await editor.turn(FAILS)
    assert editor.shown_diagnostics(path.as_uri())
    path.write_text("new first line\n" + TEXT)
    await editor.until(lambda: editor.shown_diagnostics(path.as_uri())[0]["range"]["start"]["line"] == 4)
    temporary = path.with_name("a.txt.new")  # as most programs save
    temporary.write_text(TEXT.replace("line number four", "line four, mended"))
    temporary.rename(path)
    await editor.until(lambda: editor.shown_diagnostics(path.as_uri()) == [])
    assert await editor.request("failure.list") == []


@pytest.mark.parametrize("is_removed", [False, True], ids=["emptied", "removed"])
async def test_another_program_empties_or_removes_the_file_before_it_writes_it(
    stage: Stage, editor: Editor, is_removed: bool
) -> None:
    """The server may look in between; the failure is shown where its place is then."""
    path = stage.put("a.txt", TEXT)
    await editor.turn(FAILS)
    (shown,) = editor.shown_diagnostics(path.as_uri())
    path.unlink() if is_removed else path.write_text("")
    await editor.until(lambda: editor.shown_diagnostics(path.as_uri())[0]["range"] != shown["range"])
    path.write_text("new first line\nline four, mended\n" + TEXT)
    await editor.until(lambda: editor.shown_diagnostics(path.as_uri())[0]["range"]["start"]["line"] == 5)
    path.write_text(TEXT.replace("line number four", "line four, mended"))
    await editor.until(lambda: editor.shown_diagnostics(path.as_uri()) == [])


async def test_the_user_removes_its_place_and_takes_that_back(editor: Editor, uri: str, shown: Json) -> None:
    editor.desk.type(uri, "", instead="line number four\n")
    editor.desk.tell()
    await editor.until(lambda: editor.shown_diagnostics(uri)[0]["range"] != shown["range"])
    editor.desk.type(uri, "line zero\n", before="line number one")
    editor.desk.tell()
    editor.desk.type(uri, "line number four\n", before="line number five")
    editor.desk.tell()
    await editor.until(lambda: editor.shown_diagnostics(uri)[0]["range"]["start"]["line"] == 4)
    actions = await editor.quick_fixes(uri, editor.shown_diagnostics(uri)[0]["range"])
    await editor.choose(actions[0])
    assert editor.desk[uri] == "line zero\n" + TEXT.replace("line number four", "line four, mended")


async def test_it_is_mended_in_the_file_while_the_editor_holds_the_document(
    stage: Stage, editor: Editor, uri: str, shown: Json
) -> None:
    """What the editor holds counts; once it is closed, the file does."""
    (stage.root / "a.txt").write_text(TEXT.replace("line number four", "line four, mended"))
    assert len(await editor.request("failure.list")) == 1
    editor.desk.close(uri)
    await editor.until(lambda: editor.shown_diagnostics(uri) == [])


async def test_a_checkpoint_brings_it_back(editor: Editor, uri: str, shown: Json) -> None:
    (fixed, *_) = await editor.quick_fixes(uri, shown["range"])
    await editor.choose(fixed)
    assert editor.shown_diagnostics(uri) == []
    (checkpoint,) = await editor.request("checkpoint.list")
    await editor.request("checkpoint.restore", checkpoint=checkpoint["id"])
    assert editor.desk[uri] == TEXT
    (again,) = editor.shown_diagnostics(uri)
    assert again["message"] == shown["message"], "what mends it is gone again"


async def test_repeats_raise_its_count(editor: Editor, uri: str, shown: Json) -> None:
    again = await editor.turn(FAILS)
    (repeated,) = editor.shown_diagnostics(uri)
    assert repeated["message"].startswith(shown["message"])
    assert "tried 2 times" in repeated["message"]
    (known,) = await editor.request("failure.list")
    assert known["attempts"] == 2
    assert known["id"] in {each["failure"]["id"] for each in again["outcomes"]} | {known["id"]}


async def test_what_landed_is_never_shown(editor: Editor, uri: str) -> None:
    await editor.turn(block("a.txt", "line number four", "line 4"))
    report = await editor.turn(block("a.txt", "line number four", "line 4"))
    assert statuses(report) in (["already"], ["no-match"])
    assert bool(editor.shown_diagnostics(uri)) == (statuses(report) == ["no-match"])


# ---- What can be done with it ---------------------------------------------------------------------


async def test_the_list_says_what_the_diagnostic_says(
    stage: Stage, editor: Editor, uri: str, shown: Json
) -> None:
    other = stage.put("b.txt", "something else entirely\n")
    await editor.turn(block("b.txt", "one", "1"))
    first, second = await editor.request("failure.list")
    assert (first["uri"], first["code"], first["range"]) == (uri, "no-match", shown["range"])
    assert first["steps"]
    assert second["uri"] == other.as_uri()
    assert second.get("range") is None
    assert second["candidates"] == []
    assert await editor.request("failure.list", uri=uri) == [first]
    assert await editor.request("failure.list", uri=other.as_uri()) == [second]
    if editor.habits.shows_related:
        assert shown["data"] == {"failure": first["id"]}
    await editor.request("failure.dismiss", failure=second["id"])
    assert await editor.request("failure.list") == [first]
    await editor.request("failure.dismiss", all=True)
    assert await editor.request("failure.list") == []
    assert editor.shown_diagnostics(uri) == editor.shown_diagnostics(other.as_uri()) == []


async def test_a_fix_is_offered_only_where_it_is_asked_for(editor: Editor, uri: str, shown: Json) -> None:
    def params(line: int, *only: str) -> Json:
        place = {"line": line, "character": 0}
        context = {"diagnostics": [], **({"only": list(only)} if only else {})}
        return {"textDocument": {"uri": uri}, "range": {"start": place, "end": place}, "context": context}

    asked = [(3, ()), (3, ("quickfix",)), (3, ("",)), (3, ("refactor",)), (3, ("source.fixAll",)), (0, ())]
    found = [bool(await editor.call("textDocument/codeAction", params(line, *only))) for line, only in asked]
    assert found == [True, True, True, False, False, False]


async def test_a_fix_can_be_used_once(editor: Editor, uri: str, shown: Json) -> None:
    fixed, *_ = await editor.quick_fixes(uri, shown["range"])
    await editor.choose(fixed)
    after = editor.desk[uri]
    with expect_error(-32803, "is not open"):
        await editor.choose(fixed)
    assert editor.desk[uri] == after


async def test_candidates_that_are_none(editor: Editor, uri: str, shown: Json) -> None:
    (known,) = await editor.request("failure.list")
    for candidate in (-1, len(known["candidates"]), 1000):
        with expect_error(-32803, "candidate"):
            await editor.request("failure.apply", failure=known["id"], candidate=candidate)
    assert editor.desk[uri] == TEXT


async def test_a_fix_that_the_editor_refuses_is_told(editor: Editor, uri: str, shown: Json) -> None:
    fixed, *_ = await editor.quick_fixes(uri, shown["range"])
    editor.behaviours = [behaviours.refuse]
    await editor.choose(fixed)
    await editor.until(lambda: editor.messages)
    assert "a dialog is open" in editor.messages[0].message
    assert editor.desk[uri] == TEXT
    (again,) = editor.shown_diagnostics(uri)
    fixed, *_ = await editor.quick_fixes(uri, again["range"])
    await editor.choose(fixed)
    await editor.until(lambda: editor.shown_diagnostics(uri) == [])
    assert editor.desk[uri] == TEXT.replace("line number four", "line four, mended")


async def test_a_fix_of_a_closed_document(stage: Stage, editor: Editor) -> None:
    path = stage.put("a.txt", TEXT.replace("\n", "\r\n").replace("one\r", "one"))
    await editor.turn(FAILS)
    (shown,) = editor.shown_diagnostics(path.as_uri())
    fixed, *_ = await editor.quick_fixes(path.as_uri(), shown["range"])
    (outcome,) = await editor.choose(fixed)
    assert outcome["status"] == "landed"
    assert path.read_bytes().count(b"line four, mended\r\n") == 1
    assert editor.shown_diagnostics(path.as_uri()) == []


async def test_one_of_several_equal_places_is_chosen(stage: Stage, editor: Editor) -> None:
    uri = editor.desk.open(stage.put("b.txt", "same thing\nother\nsame thing\nother\nsame thing\n"))
    report = await editor.turn(block("b.txt", "same thing", "another thing"))
    assert statuses(report) == ["ambiguous-match"]
    (shown,) = editor.shown_diagnostics(uri)
    actions = await editor.quick_fixes(uri, shown["range"])
    titles = [each["title"] for each in actions]
    change = "‘same thing’ → ‘another thing’"
    assert titles == [
        f"Apply at line 1: {change}",
        f"Apply at line 3: {change}",
        f"Apply at line 5: {change}",
        "Show the change",
        "Dismiss",
    ]
    await editor.choose(actions[1])
    assert editor.desk[uri] == "same thing\nother\nanother thing\nother\nsame thing\n"
    assert editor.shown_diagnostics(uri) == []


@vscode
async def test_an_edit_that_was_held_back_can_be_made_after_all(stage: Stage, habits: Habits) -> None:
    """It fits; only its neighbour in the same call does not. Its place is all that it matched."""
    text = v4a(
        "*** Update File: a.txt",
        "@@",
        " line number one",
        " line number two",
        "-line number three",
        "+line 3",
        " line number four",
        "@@",
        "-line nmber six",
        "+line 6",
    )
    settings = stage.script(answer("", call("patch", mode="v4a", patch=text)), answer("Done."))
    editor = await stage.start(habits, settings=settings)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    report = await editor.turn("Edit.")
    assert statuses(report) == ["bad-patch", "no-match"]
    first, second = editor.shown_diagnostics(uri)
    actions = await editor.quick_fixes(uri, first["range"])
    (outcome,) = await editor.choose(actions[0])
    assert outcome["status"] == "landed"
    assert editor.desk[uri] == TEXT.replace("line number three", "line 3")
    actions = await editor.quick_fixes(uri, second["range"])
    await editor.choose(next(each for each in actions if each["title"].startswith("Apply at line 6:")))
    assert editor.desk[uri] == TEXT.replace("line number three", "line 3").replace(
        "line number six", "line 6"
    )
    assert editor.shown_diagnostics(uri) == []


@vscode
async def test_a_call_that_names_no_document(stage: Stage, habits: Habits) -> None:
    """It is in the report and the list; there is no document to show it in."""
    settings = stage.script(answer("", call("patch", old_string="x", new_string="y")), answer("Done."))
    editor = await stage.start(habits, settings=settings)
    report = await editor.turn("Edit.")
    assert statuses(report) == ["bad-arguments"]
    (known,) = await editor.request("failure.list")
    assert known["uri"] == ""
    assert editor.published == []
    await editor.request("failure.dismiss", failure=known["id"])


@vscode
async def test_many_failures_of_one_document(stage: Stage, habits: Habits) -> None:
    """No more are shown than help anybody; all are in the list."""
    calls = [patch("a.txt", f"absent {number}", "x") for number in range(230)]
    answers = (answer("", *calls[:115]), answer("", *calls[115:]), answer("Done."))  # 200 calls run of one
    editor = await stage.start(habits, settings=stage.script(*answers))
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    await editor.turn("Edit.")
    assert len(editor.shown_diagnostics(uri)) == 200
    assert len(await editor.request("failure.list")) == 230


async def test_failures_are_published_for_the_text_that_is_there(
    editor: Editor, uri: str, shown: Json
) -> None:
    """With the version of an open document, so that a strict editor does not drop them."""
    gate = asyncio.Event()
    editor.behaviours = [behaviours.wait_for(gate)]
    started = await editor.start_turn(block("a.txt", "line number one", "line 0\nline 1"))
    await editor.until(lambda: editor.edits)
    gate.set()
    await editor.request("turn.wait", turn=started["turn"])
    latest = editor.published[-1]
    assert latest["version"] == editor.desk.documents[uri].version
    assert latest["diagnostics"][0]["range"]["start"]["line"] == 4


@vscode
@pytest.mark.parametrize("behaviour", [Editor.obey, behaviours.half], ids=["all", "half"])
async def test_lines_are_those_of_the_text_once_all_is_done(
    stage: Stage, habits: Habits, behaviour: Behaviour
) -> None:
    """Of a call that lands in part: for the editor, for the report, and for the model."""
    text = v4a(
        "*** Update File: a.txt",
        "@@",
        "-line number one",
        "+line zero",
        "+line 0.5",
        "+line one",
        "@@",
        "-line number two",
        "+line 2",
        "@@",
        "-line nmber five",
        "+line 5",
    )
    edit = call("patch", mode="v4a", patch=text, partial=True)
    settings = stage.script(answer("", edit), answer("Done."))
    editor = await stage.start(habits, settings=settings, options=opt_in())
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    editor.behaviours = [behaviour]
    report = await editor.turn("Edit.")
    *_, last = report["outcomes"]
    lines = editor.desk[uri].splitlines()
    assert lines[2] == "line one"
    assert last["failure"]["range"]["start"]["line"] == lines.index("line number five") == 6
    assert "line 7 " in last["failure"]["message"]
    told = [each["event"] for each in editor.updates if each["event"]["kind"] == "outcome"]
    assert told[-1]["failure"]["range"] == last["failure"]["range"]
    for each in editor.shown_diagnostics(uri):
        line = lines[each["range"]["start"]["line"]]
        assert line in ("line number five", "line number two")
