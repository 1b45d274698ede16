"""Ask about what is selected in any document, and say something in a conversation from elsewhere."""

from __future__ import annotations

import pytest

from e2e.client import Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import Habits
from e2e.test_chat import INVALID_PARAMS, every_editor, opened, shows, vscode, waiting, write
from handrail.testing import answer
from handrail.testing.texts import Json, position_of

REQUEST_FAILED = -32803
ASK, CHANGE = "Ask handrail about this…", "Change this with handrail…"


def between(editor: Editor, uri: str, start: int, end: int) -> Json:
    """A range of a document, as the editor counts."""
    places = (position_of(editor.desk[uri], at, editor.desk.encoding) for at in (start, end))
    return dict(zip(("start", "end"), places, strict=True))


def selected(editor: Editor, uri: str, first: str, last: str) -> Json:
    """The range from the beginning of one text to the end of another."""
    text = editor.desk[uri]
    return between(editor, uri, text.index(first), text.index(last) + len(last))


async def offered(editor: Editor, uri: str, place: Json) -> dict[str, Json]:
    """The code actions of a selection, by their titles."""
    editor.desk.tell()
    return {each["title"]: each for each in await editor.quick_fixes(uri, place)}


@every_editor
async def test_a_selection_is_quoted_where_the_user_goes_on(stage: Stage, habits: Habits) -> None:
    model = stage.script(answer("It adds."))
    editor = await stage.start(habits, settings=model)
    uri = editor.desk.open(stage.put("a.py", "def add(a, b):\r\n    return a + b\r\n"))
    editor.desk.type(uri, "😀 = 1\r\n", before="def")
    found = await offered(editor, uri, selected(editor, uri, "def", "a + b"))
    asked = await editor.choose(found[ASK])
    chat = asked["uri"]
    await editor.until(lambda: chat in editor.documents_opened)
    editor.desk.open(chat)
    assert editor.desk[chat].endswith(
        "## You\n\nAbout this in `a.py`, lines 2-3:\n\n```\ndef add(a, b):\n    return a + b\n```\n\n"
    )
    assert asked["turn"] is None
    write(editor, chat, "What does it do?\n")
    begun = await editor.request("chat.send", uri=chat)
    await editor.request("turn.wait", turn=begun["turn"])
    await shows(editor, chat, "return a + b", "What does it do?", "It adds.")


@every_editor
async def test_a_change_of_a_selection_is_asked_for_in_the_open_conversation(
    stage: Stage, habits: Habits
) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("Done.")))
    chat = await opened(editor)
    write(editor, chat, "A draft of mine.\n")
    uri = editor.desk.open(stage.put("a.py", "one = 1\ntwo = 2\n"))
    found = await offered(editor, uri, selected(editor, uri, "two", "2"))
    asked = await editor.choose(found[CHANGE])
    assert asked["uri"] == chat
    text = await shows(editor, chat, "Change this in `a.py`, line 2:\n\n```\ntwo = 2\n```\n")
    assert "## You\n\nA draft of mine.\n" in text


@every_editor
async def test_what_is_sent_at_once_leaves_the_draft(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("Three.")))
    chat = await opened(editor)
    write(editor, chat, "A draft of mine.\n")
    asked = await editor.request("chat.ask", text="One and two?", send=True)
    await editor.request("turn.wait", turn=asked["turn"])
    text = await shows(editor, chat, "One and two?", "Three.")
    assert text.endswith("Three.\n\n## You\n\nA draft of mine.\n")
    assert text.count("One and two?") == 2, "the title, and the message"


@vscode
async def test_what_is_said_during_a_turn_reaches_it(stage: Stage, habits: Habits) -> None:
    editor, chat, turn = await waiting(stage, habits, answer("Made."))
    asked = await editor.request("chat.ask", text="In French, please.", send=True)
    assert asked["turn"] == turn
    await shows(editor, chat, "> In French, please.")


@vscode
async def test_without_a_conversation_one_is_begun(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("Hello.")))
    asked = await editor.request("chat.ask", text="Hello?", send=True)
    report = await editor.request("turn.wait", turn=asked["turn"])
    assert report["session"] == asked["session"]
    found = await editor.request("chat.open")
    assert (found["uri"], found["session"]) == (asked["uri"], asked["session"])
    assert "Hello." in found["text"]


@vscode
async def test_more_than_can_be_quoted_is_named(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script())
    uri = editor.desk.open(stage.put("a.py", "one = 1\n" * 5_000))
    whole = between(editor, uri, 0, len(editor.desk[uri]))
    asked = await editor.request("chat.ask", uri=uri, range=whole)
    assert asked["text"].endswith("## You\n\nAbout this in @a.py:1-5000:\n\n")
    asked = await editor.request("chat.ask", uri=uri)
    assert asked["text"].endswith("About @a.py:\n\n")


@vscode
async def test_text_that_closes_a_block_stays_in_its_quote(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script())
    uri = editor.desk.open(stage.put("a.md", "```\n## You\n```\n"))
    whole = between(editor, uri, 0, len(editor.desk[uri]))
    asked = await editor.request("chat.ask", uri=uri, range=whole)
    assert asked["text"].endswith("````\n```\n## You\n```\n````\n\n")


@vscode
@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, "give `text`, or the `uri`"),
        ({"text": " \n"}, "give `text`, or the `uri`"),
        ({"text": "x", "session": "s-unknown"}, "s-unknown"),
        ({"uri": "PROTECTED"}, "is protected"),
        ({"uri": "MISSING"}, "The file no.py does not exist."),
        ({"uri": "nonsense"}, "nonsense"),
    ],
)
async def test_what_cannot_be_asked_is_said(
    stage: Stage, habits: Habits, params: dict[str, Json], said: str
) -> None:
    editor = await stage.start(habits, settings=stage.script())
    known = {"PROTECTED": stage.put(".env", "KEY=1\n").as_uri(), "MISSING": (stage.root / "no.py").as_uri()}
    if params.get("uri") in known:
        params = {"uri": known[params["uri"]]}
    with expect_error(INVALID_PARAMS if said.startswith("give") else REQUEST_FAILED, said):
        await editor.request("chat.ask", **params)


@vscode
async def test_nothing_is_offered_without_a_selection_or_in_our_own_documents(
    stage: Stage, habits: Habits
) -> None:
    editor = await stage.start(habits, settings=stage.script())
    uri = editor.desk.open(stage.put("a.py", "one = 1\n"))
    secret = editor.desk.open(stage.put(".env", "KEY=1\n"))
    chat = await opened(editor)
    for each, start, end in ((uri, 0, 0), (secret, 0, 3), (chat, 0, 3)):
        assert ASK not in await offered(editor, each, between(editor, each, start, end))
    assert ASK in await offered(editor, uri, between(editor, uri, 0, 3))


@vscode
async def test_a_name_with_a_blank_is_one_name(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("Seen.")))
    uri = editor.desk.open(stage.put("my file.py", "one = 1\n"))
    asked = await editor.request("chat.ask", uri=uri, text="What is it?", send=True)
    await editor.request("turn.wait", turn=asked["turn"])
    journals = "".join(path.read_text("utf-8") for path in stage.state.rglob("sessions/*.jsonl"))
    assert '"path": "my file.py"' in journals or '"path":"my file.py"' in journals
