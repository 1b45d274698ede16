"""The conversation as a document when several things happen at once, or in an unusual place."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress

import pytest

from adapters.model_server import Raw, model_server
from e2e.conftest import Stage
from e2e.habits import Habits
from e2e.test_chat import (
    actions,
    body,
    every_editor,
    opened,
    says,
    shows,
    two_windows,
    vscode,
    waiting,
    write,
)
from e2e.test_chat_commands import command
from handrail.testing import answer

HEADING = "## You\n\n"


def in_the_heading(text: str) -> str:
    return f"{text.removesuffix(HEADING)}## You hello\n\n"


def behind_the_heading(text: str) -> str:
    return f"{text.removesuffix(HEADING)}## You\nhello\n"


def split_heading(text: str) -> str:
    return f"{text.removesuffix(HEADING)}## You: hello\nand more\n"


@every_editor
@pytest.mark.parametrize(
    ("typed", "said"),
    [(in_the_heading, "hello"), (behind_the_heading, "hello"), (split_heading, "hello\nand more")],
)
async def test_what_is_typed_in_the_row_of_the_last_heading_is_sent_without_it(
    stage: Stage, habits: Habits, typed: Callable[[str], str], said: str
) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("One."), answer("Two.")))
    uri = await opened(editor)
    await says(editor, uri, "First.\n")
    before = await shows(editor, uri, f"One.\n\n{HEADING}")
    editor.desk.rewrite(uri, typed(before))
    editor.desk.tell()
    begun = await editor.request("chat.send", uri=uri)
    await editor.request("turn.wait", turn=begun["turn"])
    text = await shows(editor, uri, f"Two.\n\n{HEADING}")
    assert f"One.\n\n{HEADING}{said}\n\n## handrail\n\nTwo." in text


@every_editor
async def test_two_windows_send_at_once(stage: Stage, habits: Habits) -> None:
    """One of the two is told that the other one's turn runs, and keeps its draft; nothing is said twice."""
    first, uri, second, other = await two_windows(
        stage, habits, *(answer(f"Answer {number}.") for number in range(4))
    )
    write(first, uri, "From here.\n")
    write(second, other, "From there.\n")
    found = await asyncio.gather(
        first.request("chat.send", uri=uri),
        second.request("chat.send", uri=other),
        return_exceptions=True,
    )
    for editor, begun in zip((first, second), found, strict=True):
        if isinstance(begun, BaseException):
            assert "Another window or process is working in" in str(begun)
        else:
            await editor.request("turn.wait", turn=begun["turn"])
    for editor, page, said, begun in (
        (first, uri, "From here.", found[0]),
        (second, other, "From there.", found[1]),
    ):
        if isinstance(begun, BaseException):
            assert editor.desk[page].endswith(f"{said}\n"), "it stays a draft"
            sent = await editor.request("chat.send", uri=page)
            await editor.request("turn.wait", turn=sent["turn"])
    (listed,) = await first.request("session.list")
    for editor, page in ((first, uri), (second, other)):
        await editor.request("chat.open", session=listed["session"])
        text = await shows(editor, page, "From here.", "From there.")
        assert body(text).count("From here.") == body(text).count("From there.") == 1
        assert body(text).endswith(HEADING)


@every_editor
async def test_closed_with_an_open_question_it_is_asked_when_opened_again(
    stage: Stage, habits: Habits
) -> None:
    editor, uri, turn = await waiting(stage, habits, answer("Made."))
    await shows(editor, uri, "**May this command run?**")
    editor.desk.close(uri)
    again = await opened(editor)
    assert again == uri
    await shows(editor, uri, "**May this command run?**")
    await editor.choose((await actions(editor, uri, "> **May this command run?**"))["Allow once"])
    assert (await editor.request("turn.wait", turn=turn))["state"] == "finished"
    text = await shows(editor, uri, "Made.")
    assert body(text).count("touch made.txt") >= 1
    assert "May this command run?" not in text


def narrow(text: str) -> str:
    """Rows wrapped after 20 characters."""
    rows = list[str]()
    for row in text.split("\n"):
        left = row
        while len(left) > 20 and " " in left[1:20]:
            at = left.rindex(" ", 1, 20)
            rows.append(left[:at])
            left = left[at + 1 :]
        rows.append(left)
    return "\n".join(rows)


FORMATTERS: dict[str, Callable[[str], str]] = {
    "without blank rows at the end": lambda text: text.rstrip("\n") + "\n",
    "without the last line end": lambda text: text.rstrip("\n"),
    "other bullets": lambda text: text.replace("\n- ", "\n* "),
    "wrapped": narrow,
    "one blank row everywhere": lambda text: "\n\n".join(row for row in text.split("\n") if row) + "\n",
    "no blank rows": lambda text: "\n".join(row for row in text.split("\n") if row) + "\n",
    "CRLF": lambda text: text.replace("\r\n", "\n").replace("\n", "\r\n"),
    "closed headings": lambda text: text.replace("## You\n", "## You ##\n"),
    "blanks behind rows": lambda text: text.replace("\n", "  \n"),
    "other emphasis": lambda text: text.replace("*row*", "_row_"),
    "escaped": lambda text: text.replace("`", "\\`").replace("*", "\\*"),
}


