"""What the model is sent of a message in `handrail chat`, byte for byte."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from adapters.model_server import Call, ModelServer, Say, model_server
from e2e.servers import run_handrail
from e2e.test_models import PNG
from handrail.cli.folder import readable_files
from handrail.testing import lay_out
from headless.chat.talk import CTRL_C, Place

OWN = b"Mend $1 as @a.txt:2 does.\n"
SHOWN = {
    "@a.txt now": "a.txt, from line 1:\n```\none\ntwo\n```",
    "@a.txt:1-2 now": "a.txt, from line 1:\n```\none\ntwo\n```",
    "@a.txt:2 now": "a.txt, from line 2:\n```\ntwo\n```",
    r'@"say \"hi\" now.txt" now': 'say "hi" now.txt, from line 1:\n```\nhi\n```',
    "/fix 12": "a.txt, from line 2:\n```\ntwo\n```\n\n"
    "Contents of /fix (.agents/commands/fix.md):\n```\nMend 12 as @a.txt:2 does.\n```",
}
SAID = {
    "@.env now": "@.env is not shown to the model: it is protected",
    "@no/such.py now": "@no/such.py was not sent: the file does not exist.",
    "@raw.bin now": "@raw.bin is not shown to the model: The file is not valid utf-8",
    "@dot.png now": "@dot.png is not shown to the model: it is an image (PNG), and handrail",
    "@../a.txt now": "@../a.txt is not shown to the model: it is outside the workspace",
    "@diff now": "@diff matches nothing: no text file that the model may see has pending changes, or is "
    "tracked by git and has uncommitted ones. To send a new file, name it with @path.",
    "@problems now": (
        "@problems was not sent: no edit of handrail's is reported as a problem. Problems that other "
        "programs report are not included."
    ),
    "@selection now": "@selection was not sent: there is no editor. Name the lines of a file: @path:10-20.",
    "@session:none now": "@session:none was not sent: no other conversation has this ID or title. To list "
    "them: `handrail session list`, or `/sessions` in `handrail chat`.",
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = Place(tmp_path)
    lay_out(
        found.root,
        {
            'say "hi" now.txt': b"hi\n",
            ".agents/commands/fix.md": OWN,
            "raw.bin": b"\x00\xff\x00",
            "dot.png": PNG,
        },
    )
    return found


def sent(server: ModelServer) -> str:
    """What the model was sent last, as the user's."""
    users = [each for each in server.asked[-1]["messages"] if each["role"] == "user"]
    (part,) = users[-1]["content"]
    text: str = part["text"]
    return text


def chatting(place: Place, server: ModelServer) -> Any:
    settings = {"model": "openai:m", "baseUrl": server.url("openai-chat")}
    return place.chat(settings=settings, columns=200, files=readable_files(place.root))


async def test_what_is_named_is_sent_to_the_model(place: Place) -> None:
    answers = [Say(text=f"Seen {number}.") for number in range(len(SHOWN))]
    async with model_server(*answers) as server, chatting(place, server) as talk:
        for number, (prompt, shown) in enumerate(SHOWN.items()):
            await talk.say(prompt, f"Seen {number}.")
            await talk.until("/help")  # the turn has ended
            assert sent(server) == f"{prompt}\n\n{shown}"
        await talk.say("/xyzzy", "The command /xyzzy does not exist")
        assert len(server.asked) == len(SHOWN)


async def test_what_cannot_be_shown_is_said(place: Place) -> None:
    answers = [Say(text=f"Seen {number}.") for number in range(len(SAID))]
    async with model_server(*answers) as server, chatting(place, server) as talk:
        for number, (prompt, why) in enumerate(SAID.items()):
            await talk.say(prompt, f"Seen {number}.")
            await talk.until("/help")
            assert sent(server) == prompt
            assert f"handrail: warning: {why}" in talk.shown


