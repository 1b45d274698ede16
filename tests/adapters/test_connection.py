"""Messages without a sound length, and servers whose client leaves while something is at work."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import pytest

from handrail.adapters.connection import CHUNK_BYTES, Messages, Parser
from handrail.testing import answer, call, script

HELLO = b'{"jsonrpc": "2.0"}'
SOUND = b"Content-Length: %d\r\n\r\n%s" % (len(HELLO), HELLO)


Way = Callable[[bytes], AbstractContextManager[BinaryIO]]


@contextmanager
def in_memory(raw: bytes) -> Iterator[BinaryIO]:
    """A stream that no system can poll, so that a thread reads it."""
    yield io.BytesIO(raw)


@contextmanager
def in_a_pipe(raw: bytes, at_once: int = 1_000_000) -> Iterator[BinaryIO]:
    """A pipe that a thread writes to, and then leaves."""
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb", buffering=0) as file, suppress(BrokenPipeError):
            for at in range(0, len(raw), at_once):
                file.write(raw[at : at + at_once])

    writer = threading.Thread(target=write)
    with os.fdopen(reading, "rb") as source:
        writer.start()
        yield source
    writer.join()


def in_pieces(raw: bytes) -> AbstractContextManager[BinaryIO]:
    """A pipe that bytes come through one by one."""
    return in_a_pipe(raw, 1)


WAYS: list[Way] = [in_memory, in_a_pipe, in_pieces]


def bodies(raw: bytes, way: Way) -> tuple[list[bytes], int]:
    """The messages in *raw*, and how often its end was told."""
    ends = list[None]()
    found = list[bytes]()
    with way(raw) as source:
        asyncio.run(Messages(source, lambda: ends.append(None)).deliver(found.append, lambda: False))
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
@pytest.mark.parametrize("way", WAYS)
def test_sound_messages(raw: bytes, way: Way) -> None:
    assert bodies(raw + raw, way) == ([HELLO, HELLO], 1)


@pytest.mark.parametrize("way", WAYS)
def test_a_message_larger_than_what_is_read_at_once(way: Way) -> None:
    body = b"x" * 200_000
    large = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    assert bodies(SOUND + large + SOUND, way) == ([HELLO, body, HELLO], 1)


def test_a_body_is_copied_once() -> None:
    """What is copied more often leaves holes in memory between documents that stay."""
    size = 4_000_000
    parser = Parser()
    parser.feed(b"Content-Length: %d\r\n\r\n" % size + b"x" * size)
    tracemalloc.start()
    try:
        body = parser.take()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert body is not None
    assert len(body) == size
    assert peak < 1.5 * size


def test_small_messages_are_read_without_large_buffers() -> None:
    peaks = list[int]()

    def receive(_: bytes) -> None:
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.reset_peak()

    async def read(messages: Messages) -> None:
        tracemalloc.start()
        try:
            await messages.deliver(receive, lambda: False)
        finally:
            tracemalloc.stop()

    with in_a_pipe(SOUND * 20) as source:
        asyncio.run(read(Messages(source, lambda: None)))
    assert peaks[0] < CHUNK_BYTES


@pytest.mark.parametrize("way", WAYS)
def test_what_a_message_began_goes_first(way: Way) -> None:
    """A request is looked at before the change that comes after it, as when they came one by one."""
    seen = list[str]()
    tasks = list[asyncio.Task[None]]()

    async def begun(number: int) -> None:
        seen.append(f"task {number}")

    async def main() -> None:
        def receive(_: bytes) -> None:
            seen.append(f"message {len(tasks)}")
            tasks.append(asyncio.ensure_future(begun(len(tasks))))

        with way(SOUND * 3) as source:
            await Messages(source, lambda: None).deliver(receive, lambda: False)
        await asyncio.gather(*tasks)

    asyncio.run(main())
    assert seen == [f"{kind} {number}" for number in range(3) for kind in ("message", "task")]


@pytest.mark.parametrize("way", WAYS)
def test_nothing_more_is_read_once_it_is_stopped(way: Way) -> None:
    found = list[bytes]()
    with way(SOUND * 3) as source:
        asyncio.run(Messages(source, lambda: None).deliver(found.append, lambda: bool(found)))
    assert found == [HELLO]


@pytest.mark.parametrize("way", WAYS)
def test_a_message_on_which_the_receiver_fails_is_logged_and_the_next_ones_are_read(
    way: Way, caplog: pytest.LogCaptureFixture
) -> None:
    found = list[bytes]()

    def receive(body: bytes) -> None:
        found.append(body)
        if len(found) < 3:
            raise RuntimeError("of the receiver")

    with way(SOUND * 5) as source:
        asyncio.run(Messages(source, lambda: None).deliver(receive, lambda: len(found) == 5))
    assert len(found) == 5
    assert "could not be handled" in caplog.text


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("error", [BrokenPipeError, SystemExit])
def test_what_a_receiver_raises_ends_the_connection(way: Way, error: type[BaseException]) -> None:
    def receive(_: bytes) -> None:
        raise error

    with way(SOUND * 3) as source, pytest.raises(error):
        asyncio.run(Messages(source, lambda: None).deliver(receive, lambda: False))


def test_a_client_that_leaves_is_noticed_while_the_event_loop_is_stuck() -> None:
    left = threading.Event()
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as source, os.fdopen(writing, "wb", buffering=0) as client:

        async def stuck() -> None:
            delivering = asyncio.ensure_future(Messages(source, left.set).deliver(lambda _: None, bool))
            await asyncio.sleep(0)
            client.close()
            assert left.wait(20), "the event loop does nothing until then"
            await delivering

        asyncio.run(stuck())


def test_a_pipe_is_closed_for_the_client_once_nobody_reads_it() -> None:
    """Nothing that watches the client keeps its pipe open."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as client:
        with os.fdopen(reading, "rb") as source:
            client.write(SOUND)
            asyncio.run(Messages(source, lambda: None).deliver(lambda _: None, lambda: True))
        watchers = [each for each in threading.enumerate() if each.name == "hangup"]
        for each in watchers:
            each.join(20)
        with pytest.raises(BrokenPipeError):
            client.write(SOUND)


