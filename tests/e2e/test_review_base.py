"""The text of a document without its pending changes, for clients that show the difference themselves."""

from __future__ import annotations

import pytest

from e2e.client import Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import VSCODE
from e2e.prompts import statuses, v4a

vscode = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])

FIVE = "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\n"
FIRST = v4a("*** Update File: a.txt", "@@", "-two", "+TWO", "+and more")
SECOND = v4a("*** Update File: a.txt", "@@", "-four")


async def base(editor: Editor, uri: str, turn: str | None = None) -> str:
    answer = await editor.request("review.base", uri=uri, **({} if turn is None else {"turn": turn}))
    assert answer["uri"] == uri
    text: str = answer["text"]
    return text


@vscode
async def test_the_base_has_what_is_typed_beside_changes_and_what_is_kept(
    stage: Stage, editor: Editor
) -> None:
    uri = editor.desk.open(stage.put("a.txt", FIVE))
    await editor.turn(FIRST)
    await editor.turn(SECOND)
    assert await base(editor, uri) == FIVE
    editor.desk.type(uri, "zero, ", before="one")
    editor.desk.tell()
    assert await base(editor, uri) == f"zero, {FIVE}"
    first, _ = await editor.request("review.list")
    await editor.request("review.keep", hunks=[first["id"]])
    assert await base(editor, uri) == f"zero, {FIVE}".replace("two", "TWO\r\nand more")


@vscode
async def test_the_base_of_a_turn_has_what_other_turns_changed(stage: Stage, editor: Editor) -> None:
    uri = editor.desk.open(stage.put("a.txt", FIVE))
    await editor.turn(FIRST)
    await editor.turn(SECOND)
    first, second = await editor.request("review.list")
    assert await base(editor, uri, first["turns"][0]) == FIVE.replace("four\r\n", "")
    assert await base(editor, uri, second["turns"][0]) == FIVE.replace("two", "TWO\r\nand more")


@vscode
async def test_the_base_of_a_document_that_was_made_is_empty_and_a_removed_one_has_its_text(
    stage: Stage, editor: Editor
) -> None:
    gone, new = stage.put("a.txt", FIVE).as_uri(), (stage.root / "new.txt").as_uri()
    patch = v4a("*** Add File: new.txt", "+new", "*** Delete File: a.txt")
    assert statuses(await editor.turn(patch)) == ["landed", "landed"]
    assert await base(editor, new) == ""
    assert await base(editor, gone) == FIVE


@vscode
async def test_the_base_of_a_document_that_was_moved_is_what_it_held_at_its_old_path(
    stage: Stage, editor: Editor
) -> None:
    stage.put("a.txt", FIVE)
    await editor.turn(v4a("*** Update File: a.txt", "*** Move to: b.txt", "@@", "-two", "+TWO"))
    assert await base(editor, (stage.root / "b.txt").as_uri()) == FIVE


@vscode
async def test_where_nothing_is_pending_there_is_no_base(stage: Stage, editor: Editor) -> None:
    uri = editor.desk.open(stage.put("a.txt", FIVE))
    with expect_error(-32803, "Nothing is pending in a.txt."):
        await base(editor, uri)
    await editor.turn(FIRST)
    with expect_error(-32803, "Nothing is pending in a.txt."):
        await base(editor, uri, "turn-other")
