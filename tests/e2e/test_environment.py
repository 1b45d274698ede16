"""Which variables commands inherit that the user has named in `handrail.terminal.environment`."""

from __future__ import annotations

from adapters.model_server import Say, model_server
from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import Habits, opt_in
from e2e.test_chat import opened, says, shows, vscode
from e2e.test_chat_commands import command
from e2e.test_settings import changed
from handrail.testing import answer, call
from handrail.testing.texts import Json

KEY, REMOVED = "sk-0123456789abcdef", "[key removed by handrail]"
HELD = {
    "GITHUB_TOKEN": "ghp-0123456789abcdef",
    "APP_URL": "https://me:hunter2-hunter2@db/app",
    "OTHER_TOKEN": "other-0123456789",
    "OTHER_HOME": "/other",
    "MINE": KEY,
    "COPY_OF_MINE": f"key={KEY}",
}
NAMED = ["GITHUB_TOKEN", "app_url", "OTHER_*", "MINE", "COPY_OF_MINE"]


def told(editor: Editor) -> str:
    """All that commands printed, as the client was told."""
    events = [each["event"] for each in editor.updates]
    return "".join(each["text"] for each in events if each["kind"] == "toolOutput")


async def run(stage: Stage, habits: Habits, line: str, settings: Json, held: dict[str, str]) -> Editor:
    """An editor whose user has allowed one command."""
    script = stage.script(answer("", call("terminal", command=line)), answer("Done."))
    editor = await stage.start(
        habits,
        settings={**script, "terminal": {"environment": NAMED}, **settings},
        environment=held,
        options=opt_in(turnUpdates=True),
    )
    editor.answers = ["allow"]
    await editor.turn("Run it.")
    return editor


@vscode
async def test_commands_inherit_what_is_named_in_full_and_nothing_shows_its_value(
    stage: Stage, habits: Habits
) -> None:
    written = stage.folder / "written"
    line = f"env > {written}; echo $GITHUB_TOKEN; echo $APP_URL"
    editor = await run(stage, habits, line, {"keyName": "MINE"}, HELD)
    inherited = dict(row.split("=", 1) for row in written.read_text().splitlines() if "=" in row)
    assert inherited.items() & HELD.items() == {
        (name, HELD[name]) for name in ("GITHUB_TOKEN", "APP_URL", "OTHER_HOME")
    }
    assert told(editor) == f"{REMOVED}\nhttps://me:{REMOVED}@db/app\n"
    received = "".join(line for line in editor.traffic if line.startswith("←"))
    (journal,) = stage.state.rglob("sessions/*.jsonl")
    for secret in (HELD["GITHUB_TOKEN"], "hunter2-hunter2", KEY):
        assert secret not in received
        assert secret not in journal.read_text()


@vscode
async def test_the_user_is_told_once_which_variables_stay_out(stage: Stage, habits: Habits) -> None:
    editor = await run(stage, habits, "true", {"keyName": "MINE"}, HELD)
    changed(editor, {"keyName": "MINE", "terminal": {"environment": NAMED}, "mode": "ask"})
    await editor.turn("Hello?")
    named = "which the setting handrail.terminal.environment names"
    assert [each.message for each in editor.messages] == [
        f"handrail: No command inherits {name}, {named}: its value is the key of a model that handrail uses."
        for name in ("MINE", "COPY_OF_MINE")
    ]


@vscode
async def test_no_command_inherits_the_key_of_a_model_that_was_used(stage: Stage, habits: Habits) -> None:
    """Not even after another one was chosen; the key's variable may have any name."""
    line = "echo ${MINE:-nothing} $OTHER_HOME"
    async with model_server(Say(text="Hello.")) as server:
        settings = {"model": "openai-chat:m", "baseUrl": server.url("openai-chat"), "keyName": "MINE"}
        named: Json = {"terminal": {"environment": NAMED}}
        editor = await stage.start(
            habits, settings={**settings, **named}, environment=HELD, options=opt_in(turnUpdates=True)
        )
        editor.answers = ["allow"]
        await editor.turn("Hello?")
        assert server.keys == [KEY]
        other = stage.script(answer("", call("terminal", command=line)), answer("Done."))
        changed(editor, {**other, **named})
        await editor.turn("Run it.")
    assert told(editor) == "nothing /other\n"


@vscode
async def test_the_key_that_the_settings_name_is_hidden_whatever_model_a_conversation_uses(
    stage: Stage, habits: Habits
) -> None:
    stage.put("a.txt", f"key {KEY}\n")
    settings = {"model": "openai-chat:m", "baseUrl": "http://127.0.0.1:9/v1", "keyName": "MINE"}
    editor = await stage.start(
        habits, settings=settings, environment={"MINE": KEY}, options=opt_in(turnUpdates=True)
    )
    uri = await opened(editor)
    script = stage.script(answer("", call("terminal", command="cat a.txt")), answer("Done."))
    await command(editor, uri, f"/model {script['model']}\n")
    await says(editor, uri, "Show it.\n")
    await shows(editor, uri, "Done.")
    assert told(editor) == f"key {REMOVED}\n"
