"""What the model is sent of a message in `handrail chat`, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adapters.model_server import ModelServer, Say, model_server
from handrail.cli.folder import readable_files
from handrail.testing import lay_out
from headless.chat.talk import Place

OWN = b"Mend $1 as @a.txt:2 does.\n"
SHOWN = {
    "@a.txt now": "a.txt, from line 1:\n```\none\ntwo\n```",
    "@a.txt:2 now": "a.txt, from line 2:\n```\ntwo\n```",
    r'@"say \"hi\" now.txt" now': 'say "hi" now.txt, from line 1:\n```\nhi\n```',
    "/fix 12": "a.txt, from line 2:\n```\ntwo\n```\n\n"
    "What /fix stands for (.agents/commands/fix.md), from line 1:\n```\nMend 12 as @a.txt:2 does.\n```",
}
SAID = {
    "@.env now": "@.env is not shown to the model: it is protected",
    "@no/such.py now": "@no/such.py is not shown to the model: there is no such file.",
    "@raw.bin now": "@raw.bin is not shown to the model: The file is not valid utf-8",
    "@../a.txt now": "@../a.txt is not shown to the model: it is outside the workspace",
    "@diff now": "@diff stands for nothing: no change is pending.",
    "@problems now": "@problems stands for nothing: handrail shows no problem.",
    "@selection now": "@selection stands for nothing: the editor has told of no selection.",
    "@session:none now": "@session:none stands for nothing: no other conversation has such an ID or title.",
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = Place(tmp_path)
    lay_out(
        found.root,
        {'say "hi" now.txt': b"hi\n", ".agents/commands/fix.md": OWN, "raw.bin": b"\x00\xff\x00"},
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
        await talk.say("/xyzzy", "no command /xyzzy")
        assert len(server.asked) == len(SHOWN)


async def test_what_cannot_be_shown_is_said(place: Place) -> None:
    answers = [Say(text=f"Seen {number}.") for number in range(len(SAID))]
    async with model_server(*answers) as server, chatting(place, server) as talk:
        for number, (prompt, why) in enumerate(SAID.items()):
            await talk.say(prompt, f"Seen {number}.")
            await talk.until("/help")
            assert sent(server) == prompt
            assert why in talk.shown


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
            f"See @session now.\n\nEarlier conversation {session}, What is it?, from line 1:\n```\n"
            "User:\nWhat is it?\n\nAnswer:\nIt is two.\n```"
        )