async def test_a_picture_is_sent_to_a_model_that_sees(place: Place) -> None:
    async with model_server(Say(text="A dot.")) as server:
        settings = {"model": "openai:gpt-4o", "baseUrl": server.url("openai-chat")}
        files = readable_files(place.root)
        async with place.chat(settings=settings, columns=200, files=files) as talk:
            await talk.say("What is in @dot.png now?", "A dot.")
            await talk.until("/help")
    (message,) = [each for each in server.asked[-1]["messages"] if each["role"] == "user"]
    assert json.dumps(message).count(f"data:image/png;base64,{b64encode(PNG).decode()}") == 1


def users(server: ModelServer) -> list[str]:
    """What the model was sent last, as the user's, message by message."""
    asked = (each for each in server.asked[-1]["messages"] if each["role"] == "user")
    return [part["text"] for each in asked for part in each["content"]]


def tools(server: ModelServer) -> set[str]:
    return {each["function"]["name"] for each in server.asked[-1]["tools"]}


COMMANDS = {  # in this order; none of them reaches the model
    "/compact": "The conversation is still too short to summarise.",
    "/help": "  /fix",
    "/mode": "mode edit",
    "/mode ask": "mode ask",
    "/model": "model openai:m",
    "/model openai:other": "model openai:other",
    "/review": "No changes are pending.",
    "/review keep": "/review alone lists the changes",
    "/checkpoints": "This session has no checkpoints yet",
    "/sessions": "There is no other session",
    "/stop": "No commands are running in the background.",
    "/cost": "tokens read",
    "/undo": "Undone: Second.",
    "/fi": "The command /fi does not exist. Did you mean /fix?",
    "/fix_2 it": "The command /fix_2 does not exist.",
}


async def test_commands_do_not_reach_the_model_but_what_they_choose_does(place: Place) -> None:
    answers = [Say(text=f"Answer {number}.") for number in range(4)]
    async with model_server(*answers) as server, chatting(place, server) as talk:
        await talk.say("First.", "Answer 0.")
        await talk.until("/help")
        await talk.say("Second.", "Answer 1.")
        await talk.until("/help")
        for typed, shown in COMMANDS.items():
            await talk.say(typed, shown)
        assert len(server.asked) == 2
        await talk.say("Third.", "Answer 2.")
        await talk.until("/help")
        assert (server.asked[-1]["model"], tools(server) & {"patch", "write_file"}) == ("other", set())
        assert users(server)[-2:] == ["First.", "Third."]
        await talk.say("/new", "Your next message begins another session.")
        await talk.say("/undo", "You have not sent a message in this session yet.")
        await talk.say("Fourth.", "Answer 3.")
        await talk.until("/help")
        assert users(server)[-1] == "Fourth."
        assert "Third." not in json.dumps(server.asked[-1])
        await talk.say("/sessions", "First.")
        session = re.findall(r"s-[\w-]+", talk.shown.rpartition("/sessions")[0])[-1]
        await talk.say("/cost", "1 step, ")
        await talk.say(f"/sessions {session}", "turns: 2")
        await talk.say("/cost", "3 steps, ")  # also that of the turn that was undone
        await talk.say(
            "/sessions s-none",
            "This workspace has no conversation with the session ID 's-none'. /sessions lists the sessions.",
        )


LIKE_COMMANDS = {
    "/undo": "`/undo` was sent to the model as text. `handrail chat` runs its commands only if they are",
    "/cost": "`/cost` was sent to the model as text. `handrail chat` runs its commands only if they are",
    "/restore": "`/restore` was sent to the model as text. It is a command only in an editor's conversation.",
    "/cos": "`/cos` is not a command, so the message was sent to the model unchanged. Did you mean `/cost`?",
}


async def test_a_line_that_only_looks_like_a_command_is_sent_and_that_is_said(place: Place) -> None:
    answers = [Say(text=f"Answer to {name}.") for name in LIKE_COMMANDS]
    async with model_server(*answers) as server, chatting(place, server) as talk:
        for name, said in LIKE_COMMANDS.items():
            talk.type(f"{name}\x1b\rand more")
            await talk.say("", said)
            await talk.until(f"Answer to {name}.")
            await talk.until("/help")
            assert users(server)[-1] == f"{name}\nand more"


