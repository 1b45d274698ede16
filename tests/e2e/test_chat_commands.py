"""What else the user writes in a conversation: names with an `@`, commands, and what the editor completes."""

from __future__ import annotations

import json
import re
from datetime import datetime

import pytest

from e2e.client import Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import Habits, opt_in
from e2e.prompts import block, v4a
from e2e.test_chat import actions, every_editor, opened, says, shows, vscode, write
from e2e.test_chat_ask import REQUEST_FAILED, between
from handrail.testing import answer, call
from handrail.testing.texts import Json, position_of


async def command(editor: Editor, uri: str, text: str) -> None:
    """The user writes a command, and sends it."""
    write(editor, uri, text)
    sent = await editor.request("chat.send", uri=uri)
    assert sent["turn"] is None


async def offered(editor: Editor, uri: str, typed: str) -> dict[str, Json]:
    """What the editor offers behind what is typed at the end of a document, by label."""
    write(editor, uri, typed)
    text = editor.desk[uri]
    place = position_of(text, len(text), editor.desk.encoding)
    params = {"textDocument": {"uri": uri}, "position": place}
    found = await editor.answer_to(method="textDocument/completion", params=params)
    return {each["label"]: each for each in (found or {"items": []})["items"]}


def pointed_at(stage: Stage, prompt: str) -> list[tuple[str, str]]:
    """What a message points at, by path, as its session's journal has it."""
    entries = [json.loads(row) for file in stage.state.rglob("sessions/*.jsonl") for row in file.open()]
    (said,) = [each for each in entries if prompt in json.dumps(each) and "context" in json.dumps(each)]
    return [(each["path"], each["text"]) for each in said["message"]["context"]]


# ---- Names with an @ ------------------------------------------------------------------------------


@every_editor
async def test_names_are_shown_to_the_model_as_the_editor_holds_them(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("Seen.")))
    a = editor.desk.open(stage.put("a b.txt", "one\ntwo\nthree\n"))
    editor.desk.type(a, "TWO", instead="two")
    stage.put("src/x.py", "x = 1\n")
    uri = await opened(editor)
    await says(editor, uri, 'Look at @"a b.txt":2-3, and at @src/x.py.\n')
    assert pointed_at(stage, "Look at") == [("a b.txt", "TWO\nthree\n"), ("src/x.py", "x = 1\n")]


@every_editor
@pytest.mark.parametrize("name", ["turn.start", "turn.queue"])
async def test_names_in_prompts_from_elsewhere_are_shown_as_well(
    stage: Stage, habits: Habits, name: str
) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("Seen.")))
    a = editor.desk.open(stage.put("a b.txt", "one\ntwo\n"))
    editor.desk.type(a, "TWO", instead="two")
    editor.desk.tell()
    begun = await editor.request(name, prompt='Look at @"a b.txt":2 and @no/such.py.')
    await editor.request("turn.wait", turn=begun["turn"])
    assert pointed_at(stage, "Look at") == [("a b.txt", "TWO\n")]
    assert any("@no/such.py" in each.message for each in editor.messages)


@vscode
async def test_a_pasted_reply_names_nothing(stage: Stage, habits: Habits) -> None:
    """What looks like a name is code there."""
    stage.put("a.py", "@old.it\n")
    editor = await stage.start(habits, settings={"model": "paste"})
    reply = v4a("*** Update File: a.py", "@@", "-@old.it", "+@app.route")
    begun = await editor.request("turn.start", prompt=reply)
    report = await editor.request("turn.wait", turn=begun["turn"])
    assert [each["status"] for each in report["outcomes"]] == ["landed"]
    assert not [each for each in editor.messages if "stands for" in each.message or "@" in each.message]


@vscode
async def test_a_name_that_stands_for_nothing_is_said(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("Hm.")))
    stage.put(".env", "KEY=secret\n")
    uri = await opened(editor)
    await says(editor, uri, "@no/such.py @.env @diff @problems @selection @someone, what now?\n")
    told = " ".join(each.message for each in editor.messages)
    for name in ("@no/such.py", "@.env", "@diff", "@problems", "@selection"):
        assert name in told
    assert "@someone: the file does not exist" in told
    assert "Select the lines and choose the code action “Ask handrail about this…” instead." in told
    assert "KEY=secret" not in "".join(file.read_text() for file in stage.state.rglob("*.jsonl"))


