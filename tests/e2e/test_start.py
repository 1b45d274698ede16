"""Start and end of a server, what it says of itself, and folders that come and go."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.client import Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import VSCODE, Habits
from e2e.prompts import block, patch, statuses
from e2e.servers import Server
from handrail.adapters.connection import Parser
from handrail.lsp import protocol
from handrail.testing import answer, behaviours

NOT_INITIALIZED, INVALID_REQUEST = -32002, -32600

vscode = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])

SDKS = {"openai", "anthropic", "pydantic", "pydantic_ai", "httpx", "litellm", "mcp"}
HELD_LOG = "held.log"
LATE = ("handrail.agent", "handrail.core.engine", "handrail.lsp.protocol", "dulwich", "rapidfuzz")
# A server that says what it has imported when it begins to load the rest, which `AT_LOAD` can stop.
HELD = """
import os, sys

class Gate:
    def find_spec(self, name, path=None, target=None):
        if name == "handrail.lsp.server":
            print("modules", *sys.modules, file=sys.stderr, flush=True)
            AT_LOAD

sys.meta_path.insert(0, Gate())
from handrail.cli import main
sys.exit(main(["serve"]))
"""


async def held(
    stage: Stage, habits: Habits, at_load: str, *descriptors: int
) -> tuple[Editor, subprocess.Popen[bytes]]:
    """A server that runs a statement once it begins to load what stands behind its handlers."""
    ours, theirs = socket.socketpair()
    log = stage.folder / HELD_LOG
    editor = Editor(habits, stage.root)
    with theirs, log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", HELD.replace("AT_LOAD", at_load)],
            stdin=theirs,
            stdout=theirs,
            stderr=errors,
            env={**os.environ, "XDG_STATE_HOME": str(stage.state)},
            pass_fds=descriptors,
        )
    stage.editors.append((editor, log))
    await editor.connect(Server(process.pid, ours))
    return editor, process


@vscode
async def test_initialize_is_answered_before_the_rest_is_loaded(stage: Stage, habits: Habits) -> None:
    """What the client sends meanwhile is answered afterwards, in its order."""
    path = stage.put("a.txt", "one\ntwo\n")
    waits, goes_on = os.pipe()
    editor, _ = await held(stage, habits, f"os.read({waits}, 1)", waits)
    os.close(waits)
    await editor.greet()
    assert "codeActionProvider" in editor.server_capabilities
    uri = editor.desk.open(path)
    editor.desk.type(uri, "zero\n", before="one")
    editor.desk.tell()
    turn = asyncio.ensure_future(editor.turn(block("a.txt", "two", "2")))
    await asyncio.wait([turn], timeout=0)
    os.close(goes_on)  # nothing could be answered until now
    assert statuses(await turn) == ["landed"]
    assert editor.desk[uri] == "zero\none\n2\n"
    await editor.leave()
    await editor.wait_closed()
    log = (stage.folder / HELD_LOG).read_text()
    loaded = next(line for line in log.splitlines() if line.startswith("modules ")).split()
    assert "pygls" in loaded
    assert not [name for name in loaded if name.startswith(LATE)]
    assert not {name.partition(".")[0] for name in loaded} & SDKS


@vscode
async def test_a_server_that_cannot_be_loaded_says_so_and_ends(stage: Stage, habits: Habits) -> None:
    editor, process = await held(stage, habits, "raise ImportError('a file is missing')")
    await editor.call("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    editor.has_left = True
    await editor.wait_closed()
    (said,) = editor.messages
    assert "cannot start (ImportError: a file is missing)" in said.message
    assert process.wait(10) == 1
    assert "Traceback" in (stage.folder / HELD_LOG).read_text()


@pytest.mark.parametrize("hangs_up", [False, True], ids=["stays", "hangs-up"])
@pytest.mark.parametrize("last_words", [("shutdown",), ("exit",), ("shutdown", "exit")], ids="-".join)
def test_a_client_may_say_everything_at_once(
    tmp_path: Path, last_words: tuple[str, ...], hangs_up: bool
) -> None:
    """Everything is answered in its order, even what came before the server was loaded."""
    asked = {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": {}}
    document = {"uri": (tmp_path / "a.txt").as_uri(), "languageId": "text", "version": 1, "text": "one\n"}
    is_polite = "shutdown" in last_words
    messages: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": asked},
        {"method": "initialized", "params": {}},
        {"method": "textDocument/didOpen", "params": {"textDocument": document}},
        *([{"id": 2, "method": "handrail/failure/list", "params": {}}] if is_polite else []),
        *({"method": each} | ({"id": 3} if each == "shutdown" else {}) for each in last_words),
    ]
    log = tmp_path / "log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "handrail", "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")},
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"".join(map(framed, messages)))
        process.stdin.flush()
        if hangs_up:
            process.stdin.close()
        parser, answered = Parser(), list[object]()
        while 3 not in answered and (data := os.read(process.stdout.fileno(), 65_536)):
            parser.feed(data)
            answered += [json.loads(body).get("id") for body in iter(parser.take, None)]
        assert [each for each in answered if each is not None] == ([1, 2, 3] if is_polite else [1])
        if last_words == ("shutdown",) and not hangs_up:
            process.stdin.write(framed({"method": "exit"}))
            process.stdin.flush()
        assert process.wait(60) == (0 if is_polite else 1)
    assert "Traceback" not in log.read_text()


def framed(message: dict[str, object]) -> bytes:
    """A message as it is written."""
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


async def test_what_a_server_offers(editor: Editor) -> None:
    offered = editor.server_capabilities
    names = [request.method for request in protocol.REQUESTS]
    assert offered["experimental"]["handrail"] == {"protocolVersion": 1, "requests": names}
    commands = offered["executeCommandProvider"]["commands"]
    assert set(commands) == {request.command for request in protocol.REQUESTS}
    assert offered["workspace"]["textDocumentContent"] == {"schemes": ["handrail"]}
    assert offered["textDocumentSync"]["change"] == 2
    assert offered["codeActionProvider"]["codeActionKinds"] == ["quickfix"]


async def test_standard_output_carries_nothing_but_messages(stage: Stage, editor: Editor) -> None:
    """A client that does not know our messages gets none of them."""
    stage.put("a.txt", "one\n")
    await editor.turn(block("a.txt", "none", "some"))
    received = [line for line in editor.traffic if line.startswith("←")]
    ours = [line for line in received if '"method": "handrail/' in line]
    assert bool(ours) == editor.habits.has_extension


@vscode
async def test_a_server_ends_when_told(stage: Stage, habits: Habits) -> None:
    environment = {**os.environ, "XDG_STATE_HOME": str(stage.state)}
    editor = Editor(habits, stage.root)
    stage.editors.append((editor, stage.folder / "none.log"))
    await editor.start_io(sys.executable, "-m", "handrail", "serve", env=environment)
    await editor.greet()
    await editor.leave()
    await editor.wait_closed()
    assert editor._server is not None
    assert editor._server.returncode == 0


@vscode
async def test_nothing_is_done_before_the_greeting(stage: Stage, habits: Habits) -> None:
    """A turn would run without folders and settings."""

    editor = await stage.start(habits, greet=False)
    with expect_error(NOT_INITIALIZED, "initialize"):
        await editor.call("handrail/turn/start", {"prompt": "Edit."})
    with expect_error(NOT_INITIALIZED):
        await editor.command("handrail.failure.list")
    editor.notify("textDocument/didOpen", {"textDocument": {"uri": "file:///a"}})
    with expect_error(-32602, "capabilities"):
        await editor.call("initialize", {"processId": None, "capabilities": 7})
    await editor.greet()
    assert await editor.request("failure.list") == []


async def test_a_second_greeting_is_refused(stage: Stage, editor: Editor) -> None:
    stage.put("a.txt", "one\n")
    with expect_error(INVALID_REQUEST, "initialize"):
        await editor.call("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    assert statuses(await editor.turn(block("a.txt", "one", "1"))) == ["landed"], "its folder is still known"


@vscode
async def test_after_shutdown_requests_are_answered_with_an_error(editor: Editor) -> None:
    await editor.call("shutdown", None)
    with expect_error(INVALID_REQUEST, "only accepts exit"):
        await editor.call("handrail/failure/list", {})
    with expect_error(INVALID_REQUEST):
        await editor.call("shutdown", None)
    editor.has_left = True
    editor.notify("exit", None)
    await editor.wait_closed()


@vscode
@pytest.mark.parametrize("last_words", [["exit"], []], ids=["exit", "eof"])
async def test_leaving_without_shutdown_is_an_exit_code(
    stage: Stage, habits: Habits, last_words: list[str]
) -> None:
    environment = {**os.environ, "XDG_STATE_HOME": str(stage.state)}
    editor = Editor(habits, stage.root)
    stage.editors.append((editor, stage.folder / "none.log"))
    await editor.start_io(sys.executable, "-m", "handrail", "serve", env=environment)
    await editor.greet()
    await editor.request("failure.list")
    for word in last_words:
        editor.notify(word, None)
    editor.has_left = True
    assert editor._server is not None
    assert editor._server.stdin is not None
    editor._server.stdin.close()
    assert await editor._server.wait() == 1


@vscode
async def test_a_server_ends_when_its_client_is_gone(stage: Stage, editor: Editor) -> None:
    stage.put("a.txt", "one\ntwo\n")
    editor.behaviours = [behaviours.hang]
    uri = editor.desk.open(stage.root / "a.txt")
    await editor.start_turn(block("a.txt", "one", "1"))
    await editor.until(lambda: editor.edits)
    editor.vanish()
    await editor.wait_closed()
    assert editor.desk[uri] == "one\ntwo\n"


async def test_shutdown_during_a_turn(stage: Stage, habits: Habits) -> None:
    """The turn is stopped, its progress ends, and nothing is edited after the answer."""
    settings = stage.script(
        answer("", patch("a.txt", "one", "1")), answer("", patch("a.txt", "two", "2")), answer("Done.")
    )
    editor = await stage.start(habits, settings=settings, timeout_s=0.5)
    uri = editor.desk.open(stage.put("a.txt", "one\ntwo\n"))
    editor.behaviours = [behaviours.apply_without_answer]
    await editor.start_turn("Edit.")
    await editor.until(lambda: editor.edits)
    await editor.leave()
    assert [each["kind"] for each in editor.progressed][-1:] == (["end"] if habits.shows_progress else [])
    await editor.wait_closed()
    assert editor.desk[uri] == "1\ntwo\n"
    assert len(editor.edits) == 1


async def test_a_folder_is_added_and_removed(stage: Stage, editor: Editor) -> None:
    more = stage.folder / "more"
    more.mkdir()
    (more / "b.txt").write_text("one\n")
    path = str(more / "b.txt")
    editor.answers = ["deny", "deny"]
    assert statuses(await editor.turn(block(path, "one", "1"))) == ["denied"]
    folder = {"uri": more.as_uri(), "name": "more"}
    change = {"added": [folder], "removed": []}
    editor.notify("workspace/didChangeWorkspaceFolders", {"event": change})
    assert statuses(await editor.turn(block(path, "one", "1"))) == ["landed"]
    assert statuses(await editor.turn(block("more/b.txt", "1", "2"))) == ["landed"]
    change = {"added": [], "removed": [folder]}
    editor.notify("workspace/didChangeWorkspaceFolders", {"event": change})
    assert statuses(await editor.turn(block(path, "2", "3"))) == ["denied"]
    assert (more / "b.txt").read_text() == "2\n"


async def test_two_folders_from_the_start(stage: Stage, habits: Habits) -> None:
    more = stage.folder / "more"
    more.mkdir()
    (more / "b.txt").write_text("one\n")
    stage.put("a.txt", "one\n")
    editor = await stage.start(habits, folders=[stage.root, more])
    report = await editor.turn(block("a.txt", "one", "1") + block("b.txt", "one", "1"))
    assert statuses(report) == ["landed", "landed"]
    await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert (stage.root / "a.txt").read_text() == (more / "b.txt").read_text() == "one\n"


async def test_without_any_folder(stage: Stage, habits: Habits) -> None:
    """Only untitled documents can be worked on."""
    editor = await stage.start(habits, folders=[])
    uri = editor.desk.open("untitled:Untitled-1", "one\ntwo\n")
    path = stage.put("a.txt", "one\n")
    report = await editor.turn(block(str(path), "one", "1") + block("untitled:Untitled-1", "one", "1"))
    assert statuses(report) == ["outside-workspace", "landed"]
    assert editor.desk[uri] == "1\ntwo\n"


async def test_an_untitled_document_is_edited_and_restored(stage: Stage, editor: Editor) -> None:
    uri = editor.desk.open("untitled:Untitled-1", "one\ntwo\n")
    editor.desk.type(uri, "zero\n", before="one")
    editor.desk.tell()
    prompt = block("untitled:Untitled-1", "two", "2")
    report = await editor.turn(prompt)
    assert statuses(report) == ["landed"]
    assert editor.desk[uri] == "zero\none\n2\n"
    await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert editor.desk[uri] == "zero\none\ntwo\n"
    editor.desk.close(uri)
    with expect_error(-32803, "no checkpoint"):
        await editor.request("checkpoint.restore", checkpoint="t-none")
    assert statuses(await editor.turn(prompt)) == ["no-such-file"]