@vscode
@pytest.mark.parametrize("name", FORMATTERS)
async def test_a_formatter_changes_no_message(stage: Stage, habits: Habits, name: str) -> None:
    """It lays the document out anew twice: with a draft, and while nothing is written."""
    model = stage.script(
        answer("One.\n\n- a\n- b\n\nA *row* with `code` in it."), answer("Two."), answer("Three.")
    )
    editor = await stage.start(habits, settings=model)
    uri = await opened(editor)
    await says(editor, uri, "First of all, a longer question on *row* and `a_b`.\n\n- in two\n- parts\n")
    await shows(editor, uri, f"in it.\n\n{HEADING}")
    format_ = FORMATTERS[name]
    write(editor, uri, "Second.\n")
    editor.desk.rewrite(uri, format_(editor.desk[uri]))
    editor.desk.tell()
    begun = await editor.request("chat.send", uri=uri)
    await editor.request("turn.wait", turn=begun["turn"])
    text = (await shows(editor, uri, "Two.")).replace("\r\n", "\n")
    rows = [row.rstrip() for row in text.split("\n")]
    assert rows.count("## You") == 3, text
    assert rows.count("Second.") == 1
    editor.desk.rewrite(uri, format_(editor.desk[uri]))
    editor.desk.tell()
    await says(editor, uri, "\nThird.\n")
    text = (await shows(editor, uri, "Three.")).replace("\r\n", "\n")
    rows = [row.rstrip() for row in text.split("\n")]
    assert (rows.count("## You"), rows.count("Third."), rows.count("Second.")) == (4, 1, 1), text


@vscode
async def test_a_message_is_restored_by_the_name_of_its_conversation(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("One."), answer("Two.")))
    uri = await opened(editor)
    await says(editor, uri, "First.\n")
    await shows(editor, uri, "One.")
    (one,) = await editor.request("session.list")
    turns = (await editor.request("session.resume", session=one["session"]))["turns"]
    editor.desk.rewrite(uri, editor.desk[uri].replace("\nFirst.\n", "\nChanged.\n"))
    editor.desk.tell()
    await opened(editor, "chat.new")
    await editor.request("chat.restore", session=one["session"], turn=turns[0]["turn"])
    await shows(editor, uri, "First.")
    assert "Changed." not in editor.desk[uri]


@every_editor
async def test_undone_past_an_answer_while_a_turn_runs(stage: Stage, habits: Habits) -> None:
    """The user takes back all that the editor can take back, and types on."""
    editor, uri, turn = await waiting(stage, habits, answer("Made."))
    shown = await shows(editor, uri, "**May this command run?**")
    with suppress(IndexError):  # nothing is left to be undone
        for _ in range(20):
            editor.desk.undo(uri)
    editor.desk.tell()
    (asked,) = await editor.request("approval.list")
    await editor.request("approval.answer", approval=asked["id"], choice="allow")
    await editor.request("turn.wait", turn=turn)
    await editor.request("chat.open")
    text = await shows(editor, uri, "Made.")
    assert text.endswith(HEADING)
    message = body(shown).partition("## handrail")[0].strip()
    assert body(text).count(message) == 1


@vscode
async def test_a_message_and_a_summary_are_asked_for_at_once(stage: Stage, habits: Habits) -> None:
    """Whichever comes first; a summary is refused while the turn runs."""
    long = "A long answer. " * 200
    editor = await stage.start(habits, settings=stage.script(*(answer(long) for _ in range(9))))
    uri = await opened(editor)
    for number in range(6):
        await says(editor, uri, f"Question {number}?\n")
    write(editor, uri, "And now?\n")
    session = (await editor.request("session.list"))[0]["session"]
    said, begun = await asyncio.gather(
        editor.request("chat.say", session=session, text="/compact"),
        editor.request("chat.send", uri=uri),
        return_exceptions=True,
    )
    assert isinstance(said, dict) or "a running turn" in str(said)
    assert (await editor.request("turn.wait", turn=begun["turn"]))["state"] == "finished"
    text = await shows(editor, uri, "## You\n\nAnd now?\n\n## handrail\n\nA long answer.")
    assert text.count("And now?") == 1
    assert text.endswith(HEADING)


@vscode
@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("openai:m", "127.0.0.1 does not list its models: it answers HTTP 404."),
        ("other:m", "handrail does not know where 'other' lists its models."),
        ("anthropic:m", "No key for anthropic was found."),
    ],
)
async def test_the_model_is_shown_even_if_no_others_are_listed(
    stage: Stage, habits: Habits, model: str, reason: str
) -> None:
    async with model_server() as server:
        address = {"baseUrl": server.url("openai-chat")} if model.startswith("openai") else {}
        editor = await stage.start(habits, settings={"model": model, **address})
        uri = await opened(editor)
        await command(editor, uri, "/model\n")
        text = await shows(editor, uri, f"The model is {model}.")
    assert reason in text
    assert "To use another one, send `/model PROVIDER:NAME`." in text


@vscode
async def test_a_model_of_the_list_is_chosen_by_its_action(stage: Stage, habits: Habits) -> None:
    async with model_server() as server:
        page = {"data": [{"id": "m"}, {"id": "other"}, {"id": "third"}]}
        server.pages = {"/v1/models": Raw(200, json.dumps(page).encode())}
        settings = {"model": "openai:m", "baseUrl": server.url("openai-chat")}
        editor = await stage.start(habits, settings=settings)
        uri = await opened(editor)
        await command(editor, uri, "/model\n")
        await shows(editor, uri, "- `openai:third`")
        assert "Use this model" not in await actions(editor, uri, "The model is openai:m.")
        await editor.choose((await actions(editor, uri, "- `openai:other`"))["Use this model"])
        text = await shows(editor, uri, "\nopenai:other\n")
        assert text.splitlines()[2] == "openai:other"
