"""A conversation whose server is killed while it shows something that no journal has."""

from __future__ import annotations

import pytest

from e2e.conftest import Stage
from e2e.habits import Habits
from e2e.test_chat import every_editor, killed, opened, says, shows, write
from editors.streaming_model import Answer, streaming_model

SHAPES = {
    "rows": "row {}.\n",
    "words in one row": "word{} ",
    "list": "- item {}\n\n",
    "code": "```\ncode {}\n```\n",
}
DRAFT = "my draft\n"
HEADING = "\n\n## You\n\n"


@every_editor
@pytest.mark.parametrize("shape", SHAPES)
async def test_what_the_model_had_said_stays_and_is_ours(stage: Stage, habits: Habits, shape: str) -> None:
    pieces = [SHAPES[shape].format(number) for number in range(8)]
    with streaming_model(Answer(pieces=[*pieces, "never"]), Answer(pieces=["Again."])) as model:
        settings = {"model": "openai-chat:m", "baseUrl": model.url, "keyName": "NO_KEY"}
        editor = await stage.start(habits, settings=settings)
        uri = await opened(editor)
        write(editor, uri, "Go.\n")
        await editor.request("chat.send", uri=uri)
        for piece in pieces:
            await shows(editor, uri, piece.strip())
            if piece is not pieces[-1]:
                model.go_on()
        write(editor, uri, DRAFT)
        await killed(stage, editor)
        held = editor.desk[uri]
        later = await stage.start(habits, settings=settings)
        later.desk.open(uri, held)
        (session,) = await later.request("session.list")
        assert await opened(later, session=session["session"]) == uri
        above, _, _ = held.rpartition(HEADING)
        expected = f"{above.rstrip()}\n\n*This turn did not finish.*{HEADING}{DRAFT}"
        assert without_facts(later.desk[uri]) == without_facts(expected)
        await says(later, uri, "Once more.\n")
        text = await shows(later, uri, "Again.\n\n## You\n\n")
        assert [text.count(piece.strip().splitlines()[0]) for piece in (pieces[0], pieces[-1])] == [
            held.count(piece.strip().splitlines()[0]) for piece in (pieces[0], pieces[-1])
        ]
        assert f"{DRAFT}Once more.\n\n## handrail\n\nAgain." in text


def without_facts(text: str) -> list[str]:
    """Its rows without the one that says what the model has used, and blanks at their ends."""
    rows = [row.rstrip() for row in text.split("\n")]
    return [row for row in rows if "of the context" not in row]


@every_editor
async def test_what_was_typed_into_an_answer_that_a_kill_cuts_off_stays_at_its_place(
    stage: Stage, habits: Habits
) -> None:
    pieces = [f"row {number}.\n" for number in range(6)]
    with streaming_model(Answer(pieces=[*pieces, "never"])) as model:
        settings = {"model": "openai-chat:m", "baseUrl": model.url, "keyName": "NO_KEY"}
        editor = await stage.start(habits, settings=settings)
        uri = await opened(editor)
        write(editor, uri, "Go.\n")
        await editor.request("chat.send", uri=uri)
        for piece in pieces:
            await shows(editor, uri, piece)
            if piece is not pieces[-1]:
                model.go_on()
        editor.desk.rewrite(uri, editor.desk[uri].replace("row 3.\n", "row 3.\nmine 🙂\n"))
        editor.desk.tell()
        await killed(stage, editor)
        held = editor.desk[uri]
        later = await stage.start(habits, settings=settings)
        later.desk.open(uri, held)
        (session,) = await later.request("session.list")
        await opened(later, session=session["session"])
        answer = "row 0.\nrow 1.\nrow 2.\nrow 3.\nmine 🙂\nrow 4.\nrow 5.\n\n*This turn did not finish.*\n"
        assert answer in later.desk[uri]
        assert later.desk[uri].count("mine 🙂") == 1
