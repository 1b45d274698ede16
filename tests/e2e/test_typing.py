"""The user types while a turn edits: every character stays, and nothing false is said."""

from __future__ import annotations

import asyncio

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import Habits
from e2e.prompts import block, statuses
from handrail.testing import behaviours
from handrail.testing.variations import Shape

pytestmark = pytest.mark.any_client

TEXT = "one\ntwo\nthree\nfour\nfive\n"
PROMPT = block("a.txt", "three", "THREE\nand a half")


@pytest.fixture
async def editor(stage: Stage, habits: Habits) -> Editor:
    return await stage.start(habits, timeout_s=5)


@pytest.fixture
def uri(stage: Stage, editor: Editor) -> str:
    """The document, just opened: its first version, which is 0 in some editors, is in force."""
    return editor.desk.open(stage.put("a.txt", TEXT))


async def landed(editor: Editor, uri: str, expected: str) -> None:
    """The turn lands, what is held is as expected, and no failure is shown."""
    report = await editor.turn(PROMPT)
    assert statuses(report) == ["landed"]
    assert editor.desk[uri] == expected
    assert not editor.published
    assert await editor.request("failure.list") == []


@pytest.mark.parametrize(
    ("mark", "typed"),
    [("one", "zero\n"), ("two", "2"), ("four", "4\n"), ("five", "\n\n")],
    ids=["above", "line-before", "line-after", "below"],
)
async def test_typing_before_the_echo(editor: Editor, uri: str, mark: str, typed: str) -> None:
    editor.behaviours = [behaviours.act_after(lambda: editor.desk.type(uri, typed, before=mark))]
    expected = TEXT.replace("three", "THREE\nand a half").replace(mark, typed + mark)
    await landed(editor, uri, expected)
    assert len(editor.edits) == 1


async def test_typing_on_the_edited_line_before_the_echo(editor: Editor, uri: str) -> None:
    editor.behaviours = [behaviours.act_after(lambda: editor.desk.type(uri, "!", after="and a half"))]
    await landed(editor, uri, TEXT.replace("three", "THREE\nand a half!"))


async def test_changing_the_edit_before_the_echo(editor: Editor, uri: str) -> None:
    """
    Ours does not stand as it was written, and to write it again would be to undo theirs.

    A client that tells of each change in a message of its own shows that it stood before it was changed.
    """
    editor.behaviours = [behaviours.act_within(lambda: editor.desk.type(uri, "3", instead="HREE\nand a "))]
    report = await editor.turn(PROMPT)
    assert editor.desk[uri] == TEXT.replace("three", "T3half")
    if editor.desk.variation.shape is Shape.SINGLE and statuses(report) == ["landed"]:
        assert not editor.published
        return
    assert statuses(report) == ["stale-document"]
    (shown,) = editor.shown_diagnostics(uri)
    assert shown["code"] == "stale-document"


@pytest.mark.parametrize(
    ("mark", "typed"),
    [("one", "zero\n"), ("two", "2"), ("four", "4\n"), ("five", "\n\n")],
    ids=["above", "line-before", "line-after", "below"],
)
async def test_typing_before_the_edit_is_applied(editor: Editor, uri: str, mark: str, typed: str) -> None:
    editor.behaviours = [behaviours.act_before(lambda: editor.desk.type(uri, typed, before=mark))]
    expected = TEXT.replace("three", "THREE\nand a half").replace(mark, typed + mark)
    await landed(editor, uri, expected)
    assert len(editor.edits) == 2


async def test_typing_in_the_same_line_before_the_edit_is_a_conflict(editor: Editor, uri: str) -> None:
    editor.behaviours = [behaviours.act_before(lambda: editor.desk.type(uri, ", and more", after="three"))]
    report = await editor.turn(PROMPT)
    assert statuses(report) == ["stale-document"]
    assert editor.desk[uri] == TEXT.replace("three", "three, and more")
    (shown,) = editor.shown_diagnostics(uri)
    assert shown["code"] == "stale-document"
    assert len(editor.edits) == 1


async def test_typing_in_a_document_that_was_typed_in_before(editor: Editor, uri: str) -> None:
    editor.desk.type(uri, "6\n", before="five")
    editor.desk.tell()
    editor.behaviours = [behaviours.act_before(lambda: editor.desk.type(uri, "zero\n", before="one"))]
    edited = TEXT.replace("three", "THREE\nand a half")
    await landed(editor, uri, "zero\n" + edited.replace("five", "6\nfive"))
    assert len(editor.edits) == 2


async def test_typing_again_and_again(editor: Editor, uri: str) -> None:
    """The edit is carried over twice; both times nothing is lost."""
    editor.behaviours = [
        behaviours.act_before(lambda: editor.desk.type(uri, "zero\n", before="one")),
        behaviours.act_before(lambda: editor.desk.type(uri, "half\n", before="one")),
    ]
    await landed(editor, uri, "zero\nhalf\n" + TEXT.replace("three", "THREE\nand a half"))
    assert len(editor.edits) == 3


async def test_typing_between_two_patches_of_one_turn(editor: Editor, uri: str) -> None:
    """The second patch is computed on what the user has made of the first."""
    editor.behaviours = [behaviours.act_after(lambda: editor.desk.type(uri, "4th: ", before="four"))]
    report = await editor.turn(
        "*** Begin Patch\n*** Update File: a.txt\n-two\n+TWO\n*** End Patch\n"
        "*** Begin Patch\n*** Update File: a.txt\n-five\n+FIVE\n*** End Patch\n"
    )
    assert statuses(report) == ["landed", "landed"]
    assert editor.desk[uri] == "one\nTWO\nthree\n4th: four\nFIVE\n"


async def test_typing_while_the_answer_is_late(editor: Editor, uri: str) -> None:
    gate = asyncio.Event()
    editor.behaviours = [behaviours.wait_for(gate)]
    started = await editor.start_turn(PROMPT)
    await editor.until(lambda: editor.edits)
    editor.desk.type(uri, "zero\n", before="one")
    editor.desk.tell()
    gate.set()
    report = await editor.request("turn.wait", turn=started["turn"])
    assert statuses(report) == ["landed"]
    assert editor.desk[uri] == "zero\n" + TEXT.replace("three", "THREE\nand a half")


async def test_the_document_is_closed_before_the_edit_comes(editor: Editor, stage: Stage, uri: str) -> None:
    """The editor holds the text no longer; what is in the file counts."""
    editor.desk.save(uri)
    editor.behaviours = [behaviours.act_before(lambda: editor.desk.close(uri))]
    report = await editor.turn(PROMPT)
    status = statuses(report)
    held = editor.desk.documents.get(uri)
    now = held.text if held else (stage.root / "a.txt").read_text()
    assert ("THREE" in now) == (status == ["landed"]), f"{status} said of {now!r}"
