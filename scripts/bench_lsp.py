"""
What the server costs an editor: requests during a turn, typing in a large document, open documents, an answer
that streams into a conversation, and opening a long conversation.

Requests go to our server and to a bare pygls server in turn, while a turn of ours runs whose model, behind
HTTP, sends a thousand tokens a second: first while the SDK is imported, which takes about a second and so is
measured with several servers, then while the answer streams. Shares are processor time of the server by the
time that has passed, without that of the process that has the SDK.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import resource
import statistics
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from bench_review import Client, check, failures
from handrail.core.conversation import as_json
from handrail.core.conversation.journal import Entry, Said, TurnBegun, TurnEnded
from handrail.core.conversation.message import AssistantMessage, Usage, UserMessage
from handrail.testing import answer, script

TOKENS_S, SECONDS = 1_000, 6.0
BATCH = 20  # tokens that the model's server sends at once, since it cannot pause for a millisecond
ASK_S = 0.004  # between two requests
IMPORTS = 8
KEYS, KEYS_S, LINES = 250, 50, 100_000
KEY_LINES, ROUNDS, OPEN = 20_000, 5, 1_000
LIMIT_P50, LIMIT_P99 = 1.3, 1.5
LIMIT_TYPING, LIMIT_STREAM, LIMIT_EDITS, LIMIT_OPEN = 0.05, 0.10, 10.0, 0.3
LIMIT_KEY, LIMIT_OPEN_DOCUMENTS = 30.0, 1.3
BYTES = 2_000_000
WORDS = [
    "a",
    "word",
    "of",
    "an",
    "answer",
    "that",
    "streams",
    "and",
    "goes",
    "on",
    "for",
    "some",
    "time",
    "before",
    "it",
    "comes",
    "to",
    "an",
    "end",
    ".",
    "\n\n",
]
BARE = """
from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

server = LanguageServer("bare", "1")


@server.feature(lsp.TEXT_DOCUMENT_FOLDING_RANGE)
def folding_range(params):
    return []


server.start_io()
"""


class Typist(Client):
    """A client whose answers are read beside what it does."""

    def __init__(self, argv: Sequence[str], root: Path, state: Path, **settings: object) -> None:
        super().__init__(argv, root, state)
        self.settings.update(settings)
        self.written = threading.Lock()
        self.came = threading.Condition()
        self.answers: dict[int, tuple[float, dict[str, Any]]] = {}
        self.edits_made = 0
        self.reader = threading.Thread(target=self._listen, daemon=True)
        self.reader.start()

    def _write(self, message: dict[str, Any]) -> None:
        with self.written:
            super()._write(message)

    def _listen(self) -> None:
        try:
            while True:
                message = self._read()
                now = time.perf_counter()
                if "method" in message and "id" in message:
                    self.edits_made += message["method"] == "workspace/applyEdit"
                    self._answer(message)
                elif "id" in message:
                    with self.came:
                        self.answers[message["id"]] = (now, message)
                        self.came.notify_all()
        except (ValueError, OSError):
            return  # the server was killed

    def until_read(self) -> None:
        """Wait until the server has read all that was written."""
        assert self.process.stdin is not None
        written = self.process.stdin.fileno()
        while any(fcntl.ioctl(written, termios.FIONREAD, bytes(4))):
            time.sleep(0)

    def resident_bytes(self) -> int:
        """How much memory the server has."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * resource.getpagesize()

    def ask(self, method: str, params: Any) -> Any:
        """Send a request and return its answer."""
        return self.timed(method, params)[1]

    def timed(self, method: str, params: Any) -> tuple[float, Any]:
        """As `ask`, with the seconds until the answer was there."""
        number = next(self.numbers)
        began = time.perf_counter()
        self._write({"id": number, "method": method, "params": params})
        with self.came:
            self.came.wait_for(lambda: number in self.answers)
            ended, message = self.answers.pop(number)
        if "error" in message:
            raise RuntimeError(message["error"])
        return ended - began, message.get("result")


