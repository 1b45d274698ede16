"""Commands in the background, with real servers: who sees and ends them, and what is left of them."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from adapters.model_server import Call, Say, model_server
from adapters.namespaces import allowed
from e2e.client import TIMEOUT_S, Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import VSCODE
from e2e.test_terminal import opted, outputs
from handrail.testing import answer, call, snapshot
from handrail.testing.texts import Json

REQUEST_FAILED = -32803
LENGTH = f"60.{os.getpid()}"  # by which its process is found, whatever number it has there
LINE = f"touch up; echo ready; exec sleep {LENGTH}"


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while not holds():  # noqa: ASYNC110  # a process and a file tell nobody
            await asyncio.sleep(0.01)


def runs() -> bool:
    """Whether a process of the command runs."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if LENGTH.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                return True
    return False


async def begun(stage: Stage, sandbox: str = "off") -> tuple[Editor, Json]:
    """An editor, and the report of the turn that has begun the command."""
    start = call("terminal", command=LINE, background=True)
    edit = call("patch", path="a.txt", old_string="one", new_string="TWO")
    settings = stage.script(answer("", start), answer("Done."), answer("", edit), answer("Done."))
    editor = await stage.start(
        VSCODE,
        settings=settings,
        options=opted(VSCODE, approvals=True),
        environment={"HANDRAIL_SANDBOX": sandbox},
    )
    editor.answers = ["allow"]
    report = await editor.turn("Run it.")
    await until((stage.root / "up").exists)
    await until(runs)
    return editor, report


async def test_the_user_sees_it_and_ends_it(stage: Stage) -> None:
    editor, report = await begun(stage)
    (asked,) = editor.questions
    assert (asked["choices"], asked.get("rules")) == (["deny", "allow"], None)
    assert "The command runs in the background" in asked["detail"]
    assert "without a sandbox" in asked["detail"]
    assert "".join(each["text"] for each in outputs(editor)) == "ready\n"
    (listed,) = await editor.request("command.list", session=report["session"])
    assert (listed["command"], listed["line"], listed["running"]) == ("b1", LINE, True)
    assert await editor.request("command.list", session="s-other") == []
    with expect_error(REQUEST_FAILED, "b1", "Stop it first"):
        await editor.request("checkpoint.restore", checkpoint=report["turn"])
    with expect_error(REQUEST_FAILED, "Background command 'b2' does not exist", "b1"):
        await editor.request("command.stop", command="b2")
    for _ in range(2):
        stopped = await editor.request("command.stop", command="b1")
        assert (stopped["running"], runs()) == (False, False)
        assert "It was stopped" in stopped["state"]
    restored = await editor.request("checkpoint.restore", checkpoint=report["turn"])
    assert (restored["conflicts"], list(stage.root.glob("*"))) == ([], [])


async def test_a_model_reads_and_ends_it_over_http(stage: Stage) -> None:
    steps = [
        Call(name="terminal", arguments=json.dumps({"command": LINE, "background": True})),
        Call(name="stop", arguments=json.dumps({"command": "b1"})),
        Call(name="read_output", arguments=json.dumps({"output": "b1"})),
    ]
    says = [Say(calls=(each,), finish="tools") for each in steps]
    async with model_server(*says, Say(text="Done.")) as server:
        settings = {"model": "openai-chat:m", "baseUrl": server.url("openai-chat"), "keyName": "HOME"}
        editor = await stage.start(VSCODE, settings=settings, options=opted(VSCODE, approvals=True))
        editor.answers = ["allow"]
        report = await editor.turn("Run it.")
    assert report["state"] == "finished"
    first, second, third = (message["content"] for message in results(server.asked[-1]))
    assert first.startswith(f"b1: {LINE}\nIt is running.\n")
    assert "It was stopped" in second
    assert (first + second).count("New output:\nready") == 1
    assert third.endswith("It has printed nothing new.")


def results(request: Json) -> list[Json]:
    return [message for message in request["messages"] if message["role"] == "tool"]


async def test_what_the_user_saves_meanwhile_is_not_its_own(stage: Stage) -> None:
    path = stage.put("a.txt", "one\n")
    editor, report = await begun(stage)
    uri = editor.desk.open(path)
    editor.desk.type(uri, "two\n", after="one\n")
    editor.desk.tell()
    editor.desk.save(uri)
    assert path.read_text() == "one\ntwo\n"
    await editor.request("command.stop", command="b1")
    (kept,) = await editor.request("checkpoint.list")
    assert [each["path"] for each in kept["paths"]] == ["up"]
    await editor.request("checkpoint.restore", checkpoint=report["turn"])
    assert path.read_text() == "one\ntwo\n"


contained = pytest.mark.skipif(not allowed(), reason="the kernel allows no namespaces of one's own")


@pytest.mark.parametrize("sandbox", ["off", pytest.param("auto", marks=contained)])
async def test_it_ends_with_its_server_and_what_it_changed_is_kept(stage: Stage, sandbox: str) -> None:
    stage.put("a.txt", "one\n")
    first, report = await begun(stage, sandbox)
    (stage.root / "made").touch()
    await first.turn("Edit.", session=report["session"])
    first.has_left = True
    stage.running[-1].kill()
    with suppress(ConnectionError):
        await first.wait_closed()
    first.hang_up()
    await until(lambda: not runs())
    settings = stage.script(answer("Done."))
    later = await stage.start(VSCODE, settings=settings, options=opted(VSCODE))
    edited, kept = await later.request("checkpoint.list")
    assert [each["path"] for each in edited["paths"]] == ["a.txt"]
    assert kept["id"] == report["turn"]
    assert [each["path"] for each in kept["paths"]] == ["made", "up"]
    assert await later.request("command.list") == []
    restored = await later.request("checkpoint.restore", checkpoint=kept["id"])
    assert (restored["conflicts"], snapshot(stage.root)) == ([], {"a.txt": b"TWO\n"})


async def test_it_ends_with_its_session_and_with_its_client(stage: Stage) -> None:
    editor, report = await begun(stage)
    await editor.request("session.delete", session=report["session"])
    assert not runs()
    assert await editor.request("command.list") == []
    (stage.root / "up").unlink()
    other, _ = await begun(stage)
    await other.leave()
    await until(lambda: not runs())
