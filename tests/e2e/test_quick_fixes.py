"""What a quick fix would write is shown before it is made, and undoing it brings its failure back."""

from __future__ import annotations

import pytest

from e2e.client import Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import EMACS, VSCODE, Habits
from e2e.prompts import block, patch, statuses
from handrail.testing import answer, behaviours
from handrail.testing.texts import Json

vscode = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])

TEXT = "BEGIN\n    count = len(items)\nEND\n"
FAILS = block("a.py", "    number = len(items)", "    number = len(items) or 1")


@pytest.fixture
def uri(stage: Stage, editor: Editor) -> str:
    return editor.desk.open(stage.put("a.py", TEXT))


@pytest.fixture
async def shown(editor: Editor, uri: str) -> Json:
    """The diagnostic of an edit whose lines use another name."""
    assert statuses(await editor.turn(FAILS)) == ["no-match"]
    (shown,) = editor.shown_diagnostics(uri)
    return shown


async def test_the_title_says_what_goes_and_what_comes(editor: Editor, uri: str, shown: Json) -> None:
    actions = await editor.quick_fixes(uri, shown["range"])
    assert [each["title"] for each in actions] == [
        "Apply at line 2: ‘count = len(items)’ → ‘number = len(items) or 1’",
        "Show the change",
        "Dismiss",
    ]
    assert not any(each.get("isPreferred") for each in actions), "its search text is only alike"


async def test_all_of_it_is_shown_as_a_document(editor: Editor, uri: str, shown: Json) -> None:
    _, show, _ = await editor.quick_fixes(uri, shown["range"])
    found = await editor.choose(show)
    assert "-    count = len(items)\n+    number = len(items) or 1\n" in found["text"]
    assert "The search text differs from the document:" in found["text"]
    assert "-    number = len(items)\n+    count = len(items)\n" in found["text"]
    if editor.habits.has_extension:
        read = await editor.call("workspace/textDocumentContent", {"uri": found["uri"]})
        assert read["text"] == found["text"]
    assert editor.desk[uri] == TEXT, "nothing is changed by showing it"
    (known,) = await editor.request("failure.list")
    one = await editor.request("failure.diff", failure=known["id"], candidate=0)
    assert one["text"].startswith("Apply at line 2: ")
    with expect_error(-32602, "candidate"):
        await editor.request("failure.diff", failure=known["id"], candidate=7)


async def test_a_place_that_was_removed_is_not_offered(editor: Editor, uri: str, shown: Json) -> None:
    """Else the edit would be made in whatever stands there now."""
    editor.desk.type(uri, "", instead="    count = len(items)\n")
    editor.desk.tell()
    await editor.until(
        lambda: (
            editor.shown_diagnostics(uri)[0]["range"]["end"]
            == editor.shown_diagnostics(uri)[0]["range"]["start"]
        )
    )
    actions = await editor.quick_fixes(uri, editor.shown_diagnostics(uri)[0]["range"])
    assert [each["title"] for each in actions] == ["Dismiss"]
    (known,) = await editor.request("failure.list")
    (outcome,) = await editor.request("failure.apply", failure=known["id"], candidate=0)
    assert outcome["failure"]["code"] == "no-match"
    assert editor.desk[uri] == TEXT.replace("    count = len(items)\n", "")


async def test_a_fix_that_is_undone_and_made_again(editor: Editor, uri: str, shown: Json) -> None:
    fix, *_ = await editor.quick_fixes(uri, shown["range"])
    await editor.choose(fix)
    assert editor.shown_diagnostics(uri) == []
    editor.desk.type(uri, "    count = len(items)", instead="    number = len(items) or 1")
    editor.desk.tell()
    await editor.until(lambda: editor.shown_diagnostics(uri))
    assert editor.shown_diagnostics(uri) == [shown]
    fix, *_ = await editor.quick_fixes(uri, shown["range"])
    await editor.choose(fix)
    assert editor.shown_diagnostics(uri) == []
    assert await editor.request("failure.list") == []


async def test_a_fix_that_is_undone_after_its_document_was_closed(stage: Stage, editor: Editor) -> None:
    path = stage.put("a.py", TEXT)
    await editor.turn(FAILS)
    (shown,) = editor.shown_diagnostics(path.as_uri())
    fix, *_ = await editor.quick_fixes(path.as_uri(), shown["range"])
    await editor.choose(fix)
    for uri in list(editor.desk.documents):
        editor.desk.save(uri)
        editor.desk.close(uri)
    assert editor.shown_diagnostics(path.as_uri()) == []
    path.write_text(TEXT)
    await editor.until(lambda: editor.shown_diagnostics(path.as_uri()))


@vscode
async def test_a_fix_whose_edit_the_editor_refused_is_sure(stage: Stage, habits: Habits) -> None:
    """The edit fits there and only there, so an editor may make it without a menu."""
    editor = await stage.start(habits)
    uri = editor.desk.open(stage.put("a.py", TEXT))
    editor.behaviours = [behaviours.refuse]
    await editor.turn(block("a.py", "    count = len(items)", "    count = len(items) or 1"))
    (shown,) = editor.shown_diagnostics(uri)
    fix, *_ = await editor.quick_fixes(uri, shown["range"])
    assert fix["isPreferred"] is True


@vscode
async def test_replacing_all_is_open_while_any_is_left(stage: Stage, habits: Habits) -> None:
    call = patch("a.txt", "old_name", "new_name", replace_all=True)
    editor = await stage.start(habits, settings=stage.script(answer("", call), answer("Done.")))
    uri = editor.desk.open(stage.put("a.txt", "old_name()\nx\nold_name()\ny\nold_name()\n"))
    editor.behaviours = [behaviours.refuse]
    assert statuses(await editor.turn("Rename.")) == ["edit-rejected"]
    (known,) = await editor.request("failure.list")
    assert [each["range"]["start"]["line"] for each in known["candidates"]] == [0, 2, 4]
    editor.desk.type(uri, "new_name()\nx", instead="old_name()\nx")
    editor.desk.tell()
    assert len(await editor.request("failure.list")) == 1, "two are left"
    await editor.request("failure.apply", failure=known["id"], candidate=1)
    assert editor.desk[uri] == "new_name()\nx\nnew_name()\ny\nold_name()\n"
    assert len(await editor.request("failure.list")) == 1, "one is left"
    await editor.request("failure.apply", failure=known["id"], candidate=2)
    assert editor.desk[uri] == "new_name()\nx\nnew_name()\ny\nnew_name()\n"
    assert await editor.request("failure.list") == []


@pytest.mark.parametrize("habits", [EMACS], ids=["emacs"])
async def test_a_place_is_the_same_in_an_editor_that_hides_line_ends(stage: Stage, habits: Habits) -> None:
    """The file has CRLF, and was closed as the edit failed; the editor holds LF for it."""
    path = stage.put("a.txt", b"zero\r\ndef one(y):\r\n    pass\r\ntwo\r\n")
    editor = await stage.start(habits)
    await editor.turn(block("a.txt", "def  one(x)\n    pass", "def one(x):\n    return x"))
    uri = editor.desk.open(path)
    await editor.request("failure.list")  # what is opened has been looked at by then
    (shown,) = editor.shown_diagnostics(uri)
    assert [shown["range"][end]["line"] for end in ("start", "end")] == [1, 2]
    fixes = await editor.quick_fixes(uri, shown["range"])
    assert fixes[0]["title"].startswith("Apply at line 2")
    await editor.choose(fixes[0])
    assert editor.desk[uri] == "zero\ndef one(x):\n    return x\ntwo\n"
