"""Documents that a client tells of in ways that LSP does not allow: the next edit lands where it should."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pygls.exceptions import JsonRpcException

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import VSCODE, Habits
from e2e.prompts import block, statuses
from e2e.test_chat import opened, says, shows
from handrail.testing import answer
from handrail.testing.texts import Json

pytestmark = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])

TEXT = "one\ntwo\n\U0001f600 three\nfour\n"
FAR = 2**31 - 1


def span(start: tuple[int, int], end: tuple[int, int]) -> Json:
    rows = ({"line": line, "character": character} for line, character in (start, end))
    return dict(zip(("start", "end"), rows, strict=True))


def change(text: str, range_: Json | None = None) -> Json:
    return {"text": text, **({} if range_ is None else {"range": range_})}


# What is told, in this order, as versions with their changes; and what the document holds by LSP's rules.
ODD: dict[str, tuple[Sequence[tuple[int, Sequence[Json]]], str]] = {
    "versions that go back": (
        [(9, [change("ZERO\n", span((0, 0), (0, 0)))]), (3, [change("more\n", span((0, 0), (0, 0)))])],
        "more\nZERO\n" + TEXT,
    ),
    "the same version twice": (
        [(2, [change("a\n", span((0, 0), (0, 0)))]), (2, [change("b\n", span((0, 0), (0, 0)))])],
        "b\na\n" + TEXT,
    ),
    "a line past the end": ([(2, [change("five\n", span((FAR, 0), (FAR, FAR)))])], TEXT + "five\n"),
    "a character past the end of its line": (
        [(2, [change("!", span((0, FAR), (0, FAR)))])],
        TEXT.replace("one", "one!"),
    ),
    "an end before its start": ([(2, [change("x", span((1, 3), (1, 0)))])], TEXT.replace("two", "x")),
    "half of a pair": ([(2, [change("x", span((2, 1), (2, 2)))])], None),
    "no change": ([(2, [])], TEXT),
    "everything, after a part": (
        [(2, [change("x", span((0, 0), (0, 3))), change(TEXT)])],
        TEXT,
    ),
    "a lone half in the text": ([(2, [change("\ud83d", span((0, 0), (0, 0)))])], None),
    "a null character": ([(2, [change("a\0b\n", span((0, 0), (0, 0)))])], "a\0b\n" + TEXT),
}


def tell(editor: Editor, uri: str, told: Sequence[tuple[int, Sequence[Json]]]) -> None:
    for version, changes in told:
        document = {"uri": uri, "version": version}
        editor.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [*changes]})


@pytest.mark.parametrize("name", ODD)
async def test_an_edit_lands_after_odd_changes(stage: Stage, habits: Habits, name: str) -> None:
    told, by_the_rules = ODD[name]
    editor = await stage.start(habits)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    tell(editor, uri, told)
    if by_the_rules is None:  # no client can say what it holds: it tells all of it
        by_the_rules = TEXT
        tell(editor, uri, [(3, [change(TEXT)])])
    document = editor.desk.documents[uri]
    document.text = document.told = by_the_rules
    document.version = told[-1][0] if name != "half of a pair" and "half" not in name else 3
    report = await editor.turn(block("a.txt", "four", "FOUR"))
    assert statuses(report) == ["landed"]
    assert editor.desk[uri] == by_the_rules.replace("four", "FOUR")


@pytest.mark.parametrize("name", ODD)
async def test_a_conversation_survives_odd_changes(stage: Stage, habits: Habits, name: str) -> None:
    """The client tells them of the conversation's document, and then what that really holds."""
    told, _ = ODD[name]
    editor = await stage.start(habits, settings=stage.script(answer("One."), answer("Two.")))
    uri = await opened(editor)
    await says(editor, uri, "First.\n")
    before = await shows(editor, uri, "One.\n\n## You\n\n")
    document = editor.desk.documents[uri]
    for version, changes in told:
        tell(editor, uri, [(document.version + version, changes)])
    document.version += 100
    tell(editor, uri, [(document.version, [change(before)])])
    await says(editor, uri, "Second.\n")
    text = await shows(editor, uri, "Two.\n\n## You\n\n")
    assert text.endswith("One.\n\n## You\n\nSecond.\n\n## handrail\n\nTwo.\n\n## You\n\n")


@pytest.mark.parametrize(
    "uri",
    [
        *("", "a.txt", "file:", "file://", "file:///", "file://host/a.txt", "http://example.org/a.txt"),
        *("untitled:", "untitled:Untitled-1", "git:/a.txt?ref", "vscode-notebook-cell:/a#1", "x:%00%ff%zz"),
        *(
            "file:///%00",
            "file:///%2e%2e/%2e%2e/etc/passwd",
            "data:text/plain,x",
            "handrail:/x",
            "%",
            "\ud800",
        ),
    ],
)
async def test_a_document_of_any_uri_is_held_and_let_go(stage: Stage, habits: Habits, uri: str) -> None:
    stage.put("a.txt", TEXT)
    editor = await stage.start(habits)
    item = {"uri": uri, "languageId": "x", "version": 1, "text": TEXT}
    editor.notify("textDocument/didOpen", {"textDocument": item})
    tell(editor, uri, [(2, [change("x", span((0, 0), (0, 0)))])])
    place = {"textDocument": {"uri": uri}, "range": span((0, 0), (0, 3)), "context": {"diagnostics": []}}
    await editor.answer_to(method="textDocument/codeAction", params=place)
    editor.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    report = await editor.turn(block("a.txt", "four", "FOUR"))
    assert statuses(report) == ["landed"]
    assert (stage.root / "a.txt").read_text() == TEXT.replace("four", "FOUR")


async def test_ten_megabytes_of_params(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", TEXT)
    editor = await stage.start(habits)
    long = "x" * 10_000_000
    for name, params in (
        ("handrail/session/rename", {"session": long, "title": long}),
        ("handrail/turn/wait", {"turn": long}),
        ("handrail/review/next", {"uri": long, "line": 0}),
        ("handrail/checkpoint/diff", {"checkpoint": long}),
        ("handrail/chat/open", {"session": long}),
        ("textDocument/codeAction", {"textDocument": long}),
        (long, {}),
    ):
        with pytest.raises(JsonRpcException) as error:
            await editor.answer_to(method=name, params=params)
        assert len(str(error.value)) < 3_000, name
    assert statuses(await editor.turn(block("a.txt", "four", "FOUR"))) == ["landed"]