@vscode
async def test_what_was_selected_is_pending_or_failed_is_shown(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", "one\ntwo\n")
    patch = v4a("*** Update File: a.txt", "@@", "-one", "+ONE")
    model = stage.script(
        answer(
            "",
            call("patch", mode="v4a", patch=patch),
            call("patch", mode="v4a", patch=v4a("*** Update File: a.txt", "@@", "-six", "+SIX")),
        ),
        answer("Half of it."),
        answer("Seen."),
    )
    editor = await stage.start(habits, settings=model)
    uri = await opened(editor)
    await says(editor, uri, "Change it.\n")
    a = editor.desk.open(stage.root / "a.txt")
    await editor.quick_fixes(a, between(editor, a, 4, 7))
    await says(editor, uri, "@selection @diff @problems?\n")
    selection, diff, problems = pointed_at(stage, "@selection")
    assert selection == ("a.txt", "two")
    assert "-one" in diff[1]
    assert "+ONE" in diff[1]
    assert problems[1].startswith("a.txt:")
    assert "no-match" in problems[1]


@every_editor
async def test_names_and_commands_are_completed(stage: Stage, habits: Habits) -> None:
    stage.put("src/api.py", "x = 1\n")
    stage.put("src/my map.py", "x = 1\n")
    stage.put(".gitignore", "built/\n")
    stage.put("built/api.py", "x = 1\n")
    editor = await stage.start(habits, settings=stage.script())
    uri = await opened(editor)
    found = await offered(editor, uri, "😀 see @api")
    assert list(found) == ["@src/api.py"]
    edit = found["@src/api.py"]["textEdit"]
    start = editor.desk[uri].index("@api")
    assert edit["range"] == between(editor, uri, start, start + 4)
    assert edit["newText"] == "@src/api.py"
    assert list(await offered(editor, uri, " or @map")) == ['@"src/my map.py"']
    assert {"@diff"} == set(await offered(editor, uri, " or @di"))
    assert await offered(editor, uri, "\n/mo") == {}, "only at the beginning of a message"


@vscode
async def test_commands_are_completed_where_a_message_begins(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script())
    uri = await opened(editor)
    assert list(await offered(editor, uri, "/mo")) == ["/mode", "/model"]
    other = editor.desk.open(stage.put("a.md", "@"))
    assert await offered(editor, other, "") == {}, "in other documents nothing is offered"


# ---- Commands -------------------------------------------------------------------------------------


@vscode
async def test_modes_and_models_are_chosen(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", "one\n")
    model = stage.script(answer("A plan."))
    editor = await stage.start(habits, settings=model)
    uri = await opened(editor)
    await command(editor, uri, "/mode plan\n")
    text = await shows(editor, uri, "the mode is plan.")
    assert text.endswith("## You\n\n")
    assert " · plan" in text.splitlines()[2]
    await says(editor, uri, "Plan it.\n")
    text = await shows(editor, uri, "A plan.")
    assert "the mode is plan." not in text, "it was said, and is done with"
    other = stage.folder / "other.json"
    other.write_text((stage.folder / "script.json").read_text())
    await command(editor, uri, f"/model scripted:{other}\n")
    await shows(editor, uri, f"scripted:{other} · plan")
    await shows(editor, uri, "in all conversations, until handrail ends or you change the setting")


def modes(stage: Stage) -> list[str]:
    """The modes of all turns, as the journals have them, each journal in its order."""
    files = sorted(stage.state.rglob("sessions/*.jsonl"))
    entries = [json.loads(row) for file in files for row in file.open()]
    return [each["mode"] for each in entries if each["kind"] == "begun" and not each.get("copied")]


async def reading(editor: Editor) -> str:
    """A conversation in which the user has chosen `ask` and had one answer."""
    uri = await opened(editor)
    await command(editor, uri, "/mode ask\n")
    await says(editor, uri, "First.\n")
    return uri


@vscode
@pytest.mark.parametrize("taken_back", [False, True])
async def test_a_chosen_mode_outlives_its_server(stage: Stage, habits: Habits, taken_back: bool) -> None:
    model = stage.script(answer("One."), answer("Two."))
    editor = await stage.start(habits, settings=model)
    uri = await reading(editor)
    if taken_back:
        await command(editor, uri, "/undo\n")
    editor.desk.save(uri)
    await editor.leave()
    later = await stage.start(habits, settings=model)
    (listed,) = await later.request("session.list")
    uri = await opened(later, session=listed["session"])
    assert " · ask" in later.desk[uri].splitlines()[2]
    await command(later, uri, "/mode\n")
    await shows(later, uri, "The mode is ask.")
    assert "Switch to the mode ask" not in await actions(later, uri, "## You")
    await says(later, uri, "Second.\n")
    assert modes(stage) == ["ask"] * 2


@vscode
@pytest.mark.parametrize("how", ["resend", "resend later", "fork", "start", "comment"])
async def test_every_turn_of_a_conversation_has_its_chosen_mode(
    stage: Stage, habits: Habits, how: str
) -> None:
    editor = await stage.start(habits, settings=stage.script(*map(answer, ("One.", "Two.", "Three."))))
    uri = await reading(editor)
    shown = await editor.request("chat.open")
    (first,) = (await editor.request("session.resume", session=shown["session"]))["turns"]
    turn = first["turn"]
    if how == "start":
        begun = await editor.request("turn.start", prompt="Second.", session=shown["session"])
        await editor.request("turn.wait", turn=begun["turn"])
    elif how == "comment":
        source = editor.desk.open(stage.put("a.py", "# handrail: explain\n"))
        begun = await editor.request("prompt.send", uri=source, line=0)
        await editor.request("turn.wait", turn=begun["turn"])
    elif how == "fork":
        other = await editor.request("chat.fork", uri=uri, turn=turn)
        editor.desk.open(other["uri"])
        await says(editor, other["uri"], "Second.\n")
    else:
        if how == "resend later":
            await says(editor, uri, "Second.\n")
            turn = (await editor.request("session.resume", session=shown["session"]))["turns"][-1]["turn"]
        await editor.request("chat.resend", uri=uri, turn=turn)
        await editor.until(lambda: len(modes(stage)) > 1 + (how == "resend later"))
    assert set(modes(stage)) == {"ask"}
    assert len(modes(stage)) > 1


@vscode
async def test_a_mode_for_one_turn_is_not_that_of_the_next(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("One."), answer("Two.")))
    uri = await opened(editor)
    write(editor, uri, "First.\n")
    sent = await editor.request("chat.send", uri=uri, mode="ask")
    await editor.request("turn.wait", turn=sent["turn"])
    await shows(editor, uri, "One.", " · edit")
    await command(editor, uri, "/mode\n")
    await shows(editor, uri, "The mode is edit.")
    await says(editor, uri, "Second.\n")
    assert modes(stage) == ["ask", "edit"]


@vscode
async def test_a_plan_is_carried_out(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", "one\n")
    patch = v4a("*** Update File: a.txt", "@@", "-one", "+ONE")
    model = stage.script(
        answer("1. Shout."), answer("", call("patch", mode="v4a", patch=patch)), answer("Done.")
    )
    editor = await stage.start(habits, settings={**model, "mode": "plan"})
    uri = await opened(editor)
    await says(editor, uri, "Plan it.\n")
    await shows(editor, uri, "1. Shout.")
    asked = await editor.choose((await actions(editor, uri, "## You"))["Carry out this plan"])
    report = await editor.request("turn.wait", turn=asked["turn"])
    assert [each["status"] for each in report["outcomes"]] == ["landed"]
    await shows(editor, uri, "Carry out this plan.", "Done.")
    assert "Carry out this plan" not in await actions(editor, uri, "## You")


@vscode
async def test_a_last_turn_of_which_not_all_can_be_undone(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", "one\n")
    model = stage.script(
        answer("", call("patch", mode="v4a", patch=v4a("*** Update File: a.txt", "@@", "-one", "+ONE"))),
        answer("Done."),
    )
    editor = await stage.start(habits, settings=model)
    a = editor.desk.open(stage.root / "a.txt")
    uri = await opened(editor)
    await says(editor, uri, "Shout.\n")
    await shows(editor, uri, "Done.")
    editor.desk.type(a, "!", after="ONE")
    await command(editor, uri, "/undo\n")
    said = "but not all of its changes could be undone (0 documents restored)."
    text = await shows(editor, uri, f"The last turn was removed from the conversation, {said}")
    assert editor.desk[a] == "ONE!\n"
    assert "Done." not in text


@vscode
@pytest.mark.parametrize(
    ("changed", "said"), [(True, "1 document restored, 2 deleted."), (False, "2 documents deleted.")]
)
async def test_documents_that_an_undo_removes_are_counted_apart(
    stage: Stage, habits: Habits, changed: bool, said: str
) -> None:
    stage.put("a.txt", "one\n")
    rows = ("*** Add File: b.txt", "+b", "*** Add File: c.txt", "+c")
    rows += ("*** Update File: a.txt", "@@", "-one", "+ONE") if changed else ()
    model = stage.script(answer("", call("patch", mode="v4a", patch=v4a(*rows))), answer("Done."))
    editor = await stage.start(habits, settings=model)
    uri = await opened(editor)
    await says(editor, uri, "Shout.\n")
    await shows(editor, uri, "Done.")
    await command(editor, uri, "/undo\n")
    await shows(editor, uri, f"The last turn was undone: {said}")
    assert sorted(each.name for each in stage.root.glob("*.txt")) == ["a.txt"]


@every_editor
async def test_the_last_turn_is_taken_back(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", "one\n")
    model = stage.script(
        answer("", call("patch", mode="v4a", patch=v4a("*** Update File: a.txt", "@@", "-one", "+ONE"))),
        answer("Done."),
    )
    editor = await stage.start(habits, settings=model)
    a = editor.desk.open(stage.root / "a.txt")
    uri = await opened(editor)
    await says(editor, uri, "Shout.\n")
    await shows(editor, uri, "Done.")
    assert editor.desk[a] == "ONE\n"
    await command(editor, uri, "/undo\n")
    text = await shows(editor, uri, "The last turn was undone: 1 document restored.")
    assert editor.desk[a] == "one\n"
    assert "Done." not in text


@vscode
async def test_a_conversation_is_summarised(stage: Stage, habits: Habits) -> None:
    long = "A long answer. " * 200
    model = stage.script(*(answer(long) for _ in range(6)))
    editor = await stage.start(habits, settings=model)
    uri = await opened(editor)
    await command(editor, uri, "/compact\n")
    await shows(editor, uri, "The conversation is still too short to summarise.")
    for number in range(6):
        await says(editor, uri, f"Question {number}?\n")
    await command(editor, uri, "/compact\n")
    text = await shows(
        editor, uri, "The conversation was summarised for the model: from about", "Question 0?"
    )
    before, after = map(int, re.search(r"about ([\d,]+) tokens to ([\d,]+)", text.replace(",", "")).groups())
    assert after < before
    write(editor, uri, "And now?\n")
    begun = await editor.request("chat.send", uri=uri)
    assert (await editor.request("turn.wait", turn=begun["turn"]))["state"] == "finished"
    again = await stage.start(habits, settings=model)
    text = (await again.request("chat.open", session=begun["session"]))["text"]
    assert all(f"Question {number}?" in text for number in range(6)), "what was said stays to be read"


@vscode
async def test_other_commands(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script())
    uri = await opened(editor)
    await command(editor, uri, "/help\n")
    await shows(editor, uri, "- `/undo`: undo the last turn", "- `@path`")
    await command(editor, uri, "/mode\n")
    await shows(editor, uri, "The mode is edit.")
    await command(editor, uri, "/undo\n")
    await shows(editor, uri, "There is nothing to undo.")
    await command(editor, uri, "/stop\n")
    await shows(editor, uri, "No turn is running.")
    await command(editor, uri, "/review\n")
    await editor.until(lambda: any(each.endswith("review.md") for each in editor.documents_opened))
    await command(editor, uri, "/new\n")
    await editor.until(lambda: any("chat-" in each and each != uri for each in editor.documents_opened))


@vscode
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/mod", "Did you mean `/mode` or `/model`?"),
        ("/xyzzy", "Commands are `/compact`"),
        ("/mode fast", "Modes are edit, ask, plan."),
        ("/undo it", "takes no arguments"),
    ],
)
async def test_what_is_wrong_with_a_command_is_said(
    stage: Stage, habits: Habits, text: str, said: str
) -> None:
    editor = await stage.start(habits, settings=stage.script())
    uri = await opened(editor)
    write(editor, uri, f"{text}\n")
    with expect_error(REQUEST_FAILED, said):
        await editor.request("chat.send", uri=uri)
    assert editor.desk[uri].endswith(f"{text}\n"), "it stays, to be mended"


@vscode
async def test_a_path_is_no_command(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("It is full.")))
    uri = await opened(editor)
    await says(editor, uri, "/usr is full, why?\n")
    await shows(editor, uri, "/usr is full, why?", "It is full.")


# ---- Commands of the project's ----------------------------------------------------------------------

OWN = "---\ndescription: mend it\n---\nMend $1 as @src/a.py does; all of: $ARGUMENTS. It costs $10.\n"


@every_editor
async def test_a_command_of_the_projects_is_what_its_file_says(stage: Stage, habits: Habits) -> None:
    stage.put("src/a.py", "x = 1\n")
    file = stage.put(".agents/commands/fix/issue.md", OWN)
    model = stage.script(answer("Mended."), answer("Mended again."))
    editor = await stage.start(habits, settings=model)
    editor.desk.type(editor.desk.open(file), "Heal", instead="Mend")
    uri = await opened(editor)
    await command(editor, uri, "/help\n")
    await shows(editor, uri, "- `/fix:issue`: sends the text of .agents/commands/fix/issue.md")
    assert list(await offered(editor, uri, "/fi")) == ["/fix:issue"]
    await says(editor, uri, "x:issue 12 now\n")
    text = await shows(editor, uri, "Mended.")
    assert "\n\n/fix:issue 12 now\n" in text
    assert pointed_at(stage, "12 now") == [
        ("src/a.py", "x = 1\n"),
        (
            "Contents of /fix:issue (.agents/commands/fix/issue.md)",
            "Heal 12 as @src/a.py does; all of: 12 now. It costs $10.\n",
        ),
    ]
    begun = await editor.request("turn.start", prompt="/fix:issue 13\nand more")
    await editor.request("turn.wait", turn=begun["turn"])
    assert "Heal 13 as @src/a.py does; all of: 13\nand more." in pointed_at(stage, "and more")[1][1]


@vscode
async def test_commands_of_the_projects_that_cannot_be_used(stage: Stage, habits: Habits) -> None:
    stage.put(".agents/commands/raw.md", b"\x00\xff\xfe\x00 not text")
    stage.put(".agents/commands/long.md", "long " * 30_000)
    stage.put(".agents/commands/undo.md", "Something else.\n")
    (stage.folder / "outside.md").write_text("A secret.\n")
    (stage.root / ".agents/commands/away.md").symlink_to(stage.folder / "outside.md")
    editor = await stage.start(habits, settings=stage.script(answer("Hm.")))
    uri = await opened(editor)
    for name, said in {
        "raw": "/raw cannot be used: .agents/commands/raw.md",
        "long": "has more than 100,000 characters",
        "away": "is protected or outside the workspace",
        "none": "is not a command",
        "..:..:outside": "",
    }.items():
        write(editor, uri, f"/{name}\n")
        if said:
            with expect_error(REQUEST_FAILED, said):
                await editor.request("chat.send", uri=uri)
        else:
            await says(editor, uri, "")
        editor.desk.rewrite(uri, editor.desk[uri].replace(f"/{name}\n", ""))
        editor.desk.tell()
    await command(editor, uri, "/undo\n")
    assert "A secret." not in "".join(file.read_text() for file in stage.state.rglob("*.jsonl"))


# ---- What is to be done ---------------------------------------------------------------------------


@vscode
async def test_the_list_of_what_is_to_be_done_is_shown_once(stage: Stage, habits: Habits) -> None:
    first = [{"text": "Read *it*", "state": "active"}, {"text": "Mend it"}]
    then = [{"text": "Read *it*", "state": "done"}, {"text": "Mend it", "state": "active"}]
    model = stage.script(
        answer("", call("todo", items=first)), answer("", call("todo", items=then)), answer("More later.")
    )
    editor = await stage.start(habits, settings=model)
    uri = await opened(editor)
    await says(editor, uri, "Work.\n")
    text = await shows(editor, uri, "More later.")
    assert "- `Now: Mend it`\n  - [x] Read \\*it\\*\n  - [ ] **Mend it**\n" in text
    assert text.count("Mend it") == 2


# ---- Commands that run ----------------------------------------------------------------------------


@vscode
async def test_a_command_in_the_background_shows_what_it_prints_and_is_stopped_there(
    stage: Stage, habits: Habits
) -> None:
    line = "echo begun; for n in 1 2 3 4 5; do sleep 0.05; echo line $n; done; sleep 60"
    runs = answer("", call("terminal", command=line, background=True))
    asks = answer("", call("ask_user", question="Enough?", choices=["Yes", "More"]))
    editor = await stage.start(
        habits, settings=stage.script(runs, asks, answer("Good.")), options=opt_in(approvals=False)
    )
    editor.answers = ["allow", None]
    uri = await opened(editor)
    write(editor, uri, "Serve.\n")
    begun = await editor.request("chat.send", uri=uri)
    await shows(editor, uri, "line 5", "Enough?")
    found = await actions(editor, uri, "- `Run in the background")
    assert (await editor.choose(found["Stop this command"]))["running"] is False
    assert "Stop this command" not in await actions(editor, uri, "- `Run in the background")
    await editor.request("turn.cancel", turn=begun["turn"])


@every_editor
async def test_a_command_that_a_turn_waits_for_is_stopped_alone(stage: Stage, habits: Habits) -> None:
    model = stage.script(
        answer("", call("terminal", command="echo begun; touch made.txt; sleep 60")), answer("I go on.")
    )
    editor = await stage.start(habits, settings=model, options=opt_in(approvals=False))
    editor.answers = ["allow"]
    uri = await opened(editor)
    write(editor, uri, "Serve.\n")
    begun = await editor.request("chat.send", uri=uri)
    await shows(editor, uri, "begun\n")
    await editor.choose((await actions(editor, uri, "- `Run"))["Stop this command"])
    report = await editor.request("turn.wait", turn=begun["turn"])
    assert report["state"] == "finished"
    assert [each["uri"].rpartition("/")[2] for each in report["outcomes"]] == ["made.txt"], "it is known"
    await shows(editor, uri, "The user stopped this command,", "I go on.")
    assert "Stop this command" not in await actions(editor, uri, "- `Run")


@vscode
async def test_a_command_that_does_not_run_cannot_be_stopped(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script())
    with expect_error(REQUEST_FAILED, "Call 'c1' has no running command"):
        await editor.request("command.interrupt", session="s1", call="c1")


# ---- What can be taken back -------------------------------------------------------------------------


@every_editor
async def test_what_turns_changed_is_listed_shown_and_taken_back(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", "one\n")
    model = stage.script(
        answer("", call("patch", mode="v4a", patch=v4a("*** Update File: a.txt", "@@", "-one", "+ONE"))),
        answer("Loud."),
    )
    editor = await stage.start(habits, settings=model)
    a = editor.desk.open(stage.root / "a.txt")
    uri = await opened(editor)
    await command(editor, uri, "/restore\n")
    await shows(editor, uri, "No turn has changed anything yet.")
    await says(editor, uri, "Shout # loudly.\n")
    await shows(editor, uri, "Loud.")
    editor.desk.type(a, "one", instead="ONE")
    other = await opened(editor, "chat.new")
    await says(editor, other, "And again.\n")
    await shows(editor, other, "Loud.")
    await command(editor, other, "/restore\n")
    text = await shows(editor, other, "This conversation:", "Other conversations:")
    now = datetime.now().astimezone().strftime("%d %b %Y, ")
    rows = [row for row in text.splitlines() if row.startswith(f"- {now}")]
    assert [re.sub(r"\d\d:\d\d", "", row.removeprefix(f"- {now}")) for row in rows] == [
        ": `And again.` (`a.txt`)",
        ": `Shout # loudly.` (`a.txt`)",
    ]
    await command(editor, other, "/sessions\n")
    text = await shows(editor, other, "opens that conversation")
    (row,) = [row for row in text.splitlines() if row.startswith(f"- {now}")]
    assert row.endswith(": `Shout # loudly.` (1 turn)")
    found = await editor.choose((await actions(editor, other, row))["Open this conversation"])
    assert found is None or found["uri"] == uri
    await command(editor, other, "/restore\n")
    await shows(editor, other, "This conversation:")
    shown = await editor.choose((await actions(editor, other, rows[0]))["Show these changes"])
    assert shown["text"].endswith("-one\n+ONE\n")
    await editor.choose((await actions(editor, other, rows[0]))["Undo these changes"])
    await editor.until(lambda: editor.desk[a] == "one\n")
    assert "This conversation:" in editor.desk[other], "so that more can be taken back"
    await command(editor, other, "/restore\n")
    text = await shows(editor, other, ": `Restore: And again.` (`a.txt`)")
    row = next(row for row in text.splitlines() if "Restore: And again." in row)
    await editor.choose((await actions(editor, other, row))["Undo these changes"])
    await editor.until(lambda: editor.desk[a] == "ONE\n")


@every_editor
async def test_conversations_that_are_not_listed_are_told(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", "one\n")
    editor = await stage.start(habits)
    turn = await editor.turn(block("a.txt", "one", "ONE"))
    uri = await opened(editor, session=turn["session"])
    for _ in range(20):
        await editor.request("session.fork", session=turn["session"], turn=turn["turn"])
    await command(editor, uri, "/sessions\n")
    text = await shows(editor, uri, "opens that conversation")
    assert (text.count("(1 turn)"), "older" in text) == (20, False)
    await editor.request("session.fork", session=turn["session"], turn=turn["turn"])
    await command(editor, uri, "/sessions\n")
    text = await shows(editor, uri, "- … and older ones: “Handrail: Conversations…” (VS Code), ")
    assert text.count("(1 turn)") == 20


@every_editor
async def test_what_belongs_to_no_conversation_is_listed_apart(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", "one\n")
    patch = call("patch", mode="v4a", patch=v4a("*** Update File: a.txt", "@@", "-one", "+ONE"))
    editor = await stage.start(habits, settings=stage.script(answer("", patch), answer("Loud.")))
    a = editor.desk.open(stage.root / "a.txt")
    uri = await opened(editor)
    await says(editor, uri, "Shout # loudly.\n")
    await shows(editor, uri, "Loud.")
    await editor.request("review.undo", all=True)
    await editor.until(lambda: editor.desk[a] == "one\n")
    await command(editor, uri, "/restore\n")
    title = "Not in a conversation (quick fixes, undos in a review):"
    text = await shows(editor, uri, "This conversation:", title)
    assert "Other conversations:" not in text
    (undone,) = [row for row in text.partition(title)[2].splitlines() if row.startswith("- ")]
    await editor.choose((await actions(editor, uri, undone))["Undo these changes"])
    await editor.until(lambda: editor.desk[a] == "ONE\n")


# ---- Without commands -----------------------------------------------------------------------------


@every_editor
async def test_mode_and_model_are_chosen_and_it_is_compacted_by_actions(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("One.")))
    uri = await opened(editor)
    assert "Summarise this conversation" not in await actions(editor, uri, "# New conversation")
    await says(editor, uri, "First.\n")
    await shows(editor, uri, "One.")
    await editor.choose((await actions(editor, uri, "# First."))["Switch to the mode ask"])
    await shows(editor, uri, "· ask ·")
    found = await actions(editor, uri, "# First.")
    assert {"Switch to the mode edit", "Switch to the mode plan"} <= set(found)
    await editor.choose(found["Choose the model…"])
    await shows(editor, uri, "The model is scripted:")
    await editor.choose((await actions(editor, uri, "# First."))["Summarise this conversation"])
    await shows(editor, uri, "The conversation is still too short to summarise.")


@every_editor
async def test_a_conversation_is_forked_after_a_turn(stage: Stage, habits: Habits) -> None:
    model = stage.script(answer("One."), answer("Two."), answer("Three."))
    editor = await stage.start(habits, settings=model)
    uri = await opened(editor)
    await says(editor, uri, "First.\n")
    await says(editor, uri, "Second.\n")
    before = await shows(editor, uri, "Two.")
    other = await editor.choose((await actions(editor, uri, "First."))["Fork the conversation here"])
    if other["uri"] not in editor.desk.documents:
        editor.desk.open(other["uri"])
    text = await shows(editor, other["uri"], "One.")
    assert "Second." not in text
    assert editor.desk[uri] == before
    assert "Fork the conversation here" not in await actions(editor, other["uri"], "First."), "it is a copy"


@every_editor
async def test_a_turn_that_failed_is_tried_again(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("One.")))
    uri = await opened(editor)
    await says(editor, uri, "First.\n")
    await shows(editor, uri, "One.")
    assert "Retry this turn" not in await actions(editor, uri, "First."), "it has finished"
    await says(editor, uri, "Second.\n")  # the script has no more answers
    await shows(editor, uri, "*The turn failed")
    before = await actions(editor, uri, "Second.")
    write(editor, uri, "A draft.\n")
    stage.script(answer("Two."), answer("Three."), answer("Four."))
    begun = await editor.choose(before["Retry this turn"])
    await editor.request("turn.wait", turn=begun["turn"])
    text = await shows(editor, uri, "## You\n\nSecond.\n\n## handrail\n\n")
    assert text.count("## You\n\nSecond.\n") == 2
    assert text.endswith("## You\n\nA draft.\n")
    fork = (await actions(editor, uri, "First."))["Fork the conversation here"]
    (first,) = fork["command"]["arguments"]
    why = "Only the last turn can be retried. To repeat this one, send its message again"
    with expect_error(REQUEST_FAILED, why):
        await editor.request("chat.retry", uri=uri, turn=first["turn"])
    other = await editor.request("chat.fork", uri=uri, turn=first["turn"])
    why = "This turn was copied from another conversation. Send its message again there."
    with expect_error(REQUEST_FAILED, why):
        await editor.request("chat.retry", session=other["session"], turn="copy-0")


@vscode
async def test_turns_that_were_copied_are_not_undone(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(
        habits, settings=stage.script(answer("One."), answer("Two."), answer("Three."))
    )
    uri = await opened(editor)
    await says(editor, uri, "First.\n")
    await says(editor, uri, "Second.\n")
    (listed,) = await editor.request("session.list")
    resumed = await editor.request("session.resume", session=listed["session"])
    fork = await editor.request("session.fork", session=resumed["session"], turn=resumed["turns"][-1]["turn"])
    uri = await opened(editor, session=fork["session"])
    await command(editor, uri, "/undo\n")
    await shows(editor, uri, "These turns were copied from another conversation. Undo them there:")
    await says(editor, uri, "Third.\n")
    await command(editor, uri, "/undo\n")
    await shows(editor, uri, "The last turn was undone. No document had to be changed.")
    listed = {each["session"]: each["turns"] for each in await editor.request("session.list")}
    assert listed == {resumed["session"]: 2, fork["session"]: 2}
