"""Lines of a conversation that the user moves into the draft are the user's, and are sent once."""

from __future__ import annotations

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import Habits
from e2e.test_chat import every_editor, opened, shows, vscode, write
from handrail.testing import answer

HEADING = "## You\n\n"
MESSAGE = "Look at the first file.\nThen at the second one.\n\n```\ncode = 1\n```\n"
ANSWER = "It has one line.\n\n- and a point\n- and another one"

# What is cut, and what of it and around it is pasted into the draft
MOVES = {
    "the last line": ("Then at the second one.\n", "Then at the second one.\n"),
    "two lines": (
        "Look at the first file.\nThen at the second one.\n",
        "Look at the first file.\nThen at the second one.\n",
    ),
    "a line of code": ("code = 1\n", "code = 1\n"),
    "the whole message": (MESSAGE, MESSAGE),
    "with typed text above": ("Then at the second one.\n", "Please:\nThen at the second one.\n"),
    "with typed text below": ("Then at the second one.\n", "Then at the second one.\nThat is all.\n"),
    "indented": ("Then at the second one.\n", "  Then at the second one.\n"),
    "as a quote": ("Then at the second one.\n", "> Then at the second one.\n\nWhy?\n"),
    "an answer's line": ("It has one line.\n", "It has one line.\n"),
    "an answer's lines": ("- and a point\n- and another one\n", "- and a point\n- and another one\n"),
    "of two places": ("Then at the second one.\n", "Then at the second one.\nIt has one line.\n"),
}


async def moved(
    stage: Stage, habits: Habits, cut: str, pasted: str, *, in_steps: bool
) -> tuple[Editor, str, str, str]:
    """An editor whose user has moved lines into the draft; the document's URI and text, and the turn."""
    model = stage.script(answer(ANSWER), answer("Two."))
    editor = await stage.start(habits, settings=model)
    uri = await opened(editor)
    write(editor, uri, MESSAGE)
    turn = (await editor.request("chat.send", uri=uri))["turn"]
    before = await shows(editor, uri, f"{ANSWER}\n\n{HEADING}")
    editor.desk.type(uri, "", instead=cut)
    if in_steps:
        editor.desk.tell()
    write(editor, uri, pasted)
    return editor, uri, before, turn


def draft(text: str) -> str:
    """The last lines of a document, without blank lines around them."""
    return text.rpartition(HEADING)[2].strip("\n")


async def are_sent_once(stage: Stage, habits: Habits, cut: str, pasted: str, *, in_steps: bool) -> None:
    """They are the draft's, though the message that they came from is restored; and they are sent once."""
    editor, uri, before, turn = await moved(stage, habits, cut, pasted, in_steps=in_steps)
    await editor.request("chat.open")
    assert draft(editor.desk[uri]) == pasted.strip("\n")
    await editor.request("chat.restore", uri=uri, turn=turn)
    await editor.until(lambda: editor.desk[uri].strip("\n") == f"{before}{pasted}".strip("\n"))
    begun = await editor.request("chat.send", uri=uri)
    await editor.request("turn.wait", turn=begun["turn"])
    text = await shows(editor, uri, "Two.", f"Two.\n\n{HEADING}")
    sent = f"{pasted.strip(chr(10))}\n\n## handrail\n\nTwo.\n\n{HEADING}"
    assert text.partition("Look at")[2] == before.partition("Look at")[2] + sent


@vscode
@pytest.mark.parametrize(("cut", "pasted"), MOVES.values(), ids=MOVES)
@pytest.mark.parametrize("in_steps", [True, False], ids=["cut, then pasted", "at once"])
async def test_moved_lines_are_sent_once(
    stage: Stage, habits: Habits, cut: str, pasted: str, in_steps: bool
) -> None:
    await are_sent_once(stage, habits, cut, pasted, in_steps=in_steps)


@every_editor
@pytest.mark.parametrize("move", ["the whole message", "an answer's lines", "of two places"])
async def test_moved_lines_are_sent_once_in_every_editor(stage: Stage, habits: Habits, move: str) -> None:
    await are_sent_once(stage, habits, *MOVES[move], in_steps=False)
