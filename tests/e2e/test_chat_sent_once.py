"""
A message is sent once: it does not become a draft again, whichever earlier text the editor still has.

Its document may be opened again with a text that had the message as a draft, and the server may be killed
before any update reaches the editor.
"""

from __future__ import annotations

import asyncio

import pytest

from e2e.client import Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import Habits
from e2e.slow_journals import Journals
from e2e.test_chat import REQUEST_FAILED, body, every_editor, killed, opened, says, shows, write
from e2e.test_chat_names import until
from editors.streaming_model import Answer, streaming_model
from handrail.testing import answer
from handrail.testing.texts import Json

HEADING = "## You\n\n"
DRAFTS = {
    "a row": "Go on.\n",
    "without a line end": "Go on.",
    "the earlier message": "First.\n",
    "paragraphs and code": "Look:\n\n```\nFirst.\n\n## You\n```\n\n- one 🙂\n- two\n",
    "blank rows around": "\n\nGo on.\n\n\n",
}
ROUND_TRIPS = 50
every_draft = pytest.mark.parametrize("draft", DRAFTS.values(), ids=DRAFTS)


async def ignore(editor: Editor, given: Json) -> Json | None:
    """It never answers."""
    await asyncio.Event().wait()
    return None


def is_said_once(text: str, draft: str, *, earlier: int = 0) -> None:
    """The message is there as one, and not as a draft as well."""
    rows = [row for row in draft.split("\n") if row.strip()]
    said, _, left = body(text).rpartition(HEADING)
    assert left.strip() == "", left
    assert said.count("\n".join(draft.strip().split("\n"))) == 1 + earlier, said
    assert [row for row in rows if row not in said] == []


async def started(stage: Stage, habits: Habits, settings: dict[str, str]) -> tuple[Editor, str]:
    """An editor with a conversation of one turn, and the URI of its document."""
    editor = await stage.start(habits, settings=settings)
    uri = await opened(editor)
    await says(editor, uri, "First.\n")
    await shows(editor, uri, f"One.\n\n{HEADING}")
    return editor, uri


async def is_not_sent_again(editor: Editor, uri: str) -> None:
    with expect_error(REQUEST_FAILED, "The message is empty"):
        await editor.request("chat.send", uri=uri)


@every_editor
@every_draft
@pytest.mark.parametrize("landed", ["applied", "refused", "said to be applied"])
async def test_opened_again_with_the_text_from_before_the_update(
    stage: Stage, habits: Habits, draft: str, landed: str
) -> None:
    editor, uri = await started(stage, habits, stage.script(answer("One."), answer("Two.")))

    async def opens_again(editor: Editor, given: Json) -> Json | None:
        before = editor.desk[uri]
        editor.desk.close(uri)
        editor.desk.open(uri, before)
        if landed == "applied":
            return await editor.obey(given)
        return {"applied": landed != "refused"}

    write(editor, uri, draft)
    editor.behaviours = [opens_again]
    begun = await editor.request("chat.send", uri=uri)
    await editor.request("turn.wait", turn=begun["turn"])
    await editor.request("chat.open")
    text = await shows(editor, uri, "Two.")
    await editor.until(lambda: editor.desk[uri].rstrip().endswith("## You"))
    text = editor.desk[uri]
    is_said_once(text, draft, earlier=draft.strip() == "First.")
    await is_not_sent_again(editor, uri)


@every_editor
@every_draft
async def test_sent_while_an_update_of_the_turn_before_is_under_way(
    stage: Stage, habits: Habits, draft: str
) -> None:
    with streaming_model(Answer(pieces=["One", " more."]), Answer(pieces=["Two."])) as model:
        settings = {"model": "openai-chat:m", "baseUrl": model.url, "keyName": "NO_KEY"}
        editor = await stage.start(habits, settings=settings)
        uri = await opened(editor)
        write(editor, uri, "First.\n")
        first = (await editor.request("chat.send", uri=uri))["turn"]
        await shows(editor, uri, f"One\n\n{HEADING}")
        write(editor, uri, draft)
        sending: list[asyncio.Future[Json]] = []

        async def sends(editor: Editor, given: Json) -> Json | None:
            await editor.request("turn.wait", turn=first)
            sending.append(asyncio.ensure_future(editor.request("chat.send", uri=uri)))
            await until(lambda: len(model.asked) == 2)  # the second turn is recorded
            return await editor.obey(given)

        editor.behaviours = [sends]
        model.go_on()
        await editor.until(lambda: bool(sending))
        await sending[0]
        await shows(editor, uri, "Two.")
        await editor.until(lambda: editor.desk[uri].rstrip().endswith("## You"))
        is_said_once(editor.desk[uri], draft, earlier=draft.strip() == "First.")
        await is_not_sent_again(editor, uri)


