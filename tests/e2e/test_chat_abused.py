"""The conversation as a document, treated badly: renamed, opened twice, filled, fought over by programs."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress

import pytest

from e2e.client import expect_error
from e2e.conftest import Stage
from e2e.habits import Habits
from e2e.test_chat import (
    ASKS,
    STANDARD,
    actions,
    body,
    every_editor,
    opened,
    says,
    shows,
    two_windows,
    vscode,
    waiting,
    where_now,
    write,
)
from handrail.testing import answer, call


@every_editor
async def test_renamed_it_is_a_document_of_the_users_and_the_conversation_is_made_anew(
    stage: Stage, habits: Habits
) -> None:
    editor = await stage.start(
        habits, settings=stage.script(answer("One."), answer("Two."), answer("Three."))
    )
    uri = await opened(editor)
    await says(editor, uri, "First.\n")
    before = await shows(editor, uri, "One.")
    editor.desk.save(uri)
    mine = editor.desk.rename(uri, "mine.md")
    session = (await editor.request("session.list"))[0]["session"]
    again = await opened(editor, session=session)
    assert again != mine
    await says(editor, again, "Second.\n")
    text = await shows(editor, again, "Two.")
    assert body(text).startswith(body(before).removesuffix("## You\n\n"))
    assert editor.desk[mine] == before, "it is nobody's but the user's"


@vscode
async def test_five_megabytes_are_too_long_a_message_and_stay_the_users(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("Yes.")))
    uri = await opened(editor)
    pasted = "".join(f"{number} {'of a log that was pasted ' * 4}\n" for number in range(50_000))
    write(editor, uri, pasted)
    begun = await editor.request("chat.send", uri=uri)
    assert (await editor.request("turn.wait", turn=begun["turn"]))["state"] == "stopped"
    text = await shows(
        editor, uri, "*The turn ended early: The prompt, with everything that it mentions, has about"
    )
    assert text.count(pasted) == 1
    write(editor, uri, "A shorter one.\n")
    await editor.request("chat.open")
    assert editor.desk[uri].endswith("## You\n\nA shorter one.\n")


@every_editor
async def test_two_windows_show_the_same(stage: Stage, habits: Habits) -> None:
    """Two servers on one workspace: what one has said, the other shows, and goes on with."""
    first, uri, second, other = await two_windows(stage, habits, answer("Two."))
    assert body(second.desk[other]) == body(first.desk[uri])
    write(first, uri, "A draft here.\n")
    await says(second, other, "Second.\n")
    await shows(second, other, "Two.")
    (listed,) = await first.request("session.list")
    await first.request("chat.open", session=listed["session"])
    text = await shows(first, uri, "Two.")
    assert "A draft here." in text.rpartition("## You\n")[2]
    assert text.count("Second.") == 1
    assert "A draft here." not in second.desk[other]


REQUEST_FAILED = -32803
ELSEWHERE = "*Another window or process is running this turn."


@vscode
async def test_what_is_sent_while_another_window_runs_a_turn_stays_a_draft(
    stage: Stage, habits: Habits
) -> None:
    """The other window ends it later, or is killed."""
    first, uri, turn = await waiting(stage, habits, answer("Made."), answer("Other."))
    session = (await first.request("session.list"))[0]["session"]
    second = await stage.start(habits, settings=stage.script(ASKS), options=STANDARD)
    other = await opened(second, session=session)
    assert ELSEWHERE in second.desk[other]
    assert "did not finish" not in second.desk[other]
    write(second, other, "From the second window.\n")
    with expect_error(REQUEST_FAILED, "Another window or process is working in", "then try again"):
        await second.request("chat.send", uri=other)
    assert second.desk[other].endswith("From the second window.\n")
    await first.request("turn.cancel", turn=turn)
    await second.request("chat.open", session=session)
    text = second.desk[other]
    assert ELSEWHERE not in text
    assert "The turn was stopped" in text
    assert text.endswith("From the second window.\n")
    assert "From the second" not in first.desk[uri]


@vscode
async def test_a_turn_whose_window_was_killed_did_not_finish(stage: Stage, habits: Habits) -> None:
    first, _, _ = await waiting(stage, habits)
    session = (await first.request("session.list"))[0]["session"]
    second = await stage.start(habits, settings=stage.script(ASKS), options=STANDARD)
    other = await opened(second, session=session)
    assert ELSEWHERE in second.desk[other]
    stage.running[0].kill()
    first.has_left = True
    with suppress(ConnectionError):
        await first.wait_closed()
    first.hang_up()
    await second.request("chat.open", session=session)
    assert ELSEWHERE not in second.desk[other]
    assert "*This turn did not finish.*" in second.desk[other]


@every_editor
async def test_what_another_window_says_is_shown_without_being_asked_for(
    stage: Stage, habits: Habits
) -> None:
    first, uri, second, other = await two_windows(stage, habits, answer("Two."), answer("Three."))
    write(first, uri, "A draft here.\n")
    await says(second, other, "Second.\n")
    text = await shows(first, uri, "Two.")
    assert text.endswith("## You\n\nA draft here.\n")
    await first.request("chat.send", uri=uri)
    await shows(first, uri, "Three.")
    text = await shows(second, other, "Three.")
    assert body(text) == body(first.desk[uri])
    assert [text.count(said) for said in ("Second.", "A draft here.")] == [1, 1]


@vscode
@pytest.mark.parametrize("end", ["cancelled", "killed"])
async def test_how_a_turn_in_another_window_ends_is_shown_without_being_asked_for(
    stage: Stage, habits: Habits, end: str
) -> None:
    first, _, turn = await waiting(stage, habits)
    session = (await first.request("session.list"))[0]["session"]
    second = await stage.start(habits, settings=stage.script(ASKS), options=STANDARD)
    other = await opened(second, session=session)
    assert ELSEWHERE in second.desk[other]
    write(second, other, "A draft here.\n")
    if end == "cancelled":
        await first.request("turn.cancel", turn=turn)
    else:
        stage.running[0].kill()
        first.has_left = True
        with suppress(ConnectionError):
            await first.wait_closed()
        first.hang_up()
    text = await shows(second, other, "The turn was stopped" if end == "cancelled" else "did not finish")
    assert ELSEWHERE not in text
    assert text.endswith("## You\n\nA draft here.\n")


@vscode
async def test_opened_by_its_path_it_shows_what_another_window_has_said(stage: Stage, habits: Habits) -> None:
    first, uri, second, other = await two_windows(stage, habits, answer("Two."))
    first.desk.close(uri)
    await says(second, other, "Second.\n")
    uri = where_now(uri)
    first.desk.open(uri)
    text = await shows(first, uri, "Two.")
    assert text.count("Second.") == 1


@vscode
async def test_another_program_that_lays_it_out_anew_changes_nothing(stage: Stage, habits: Habits) -> None:
    """A formatter of Markdown on save: other blanks, other bullets, rows joined and wrapped."""
    editor = await stage.start(habits, settings=stage.script(answer("One.\n\n- a\n- b"), answer("Two.")))
    uri = await opened(editor)
    await says(editor, uri, "First of all, a question.\n\nIn two parts.\n")
    before = await shows(editor, uri, "- b")
    laid_out = (
        before.replace("- a", "*   a").replace("\n\n\n", "\n\n").replace("In two parts.", "In two\nparts.")
    )
    editor.desk.rewrite(uri, laid_out)
    editor.desk.tell()
    await says(editor, uri, "Second.\n")
    text = await shows(editor, uri, "Two.")
    assert text.count("## You") == 3
    assert "- a\n- b" in text


@vscode
async def test_a_session_that_is_removed_meanwhile(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("One."), answer("Two.")))
    uri = await opened(editor)
    await says(editor, uri, "First.\n")
    await shows(editor, uri, "One.")
    for journal in stage.state.rglob("sessions/*.jsonl"):
        journal.unlink()
    await says(editor, uri, "Second.\n")
    await shows(editor, uri, "First.", "Two.")


@every_editor
async def test_a_message_may_repeat_an_earlier_one_or_the_models_words(stage: Stage, habits: Habits) -> None:
    said, answered = "Run the tests and fix what fails.", "Two tests fail: a timeout is missing."
    answers = [answer(answered), answer("Now one fails."), answer("It is missing in `get`.")]
    editor = await stage.start(habits, settings=stage.script(*answers))
    uri = await opened(editor)
    await says(editor, uri, f"{said}\n")
    await shows(editor, uri, answered)
    await says(editor, uri, f"{said}\n")
    await shows(editor, uri, "Now one fails.")
    await says(editor, uri, f"{answered}\n")
    text = await shows(editor, uri, "It is missing in `get`.")
    assert body(text).count(said) == 2
    assert body(text).count(answered) == 2


@every_editor
async def test_a_message_of_many_equal_rows(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("One."), answer("Two.")))
    uri = await opened(editor)
    await says(editor, uri, "row\n" * 50_000)
    await shows(editor, uri, "One.")
    await says(editor, uri, "And now?\n")
    text = await shows(editor, uri, "Two.")
    assert text.split("\n").count("row") == 50_000


HEADING = "## You\n\n"


def _without_heading(text: str) -> str:
    return text.removesuffix(HEADING)


def _replaced(_: str) -> str:
    return ""


@every_editor
@pytest.mark.parametrize("left", [_without_heading, _replaced], ids=["the heading", "the whole document"])
@pytest.mark.parametrize("is_updated", [False, True], ids=["sent at once", "sent after an update"])
async def test_what_is_typed_in_place_of_the_last_heading_is_the_draft(
    stage: Stage, habits: Habits, left: Callable[[str], str], *, is_updated: bool
) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("One."), answer("Two.")))
    uri = await opened(editor)
    await says(editor, uri, "First.\n")
    before = await shows(editor, uri, f"One.\n\n{HEADING}")
    editor.desk.rewrite(uri, left(before))
    editor.desk.tell()
    write(editor, uri, "Second.\n\nIn two ")
    write(editor, uri, "parts.\n")
    if is_updated:
        await editor.request("chat.open")
        assert editor.desk[uri] == f"{before}Second.\n\nIn two parts.\n"
    begun = await editor.request("chat.send", uri=uri)
    await editor.request("turn.wait", turn=begun["turn"])
    text = await shows(editor, uri, "Two.")
    assert body(text) == (
        "\n\nFirst.\n\n## handrail\n\nOne.\n\n## You\n\nSecond.\n\nIn two parts.\n\n"
        f"## handrail\n\nTwo.\n\n{HEADING}"
    )


@vscode
async def test_what_is_typed_over_the_last_heading_is_sent(stage: Stage, habits: Habits) -> None:
    """The line and its text are replaced in one change; an update comes while the turn runs."""
    editor = await stage.start(habits, settings=stage.script(answer("One."), answer("Two.")))
    uri = await opened(editor)
    for said, answered in (("First.", "One."), ("Second.", "Two.")):
        head = editor.desk[uri].removesuffix(HEADING)
        editor.desk.rewrite(uri, f"{head}{said}\n\n")
        editor.desk.tell()
        begun = await editor.request("chat.send", uri=uri)
        await editor.request("turn.wait", turn=begun["turn"])
        text = await shows(editor, uri, f"{answered}\n\n{HEADING}")
    assert body(text) == (
        f"\n\nFirst.\n\n## handrail\n\nOne.\n\n## You\n\nSecond.\n\n## handrail\n\nTwo.\n\n{HEADING}"
    )


@vscode
async def test_a_last_heading_that_was_taken_off_letter_by_letter_returns_once(
    stage: Stage, habits: Habits
) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("One."), answer("Two.")))
    uri = await opened(editor)
    await says(editor, uri, "First.\n")
    before = await shows(editor, uri, f"One.\n\n{HEADING}")
    for left in ("## You\n", "## You", "## Yo", "## Y"):
        editor.desk.rewrite(uri, before.removesuffix(HEADING) + left)
        editor.desk.tell()
    await editor.request("chat.open")
    assert editor.desk[uri] == before
    await says(editor, uri, "Second.\n")
    assert "## You\n\nSecond.\n\n## handrail\n\nTwo." in await shows(editor, uri, "Two.")


@every_editor
@pytest.mark.parametrize("between", ["\n", "", "\n\n"])
async def test_a_last_heading_that_the_user_writes_again_is_there_once(
    stage: Stage, habits: Habits, between: str
) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("One."), answer("Two.")))
    uri = await opened(editor)
    await says(editor, uri, "First.\n")
    before = await shows(editor, uri, f"One.\n\n{HEADING}")
    for typed in ("", "Second.", f"## You\n{between}Second."):
        editor.desk.rewrite(uri, before.removesuffix(HEADING) + typed)
        editor.desk.tell()
    await editor.request("chat.open")
    assert editor.desk[uri].count("## You\n") == 2
    begun = await editor.request("chat.send", uri=uri)
    await editor.request("turn.wait", turn=begun["turn"])
    assert "## You\n\nSecond.\n\n## handrail\n\nTwo." in await shows(editor, uri, "Two.")


@every_editor
async def test_a_draft_of_which_nothing_can_be_seen_is_empty(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("Yes.")))
    uri = await opened(editor)
    write(editor, uri, "\u200b \ufeff\n\t\u2060\n")
    assert "Send" not in await actions(editor, uri, "## You")
    with expect_error(REQUEST_FAILED, "The message is empty"):
        await editor.request("chat.send", uri=uri)
    await says(editor, uri, "Say yes.\n")
    await shows(editor, uri, "Yes.")


def _laid_out(text: str) -> str:
    """As a formatter of Markdown that runs on save does it."""
    text = re.sub(r"^( *)- ", r"\1* ", text, flags=re.MULTILINE)
    text = re.sub(r"(?<!\\)_", r"\\_", text)
    return re.sub(r"^(#.*)\n\n", r"\1\n", text, flags=re.MULTILINE).replace("\n\n", "\n\n\n").rstrip() + "\n"


@every_editor
async def test_a_formatter_on_save_changes_nothing_however_often_it_runs(
    stage: Stage, habits: Habits
) -> None:
    answers = [answer("- a\n- b\n\nSee https://example.com/x_y."), answer("Two."), answer("Three.")]
    editor = await stage.start(habits, settings=stage.script(*answers))
    uri = await opened(editor)
    for said, answered in (("First:\n\n- x_1\n- y", "x_y."), ("Second.", "Two."), ("Third.", "Three.")):
        write(editor, uri, f"{said}\n")
        editor.desk.rewrite(uri, _laid_out(editor.desk[uri]))
        editor.desk.tell()
        editor.desk.save(uri)
        begun = await editor.request("chat.send", uri=uri)
        await editor.request("turn.wait", turn=begun["turn"])
        text = await shows(editor, uri, answered)
    await editor.request("chat.open")
    assert body(editor.desk[uri]) == (
        "\n\nFirst:\n\n* x\\_1\n* y\n\n## handrail\n\n- a\n- b\n\nSee https://example.com/x_y.\n\n"
        f"## You\n\nSecond.\n\n## handrail\n\nTwo.\n\n## You\n\nThird.\n\n## handrail\n\nThree.\n\n{HEADING}"
    ), text


@vscode
async def test_no_tool_command_or_message_gets_at_a_conversation(stage: Stage, habits: Habits) -> None:
    """Not even if its name is known: it is neither read nor changed nor sent, and is in no checkpoint."""
    editor = await stage.start(habits, settings=stage.script(answer("One.")))
    uri = await opened(editor)
    await says(editor, uri, "First.\n")
    await shows(editor, uri, "One.")
    before = (await editor.request("chat.open"))["text"]
    path = f".handrail/{uri.rpartition('/')[2]}"
    calls = (
        call("write_file", path=path, content="x\n"),
        call("read_file", path=path),
        call("terminal", command=f"echo x > {path}"),
    )
    stage.script(answer("", *calls), answer("Two."), answer("Three."))
    report = await editor.turn("Change it.")
    assert report["checkpoint"] is None
    assert [each["failure"]["code"] for each in report["outcomes"]] == ["blocked"]
    assert await editor.request("checkpoint.list") == []
    assert body(editor.desk[uri]) == body(before)
    await says(editor, uri, f"Look at @{path}, please.\n")
    await shows(editor, uri, "please.")
    assert any("it belongs to handrail" in each.message for each in editor.messages)
