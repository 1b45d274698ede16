"""Contained commands in the background: what they make and must not be there is found while they run."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.tools.test_background import begin, ended, turn, until
from agent.turn.test_taken_back import Contained, landlocked, namespaces
from bench import Never, Yes
from handrail.adapters.commands import process
from handrail.adapters.commands.process import Processes
from handrail.adapters.containment import containment
from handrail.adapters.containment.holding import Holding
from handrail.adapters.files.disk import Disk
from handrail.agent.turn.command import background
from handrail.agent.turn.command.running import BackgroundCommand
from handrail.core.documents.text import Text
from handrail.core.policy.containment import Sandbox
from handrail.core.policy.shell import SetAside
from handrail.ports import ALLOW, DENY, Document, Kind, Question, Terms
from handrail.testing import call, lay_out, snapshot

WAITS = "until [ -e go ]; do sleep 0.01; done"
OBEY = "n=AGENTS; echo obey > $n.md; touch made"  # a name that the line does not show


class Some(Yes):
    """Lets commands run, and files stay as it is told."""

    stays = DENY

    async def ask(self, question: Question) -> str | None:
        await super().ask(question)
        return self.stays if question.kind is Kind.APPEARED else ALLOW


@pytest.fixture(
    params=[pytest.param("bubblewrap", marks=namespaces), pytest.param("Landlock", marks=landlocked)]
)
async def bench(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Contained]:
    monkeypatch.setattr(background, "FIRST_S", 0.01)
    root = tmp_path / "work"
    lay_out(root, {"a.txt": b"one\n", ".env": b"KEY=1\n"})
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", root], check=True)
    if request.param == "Landlock":
        monkeypatch.setattr(containment, "find", lambda *_: (None, "not here"))
    terms = Terms(sandbox=Sandbox.AUTO, timeout_s=60)
    found = Contained(root, tmp_path / "state", approver=Some(), terms=terms)
    yield found
    await found.host.close()
    found.containment.close()


def files(bench: Contained) -> set[str]:
    return {name for name in snapshot(bench.root) if not name.startswith(".git/")}


async def test_it_is_asked_about_and_contained_and_taken_back(bench: Contained) -> None:
    reaches = "e=.en; cat ${e}v > seen; g=.gi; echo x > ${g}t/config"
    await turn(bench, begin(f"{reaches}; echo two > a.txt; {WAITS}; rm go; touch made"))
    (asked,) = bench.approver.asked
    assert "runs in the background" in asked.detail
    assert "without a sandbox" not in asked.detail
    assert asked.choices == (DENY, ALLOW)
    (bench.root / "go").touch()
    await ended(bench)
    assert (bench.root / "made").exists()
    assert not (bench.root / "seen").exists() or not (bench.root / "seen").read_text()
    assert "[core]" in (bench.root / ".git/config").read_text()
    (kept,) = await bench.repo.list()
    await bench.restore(kept.id)
    assert files(bench) == {"a.txt", ".env"}
    assert (bench.root / "a.txt").read_bytes() == b"one\n"


async def test_it_is_told_whether_a_server_can_be_reached(
    bench: Contained, request: pytest.FixtureRequest
) -> None:
    by = request.node.callspec.params["bench"]
    (told,) = await turn(bench, begin("exec sleep 60"))
    notes = {
        "bubblewrap": "This command has a network of its own. Other commands can reach a server that it "
        "starts only if it and they run with `needs: network`.",
        "Landlock": "This command has no network, so it cannot start a server. A server needs "
        "`needs: network`.",
    }
    assert [name for name, note in notes.items() if note in told] == [by]
    line = "import socket; socket.socket(); print('made a socket')"
    (tried,) = await turn(bench, call("terminal", command=f'python3 -c "{line}"'), session="s-1")
    assert ("made a socket" in tried) is (by == "bubblewrap")


@pytest.mark.parametrize("stays", [DENY, ALLOW])
async def test_what_runs_later_and_appears_is_set_aside_before_another_command(
    bench: Contained, stays: str
) -> None:
    assert isinstance(bench.approver, Some)
    bench.approver.stays = stays
    await turn(bench, begin(f"{WAITS}; {OBEY}; exec sleep 60"))
    (bench.root / "go").touch()
    await until((bench.root / "made").exists)
    (text,) = await turn(bench, call("terminal", command="ls"), session="s-1")
    assert ("AGENTS.md" in text) is (stays == ALLOW)
    appeared = [each for each in bench.approver.asked if each.kind is Kind.APPEARED]
    assert [each.subject for each in appeared] == ["AGENTS.md"]
    assert "obey" in appeared[0].diff
    assert (bench.root / "AGENTS.md").exists() is (stays == ALLOW)
    (stopped,) = await turn(bench, call("stop", command="b1"), session="s-1")
    assert ("This file stays moved away: AGENTS.md." in stopped) is (stays == DENY)
    assert len([each for each in bench.approver.asked if each.kind is Kind.APPEARED]) == 1


async def test_of_many_commands_that_look_at_once_one_asks(bench: Contained) -> None:
    await turn(bench, begin(f"{WAITS}; {OBEY}; exec sleep 60"))
    (bench.root / "go").touch()
    await until((bench.root / "made").exists)
    texts = await turn(bench, [call("terminal", command="ls") for _ in range(6)], session="s-1")
    assert not any("AGENTS.md" in text for text in texts)
    assert [each.kind for each in bench.approver.asked] == [Kind.COMMAND, Kind.APPEARED]
    (stopped,) = await turn(bench, call("stop", command="b1"), session="s-1")
    assert "could not be moved away" not in stopped


class Saves(Disk):
    """An editor in which the user saves a new file while a command runs."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.saved = path, Text("{}\n")

    async def open_documents(self) -> tuple[Document, ...]:
        is_saved = (self.path.parent.parent / "made").exists()
        saved = self.saved if is_saved else None
        return (Document(uri=self.path.as_uri(), text=self.saved, version=1, saved=saved),)


