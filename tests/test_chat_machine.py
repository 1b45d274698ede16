"""
Typing in conversations while answers stream into them: no word that was typed is lost, doubled, or taken for
ours, in any editor.

`python tests/test_chat_machine.py 5000 --seed 7` tries as many steps; among the tests there are few.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from e2e.client import Editor
from e2e.habits import EVERY_EDITOR, Habits, opt_in
from e2e.servers import shared_servers
from handrail.testing import answer, script
from handrail.testing.texts import Json

STEPS = int(os.environ.get("HANDRAIL_CHAT_STEPS", "40"))
TURNS = 400  # of one session, at most
KINDS = (
    "type",
    "type",
    "type inside",
    "send",
    "send",
    "send and go on",
    "send and reopen",
    "send and kill",
    "undo",
    "reopen",
    "restart",
    "kill",
    "remove",
)


async def ignore(editor: Editor, given: Json) -> Json | None:
    """It never answers."""
    await asyncio.Event().wait()
    return None


class Player:
    """A user who types, sends and goes on typing, in one editor."""

    def __init__(self, habits: Habits, base: Path, chance: random.Random) -> None:
        self.habits, self.base, self.chance = habits, base, chance
        self.root = base / "work"
        self.root.mkdir()
        self.words = (f"w{number:05}w" for number in count())
        self.typed = list[str]()
        self.turns = 0
        self.cut = 0  # turns whose server was killed: they may have no answer
        self.held: str | None = None
        self.past: list[str] = []
        self.uri = ""

    async def start(self) -> None:
        """A server, and an editor that holds the conversation as it held it before."""
        answers = [answer(f"Answer {number}.\n\n- of\n- some lines\n") for number in range(TURNS)]
        model = script(self.base / "script.json", *answers)
        environment = {**os.environ, "XDG_STATE_HOME": str(self.base / "state"), "HANDRAIL_SANDBOX": "off"}
        self.server = shared_servers().start(["serve"], environment, self.base / "log")
        self.editor = Editor(self.habits, self.root)
        await self.editor.connect(self.server)
        await self.editor.greet(options=opt_in(approvals=True, settings={"model": model}))
        if self.held is not None:
            self.editor.desk.open(self.uri, self.held)
            self.editor.desk.documents[self.uri].past[:] = self.past
        found = await self.editor.call("handrail/chat/open", self.session())
        self.uri = found["uri"]
        if self.held is None:
            self.editor.desk.open(self.uri)

    def session(self) -> dict[str, str]:
        journals = list((self.base / "state").rglob("*.jsonl"))
        return {"session": journals[0].stem} if journals else {}

    async def stop(self) -> None:
        await self.editor.leave()
        self.editor.hang_up()
        assert self.editor.errors == []

    async def kill(self) -> None:
        """The server is killed; the editor would start another one, and keeps what it holds."""
        self.server.kill()
        self.editor.has_left = True
        with suppress(ConnectionError):
            await self.editor.wait_closed()
        self.editor.hang_up()

    @property
    def text(self) -> str:
        return self.editor.desk[self.uri]

    @property
    def draft(self) -> str:
        return self.text.rpartition("## You\n\n")[2]

    def type(self, *, inside: bool) -> None:
        """A word more: at the end of the draft, or below or behind one of its words."""
        word = next(self.words)
        self.typed.append(word)
        draft = self.draft
        head = self.text[: len(self.text) - len(draft)]
        ends = [at for at, sign in enumerate(draft) if sign in " \n"] if inside else []
        at = self.chance.choice(ends) if ends else len(draft)
        new = draft[:at] + self.chance.choice([" ", "\n"]) + word + draft[at:]
        self.editor.desk.rewrite(self.uri, head + new)
        self.editor.desk.tell()

    def remove_heading(self) -> None:
        """The last heading goes, with the blank line below it; what is typed next stands in its place."""
        head, _, draft = self.text.rpartition("## You\n\n")
        self.editor.desk.rewrite(self.uri, head + draft)
        self.editor.desk.tell()
        word = next(self.words)
        self.typed.append(word)
        self.editor.desk.rewrite(self.uri, self.text + word)
        self.editor.desk.tell()

    async def step(self, kind: str) -> None:
        if kind.startswith("send"):
            if not self.draft.strip() or self.turns >= TURNS - 1:
                return self.type(inside=False)
            await self.send(kind)
        elif kind == "undo" and self.editor.desk.documents[self.uri].past:
            before = self.text
            self.editor.desk.undo(self.uri)
            self.editor.desk.tell()
            if any(word not in self.text for word in self.typed):  # the user wants it back
                self.editor.desk.rewrite(self.uri, before)
                self.editor.desk.tell()
        elif kind == "reopen":
            self.editor.desk.save(self.uri)
            self.editor.desk.close(self.uri)
            self.editor.desk.open(self.uri)
        elif kind == "remove":
            self.remove_heading()
        elif kind in ("restart", "kill"):
            self.held, self.past = self.text, [*self.editor.desk.documents[self.uri].past]
            await (self.stop() if kind == "restart" else self.kill())
            await self.start()
        else:
            self.type(inside=kind == "type inside")
        return None

    async def send(self, kind: str) -> None:
        if kind == "send and kill":
            return await self.send_and_kill()
        if kind == "send and reopen":
            return await self.send_and_reopen()
        begun = await self.editor.call("handrail/chat/send", {"uri": self.uri})
        self.turns += 1
        if kind == "send and go on":
            for _ in range(3):
                self.type(inside=False)
                await asyncio.sleep(0)
        await self.editor.call("handrail/turn/wait", {"turn": begun["turn"]})
        return None

    async def send_and_wait(self) -> None:
        begun = await self.editor.call("handrail/chat/send", {"uri": self.uri})
        await self.editor.call("handrail/turn/wait", {"turn": begun["turn"]})

    async def send_and_reopen(self) -> None:
        """The document is closed when an update comes, and opened with the text from before it."""

        async def opens_again(editor: Editor, given: Json) -> Json | None:
            before = self.text
            editor.desk.close(self.uri)
            editor.desk.open(self.uri, before)
            return await editor.obey(given) if self.chance.random() < 0.5 else {"applied": True}

        self.editor.behaviours = [*[Editor.obey] * self.chance.randrange(2), opens_again]
        begun = await self.editor.call("handrail/chat/send", {"uri": self.uri})
        self.turns += 1
        await self.editor.call("handrail/turn/wait", {"turn": begun["turn"]})
        self.editor.behaviours = []

    async def send_and_kill(self) -> None:
        """The server is killed while the editor leaves an update unanswered, or once the turn is over."""
        seen, answered = len(self.editor.edits), self.chance.randrange(2)
        self.editor.behaviours = [*[Editor.obey] * answered, *[ignore] * 100]
        sending = asyncio.ensure_future(self.send_and_wait())
        told = asyncio.ensure_future(self.editor.until(lambda: len(self.editor.edits) > seen + answered))
        await asyncio.wait((sending, told), return_when=asyncio.FIRST_COMPLETED)  # one update may tell all
        if not told.cancel():
            told.result()
        if self.chance.random() < 0.5:
            self.type(inside=False)
        self.held, self.past = self.text, [*self.editor.desk.documents[self.uri].past]
        await self.kill()
        await asyncio.gather(sending, told, return_exceptions=True)
        journals = (path.read_text("utf-8") for path in (self.base / "state").rglob("*.jsonl"))
        begun = "".join(journals).count('"kind":"begun"')  # it may have been too early for this one
        self.cut, self.turns = self.cut + begun - self.turns, begun
        await self.start()

    async def check(self) -> None:
        """All is there once, and in its place."""
        await self.editor.call("handrail/chat/open", self.session())
        head, text = self.text.split("## You\n", 1)  # the title is what was typed first
        text = f"## You\n{text}"
        assert len([row for row in head.splitlines() if row.strip()]) == 2, "a title and one line of facts"
        assert [word for word in self.typed if text.count(word) != 1] == []
        counts = [text.count(f"Answer {number}.") for number in range(self.turns)]
        assert counts == sorted(counts, reverse=True), "the model gives one after the other"
        assert self.turns - self.cut <= sum(counts) <= len(counts)
        assert text.count("## handrail\n") == self.turns
        assert text.count("## You\n") == self.turns + 1
        sections = text.split("## ")
        assert not [each for each in sections if each.startswith("handrail\n") and "w0" in each]


async def play(habits: Habits, steps: int, seed: int) -> None:
    """So many steps in one editor."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="handrail-chat-", ignore_cleanup_errors=True) as name:
        player = Player(habits, Path(name), chance)
        await player.start()
        done: Sequence[str] = ()
        try:
            for _ in range(steps):
                kind = chance.choice(KINDS)
                done = (*done, kind)
                await player.step(kind)
                await player.check()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, {habits.name}: {done}\n{player.text}") from error
        await player.stop()


@pytest.mark.parametrize("habits", EVERY_EDITOR, ids=lambda habits: habits.name)
async def test_no_typed_word_is_lost(habits: Habits) -> None:
    await play(habits, STEPS, seed=1)


def main() -> int:
    """Try as many steps as asked for, in all editors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", type=int, nargs="?", default=400)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    wanted = parser.parse_args()
    done = 0
    for seed in count(wanted.seed):
        for habits in EVERY_EDITOR:
            if done >= wanted.steps:
                print(f"{done} steps, nothing is lost")
                return 0
            asyncio.run(play(habits, 50, seed))
            done += 50
        print("seed", seed, flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
