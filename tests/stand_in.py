"""
A stand-in for the server that plays a script, and the headless client as a process that talks to it.

The stand-in is a real process: it can die, babble or stay silent at any moment.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

STAND_IN = """
import json, os, signal, sys

play, log = json.loads(sys.argv[1]), open(sys.argv[2], "w")
queue, report = [], None

def send(**message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n%b" % (len(body), body))
    sys.stdout.buffer.flush()

def receive():
    if not (header := sys.stdin.buffer.readline()):
        sys.exit(7)
    sys.stdin.buffer.readline()
    message = json.loads(sys.stdin.buffer.read(int(header.split(b":")[1])))
    print(json.dumps(message), file=log, flush=True)
    return message

def wait_for(fits):
    for message in queue:
        if fits(message):
            queue.remove(message)
            return message
    while not fits(message := receive()):
        queue.append(message)
    return message

def step(kind, value):
    if kind == "await":
        asked = wait_for(lambda message: message.get("method") == value)
    elif kind == "answer":
        method, result = value
        asked = wait_for(lambda message: message.get("method") == method)
        send(id=asked["id"], **result)
    elif kind == "request":
        send(id="s-1", method=value[0], params=value[1])
        wait_for(lambda message: message.get("id") == "s-1")
    elif kind == "notify":
        send(method=value[0], params=value[1])
    elif kind == "write":
        sys.stdout.write(value)
        sys.stdout.flush()
    elif kind == "interrupt":
        os.kill(os.getppid(), signal.SIGINT)
    elif kind == "die":
        print("Traceback: the stand-in has had enough", file=sys.stderr, flush=True)
        os._exit(value)

for kind, value in play:
    step(kind, value)
step("answer", ["shutdown", {"result": None}])
wait_for(lambda message: message.get("method") == "exit")
"""

DRIVER = """
import asyncio, json, pathlib, sys
from handrail.headless.commands.checkpoints import list_checkpoints, restore_checkpoint
from handrail.headless.commands.stage import Options
from handrail.headless.commands.turn import RunOptions, run
options = json.loads(sys.argv[1])
options["workspace"] = pathlib.Path(options["workspace"])
options["server"] = tuple(options["server"])
checkpoint = options.pop("checkpoint", None)
if "prompt" in options:
    command = run(RunOptions(**options))
elif checkpoint:
    command = restore_checkpoint(Options(**options), {"checkpoint": checkpoint})
else:
    command = list_checkpoints(Options(**options))
sys.exit(asyncio.run(command))
"""

CAPABLE = {
    "experimental": {"handrail": {"protocolVersion": 1}},
    "positionEncoding": "utf-8",
    "textDocumentSync": 2,
}
INITIALIZE = ["answer", ["initialize", {"result": {"capabilities": CAPABLE}}]]
STARTED = [INITIALIZE, ["answer", ["handrail/turn/start", {"result": {"session": "s-1", "turn": "t-1"}}]]]
RESUMED = [
    INITIALIZE,
    ["answer", ["handrail/session/resume", {"result": {"session": "s-1", "turns": [], "mode": "edit"}}]],
    STARTED[1],
]


def update(seq: int, **event: Any) -> list[Any]:
    return ["notify", ["handrail/turn/update", {"session": "s-1", "turn": "t-1", "seq": seq, "event": event}]]


def reported(state: str = "finished", *outcomes: Any, **fields: Any) -> list[Any]:
    usage = {"steps": 1, "inputTokens": 0, "outputTokens": 0, "cachedTokens": 0, "costUsd": None}
    report = {"session": "s-1", "turn": "t-1", "state": state, "answer": "Done.", "checkpoint": "t-1"}
    report |= {"outcomes": list(outcomes), "usage": usage, **fields}
    return ["answer", ["handrail/turn/wait", {"result": report}]]


def outcome(root: Path, status: str, **fields: Any) -> dict[str, Any]:
    base = {"id": "o-1", "uri": (root / "a.txt").as_uri(), "call": "c-1", "tool": "patch", "hunk": 1}
    return {**base, "status": status, **fields}


def failed(root: Path) -> dict[str, Any]:
    span = {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}}
    failure = {"id": "f-1", "code": "no-match", "message": "The search text is not there.", "turn": "t-1"}
    failure |= {"steps": ["Read it again."], "uri": (root / "a.txt").as_uri(), "range": None, "attempts": 1}
    return outcome(root, "failed", failure={**failure, "candidates": [{"range": span, "score": 0.875}]})


class Ended:
    """What a client process left behind."""

    def __init__(self, process: subprocess.CompletedProcess[bytes]) -> None:
        self.code = process.returncode
        self.out = process.stdout.decode()
        self.err = process.stderr.decode()


class Stage:
    """A workspace folder and a way to run the client on it, in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "log"
        self.root = folder / "workspace"
        self.root.mkdir()
        (self.root / "a.txt").write_bytes(b"one\ntwo\n")
        self.uri = (self.root / "a.txt").as_uri()
        span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 3}}
        edit = {
            "textDocument": {"uri": self.uri, "version": None},
            "edits": [{"range": span, "newText": "1"}],
        }
        self.edit = ["request", ["workspace/applyEdit", {"edit": {"documentChanges": [edit]}}]]

    def run(self, play: list[Any], *, stdin: bytes = b"", env: Any = None, **options: Any) -> Ended:
        return client(self.root, stdin=stdin, env=env, server=self.server(play), **options)

    def server(self, play: list[Any]) -> tuple[str, ...]:
        return sys.executable, "-c", STAND_IN, json.dumps(play), str(self.log)

    @property
    def received(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


def client(root: Path, *, stdin: bytes = b"", env: Any = None, **options: Any) -> Ended:
    """Run the client; a hang is a failure."""
    environment = {**os.environ, **(env or {})}
    return Ended(
        subprocess.run(
            argv(root, **options), input=stdin, capture_output=True, timeout=60, check=False, env=environment
        )
    )


def argv(root: Path, **options: Any) -> list[str]:
    """Give the command line of a client."""
    return [sys.executable, "-c", DRIVER, json.dumps({"workspace": str(root), **options})]