@pytest.mark.parametrize(("written", "asked"), [("{}", {"tasks.json"}), ("x", {""})])
async def test_of_a_new_folder_only_what_the_user_saved_stays_unasked(
    bench: Contained, written: str, asked: set[str]
) -> None:
    assert isinstance(bench.approver, Some)
    folder = bench.root / ".vscode"
    bench.editor = Saves(folder / "settings.json")
    bench.terms = replace(bench.terms, saves="never")
    line = (
        f"d=.vsc; mkdir ${{d}}ode; echo '{written}' > ${{d}}ode/settings.json; echo x > ${{d}}ode/tasks.json"
    )
    await turn(bench, call("terminal", command=f"{line}; touch made"))
    appeared = {each.subject for each in bench.approver.asked if each.kind is Kind.APPEARED}
    assert appeared == {f".vscode/{name}" for name in asked}
    assert (folder / "settings.json").exists() is (written == "{}")
    assert not (folder / "tasks.json").exists()


async def test_it_is_set_aside_at_the_end_of_a_turn(bench: Contained) -> None:
    await turn(bench, begin(f"{WAITS}; {OBEY}; exec sleep 60"))
    (bench.root / "go").touch()
    await until((bench.root / "made").exists)
    await turn(bench, session="s-1")
    assert "AGENTS.md" not in files(bench)
    assert [each.kind for each in bench.approver.asked] == [Kind.COMMAND, Kind.APPEARED]


async def test_it_is_set_aside_when_the_command_ends_and_asked_about_in_the_next_turn(
    bench: Contained,
) -> None:
    await turn(bench, begin(f"{WAITS}; {OBEY}"))
    (bench.root / "go").touch()
    await ended(bench)
    assert "AGENTS.md" not in files(bench)
    assert [each.kind for each in bench.approver.asked] == [Kind.COMMAND]
    await turn(bench, session="s-1")
    assert [each.kind for each in bench.approver.asked] == [Kind.COMMAND, Kind.APPEARED]