@every_editor
@every_draft
@pytest.mark.parametrize("updates", [0, 1])
@pytest.mark.parametrize("more", ["", "more"], ids=["", "typed on"])
async def test_the_server_is_killed_before_an_update(
    stage: Stage, habits: Habits, draft: str, updates: int, more: str
) -> None:
    """The editor answers this many updates, and the turn is running."""
    with streaming_model(
        Answer(pieces=["One."]), Answer(pieces=["Two", " and", " never"]), Answer(pieces=["Three."])
    ) as model:
        settings = {"model": "openai-chat:m", "baseUrl": model.url, "keyName": "NO_KEY"}
        editor, uri = await started(stage, habits, settings)
        write(editor, uri, draft)
        seen = len(editor.edits)
        editor.behaviours = [*[Editor.obey] * updates, *[ignore] * 100]
        sending = asyncio.ensure_future(editor.request("chat.send", uri=uri))
        await editor.until(lambda: len(editor.edits) > seen)
        if more:
            write(editor, uri, more)
        if updates:
            model.go_on()
            await editor.until(lambda: len(editor.edits) > seen + updates)
        await killed(stage, editor)
        await asyncio.gather(sending, return_exceptions=True)
        held = editor.desk[uri]
        later = await stage.start(habits, settings=settings)
        later.desk.open(uri, held)
        (session,) = await later.request("session.list")
        await opened(later, session=session["session"])
        text = await shows(later, uri, "*This turn did not finish.*")
        left = text.rpartition(HEADING)[2]
        assert left.strip() == more
        is_said_once(text.removesuffix(left), draft, earlier=draft.strip() == "First.")
        if not more:
            await is_not_sent_again(later, uri)


@every_editor
@every_draft
@pytest.mark.parametrize("more", ["", "more"], ids=["", "typed on"])
async def test_the_server_is_killed_before_the_journal_has_the_message(
    stage: Stage, habits: Habits, draft: str, more: str
) -> None:
    """It was not sent, as nothing knows of it: it is still a draft."""
    journals = stage.servers = Journals(stage.folder)
    editor, uri = await started(stage, habits, stage.script(answer("One."), answer("Two.")))
    write(editor, uri, draft)
    await editor.request("session.list")  # all that came before is written
    seen = len(editor.edits)
    journals.hold()
    sending = asyncio.ensure_future(editor.request("chat.send", uri=uri))
    await until(journals.are_waiting)
    if more:
        write(editor, uri, more)
    for _ in range(ROUND_TRIPS):  # by then it would have been answered, and shown as sent
        await editor.request("approval.list")
    assert not sending.done()
    assert len(editor.edits) == seen
    await killed(stage, editor)
    await asyncio.gather(sending, return_exceptions=True)
    held = editor.desk[uri]
    journals.release()
    later = await stage.start(habits, settings=stage.script(answer("One."), answer("Two.")))
    later.desk.open(uri, held)
    await opened(later)
    assert body(later.desk[uri]) == body(held)
    await later.request("chat.send", uri=uri)
    text = await shows(later, uri, "Two.", f"Two.\n\n{HEADING}")
    sent = f"{draft}{more}"
    is_said_once(text, sent, earlier=sent.strip() == "First.")


