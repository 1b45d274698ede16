"""What a restore would do, reported before it is done; and the way back from a restore."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.client import Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import VSCODE
from e2e.prompts import block, v4a
from handrail.testing import snapshot
from handrail.testing.texts import Json

FAILED = -32803
vscode = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
CRLF_BOM = b"\xef\xbb\xbfone\r\ntwo\r\n"
CREATE = v4a("*** Add File: new/made.txt", "+made")
DELETE = v4a("*** Delete File: old.txt")
MOVE = v4a("*** Update File: old.txt", "*** Move to: far/moved.txt", "-two", "+TWO")


def shown(editor: Editor) -> dict[str, str]:
    """All that the editor holds."""
    return {uri: editor.desk[uri] for uri in editor.desk.documents}


async def foreseen(stage: Stage, editor: Editor, **wish: object) -> Json:
    """What a restore would come to; nothing is changed, and no checkpoint is made."""
    before = snapshot(stage.root), shown(editor), await editor.request("checkpoint.list")
    found = await editor.request("checkpoint.restore", dryRun=True, **wish)
    assert (snapshot(stage.root), shown(editor), await editor.request("checkpoint.list")) == before
    assert found["checkpoint"] is None
    return found


async def restored(stage: Stage, editor: Editor, **wish: object) -> Json:
    """What a restore has come to, which had been foreseen."""
    expected = await foreseen(stage, editor, **wish)
    found = await editor.request("checkpoint.restore", **wish)
    assert {**found, "checkpoint": None} == expected
    return found


@pytest.mark.parametrize("prompt", [CREATE, DELETE, MOVE, block("old.txt", "two", "TWO")], ids=str)
@pytest.mark.parametrize("opened", [True, False], ids=["open", "closed"])
async def test_a_restore_is_foreseen_and_redone(
    stage: Stage, editor: Editor, prompt: str, opened: bool
) -> None:
    path = stage.put("old.txt", CRLF_BOM)
    before = snapshot(stage.root)
    if opened:
        editor.desk.open(path)
    turn = await editor.turn(prompt)
    done = await restored(stage, editor, checkpoint=turn["checkpoint"])
    assert done["conflicts"] == []
    assert snapshot(stage.root) == before
    again = await editor.request("checkpoint.redo")
    assert again["conflicts"] == []
    assert {each["kind"] for each in await editor.request("checkpoint.list")} == {"turn", "restore", "redo"}


@vscode
async def test_a_restore_is_undone_by_its_name_and_redone_again(stage: Stage, editor: Editor) -> None:
    """Redoing takes back one restore after the other; what was redone is redone no second time."""
    path = stage.put("a.txt", "one\ntwo\n")
    first = await editor.turn(block("a.txt", "one", "ONE"))
    second = await editor.turn(block("a.txt", "two", "TWO"))
    one = await editor.request("checkpoint.restore", checkpoint=second["checkpoint"])
    await editor.request("checkpoint.restore", checkpoint=first["checkpoint"])
    assert path.read_bytes() == b"one\ntwo\n"
    await editor.request("checkpoint.redo")
    assert path.read_bytes() == b"ONE\ntwo\n"
    await editor.request("checkpoint.redo")
    assert path.read_bytes() == b"ONE\nTWO\n"
    with expect_error(FAILED, "no restore to undo"):
        await editor.request("checkpoint.redo")
    labels = [each["label"] for each in await editor.request("checkpoint.list")]
    assert [label.partition(":")[0] for label in labels[:4]] == ["Before undoing a restore"] * 2 + [
        "Before restoring"
    ] * 2
    with expect_error(FAILED, "not made by a restore"):
        await editor.request("checkpoint.redo", checkpoint=first["checkpoint"])
    with expect_error(FAILED, "no checkpoint"):
        await editor.request("checkpoint.redo", checkpoint="r-unknown")
    with expect_error(FAILED, "no restore to undo"):
        await editor.request("checkpoint.redo", dryRun=True)
    # By its id, whatever was redone since.
    third = await editor.request("checkpoint.restore", checkpoint=second["checkpoint"])
    assert (await editor.request("checkpoint.redo", checkpoint=third["checkpoint"]))["conflicts"] == []
    assert path.read_bytes() == b"ONE\nTWO\n"
    again = await editor.request("checkpoint.redo", checkpoint=one["checkpoint"])
    assert again["unchanged"] == [path.as_uri()]


@vscode
@pytest.mark.parametrize("title", ["Shout.", "Before restoring: shout.", "Before undoing a restore: shout."])
async def test_a_restore_is_named_for_what_its_own_restore_undoes(
    stage: Stage, editor: Editor, title: str
) -> None:
    stage.put("a.txt", "one\n")
    turn = await editor.turn(f"{title}\n\n{block('a.txt', 'one', 'ONE')}")
    done = await editor.request("checkpoint.restore", checkpoint=turn["checkpoint"])
    again = await editor.request("checkpoint.restore", checkpoint=done["checkpoint"])
    await editor.request("checkpoint.restore", checkpoint=again["checkpoint"])
    names = [each["name"] for each in await editor.request("checkpoint.list")]
    assert names == [f"Restore: {title}", f"Undo of a restore: {title}", f"Restore: {title}", title]


@vscode
async def test_the_conversation_is_foreseen_and_comes_back_with_a_redo(stage: Stage, editor: Editor) -> None:
    stage.put("a.txt", "one\n")
    first = await editor.turn(block("a.txt", "one", "two"))
    second = await editor.turn(block("a.txt", "two", "three"), session=first["session"])
    done = await restored(stage, editor, checkpoint=second["checkpoint"], conversation=True)
    assert [each["turn"] for each in done["conversation"]["turns"]] == [first["turn"]]
    expected = await editor.request("checkpoint.redo", dryRun=True)
    again = await editor.request("checkpoint.redo")
    assert {**again, "checkpoint": None} == expected
    assert [each["turn"] for each in again["conversation"]["turns"]] == [first["turn"], second["turn"]]
    words = await restored(stage, editor, checkpoint=second["turn"], files=False, conversation=True)
    assert words["conversation"] == done["conversation"]
    assert (stage.root / "a.txt").read_bytes() == b"three\n"


async def test_what_is_in_the_way_is_foreseen_with_both_texts(stage: Stage, editor: Editor) -> None:
    """The user typed in a change, deleted a file, and left one that the turn made."""
    typed = editor.desk.open(stage.put("typed.txt", "one\ntwo\nthree\n"))
    other = editor.desk.open(stage.put("other.txt", "one\ntwo\nthree\n"))
    stage.put("gone.txt", "one\n")
    turn = await editor.turn(
        block("typed.txt", "two", "TWO")
        + block("other.txt", "two", "TWO")
        + block("gone.txt", "one", "ONE")
        + block("made.txt", "", "made")
    )
    editor.desk.type(typed, " and more", after="TWO")
    editor.desk.type(other, "four\n", after="three\n")
    editor.desk.tell()
    (stage.root / "gone.txt").unlink()
    found = await restored(stage, editor, checkpoint=turn["checkpoint"])
    conflicts = {Path(each["uri"]).name: each for each in found["conflicts"]}
    is_held = (stage.root / "gone.txt").as_uri() in editor.desk.documents  # by an editor that opened it
    assert conflicts.keys() == {"typed.txt", *(() if is_held else ("gone.txt",))}
    assert "-TWO and more\n+two\n" in conflicts["typed.txt"]["diff"]
    assert editor.desk[other] == "one\ntwo\nthree\nfour\n"
    assert [Path(uri).name for uri in found["deleted"]] == ["made.txt"]


@vscode
async def test_one_document_alone_is_foreseen(stage: Stage, editor: Editor) -> None:
    first, second = stage.put("a.txt", "one\n"), stage.put("b.txt", "one\n")
    turn = await editor.turn(block("a.txt", "one", "ONE") + block("b.txt", "one", "ONE"))
    missing = (stage.root / "c.txt").as_uri()
    uris = [first.as_uri(), missing]
    found = await restored(stage, editor, checkpoint=turn["checkpoint"], uris=uris)
    assert found["restored"] == [first.as_uri()]
    assert [each["uri"] for each in found["conflicts"]] == [missing]
    assert second.read_bytes() == b"ONE\n"


@vscode
async def test_the_texts_that_a_checkpoint_keeps_are_read(stage: Stage, editor: Editor) -> None:
    a, made = stage.put("a.txt", "one\ntwo\n").as_uri(), (stage.root / "made.txt").as_uri()
    turn = await editor.turn(block("a.txt", "two", "TWO") + block("made.txt", "", "made"))
    await editor.turn(block("a.txt", "one", "ONE"))
    read = {"checkpoint": turn["checkpoint"]}
    assert await editor.request("checkpoint.read", uri=a, **read) == {"text": "one\ntwo\n", "exists": True}
    after = await editor.request("checkpoint.read", uri=a, after=True, **read)
    assert after == {"text": "one\nTWO\n", "exists": True}
    assert await editor.request("checkpoint.read", uri=made, **read) == {"text": None, "exists": False}
    with expect_error(FAILED, "is not in checkpoint"):
        await editor.request("checkpoint.read", uri=(stage.root / "c.txt").as_uri(), **read)


@vscode
async def test_a_restore_with_a_conflict_is_redone_once_the_user_has_undone_the_typing(
    stage: Stage, editor: Editor
) -> None:
    stock, listed = stage.put("stock.txt", "one\ntwo\n"), stage.put("list.txt", "one\ntwo\n")
    turn = await editor.turn(block("stock.txt", "two", "TWO") + block("list.txt", "two", "TWO"))
    uri = stock.as_uri() if stock.as_uri() in editor.desk.documents else editor.desk.open(stock)
    editor.desk.type(uri, " and more", after="TWO")
    editor.desk.tell()
    done = await restored(stage, editor, checkpoint=turn["checkpoint"])
    assert [each["uri"] for each in done["conflicts"]] == [uri]
    editor.desk.type(uri, "", instead=" and more")
    editor.desk.tell()
    found = await editor.request("checkpoint.redo", checkpoint=done["checkpoint"], dryRun=True)
    assert found["conflicts"] == []
    again = await editor.request("checkpoint.redo", checkpoint=done["checkpoint"])
    assert again["restored"] == [listed.as_uri()]