async def test_a_turn_that_is_stopped_sets_it_aside_and_asks_nothing(bench: Contained) -> None:
    await turn(bench, begin(f"{WAITS}; {OBEY}; exec sleep 60"))
    (bench.root / "go").touch()
    await until((bench.root / "made").exists)
    bench.provider = never = Never()
    started = bench.host.start("Go on.", "s-1")
    await never.asked.wait()
    await bench.host.cancel(started.id)
    await bench.host.wait(started.id)
    assert "AGENTS.md" not in files(bench)
    assert [each.kind for each in bench.approver.asked] == [Kind.COMMAND]


@pytest.mark.parametrize("bench", [pytest.param("bubblewrap", marks=namespaces)], indirect=True)
async def test_if_a_hidden_file_is_replaced_it_is_ended_and_its_output_withheld(bench: Contained) -> None:
    await turn(bench, begin("touch made; e=.en; while :; do cat ${e}v; sleep 0.01; done"))
    await until((bench.root / "made").exists)  # the file that it must not see is hidden by now
    replace_hidden_file(bench)
    (text,) = await turn(bench, call("read_output", output="b1"), session="s-1")
    assert "secret of the user" not in text
    assert "withheld" in text
    async with asyncio.timeout(60):
        await ended(bench)


@pytest.mark.parametrize("bench", [pytest.param("bubblewrap", marks=namespaces)], indirect=True)
async def test_the_output_of_one_that_is_being_ended_for_it_is_withheld_too(
    bench: Contained, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read when the command has been ended, and its containment is being given back."""
    is_ended, is_asked = threading.Event(), threading.Event()
    release, set_aside = bench.containment.release, Processes.set_aside

    def release_later(holding: Holding) -> None:
        is_ended.set()
        is_asked.wait(60)
        release(holding)

    async def ask(self: Processes, name: str) -> SetAside:
        try:
            return await set_aside(self, name)
        finally:
            is_asked.set()

    await turn(bench, begin("touch made; e=.en; while :; do cat ${e}v; sleep 0.01; done"))
    await until((bench.root / "made").exists)
    monkeypatch.setattr(bench.containment, "release", release_later)
    monkeypatch.setattr(Processes, "set_aside", ask)
    replace_hidden_file(bench)
    await until(is_ended.is_set)
    (text,) = await turn(bench, call("read_output", output="b1"), session="s-1")
    assert "secret of the user" not in text
    assert "Its output is withheld." in text


@pytest.mark.parametrize("bench", [pytest.param("bubblewrap", marks=namespaces)], indirect=True)
async def test_if_it_is_replaced_while_the_command_begins_nothing_is_told_either(
    bench: Contained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "FIRST_S", 60.0)  # it is looked at when `wait` says so
    monkeypatch.setattr(process, "POLL_S", 60.0)
    wait = background.Background._wait

    async def wait_for_secret(
        self: background.Background, command: BackgroundCommand, seconds: float | None
    ) -> None:
        if seconds is None:
            await wait(self, command, None)
        else:
            await until((bench.root / "made").exists)
            replace_hidden_file(bench)
            await until(lambda: len(command.unread))

    monkeypatch.setattr(background.Background, "_wait", wait_for_secret)
    sees = "touch made; e=.en; until grep -q secret ${e}v 2> $e; do sleep 0.01; done; cat ${e}v; sleep 60"
    (text,) = await turn(bench, begin(sees))
    assert "secret of the user" not in text
    assert "withheld" in text


def replace_hidden_file(bench: Contained) -> None:
    beside = bench.root.parent / "new"
    beside.write_text("KEY=secret of the user\n")
    os.replace(beside, bench.root / ".env")