async def test_what_only_looks_like_a_file_of_a_command_is_said_by_the_server(place: Place) -> None:
    os.mkfifo(place.root / ".agents" / "commands" / "mend.md")
    async with model_server() as server, chatting(place, server) as talk:
        await talk.say("/mend", "/mend cannot be used: .agents/commands/mend.md is a pipe")
        await talk.say(f"/{'x' * 300}", "does not exist. Commands are")


async def test_a_conversation_is_summarised_for_the_model(place: Place) -> None:
    long = "A long answer. " * 200
    answers = [Say(text=f"{long}{number}.") for number in range(4)]
    answers += [Say(text="All was long."), Say(text="Now.")]
    async with model_server(*answers) as server, chatting(place, server) as talk:
        for number in range(4):
            await talk.say(f"Question {number}?", f"{number}.")
            await talk.until("/help")
        await talk.say("/compact", "Summarised for the model: from about")
        await talk.say("And now?", "Now.")
        await talk.until("/help")
        summary = "The earlier conversation was summarised to make room. The summary:\n\nAll was long."
        assert users(server) == [f"Question 0?\n\n{summary}", "Question 3?", "And now?"]


async def test_a_summary_that_takes_long_is_stopped_and_the_conversation_stays(place: Place) -> None:
    long = "A long answer. " * 200
    answers = [Say(text=f"{long}{number}.") for number in range(4)]
    answers += [Say(text="Some", hangs_after=1), Say(text="Now.")]
    async with model_server(*answers) as server, chatting(place, server) as talk:
        for number in range(4):
            await talk.say(f"Question {number}?", f"{number}.")
            await talk.until("/help")
        await talk.say("/compact", "Ctrl-C stops that.")
        await asyncio.wait_for(server.hung.wait(), 60)
        await talk.say("/cost", "tokens")
        await talk.say("/checkpoints", "This runs after what is running now.")
        talk.type(CTRL_C)
        await talk.until("Stopped: the conversation was not summarised.")
        await talk.until("This session has no checkpoints yet")
        await talk.say("And now?", "Now.")
        assert "Question 0?" in "\n".join(users(server))


def edit(old: str, new: str) -> Call:
    arguments = {"path": "a.txt", "old_string": old, "new_string": new}
    return Call(name="patch", arguments=json.dumps(arguments), id=f"call_{old}")


async def test_pending_changes_are_shown_kept_and_undone(place: Place) -> None:
    said = Say(text="Done."), Say(text="Seen.")
    edits = Say(calls=(edit("one", "ONE"), edit("two", "TWO")), finish="tools")
    async with model_server(edits, *said) as server, chatting(place, server) as talk:
        await talk.say("Shout.", "Done.")
        await talk.until("/help")
        await talk.say("See @diff.", "Seen.")
        assert users(server)[-1] == (
            "See @diff.\n\nChanges that are pending:\n```\na.txt:1\n-one\n+ONE\n\na.txt:2\n-two\n+TWO\n```"
        )
        await talk.until("/help")
        await talk.say("/review", "Keep or undo them with: /review keep all, /review undo all")
        rows = re.sub(r"\x1b\[[0-9;]*m", "", talk.shown)
        first, second = re.findall(r"(h-\w+)  a\.txt:\d  \+1 -1  t-\w+\n-(?:one|two)\n\+(?:ONE|TWO)\n", rows)
        await talk.say(f"/review undo {first}", f"undone     {first}")
        (place.root / "a.txt").write_text("one\nTWO, typed\n")
        typed = f"To undo the text that you typed too: /review undo {second} --typed"
        await talk.say(f"/review undo {second}", typed)
        await talk.say(f"/review keep {second}", f"kept       {second}")
        await talk.say("/review", "No changes are pending.")
        assert place.file("a.txt") == "one\nTWO, typed\n"
        await talk.say("/review keep h-none", "handrail: error: Change 'h-none' is not pending")


