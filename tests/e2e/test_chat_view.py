"""The conversation as values, for a client that shows it in a view: read once, then kept true by changes."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from adapters.model_server import Raw, model_server
from e2e.client import Editor, expect_error
from e2e.conftest import HOUR_S, Stage
from e2e.habits import VSCODE, opt_in
from e2e.prompts import block, v4a
from e2e.test_chat import REQUEST_FAILED, opened, shows
from editors.streaming_model import Answer, streaming_model
from handrail.lsp.chat.feed import difference
from handrail.lsp.protocol import ChatRemark, ChatWords
from handrail.testing import answer, call
from handrail.testing.texts import Json

VIEW = opt_in("save", "chat", approvals=True)
KEY = "sk-very-secret-key-0123456789"


class View:
    """What a view of a conversation knows: the conversation as it was read, and what it was told since."""

    def __init__(self, editor: Editor, read: Json) -> None:
        self.editor = editor
        self.session, self.revision, self.status = read["session"], read["revision"], read["status"]
        self._items = {each["id"]: each for each in read["items"]}

    @property
    def items(self) -> list[Json]:
        """All items, with every change that has come by now."""
        while (found := self._next()) is not None:
            self.revision += 1
            self.status = found.get("status", self.status)
            for name in found.get("removed", ()):
                del self._items[name]
            self._items |= {each["id"]: each for each in found.get("items", ())}
            for each in found.get("grown", ()):
                before = self._items[each["id"]]
                self._items[each["id"]] = {**before, "text": before["text"] + each["text"]}
            if "order" in found:
                self._items = {name: self._items[name] for name in found["order"]}
        return list(self._items.values())

    def _next(self) -> Json | None:
        of_ours = (each for each in self.editor.chat_changes if each["session"] == self.session)
        return next((each for each in of_ours if each["revision"] == self.revision + 1), None)

    def of(self, kind: str) -> list[Json]:
        """The items of a kind."""
        return [each for each in self.items if each["kind"] == kind]

    async def until(self, *texts: str) -> list[Json]:
        """All items once these texts stand in what the model says."""
        await self.editor.until(
            lambda: all(any(text in each["text"] for each in self.of("words")) for text in texts)
        )
        return self.items

    async def ends(self) -> list[Json]:
        """All items once no turn runs; another client that reads them now is told the same."""
        await self.editor.until(lambda: (self.items, self.status)[1].get("running") is None)
        read = await self.editor.request("chat.read", session=self.session)
        assert (read["items"], read["status"]) == (self.items, self.status)
        return self.items

    async def says(self, text: str, **more: Any) -> Json:
        """The user says something."""
        said: Json = await self.editor.request("chat.say", session=self.session, text=text, **more)
        return said


async def shown(stage: Stage, *answers: Json, **more: Any) -> View:
    """A view of a new conversation with a model that gives these answers."""
    settings = {**stage.script(*answers), **more.pop("settings", {})}
    editor = await stage.start(VSCODE, settings=settings, options=VIEW, **more)
    return View(editor, await editor.request("chat.read"))


async def test_what_is_told_leads_to_what_is_read(stage: Stage) -> None:
    stage.put("a.txt", "one\n")
    wrong = v4a("*** Update File: a.txt", "@@", "-three", "+THREE")
    todo = [{"text": "Read", "state": "done"}, {"text": "Edit", "state": "active"}]
    view = await shown(
        stage,
        answer("I look.", call("read_file", path="a.txt"), call("todo", items=todo)),
        answer(f"I edit, with {KEY}.", call("patch", mode="v4a", patch=wrong)),
        answer("It did not land."),
        environment={"MY_API_KEY": KEY},
    )
    assert view.items == []
    await view.says(f"Edit a.txt with {KEY}.")
    await view.until("It did not land.")
    items = await view.ends()
    assert [each["kind"] for each in items] == ["prompt", "words", "call", "call", "words", "call", "words"]
    prompt, _, read, todos, words, patch, _ = items
    assert (prompt["state"], prompt["resend"]) == ("finished", True)
    assert (read["title"], read["state"], read["uri"]) == (
        "Read a.txt",
        "done",
        (stage.root / "a.txt").as_uri(),
    )
    assert todos["todos"] == todo
    assert (patch["state"], patch["code"]) == ("failed", "no-match")
    (failure,) = patch["failures"]
    assert "removed by handrail" in words["text"]
    assert KEY not in str(items)
    await view.editor.request("failure.dismiss", failure=failure["id"])
    await view.editor.until(lambda: "failures" not in view.of("call")[-1])


async def test_a_calls_changes_are_shown_until_they_are_kept_or_undone(stage: Stage) -> None:
    stage.put("a.txt", "one\ntwo\nthree\nfour\nfive\n")
    stage.put(".env", "KEY=old\n")
    edit = v4a("*** Update File: a.txt", "@@", "-one", "+ONE", "@@", "-five", "+FIVE")
    secret = v4a("*** Update File: .env", "@@", "-KEY=old", "+KEY=new")
    calls = [call("patch", mode="v4a", patch=each) for each in (edit, secret)]
    view = await shown(stage, answer("I edit.", *calls), answer("Done."))
    view.editor.answers = ["allow"]
    await view.says("Edit.")
    await view.until("Done.")
    await view.editor.until(lambda: all(each.get("hunks") for each in view.of("call")))
    one, two = view.of("call")[0]["hunks"]
    assert (one["path"], one["line"], one["diff"]) == ("a.txt", 0, "-one\n+ONE")
    assert [each["diff"] for each in view.of("call")[1]["hunks"]] == [""], "its file is protected"
    await view.editor.request("review.keep", hunks=[one["id"]])
    await view.editor.until(lambda: len(view.of("call")[0]["hunks"]) == 1)
    await view.editor.request("review.undo", hunks=[two["id"]])
    await view.editor.until(lambda: "hunks" not in view.of("call")[0])
    await view.ends()
    assert (stage.root / "a.txt").read_text() == "ONE\ntwo\nthree\nfour\nfive\n"


async def test_an_answer_grows_by_what_is_new(stage: Stage) -> None:
    pieces = [f"Piece {number}. " for number in range(5)]
    with streaming_model(Answer(pieces=pieces)) as model:
        told = {"model": "openai-chat:m", "baseUrl": model.url}
        view = await shown(stage, settings=told, environment={"OPENAI_API_KEY": KEY})
        await view.says("Speak.")
        for piece in pieces[:-1]:
            await view.until(piece)
            model.go_on()
        await view.until(pieces[-1])
        items = await view.ends()
    assert items[-1]["text"] == "".join(pieces)
    grown = [each["text"] for change in view.editor.chat_changes for each in change.get("grown", ())]
    assert grown == pieces[1:]
    assert view.status["contextPercent"] > 0


async def test_a_question_is_there_until_it_is_answered_anywhere(stage: Stage) -> None:
    made = call("terminal", command="touch made.txt")
    view = await shown(stage, answer("I'll make it.", made), answer("Made."))
    view.editor.answers = [None]
    said = await view.says("Make a file.")
    await view.editor.until(lambda: view.of("question"))
    again = View(view.editor, await view.editor.request("chat.read", session=view.session))
    assert again.items == view.items, "read in the middle of a turn, it is complete"
    (asked,) = again.of("question")
    assert asked["approval"]["subject"] == "touch made.txt"
    waits = datetime.fromisoformat(asked["until"]) - datetime.fromisoformat(asked["approval"]["askedAt"])
    assert abs(waits.total_seconds() - HOUR_S) < 2
    assert asked["approval"]["choices"] == ["deny", "allow", "session", "always"]
    uri = await opened(view.editor, session=view.session)
    await shows(view.editor, uri, "> **May this command run?**")
    await view.editor.request("approval.answer", approval=asked["approval"]["id"], choice="allow")
    await view.until("Made.")
    await view.ends()
    (asked,) = view.of("question")
    assert "approval" not in asked
    assert asked["end"] == "was answered: Allow once"
    assert (stage.root / "made.txt").exists()
    report = await view.editor.request("turn.wait", turn=said["turn"])
    assert report["state"] == "finished"


async def test_what_is_said_during_a_turn_is_read_by_it_or_begins_the_next_one(stage: Stage) -> None:
    made = call("terminal", command="touch made.txt")
    view = await shown(stage, answer("I'll make it.", made), answer("Made."), answer("Later."))
    view.editor.answers = [None]
    first = await view.says("Make a file.")
    await view.editor.until(lambda: view.of("question"))
    steered = await view.says("In French.")
    queued = await view.says("And then?", queue=True)
    assert (steered["turn"] == first["turn"], queued["turn"] == first["turn"]) == (True, False)
    await view.editor.until(lambda: len(view.of("told")) == 2)
    assert [(each["text"], each["state"]) for each in view.of("told")] == [
        ("In French.", "waiting"),
        ("And then?", "queued"),
    ]
    (asked,) = await view.editor.request("approval.list")
    await view.editor.request("approval.answer", approval=asked["id"], choice="deny")
    await view.editor.request("turn.wait", turn=queued["turn"])
    await view.until("Later.")
    items = await view.ends()
    assert [each["text"] for each in items if each["kind"] == "prompt"] == ["Make a file.", "And then?"]
    assert [(each["text"], each["state"], each["sender"]) for each in view.of("told")] == [
        ("In French.", "read", "user")
    ]


async def test_what_handrail_told_the_model_is_not_shown_as_the_users(stage: Stage) -> None:
    """A copy of the conversation does not show it as a message of the user's either."""
    view = await shown(stage, answer(""), answer("Here I am."))
    said = await view.says("Hello?")
    await view.until("Here I am.")
    await view.ends()
    fork = await view.editor.request("chat.fork", session=view.session, turn=said["turn"])
    copy = View(view.editor, await view.editor.request("chat.read", session=fork["session"]))
    for each in (view, copy):
        assert [item["text"] for item in each.of("prompt")] == ["Hello?"]
        (told,) = each.of("told")
        assert (told["state"], told["sender"]) == ("read", "handrail")