def test_a_client_that_leaves_has_not_left_before_all_it_wrote_was_handed_over() -> None:
    ends = list[int]()
    found = list[bytes]()

    def receive(body: bytes) -> None:
        found.append(body)
        assert not ends

    with in_a_pipe(SOUND * 20_000) as source:
        asyncio.run(Messages(source, lambda: ends.append(len(found))).deliver(receive, lambda: False))
    assert ends == [20_000]


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
@pytest.mark.parametrize("way", WAYS[:2])
def test_what_is_not_sound_ends_the_connection_and_is_said(
    wrong: bytes, way: Way, caplog: pytest.LogCaptureFixture
) -> None:
    found, ends = bodies(SOUND + wrong, way)
    assert (found, ends) == ([HELLO], 1)
    assert "cannot read the client's messages" in caplog.text


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
        self.send("initialize", {**hello, "initializationOptions": {"handrail": {"settings": settings}}}, 1)
        self.read_until('"id": 1', '"id":1')
        self.send("initialized", {})

    def send(self, method: str, params: object, number: int | None = None) -> None:
        self.to.write(message(method, params, number))
        self.to.flush()

    def read_until(self, *wanted: str) -> str:
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
        self.send("handrail/turn/start", {"prompt": "Do it."}, 2)


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
    assert "cannot read the client's messages" in server.log.read_text()


@pytest.mark.parametrize("way", ["closed", "exit", "killed"])
@pytest.mark.parametrize("work", ["nothing", "a command", "a question"])
def test_a_server_ends_with_its_client(folder: Path, way: str, work: str) -> None:
    rules = [RUN] if work == "a command" else []
    server = Server(folder, answer("", call("terminal", command=LINE)), rules=rules)
    if work != "nothing":
        server.start()
        if work == "a question":
            server.read_until("showMessage", "approval")
        else:
            while not (server.root / "began").exists():
                assert server.process.poll() is None
    if way == "exit":
        server.send("exit", None)
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