async def test_what_was_typed_too_is_undone_by_the_command_that_a_chat_names(place: Place) -> None:
    edits = Say(calls=(edit("two", "TWO"),), finish="tools")
    async with model_server(edits, Say(text="Done.")) as server, chatting(place, server) as talk:
        await talk.say("Shout.", "Done.")
        await talk.until("/help")
        (place.root / "a.txt").write_text("one\nTWO, typed\n")
        await talk.say("/review undo all", "To undo the text that you typed too: ")
        (named,) = re.findall(r"/review undo h-\w+ --typed", talk.shown)
        await talk.say("/review keep --typed", "'--typed' is not pending")
        await talk.say("/review undo --typed", "/review alone lists the changes")
        assert place.file("a.txt") == "one\nTWO, typed\n"
        await talk.say(named, "undone     h-")
        await talk.until("\n")
        await talk.say("/review", "No changes are pending.")
        assert place.file("a.txt") == "one\ntwo\n"


async def test_what_a_chat_does_not_show_is_shown_by_commands_for_another_terminal(
    place: Place, tmp_path: Path
) -> None:
    """They are run while the chat runs, in another folder; the chat notices what they change."""
    (place.root / "many.txt").write_text("one\ntwo\n" * 51)
    contents = {"all.txt": "new\n" * 60, "many.txt": "ONE\ntwo\n" * 51}
    calls = [
        Call(name="write_file", arguments=json.dumps({"path": path, "content": text}), id=f"call_{path}")
        for path, text in contents.items()
    ]
    read = Call(name="read_file", arguments='{"path": "many.txt"}', id="call_read")
    answers = Say(calls=(read,), finish="tools"), Say(calls=tuple(calls), finish="tools"), Say(text="Done.")
    async with model_server(*answers) as server, chatting(place, server) as talk:

        async def run(named: str) -> str:
            words = shlex.split(named)[1:]
            ended = await asyncio.to_thread(run_handrail, words, folder=tmp_path, environment=os.environ)
            assert ended.returncode == 0, ended
            return ended.stdout.decode()

        await talk.say("Write.", "Done.")
        await talk.until("/help")
        await talk.say("/review", "Keep or undo them with")
        shown = re.sub(r"\x1b\[[0-9;]*m", "", talk.shown)
        (show,) = re.findall(r"… 20 more lines; in another terminal: (handrail review show .*)", shown)
        (list_,) = re.findall(r"… 2 more changes; in another terminal: (handrail review list .*)", shown)
        assert (await run(show)).count("+new") == 60
        assert (await run(list_)).count("h-") == 52
        await run(show.replace("review show", "review undo"))
        assert not (place.root / "all.txt").exists()
        await talk.say("/review", "… 1 more change; in another terminal: ")
        await talk.say("/undo", "undo this in another terminal with: ")
        shown = re.sub(r"\x1b\[[0-9;]*m", "", talk.shown)
        (undo,) = re.findall(r"in another terminal with: (handrail checkpoint restore .*)", shown)
        await run(undo)
        assert place.file("many.txt") == contents["many.txt"]


async def test_an_earlier_conversation_is_sent(place: Place) -> None:
    async with model_server(Say(text="It is two."), Say(text="Seen.")) as server:
        async with chatting(place, server) as talk:
            await talk.say("What is it?", "It is two.")
        async with chatting(place, server) as talk:
            await talk.say("See @session now.", "Seen.")
        (session,) = [
            each.stem
            for each in place.state.rglob("s-*.jsonl")
            if "What is it?" in each.read_text().split("\n")[0]
        ]
        assert sent(server) == (
            f"See @session now.\n\nEarlier conversation {session} (What is it?):\n```\n"
            "User:\nWhat is it?\n\nAnswer:\nIt is two.\n```"
        )