async def test_a_turn_that_runs_is_shown_no_pictures(stage: Stage) -> None:
    made = call("terminal", command="touch made.txt")
    view = await shown(stage, answer("I'll make it.", made), answer("Made."))
    view.editor.answers = [None]
    await view.says("Make a file.")
    await view.editor.until(lambda: view.of("question"))
    with expect_error(REQUEST_FAILED, "Queue the message"):
        await view.says("Like this.", images=[{"data": "aGVsbG8="}])
    assert view.of("told") == []


async def test_an_earlier_message_is_sent_again_with_other_words(stage: Stage) -> None:
    view = await shown(stage, answer("One."), answer("Two."))
    for prompt, said in (("First.", "One."), ("Second.", "Two.")):
        await view.says(prompt)
        await view.until(said)
        await view.ends()
    turn = view.of("prompt")[1]["turn"]
    again = await view.editor.request("chat.resend", session=view.session, turn=turn, text="Another.")
    other = View(view.editor, await view.editor.request("chat.read", session=again["session"]))
    await other.until("Two.")  # the script's second answer
    await other.ends()
    assert [each["text"] for each in other.of("prompt")] == ["First.", "Another."]
    assert [each["text"] for each in view.of("prompt")] == ["First.", "Second."]


async def test_mode_model_and_commands(stage: Stage) -> None:
    view = await shown(stage, answer("1. Shout."), answer("Done."))
    await view.editor.request("chat.choose", session=view.session, mode="plan")
    await view.says("Plan it.")
    await view.until("Shout.")
    await view.ends()
    assert (view.status["mode"], view.status["plan"]) == ("plan", "Carry out this plan.")
    await view.says(view.status["plan"], mode="edit")
    await view.until("Done.")
    await view.ends()
    await view.says("/mode")
    await view.editor.until(lambda: view.of("remark"))
    assert view.of("remark")[0]["text"] == "The mode is plan."
    other = await view.says("/new")
    assert (other["turn"], other["session"] == view.session) == (None, False)
    with expect_error(REQUEST_FAILED, "is not a mode"):
        await view.says("/mode loud")