class Model:
    """A model's server that streams words, a thousand a second."""

    def __init__(self, words: Sequence[str] = WORDS, seconds: float = SECONDS) -> None:
        self.was_asked = threading.Event()
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_error(404)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                model.was_asked.set()
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                began, sent = time.perf_counter(), 0
                with suppress(OSError):  # a server that was only to begin
                    while sent < TOKENS_S * seconds:
                        for _ in range(BATCH):
                            self._send({"content": f"{words[sent % len(words)]} "})
                            sent += 1
                        self.wfile.flush()
                        time.sleep(max(0.0, began + sent / TOKENS_S - time.perf_counter()))
                    self._send({}, "stop")
                    self.wfile.write(b"data: [DONE]\n\n")

            def _send(self, delta: dict[str, str], reason: str | None = None) -> None:
                choice = {"index": 0, "delta": delta, "finish_reason": reason}
                chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
                self.wfile.write(f"data: {json.dumps({**chunk, 'choices': [choice]})}\n\n".encode())

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve while the block runs."""
        thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.server.shutdown()


@dataclass
class Turn:
    """A turn of our server that has just begun, and a bare server beside it."""

    ours: Typist
    bare: Typist
    uris: dict[Typist, str]
    turn: str

    def round_trip(self, client: Typist) -> float:
        """How long a request takes, in seconds."""
        return client.timed("textDocument/foldingRange", {"textDocument": {"uri": self.uris[client]}})[0]

    def ask_both(self, times: tuple[list[float], list[float]]) -> None:
        """One request to each, after a while."""
        for client, found in zip((self.ours, self.bare), times, strict=True):
            found.append(self.round_trip(client))
        time.sleep(ASK_S)  # no state is awaited: this is how often the editor asks


@contextmanager
def begun(folder: Path, model: Model) -> Iterator[Turn]:
    """A turn that has begun, in a conversation that the client shows."""
    root = folder / "work"
    root.mkdir(parents=True)
    (root / "a.txt").write_text("one\n" * 100)
    handrail = (sys.executable, "-m", "handrail", "serve")
    with (
        Typist(handrail, root, folder / "state", model="openai-chat:bench", baseUrl=model.url) as ours,
        Typist((sys.executable, "-c", BARE), root, folder / "bare") as bare,
    ):
        uris = {each: each.open(root / "a.txt", "one\n" * 100) for each in (ours, bare)}
        chat = ours.ask("handrail/chat/new", {})
        ours.open(Path(chat["uri"].removeprefix("file://")), chat["text"])
        found = Turn(ours, bare, uris, "")
        for client in (ours, bare) * 50:
            found.round_trip(client)
        asked = {"session": chat["session"], "text": "Go.", "send": True}
        found.turn = ours.ask("handrail/chat/ask", asked)["turn"]
        yield found


def during_a_turn(folder: Path) -> None:
    """Requests while a turn begins and streams, beside those of a bare server; what the stream costs."""
    model = Model()
    with model.serving():
        early: tuple[list[float], list[float]] = ([], [])
        for number in range(IMPORTS):
            model.was_asked.clear()
            with begun(folder / f"import-{number}", model) as one:
                while not model.was_asked.is_set():
                    one.ask_both(early)
        compare("while the SDK is imported", early)
        model.was_asked.clear()
        with begun(folder / "stream", model) as one:
            stream(one, model)


def stream(one: Turn, model: Model) -> None:
    """Requests while the answer streams."""
    times: tuple[list[float], list[float]] = ([], [])
    ended = threading.Event()
    wait = {"turn": one.turn}

    def wait_for_end() -> None:
        one.ours.ask("handrail/turn/wait", wait)
        ended.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    model.was_asked.wait()
    began, used, edits = time.perf_counter(), one.ours.used_s(), one.ours.edits_made
    while not ended.is_set():
        one.ask_both(times)
    passed = time.perf_counter() - began
    share = (one.ours.used_s() - used - len(times[0]) * cost(one)) / passed
    compare("while the answer streams", times)
    check(f"{TOKENS_S:,} tokens/s into a conversation, share of a core", share, LIMIT_STREAM)
    check("edits a second of the conversation", (one.ours.edits_made - edits) / passed, LIMIT_EDITS)


def compare(when: str, times: tuple[list[float], list[float]]) -> None:
    """Our requests beside the bare server's."""
    for name, at, limit in (("p50", 0.5, LIMIT_P50), ("p99", 0.99, LIMIT_P99)):
        ours, bare = (sorted(each)[int(len(each) * at)] for each in times)
        check(f"a request {when}, {name}, of bare pygls ({len(times[0]):,})", ours / bare, limit)


def cost(one: Turn) -> float:
    """The processor time of one of these requests, when nothing else goes on."""
    began = one.ours.used_s()
    for _ in range(200):
        one.round_trip(one.ours)
    return (one.ours.used_s() - began) / 200


def typing(folder: Path) -> None:
    """Typing in a document of many lines."""
    root = folder / "work"
    root.mkdir()
    text = "".join(f"    line {at} of a document, with some words\n" for at in range(LINES))
    (root / "a.txt").write_text(text)
    with Typist((sys.executable, "-m", "handrail", "serve"), root, folder / "state") as ours:
        uri = ours.open(root / "a.txt", text)
        ours.ask("handrail/failure/list", {})
        used, began = ours.used_s(), time.perf_counter()
        for key in range(KEYS):
            place = {"line": LINES // 2, "character": 4 + key}
            event = {"range": {"start": place, "end": place}, "text": "x"}
            document = {"uri": uri, "version": 2 + key}
            ours.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [event]})
            time.sleep(max(0.0, began + (key + 1) / KEYS_S - time.perf_counter()))
        ours.ask("handrail/failure/list", {})
        share = (ours.used_s() - used) / (time.perf_counter() - began)
        check(f"{KEYS_S} changes/s in {LINES:,} lines, share of a core", share, LIMIT_TYPING)