@every_editor
@every_draft
@pytest.mark.parametrize("updates", [0, 1])
async def test_what_was_sent_to_a_running_turn_is_a_draft_again_after_a_kill(
    stage: Stage, habits: Habits, draft: str, updates: int
) -> None:
    """No model has read it; it is given back once, though servers come and go."""
    with streaming_model(
        Answer(pieces=["One."]), Answer(pieces=["Two", " never"]), Answer(pieces=["Three."])
    ) as model:
        settings = {"model": "openai-chat:m", "baseUrl": model.url, "keyName": "NO_KEY"}
        editor, uri = await started(stage, habits, settings)
        write(editor, uri, "Second.\n")
        await editor.request("chat.send", uri=uri)
        await shows(editor, uri, f"Two\n\n{HEADING}")
        write(editor, uri, draft)
        seen = len(editor.edits)
        editor.behaviours = [*[Editor.obey] * updates, *[ignore] * 100]
        sending = asyncio.ensure_future(editor.request("chat.send", uri=uri))
        await editor.until(lambda: len(editor.edits) > seen)
        if updates:
            await shows(editor, uri, "You sent this while the turn was running")
        await killed(stage, editor)
        await asyncio.gather(sending, return_exceptions=True)
        (journal,) = stage.state.rglob("*.jsonl")
        for _ in range(2):
            held = editor.desk[uri]
            editor = await stage.start(habits, settings=settings)
            editor.desk.open(uri, held)
            (session,) = await editor.request("session.list")
            await opened(editor, session=session["session"])
            text = await shows(editor, uri, "*This turn did not finish.*")
            assert text.rpartition(HEADING)[2].strip() == draft.strip()
            assert "You sent this while" not in text
            await until(lambda: '"kind":"returned"' in journal.read_text("utf-8"))
            await killed(stage, editor)
        held = editor.desk[uri]
        editor = await stage.start(habits, settings=settings)
        editor.desk.open(uri, held)
        await opened(editor, session=session["session"])
        await editor.request("chat.send", uri=uri)
        await shows(editor, uri, "Three.")
        await editor.until(lambda: editor.desk[uri].rstrip().endswith("## You"))
        is_said_once(editor.desk[uri], draft, earlier=draft.strip() == "First.")
        await is_not_sent_again(editor, uri)


@every_editor
@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "ended"])
@pytest.mark.parametrize("waits", [False, True], ids=["to the running turn", "for a turn after it"])
async def test_what_no_model_has_read_is_there_though_the_document_was_closed(
    stage: Stage, habits: Habits, waits: bool, is_killed: bool
) -> None:
    """It was sent in a view of the conversation, and the document was not open."""
    with streaming_model(Answer(pieces=["One", " never"])) as model:
        settings = {"model": "openai-chat:m", "baseUrl": model.url, "keyName": "NO_KEY"}
        editor = await stage.start(habits, settings=settings)
        session = (await editor.request("chat.new"))["session"]
        await editor.request("chat.say", session=session, text="First.")
        await until(lambda: len(model.asked) == 1)
        await editor.request("chat.say", session=session, text="Faster!\n\nPlease.", queue=waits)
        await (killed(stage, editor) if is_killed else editor.leave())
        later = await stage.start(habits, settings=settings)
        items = (await later.request("chat.read", session=session))["items"]
        assert [each["state"] for each in items if each.get("text") == "Faster!\n\nPlease."] == ["unread"]
        text = await shows(later, await opened(later, session=session), "First.", "Faster!")
        assert text.rpartition(HEADING)[2].strip() == "Faster!\n\nPlease."


@every_editor
async def test_a_message_that_the_user_has_dropped_is_not_there_again(stage: Stage, habits: Habits) -> None:
    with streaming_model(Answer(pieces=["One", " never"]), Answer(pieces=["Two."])) as model:
        settings = {"model": "openai-chat:m", "baseUrl": model.url, "keyName": "NO_KEY"}
        editor = await stage.start(habits, settings=settings)
        session = (await editor.request("chat.new"))["session"]
        first = await editor.request("chat.say", session=session, text="First.")
        await until(lambda: len(model.asked) == 1)
        dropped = [
            (await editor.request("chat.say", session=session, text=text, queue=True))["turn"]
            for text in ("Stopped.", "Not begun.")
        ]
        await editor.request("turn.cancel", turn=dropped[0])
        await editor.request("turn.cancel", turn=first["turn"])
        await editor.request("turn.wait", turn=dropped[1])
        second = await editor.request("chat.say", session=session, text="Second.")
        await editor.request("turn.wait", turn=second["turn"])
        await editor.leave()
        later = await stage.start(habits, settings=settings)
        text = await shows(later, await opened(later, session=session), "Two.")
        assert "Stopped." not in text
        assert "Not begun." not in text