async def test_a_list_says_what_can_be_done_at_its_lines_where_it_is_shown(stage: Stage) -> None:
    """In a view there are buttons; a document of the same conversation has code actions."""
    stage.put("a.txt", "one\n")
    async with model_server() as server:
        page = {"data": [{"id": "m"}, {"id": "other"}]}
        server.pages = {"/v1/models": Raw(200, json.dumps(page).encode())}
        view = await shown(stage, settings={"model": "openai:m", "baseUrl": server.url("openai-chat")})
        await view.editor.request("turn.apply", edits=block("a.txt", "one", "ONE"))
        uri = await opened(view.editor, session=view.session)
        for command, in_view, in_document in (
            (
                "/restore",
                "The button at a line undoes what was changed then;",
                "The code actions at a line show",
            ),
            ("/sessions", "The button at a line opens that", "The code action at a line opens that"),
            (
                "/model",
                "To use one of these models",
                "the code action at a line selects the model of that line",
            ),
        ):
            await view.says(command)
            await view.editor.until(
                lambda text=in_view: any(text in each["text"] for each in view.of("remark"))
            )
            assert not any("code action" in each["text"] for each in view.of("remark"))
            await shows(view.editor, uri, in_document)
            assert in_view not in view.editor.desk[uri]


async def test_names_and_commands_are_completed(stage: Stage) -> None:
    stage.put("src/a b.py", "")
    stage.put(".agents/commands/modest.md", "Be modest.")
    view = await shown(stage)

    async def offers(before: str) -> tuple[str, list[str]]:
        found = await view.editor.request("chat.complete", before=before)
        return found["typed"], [each["name"] for each in found["offers"]]

    assert await offers("/mod") == ("/mod", ["/mode", "/model", "/modest"])
    assert await offers("look at\n/mod") == ("", [])
    assert await offers("look at @di") == ("@di", ["@diff"])
    assert await offers("\U0001f600 look at @sr") == ("@sr", ['@"src/a b.py"'])
    assert await offers("nothing") == ("", [])


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("a", "a", None),
        ("a", "ab", ("b", [], None)),
        ("ab", "b", ("", ["a"], None)),
        ("ab", "ba", ("", [], ["b", "a"])),
        ("b", "ab", ("a", [], ["a", "b"])),
    ],
)
def test_what_leads_from_one_state_to_another(before: str, after: str, told: object) -> None:
    known = {name: ChatRemark(kind="remark", id=name, text=name) for name in before}
    found = difference(known, [ChatRemark(kind="remark", id=name, text=name) for name in after])
    named = found and ("".join(each.id for each in found.items), found.removed, found.order)
    assert named == told


def test_words_that_began_otherwise_are_told_whole() -> None:
    before = {"a": ChatWords(kind="words", id="a", turn="t", text="one")}
    for text, items in (("one two", 0), ("two", 1)):
        found = difference(before, [ChatWords(kind="words", id="a", turn="t", text=text)])
        assert found is not None
        assert len(found.items) == items
