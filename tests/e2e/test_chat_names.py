"""What the files of conversations are called: by their first messages, as far as an editor lets them be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from e2e.client import Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import Habits
from e2e.test_chat import REQUEST_FAILED, body, every_editor, killed, opened, says, shows, vscode, write
from handrail.testing import answer
from handrail.testing.buffers import path_of

PROMPT = "Make `get` take a timeout.\n"
TITLED = "chat-make-get-take-a-timeout-"


async def until(holds: Callable[[], object]) -> None:
    """Wait until something holds on the disk, of which the server tells nothing."""
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110  # a file that is renamed tells nobody
            await asyncio.sleep(0.02)


def names(stage: Stage) -> list[str]:
    """The conversations in the workspace's folder."""
    return sorted(path.name for path in (stage.root / ".handrail").glob("chat-*.md"))


def is_titled(stage: Stage) -> bool:
    """Whether there is one conversation, which has its title's name."""
    found = names(stage)
    return len(found) == 1 and found[0].startswith(TITLED)


async def closed(stage: Stage, habits: Habits, *more: str) -> tuple[Editor, str, str]:
    """An editor, the first URI of a conversation that was begun empty and is closed, and what it showed."""
    model = stage.script(*(answer(text) for text in ("One.", *more)))
    editor = await stage.start(habits, settings=model)
    uri = await opened(editor, "chat.new")
    await says(editor, uri, PROMPT)
    text = await shows(editor, uri, "One.")
    assert names(stage) == [path_of(uri).name], "an open document keeps its name"
    editor.desk.save(uri)
    editor.desk.close(uri)
    await until(lambda: is_titled(stage))
    return editor, uri, text


@every_editor
async def test_a_conversation_that_was_closed_is_called_by_its_first_message(
    stage: Stage, habits: Habits
) -> None:
    editor, _, text = await closed(stage, habits, "Two.")
    session = (await editor.request("session.list"))[0]["session"]
    again = await opened(editor, session=session)
    assert path_of(again).name.startswith(TITLED)
    assert body(editor.desk[again]) == body(text)
    await says(editor, again, "Go on.\n")
    assert (await shows(editor, again, "Two.")).count("## You") == 3
    assert is_titled(stage)


@every_editor
async def test_an_editor_that_brings_back_the_first_name_loses_nothing(stage: Stage, habits: Habits) -> None:
    editor, uri, text = await closed(stage, habits, "Two.")
    editor.desk.open(uri, text + "Not sent")
    write(editor, uri, " yet.\n")
    begun = await editor.request("chat.send", uri=uri)
    await editor.request("turn.wait", turn=begun["turn"])
    text = await shows(editor, uri, "Two.")
    assert text.count("Not sent yet.\n") == 1
    assert names(stage) == [path_of(uri).name], "there is one file, as the editor knows it"
    editor.desk.save(uri)
    editor.desk.close(uri)
    await until(lambda: is_titled(stage))


@every_editor
async def test_an_empty_buffer_of_the_first_name_is_filled(stage: Stage, habits: Habits) -> None:
    """Neovim's `:buffer` shows a file that is gone as an empty one."""
    editor, uri, text = await closed(stage, habits)
    editor.desk.open(uri, "")
    assert body(await shows(editor, uri, "One.")) == body(text)


@vscode
async def test_one_that_is_about_to_be_opened_again_keeps_its_name(stage: Stage, habits: Habits) -> None:
    """A slow client opens it long after it was told where it is."""
    model = stage.script(answer("One."))
    editor = await stage.start(habits, settings=model)
    uris = list[str]()
    for _ in range(2):
        uris.append(await opened(editor, "chat.new"))
        await says(editor, uris[-1], PROMPT)
        await shows(editor, uris[-1], "One.")
        editor.desk.save(uris[-1])
    first, other = uris
    sessions = [each["session"] for each in await editor.request("session.list")]
    session = next(each for each in sessions if each[-6:] in first)
    editor.desk.close(first)
    told = (await editor.request("chat.open", session=session))["uri"]
    editor.desk.close(other)
    await until(lambda: not path_of(other).exists())  # so the first one's time is over as well
    assert told == first
    assert path_of(first).exists()


@vscode
async def test_one_that_was_never_closed_is_named_when_it_is_opened_later(
    stage: Stage, habits: Habits
) -> None:
    model = stage.script(answer("One."), answer("Two."))
    editor = await stage.start(habits, settings=model)
    uri = await opened(editor, "chat.new")
    await says(editor, uri, PROMPT)
    await shows(editor, uri, "One.")
    session = (await editor.request("session.list"))[0]["session"]
    await killed(stage, editor)
    later = await stage.start(habits, settings=model)
    again = await opened(later, session=session)
    assert is_titled(stage)
    await says(later, again, "Go on.\n")
    await shows(later, again, "Two.")


@vscode
async def test_a_file_of_the_users_that_has_the_name_stays(stage: Stage, habits: Habits) -> None:
    model = stage.script(answer("One."))
    editor = await stage.start(habits, settings=model)
    uri = await opened(editor, "chat.new")
    await says(editor, uri, PROMPT)
    first = path_of(uri)
    titled = first.with_name(first.name.replace("chat-", TITLED))
    titled.write_text("mine\n")
    session = (await editor.request("session.list"))[0]["session"]
    await killed(stage, editor)
    later = await stage.start(habits, settings=model)
    assert await opened(later, session=session) == uri
    assert titled.read_text() == "mine\n"


# ---- Deleted --------------------------------------------------------------------------------------------


def that_have(stage: Stage, words: str) -> list[str]:
    """The files of the workspace and of the state folder with these words."""
    places = (stage.root, stage.state)
    files = (path for place in places for path in place.rglob("*") if path.is_file())
    return [path.name for path in files if words.encode() in path.read_bytes()]


@vscode
async def test_of_a_deleted_conversation_no_words_are_left(stage: Stage, habits: Habits) -> None:
    editor, _, _ = await closed(stage, habits)  # so it has had two names
    await says(editor, other := await opened(editor, "chat.new"), "Keep it.\n")
    await shows(editor, other, "One.\n\n## You")
    (deleted,) = [each for each in await editor.request("session.list") if each["title"] != "Keep it."]
    assert len(that_have(stage, PROMPT.strip())) > 1
    await editor.request("session.delete", session=deleted["session"])
    assert that_have(stage, PROMPT.strip()) == []
    assert that_have(stage, "Keep it.")
    with expect_error(REQUEST_FAILED, "has no conversation with the session ID"):
        await editor.request("chat.open", session=deleted["session"])


@vscode
async def test_the_document_of_a_deleted_conversation_stays_while_it_is_open(
    stage: Stage, habits: Habits
) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("One.")))
    uri = await opened(editor)
    await says(editor, uri, "First.\n")
    text = await shows(editor, uri, "One.")
    (session,) = await editor.request("session.list")
    await editor.request("session.delete", session=session["session"])
    assert editor.desk[uri] == text
    assert names(stage) == [path_of(uri).name]
