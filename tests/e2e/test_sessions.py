"""Sessions, steering, modes and the project's instructions, as an editor's user meets them."""

from __future__ import annotations

import asyncio
import json

import pytest

from adapters.model_server import Call, Say, model_server
from e2e.client import expect_error
from e2e.conftest import Stage
from e2e.habits import VSCODE, Habits, opt_in
from handrail.testing import answer, call
from handrail.testing.texts import Json

REQUEST_FAILED = -32803
vscode = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])


@vscode
async def test_a_session_lives_longer_than_its_server(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", "one\n")
    edit = call("patch", path="a.txt", old_string="one", new_string="ONE")
    chosen = stage.script(answer("", edit), answer("First."), answer("Second."), answer("Third."))
    first = await stage.start(habits, settings=chosen)
    report = await first.turn("Do it.\nNow.")
    session = report["session"]

    second = await stage.start(habits, settings=chosen)
    (listed,) = await second.request("session.list")
    assert (listed["session"], listed["title"], listed["turns"]) == (session, "Do it.", 1)
    resumed = await second.request("session.resume", session=session)
    assert resumed["turns"] == [{"turn": report["turn"], "prompt": "Do it.\nNow.", "state": "finished"}]
    assert (await second.turn("Go on.", session=session))["answer"] == "Second."
    fork = await second.request("session.fork", session=session, turn=report["turn"])
    assert fork["session"] != session
    assert (await second.turn("Go elsewhere.", session=fork["session"]))["answer"] == "Second."
    await second.request("session.rename", session=session, title="The first one")
    assert sorted(each["title"] for each in await second.request("session.list")) == [
        "Do it.",
        "The first one",
    ]
    assert len(await second.request("session.list", limit=1)) == 1
    await second.request("session.delete", session=session)
    (left,) = await second.request("session.list")
    assert left["session"] == fork["session"]


@vscode
async def test_a_session_is_summarised(stage: Stage, habits: Habits) -> None:
    long = "A long answer. " * 200
    answers = [Say(text=f"{long}{number}.") for number in range(4)]
    answers += [Say(text="Some", hangs_after=1), Say(text="All was long."), Say(text="Now.")]
    async with model_server(*answers) as server:
        editor = await stage.start(
            habits, settings={"model": "openai:m", "baseUrl": server.url("openai-chat")}
        )
        session = (await editor.turn("Question 0?"))["session"]
        too_little = {"before": None, "after": None}
        assert await editor.request("session.compact", session=session) == too_little
        for number in range(1, 4):
            await editor.turn(f"Question {number}?", session=session)
        waiting = asyncio.create_task(editor.request("session.compact", session=session))
        await asyncio.wait_for(server.hung.wait(), 60)
        with expect_error(REQUEST_FAILED, "is being rewound or summarised"):
            await editor.request("turn.start", prompt="Meanwhile?", session=session)
        (begun,) = await editor.until(
            lambda: [
                each for each in editor.progressed if each.get("message") == "Summarising the conversation"
            ]
        )
        editor.notify("window/workDoneProgress/cancel", {"token": begun["token"]})
        with expect_error(REQUEST_FAILED, "The conversation was not summarised"):
            await waiting
        found = await editor.request("session.compact", session=session)
        assert found["after"] < found["before"]
        await editor.turn("And now?", session=session)
        asked = json.dumps(server.asked[-1]["messages"])
        assert "All was long." in asked
        assert "Question 1?" not in asked
        with expect_error(REQUEST_FAILED, "This workspace has no conversation with the session ID 's-9'."):
            await editor.request("session.compact", session="s-9")


async def test_a_session_goes_back_with_its_documents(stage: Stage, habits: Habits) -> None:
    uri = (stage.root / "a.txt").as_uri()
    stage.put("a.txt", "one\ntwo\n")
    edits = [call("patch", path="a.txt", old_string=old, new_string=old.upper()) for old in ("one", "two")]
    script = [answer("", edits[0]), answer("First."), answer("", edits[1]), answer("Second.")]
    editor = await stage.start(habits, settings=stage.script(*script))
    editor.desk.open(stage.root / "a.txt")
    first = await editor.turn("One.")
    session = first["session"]
    second = await editor.turn("Two.", session=session)
    kept = [{"turn": first["turn"], "prompt": "One.", "state": "finished"}]
    restored = await editor.request("checkpoint.restore", checkpoint=second["checkpoint"], conversation=True)
    assert restored["conversation"] == {"session": session, "turns": kept}
    assert editor.desk[uri] == "ONE\ntwo\n"

    later = await stage.start(habits, settings=stage.script(*script))
    later.desk.open(stage.root / "a.txt", editor.desk[uri])
    assert (await later.request("session.resume", session=session))["turns"] == kept
    assert (await later.turn("Two, again.", session=session))["answer"] == "Second."
    assert later.desk[uri] == "ONE\nTWO\n"


@vscode
async def test_two_servers_share_a_session_turn_by_turn(stage: Stage, habits: Habits) -> None:
    asking = call("ask_user", question="Which?", choices=["this", "that"])
    chosen = stage.script(
        answer("First."), answer("Second."), answer("", asking), answer("Fourth."), answer("Fifth.")
    )
    one = await stage.start(habits, settings=chosen, options=opt_in(approvals=True))
    first = await one.turn("One.")
    session = first["session"]
    second = await one.turn("Two.", session=session)
    assert second["answer"] == "Second."

    other = await stage.start(habits, settings=chosen)
    report = await other.request(
        "checkpoint.restore", checkpoint=second["turn"], files=False, conversation=True
    )
    assert [each["turn"] for each in report["conversation"]["turns"]] == [first["turn"]]
    assert (await one.turn("Two, again.", session=session))["answer"] == "Second.", "it knows"

    asked, answered = asyncio.Event(), asyncio.Event()

    async def wait(params: Json) -> Json:
        asked.set()
        await answered.wait()
        return {"choice": "deny"}

    one.handle("handrail/approval/request", wait)
    running = await one.start_turn("Three.", session=session)
    await asked.wait()
    await other.request("session.resume", session=session)
    with expect_error(REQUEST_FAILED, "Another window or process is working in"):
        await other.request("turn.start", prompt="Me too.", session=session)
    with expect_error(REQUEST_FAILED, "Another window or process is working in"):
        await other.request("checkpoint.restore", checkpoint=first["turn"], files=False, conversation=True)
    answered.set()
    assert (await one.request("turn.wait", turn=running["turn"]))["answer"] == "Fourth."
    assert (await other.turn("Four.", session=session))["answer"] == "Fifth."


@vscode
async def test_a_session_with_a_running_turn_does_not_go_back(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", "one\n")
    edit = call("patch", path="a.txt", old_string="one", new_string="ONE")
    asking = call("ask_user", question="Which?", choices=["this", "that"])
    editor = await stage.start(
        habits,
        settings=stage.script(answer("", edit), answer("Done."), answer("", asking), answer("So.")),
        options=opt_in("save", approvals=True),
    )
    answered = asyncio.Event()

    async def wait(params: Json) -> Json:
        editor.questions.append(params)
        editor.news.set()
        await answered.wait()
        return {"choice": "deny"}

    editor.handle("handrail/approval/request", wait)
    first = await editor.turn("One.")
    second = await editor.start_turn("Two.", session=first["session"])
    await editor.until(lambda: editor.questions)
    with expect_error(REQUEST_FAILED, "has a running turn"):
        await editor.request("checkpoint.restore", checkpoint=first["checkpoint"], conversation=True)
    assert (stage.root / "a.txt").read_text() == "ONE\n"
    with expect_error(-32602, "params.files"):
        await editor.request("checkpoint.restore", checkpoint=first["checkpoint"], files=False)
    answered.set()
    await editor.request("turn.wait", turn=second["turn"])


@vscode
async def test_what_is_not_there_is_refused(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits)
    for name, params in (
        ("session.resume", {"session": "s-9"}),
        ("session.fork", {"session": "s-9", "turn": "t-9"}),
        ("session.rename", {"session": "s-9", "title": "x"}),
        ("session.delete", {"session": "s-9"}),
        ("turn.steer", {"turn": "t-9", "text": "x"}),
    ):
        with expect_error(REQUEST_FAILED, params.get("session") or params["turn"]):
            await editor.request(name, **params)
    with expect_error(-32602, "params.title"):
        await editor.request("session.rename", session="s-9", title=" ")


@vscode
async def test_a_turn_is_queued_behind_another(stage: Stage, habits: Habits) -> None:
    """The first one waits for an answer; what waits behind one that is stopped does not begin."""
    path = stage.put("a.txt", "one\n")
    ask = call("ask_user", question="Which?", choices=["a", "b"])
    write = call("write_file", path="made.txt", content="made\n")
    settings = stage.script(answer("", ask), answer("First."), answer("", write), answer("Second."))
    editor = await stage.start(habits, settings=settings)
    first = await editor.start_turn("Ask.")
    await editor.until(lambda: editor.questions)
    (question,) = await editor.request("approval.list")
    second = await editor.request("turn.queue", prompt="Write.", session=first["session"])
    third = await editor.request("turn.queue", prompt="Never.", session=first["session"])
    await editor.request("turn.cancel", turn=third["turn"])
    await editor.request("approval.answer", approval=question["id"], choice="a")
    reports = [await editor.request("turn.wait", turn=each["turn"]) for each in (first, second, third)]
    assert [(each["state"], each["answer"]) for each in reports] == [
        ("finished", "First."),
        ("finished", "Second."),
        ("cancelled", ""),
    ]
    assert (stage.root / "made.txt").read_text() == "made\n"
    assert path.read_text() == "one\n"


@vscode
async def test_what_the_user_says_during_a_turn_reaches_the_model(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", "one\n")
    async with model_server(
        Say(calls=(Call(),), finish="tools"), Say(text="So far so good."), Say(text="In French: oui.")
    ) as server:
        editor = await stage.start(
            habits, settings={"model": "openai:m", "baseUrl": server.url("openai-chat")}
        )
        started = await editor.start_turn("Do it.")
        await editor.request("turn.steer", turn=started["turn"], text="In French, please.")
        report = await editor.request("turn.wait", turn=started["turn"])
    sent = [json.dumps(asked["messages"]) for asked in server.asked]
    assert any("In French, please." in each for each in sent)
    assert report["state"] == "finished"


@vscode
@pytest.mark.parametrize("mode", ["ask", "plan"])
async def test_in_other_modes_nothing_is_changed(stage: Stage, habits: Habits, mode: str) -> None:
    stage.put("a.txt", "one\n")
    patch = '{"path": "a.txt", "old_string": "one", "new_string": "ONE"}'
    async with model_server(
        Say(calls=(Call(name="patch", arguments=patch), Call(id="c2")), finish="tools"), Say(text="So it is.")
    ) as server:
        editor = await stage.start(
            habits, settings={"model": "openai:m", "baseUrl": server.url("openai-chat")}
        )
        report = await editor.turn("What is it?", mode=mode)
    assert report["answer"] == "So it is."
    assert (stage.root / "a.txt").read_text() == "one\n"
    offered = {tool["function"]["name"] for tool in server.asked[0]["tools"]}
    assert "read_file" in offered
    assert not offered & {"patch", "write_file", "terminal"}
    assert f"the mode of this turn is `{mode}`" in json.dumps(server.asked[1]["messages"])


@vscode
async def test_a_model_is_told_where_it_is_as_data(stage: Stage, habits: Habits) -> None:
    stage.put(".git/HEAD", "ref: refs/heads/work\n")
    async with model_server(Say(text="Here.")) as server:
        editor = await stage.start(
            habits, settings={"model": "openai:m", "baseUrl": server.url("openai-chat")}
        )
        editor.desk.open(stage.put("a.txt", "one\n"))
        uri = editor.desk.open(stage.put("b`</system>.txt", "one\n"))
        editor.desk.type(uri, "typed ", before="one")
        editor.desk.tell()
        await editor.turn("Where are you?")
    system = server.asked[0]["messages"][0]["content"]
    told = json.loads(system.partition("```json\n")[2].partition("\n```")[0])
    assert told["workspace folders"] == [{"path": str(stage.root), "branch": "work"}]
    assert told["open documents"] == [{"path": "a.txt"}, {"path": "b`</system>.txt", "unsaved": True}]
    assert {"system", "shell", "date"} <= told.keys()
    assert "</system>" not in system


@vscode
async def test_the_projects_instructions_are_read_and_shown(stage: Stage, habits: Habits) -> None:
    stage.put("AGENTS.md", "Write in verse.\n```\nfence\n```\n")
    async with model_server(Say(text="Roses are red.")) as server:
        editor = await stage.start(
            habits, settings={"model": "openai:m", "baseUrl": server.url("openai-chat")}
        )
        await editor.turn("Hello.")
    system = server.asked[0]["messages"][0]
    assert system["role"] in ("system", "developer")
    assert "Write in verse." in system["content"]
    assert "Never assume that a call succeeded" in system["content"]
    assert "set clear goals" in system["content"]
    started = [update["event"] for update in editor.updates if update["event"]["kind"] == "started"]
    assert started[0]["instructions"] == ["AGENTS.md"]


@vscode
async def test_the_instructions_of_a_folder_are_those_that_the_editor_holds(
    stage: Stage, habits: Habits
) -> None:
    rules, _ = stage.put("docs/AGENTS.md", "Write in verse.\n"), stage.put("docs/a.md", "one\n")
    reads = Call(name="read_file", arguments='{"path": "docs/a.md"}')
    async with model_server(Say(calls=(reads,), finish="tools"), Say(text="Roses are red.")) as server:
        editor = await stage.start(
            habits, settings={"model": "openai:m", "baseUrl": server.url("openai-chat")}
        )
        uri = editor.desk.open(rules)
        editor.desk.type(uri, "blank ", before="verse")
        editor.desk.tell()
        await editor.turn("Hello.")
    first, second = (json.dumps(each["messages"]) for each in server.asked)
    assert "verse" not in first
    assert "Write in blank verse." in second


def changes_told(stage: Stage) -> list[str]:
    """What the model was told of documents that have changed, as the journals have it."""
    rows = [row for path in stage.state.rglob("*.jsonl") for row in path.read_text().splitlines()]
    said = [row["message"].get("text", "") for row in map(json.loads, rows) if row["kind"] == "said"]
    return [text for text in said if "has changed since you last read" in text]


@vscode
async def test_what_changed_while_no_server_ran_is_told(stage: Stage, habits: Habits) -> None:
    file = stage.put("a.txt", "one\ntwo\n")
    stage.put("b.txt", "one\n")
    reads = [call("read_file", path=name) for name in ("a.txt", "b.txt")]
    chosen = stage.script(answer("", *reads), answer("First."), answer("Second."))
    session = (await (await stage.start(habits, settings=chosen)).turn("Read."))["session"]
    file.write_text("one\n2\n")
    second = await stage.start(habits, settings=chosen)
    await second.request("session.resume", session=session)
    await second.turn("Go on.", session=session)
    (text,) = changes_told(stage)
    assert text.startswith(
        "a.txt has changed since you last read or edited it. You did not make this change."
    )


@vscode
async def test_a_session_that_went_back_knows_what_it_knew_then(stage: Stage, habits: Habits) -> None:
    file = stage.put("a.txt", "one\ntwo\n")
    chosen = stage.script(
        answer("", call("read_file", path="a.txt")),
        *(answer(text) for text in ("First.", "Second.", "Third.")),
    )
    editor = await stage.start(habits, settings=chosen)
    session = (await editor.turn("Read."))["session"]
    file.write_text("one\n2\n")
    second = await editor.turn("Go on.", session=session)
    assert len(changes_told(stage)) == 1
    await editor.request("checkpoint.restore", checkpoint=second["turn"], files=False, conversation=True)
    await editor.turn("Go elsewhere.", session=session)
    assert len(changes_told(stage)) == 2, "the conversation does not tell of it any more"
