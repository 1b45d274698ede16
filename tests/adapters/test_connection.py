"""Messages without a sound length, and servers whose client leaves while something is at work."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from handrail.adapters.connection import Messages
from handrail.testing import answer, call, script

HELLO = b'{"jsonrpc": "2.0"}'
SOUND = b"Content-Length: %d\r\n\r\n%s" % (len(HELLO), HELLO)


def bodies(raw: bytes) -> tuple[list[bytes], int]:
    """The messages in *raw*, and how often its end was told."""
    ends = list[None]()
    messages = Messages(io.BytesIO(raw), lambda: ends.append(None))
    found = []
    while row := messages.readline():
        assert messages.readline() == b"\r\n"
        found.append(messages.read(int(row.split(b":")[1])))
    return found, len(ends)


@pytest.mark.parametrize(
    "raw",
    [
        SOUND,
        SOUND.replace(b"\r\n", b"\n"),
        SOUND.replace(b"Content-Length", b"content-length"),
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n" + SOUND,
        SOUND.replace(b"\r\n\r\n", b"\r\nContent-Type: x\r\n\r\n"),
        b"Content-Length: %d\r\n" % len(HELLO) + SOUND,
        b"\r\n\r\n" + SOUND,
        b"Content-Length: 0\r\n\r\n" + SOUND,
        SOUND.replace(b": ", b":\t ", 1),
    ],
)
def test_sound_messages(raw: bytes) -> None:
    assert bodies(raw + raw) == ([HELLO, HELLO], 1)


UNSOUND = [
    b"Content-Type: x\r\n\r\n",
    b"Content-Length: -1\r\n\r\n",
    b"Content-Length: 1e9\r\n\r\n",
    b"Content-Length: 0x10\r\n\r\n",
    b"Content-Length: 12 34\r\n\r\n",
    b"Content-Length: \xd9\xa1\xd9\xa2\r\n\r\n",
    b"Content-Length:\r\n\r\n",
    b"Content-Length: 99999999999999999999999999\r\n\r\n",
    b"Content-Length: 900000000000\r\n\r\n",
    b"Content-Length: 18\r\nContent-Length: 20\r\n\r\n",
    b"X" * 100_000,
    b"X: y\r\n" * 10_000,
    HELLO + b"\r\n\r\n",
    b"Content-Length: 18\r\n",
    b"Content-Length: 180\r\n\r\n",
    b"\0" * 20_000,
]


@pytest.mark.parametrize("wrong", UNSOUND)
def test_what_is_not_sound_ends_the_connection_and_is_said(
    wrong: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    found, ends = bodies(SOUND + wrong)
    assert (found, ends) == ([HELLO], 1)
    assert "cannot read what the client sends" in caplog.text


# ---- Whole servers ----------------------------------------------------------------------------------


def message(method: str, params: object, number: int | None = None) -> bytes:
    body = {"jsonrpc": "2.0", "method": method, "params": params}
    raw = json.dumps(body if number is None else {**body, "id": number}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(raw), raw)


class Server:
    """A server process whose client writes bytes."""

    def __init__(self, folder: Path, *answers: dict[str, object], rules: Sequence[object] = ()) -> None:
        self.root = folder / "work"
        self.root.mkdir()
        self.log = folder / "log"
        settings = {"model": script(folder / "script.json", *answers), "approvals": rules}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "handrail", "serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "XDG_STATE_HOME": str(folder / "state")},
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.to, self.out = self.process.stdin, self.process.stdout
        hello = {"processId": None, "rootUri": self.root.as_uri(), "capabilities": {}}
        self.tell("initialize", {**hello, "initializationOptions": {"handrail": {"settings": settings}}}, 1)
        self.hear('"id": 1', '"id":1')
        self.tell("initialized", {})

    def tell(self, method: str, params: object, number: int | None = None) -> None:
        self.to.write(message(method, params, number))
        self.to.flush()

    def hear(self, *wanted: str) -> str:
        """Read until a message holds one of *wanted*."""
        while True:
            size = 0
            while (row := self.out.readline()).strip():
                if row.lower().startswith(b"content-length"):
                    size = int(row.split(b":")[1])
            assert size, self.log.read_text()
            body = self.out.read(size).decode()
            if any(each in body for each in wanted):
                return body

    def start(self) -> None:
        self.tell("handrail/turn/start", {"prompt": "Do it."}, 2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


LINE = "trap '' TERM HUP INT; touch began; while :; do sleep 1; done"
RUN = {"tool": "terminal", "match": LINE, "verdict": "allow"}


@pytest.mark.parametrize("wrong", [UNSOUND[0], UNSOUND[1], UNSOUND[7]])
def test_a_server_says_what_is_wrong_and_ends(folder: Path, wrong: bytes) -> None:
    server = Server(folder)
    server.to.write(wrong)
    server.to.flush()
    assert server.process.wait(10) == 1
    assert "cannot read what the client sends" in server.log.read_text()


@pytest.mark.parametrize("way", ["closed", "exit", "killed"])
@pytest.mark.parametrize("work", ["nothing", "a command", "a question"])
def test_a_server_ends_with_its_client(folder: Path, way: str, work: str) -> None:
    rules = [RUN] if work == "a command" else []
    server = Server(folder, answer("", call("terminal", command=LINE)), rules=rules)
    if work != "nothing":
        server.start()
        if work == "a question":
            server.hear("showMessage", "approval")
        else:
            while not (server.root / "began").exists():
                assert server.process.poll() is None
    if way == "exit":
        server.tell("exit", None)
    else:
        server.to.close()
    assert server.process.wait(6) in (0, 1)


def test_a_server_ends_though_a_thread_never_does(folder: Path) -> None:
    """Nothing in Python can stop the thread; the process ends all the same, and its children with it."""
    program = (
        "import subprocess, sys, threading, time\n"
        "from handrail.adapters.connection import Watchdog\n"
        "child = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
        "print(child.pid, flush=True)\n"
        "threading.Thread(target=threading.Event().wait).start()\n"
        "Watchdog(0.1).begin()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    assert process.wait(10) == 1
    if sys.platform == "linux":
        while is_running(child):
            pass


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not hasattr(signal, "alarm"), reason="there are no alarms")
def test_a_server_ends_though_no_python_runs_any_more(folder: Path) -> None:
    program = (
        "import re\nfrom handrail.adapters.connection import Watchdog\n"
        "Watchdog(0.2).begin()\nre.match('(a|a)*b', 'a' * 60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program])
    assert process.wait(10) == -signal.SIGALRM