def keystroke(folder: Path) -> None:
    """A change in a large document, beside pygls: all processor time of the server, one at a time."""
    root = folder / "work"
    root.mkdir()
    text = "".join(f"    line {at} of a document, with some words\n" for at in range(KEY_LINES))
    (root / "a.txt").write_text(text)
    handrail = (sys.executable, "-m", "handrail", "serve")
    with (
        Typist(handrail, root, folder / "state") as ours,
        Typist((sys.executable, "-c", BARE), root, folder / "bare") as bare,
    ):
        uri = (root / "a.txt").as_uri()
        params = {"textDocument": {"uri": uri}}
        version = itertools.count(2)
        for each in (ours, bare):
            each.open(root / "a.txt", text)
            each.ask("textDocument/foldingRange", params)

        def type_into(client: Typist) -> float:
            used = client.used_s()
            for key in range(KEYS):
                place = {"line": KEY_LINES // 2, "character": 4 + key}
                event = {"range": {"start": place, "end": place}, "text": "x"}
                document = {"uri": uri, "version": next(version)}
                client.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [event]})
                client.until_read()
            client.ask("textDocument/foldingRange", params)
            return (client.used_s() - used) / KEYS

        times = [(type_into(ours), type_into(bare)) for _ in range(ROUNDS)]
        ratio = statistics.median(theirs for _, theirs in times) / statistics.median(own for own, _ in times)
        at_least(f"a change in {KEY_LINES:,} lines, times cheaper than pygls", ratio, LIMIT_KEY)


def memory(folder: Path) -> None:
    """What open documents take in the server's memory, beside their text."""
    root = folder / "work"
    root.mkdir()

    def rows(number: int) -> str:
        return "".join(f"    line {at} of document {number}, with some words\n" for at in range(1_000))

    with Typist((sys.executable, "-m", "handrail", "serve"), root, folder / "state") as ours:
        for number in range(OPEN, OPEN + 20):  # so that what reading takes is there
            ours.open(root / f"{number}.txt", rows(number))
        ours.ask("handrail/failure/list", {})
        before, texts = ours.resident_bytes(), 0
        for number in range(OPEN):
            ours.open(root / f"{number}.txt", rows(number))
            texts += len(rows(number))
        ours.ask("handrail/failure/list", {})
        used = (ours.resident_bytes() - before) / texts
        check(f"{OPEN:,} open documents of 1,000 lines, of their text", used, LIMIT_OPEN_DOCUMENTS)


def at_least(what: str, value: float, bound: float) -> None:
    """As `check`, of a ratio that must not be less than its bound."""
    check(f"{what}, 1/{value:.0f}: bound / value", bound / value, 1.0)


def opening(folder: Path) -> None:
    """Opening a conversation of two megabytes, whose journal is there."""
    root = folder / "work"
    root.mkdir()
    script(folder / "script.json", answer("Yes."))
    with Typist((sys.executable, "-m", "handrail", "serve"), root, folder / "state") as ours:
        begun = ours.ask("handrail/turn/start", {"prompt": "Go."})
        ours.ask("handrail/turn/wait", {"turn": begun["turn"]})
    (journal,) = (folder / "state").rglob("sessions/*.jsonl")
    paragraph = " ".join(WORDS).replace("\n", " ") * 4
    rows: list[Entry] = []
    text = "\n\n".join([paragraph] * 5)
    for number in range(BYTES // len(text) + 1):
        asked = TurnBegun(turn=f"t-{number}", prompt=f"Question {number}?", mode="edit")
        rows += [
            asked,
            Said(message=UserMessage(text=asked.prompt)),
            Said(message=AssistantMessage(text=text)),
            TurnEnded(turn=asked.turn, state="finished", reason=None, usage=Usage()),
        ]
    (journal.parent / "s-long.jsonl").write_text("".join(as_json.line(row) + "\n" for row in rows))
    took = []
    for _ in range(3):
        with Typist((sys.executable, "-m", "handrail", "serve"), root, folder / "state") as ours:
            ours.ask("handrail/failure/list", {})
            used = ours.used_s()
            found = ours.ask("handrail/chat/open", {"session": "s-long"})
            took.append(ours.used_s() - used)
            assert len(found["text"]) > BYTES, len(found["text"])
    check("a conversation of 2 MB opens, s of processor time", statistics.median(took), LIMIT_OPEN)


def main() -> int:
    """Measure in folders of its own."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name).resolve()
        for each in ("turn", "typing", "open", "keystroke", "memory"):
            (base / each).mkdir()
        during_a_turn(base / "turn")
        typing(base / "typing")
        keystroke(base / "keystroke")
        memory(base / "memory")
        opening(base / "open")
    print(f"{len(failures)} bounds missed" if failures else "all within bounds")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
