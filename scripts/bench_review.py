"""
What pending changes cost: a keystroke, code actions at the cursor, a list, memory, and landing an edit.

Two documents of 20,000 lines are open in one server; 500 changes are pending in one of them. Keystrokes and
requests go to both in turn, and beside that to a bare pygls server; what counts is the server's processor
time. The list, the memory and the landing are measured in this process.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from bench_loop import Calls, Yes
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.commands.process import Processes
from handrail.adapters.files.disk import Disk
from handrail.adapters.state.grant_file import GrantFile
from handrail.adapters.state.review_folder import ReviewFolder
from handrail.adapters.state.spill_folder import SpillFolder
from handrail.adapters.workspace.folders import Folders
from handrail.agent.host import Host
from handrail.agent.review.reviews import Reviews
from handrail.agent.review.selection import HunkSelection
from handrail.core.conversation.message import (
    Message,
    Piece,
    Response,
    StopReason,
    ToolCall,
    ToolOffer,
)
from handrail.core.review.pending import ReviewMode
from handrail.ports import Ports, Provider
from handrail.testing import answer, call, script

LINES, HUNKS, KEYS = 20_000, 500, 400
KEY_S = 0.005
DOCUMENTS = 10  # of the list, with as many hunks each
ROUNDS = 7
LIMIT_KEY, LIMIT_ACTIONS, LIMIT_LIST, LIMIT_MEMORY, LIMIT_LANDING = 1.5, 2.5, 20.0, 3.0, 1.1
BARE = """
from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

server = LanguageServer("bare", "1")


@server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION)
def code_action(params):
    return []


server.start_io()
"""
failures: list[str] = []


def check(what: str, value: float, bound: float) -> None:
    """Print a ratio beside its bound, and remember a bound that is missed."""
    ok = value <= bound
    print(f"{'ok    ' if ok else 'MISSED'} {what}: {value:,.2f} (bound {bound:,.2f})", flush=True)
    if not ok:
        failures.append(what)


def rows(document: int, number: int = LINES) -> list[str]:
    """The rows of a document, each unlike any other."""
    return [f"    line {number} of document {document}, with some words\n" for number in range(number)]


def changed(document: int, count: int) -> tuple[str, str]:
    """A document, and the same with so many changes."""
    before = rows(document)
    after = list(before)
    for at in range(count):
        after[at * (LINES // count) + 7] = f"    change {at} in document {document}\n"
    return "".join(before), "".join(after)


class Client:
    """A client that writes raw messages to a server and reads its answers."""

    def __init__(self, argv: Sequence[str], root: Path, state: Path) -> None:
        environment = {**os.environ, "XDG_STATE_HOME": str(state)}
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        self.numbers, self.root = itertools.count(1), root
        self.edits: list[Any] = []
        self.settings: dict[str, object] = {"model": f"scripted:{root.parent / 'script.json'}"}

    def __enter__(self) -> Self:
        capabilities = {
            "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
            "textDocument": {"codeAction": {}, "codeLens": {}},
        }
        folder = {"uri": self.root.as_uri(), "name": "work"}
        options = {"handrail": {"settings": self.settings}}
        self.ask(
            "initialize",
            {
                "processId": None,
                "capabilities": capabilities,
                "workspaceFolders": [folder],
                "rootUri": folder["uri"],
                "initializationOptions": options,
            },
        )
        self.tell("initialized", {})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()

    def _write(self, message: dict[str, Any]) -> None:
        raw = json.dumps({"jsonrpc": "2.0", **message}).encode()
        pipe: IO[bytes] = self.process.stdin  # type: ignore[assignment]  # it has one
        pipe.write(b"Content-Length: %d\r\n\r\n%s" % (len(raw), raw))
        pipe.flush()

    def _read(self) -> dict[str, Any]:
        pipe: IO[bytes] = self.process.stdout  # type: ignore[assignment]  # it has one
        length = 0
        while (line := pipe.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        found: dict[str, Any] = json.loads(pipe.read(length))
        return found

    def tell(self, method: str, params: Any) -> None:
        """A notification."""
        self._write({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> Any:
        """Send a request and return its answer. Edits that the server asks for before it answers are made."""
        number = next(self.numbers)
        self._write({"id": number, "method": method, "params": params})
        while True:
            message = self._read()
            if message.get("id") == number and "method" not in message:
                if "error" in message:
                    raise RuntimeError(message["error"])
                return message.get("result")
            if "method" in message and "id" in message:
                self._answer(message)

    def _answer(self, message: dict[str, Any]) -> None:
        result: Any = None
        if message["method"] == "workspace/applyEdit":
            (change,) = message["params"]["edit"]["documentChanges"]
            document = change["textDocument"]
            events = [{"range": edit["range"], "text": edit["newText"]} for edit in reversed(change["edits"])]
            document = {"uri": document["uri"], "version": document["version"] + 1}
            self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": events})
            result = {"applied": True}
        elif message["method"] == "workspace/configuration":
            result = [None for _ in message["params"]["items"]]
        self._write({"id": message["id"], "result": result})

    def open(self, file: Path, text: str) -> str:
        """Open a document."""
        document = {"uri": file.as_uri(), "languageId": "text", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})
        return file.as_uri()

    def used_s(self) -> float:
        """The processor time of the server so far."""
        return time.clock_gettime(~self.process.pid << 3 | 2)


def in_a_server(folder: Path) -> None:
    """Keystrokes and code actions."""
    root = folder / "work"
    root.mkdir()
    before, after = changed(0, HUNKS)
    (root / "with").write_text(before)
    (root / "without").write_text(before)
    new = call("write_file", path="with", content=after)
    script(folder / "script.json", answer("", new), answer("Done."))
    handrail = (sys.executable, "-m", "handrail", "serve")
    with (
        Client(handrail, root, folder / "state") as ours,
        Client((sys.executable, "-c", BARE), root, folder / "state") as bare,
    ):
        texts = {ours.open(root / name, before): name for name in ("with", "without")}
        bare.open(root / "with", before)
        started = ours.ask("handrail/turn/start", {"prompt": "Go."})
        report = ours.ask("handrail/turn/wait", {"turn": started["turn"]})
        assert len(report["pending"]) == HUNKS, report
        of = {name: uri for uri, name in texts.items()}
        keys = {name: keystrokes(ours, of[name]) for name in ("without", "with")}
        for name, share in (("median", 0.5), ("p99", 0.99)):
            found = [sorted(keys[each])[int(len(keys[each]) * share)] for each in ("with", "without")]
            check(
                f"a keystroke among {HUNKS} changes, {name}, of one without", found[0] / found[1], LIMIT_KEY
            )
        asked = {each: actions(client, of["with"]) for each, client in (("ours", ours), ("bare", bare))}
        ratio = statistics.median(asked["ours"]) / statistics.median(asked["bare"])
        check("code actions at the cursor, of an empty answer of bare pygls", ratio, LIMIT_ACTIONS)


def keystrokes(client: Client, uri: str) -> list[float]:
    """The processor time of each keystroke, with what it brings about until the next one comes."""
    found = []
    for version in range(100, 100 + KEYS):
        began = client.used_s()
        place = {"line": 10_003, "character": 4 + version - 100}
        event = {"range": {"start": place, "end": place}, "text": "x"}
        document = {"uri": uri, "version": version}
        client.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [event]})
        client.ask("handrail/failure/list", {})
        time.sleep(KEY_S)  # no state is awaited: this is how fast the user types
        found.append(client.used_s() - began)
    return found


def actions(client: Client, uri: str) -> list[float]:
    """The processor time of code actions at lines one after the other."""
    found = []
    for at in range(KEYS):
        place = {"line": at * 40 + 7, "character": 0}
        began = client.used_s()
        client.ask(
            "textDocument/codeAction",
            {
                "textDocument": {"uri": uri},
                "range": {"start": place, "end": place},
                "context": {"diagnostics": []},
            },
        )
        found.append(client.used_s() - began)
    return found


def host(folder: Path, provider: Provider, mode: ReviewMode) -> Host:
    """A host on the real disk."""
    folders, state = Folders([folder]), folder.parent / f"{folder.name}-state"
    ids = itertools.count(1)
    store = ReviewFolder(lambda: state / "review")
    ports = Ports(
        editor=Disk(),
        workspace=folders,
        provider=provider,
        checkpoints=ShadowRepo(state, lambda: folders.roots, lambda: datetime.now(UTC)),
        approver=Yes(),
        grants=GrantFile(state, lambda: folders.roots),
        process=Processes(os.environ, lambda: folders.roots),
        spills=SpillFolder(state / "outputs"),
    )
    return Host(
        ports=lambda: ports,
        new_id=lambda kind: f"{kind}-{next(ids)}",
        on_event=lambda *_: None,
        on_ledger=lambda ledger: None,
        reviews=Reviews(store=store, mode=lambda: mode),
    )


class Writes:
    """A model that writes one file anew in each turn, one after the other."""

    context_tokens = 10_000_000

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._arguments = iter([json.dumps({"path": name, "content": text}) for name, text in pairs])
        self._numbers = itertools.count(1)

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Piece]:
        """A call, then the answer."""
        number = next(self._numbers)
        if number % 2:
            call = ToolCall(id=f"c{number}", name="write_file", arguments=next(self._arguments))
            yield Response(text="", calls=(call,), stop=StopReason.TOOL_CALLS)
        else:
            yield Response(text="Done.")


async def listing(folder: Path) -> None:
    """A list of many changes in several documents, and what remembering them takes."""
    texts = [changed(number, HUNKS) for number in range(DOCUMENTS)]
    for number, (before, _) in enumerate(texts):
        (folder / f"{number}").write_text(before)
    writes = Writes([(str(number), after) for number, (_, after) in enumerate(texts)])
    agent = host(folder, writes, ReviewMode.PENDING)
    for _ in texts:
        await agent.wait(agent.start("Go.", None).id)
    split, listed = list[float](), list[float]()
    for _ in range(ROUNDS):
        began = time.process_time()
        for _, after in texts:
            after.split("\n")
        split.append(time.process_time() - began)
        began = time.process_time()
        await agent.reviews.refresh()
        found = agent.reviews.hunks(HunkSelection())
        listed.append(time.process_time() - began)
        assert sum(map(len, found.values())) == HUNKS * DOCUMENTS
    ratio = statistics.median(listed) / statistics.median(split)
    check(f"a list of {HUNKS * DOCUMENTS:,} changes, of a split of their documents", ratio, LIMIT_LIST)
    store = ReviewFolder(lambda: folder.parent / f"{folder.name}-state" / "review")
    gc.collect()
    tracemalloc.start()
    other = Reviews(ports=agent.ports, store=store)
    await other.refresh()
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    size = sum(len(after.encode()) for _, after in texts)
    check("memory, of the texts that have changes", taken / size, LIMIT_MEMORY)
    assert len(other.shown) == DOCUMENTS


async def landings(folder: Path) -> None:
    """Edits that land, with and without pending changes."""
    used = dict[ReviewMode, list[float]]()
    names = itertools.count(1)
    for _ in range(ROUNDS):
        for mode in (ReviewMode.OFF, ReviewMode.PENDING):
            root = folder / f"r{next(names)}"
            root.mkdir()
            (root / "a").write_text("".join(rows(0, 2_000)))

            def edit(at: int) -> ToolCall:
                arguments = {"path": "a", "old_string": f"line {at * 20} of", "new_string": f"row {at} of"}
                return ToolCall(id=f"c{at}", name="patch", arguments=json.dumps(arguments))

            agent = host(root, Calls(edit, 80), mode)
            began = time.process_time()
            report = await agent.wait(agent.start("Go.", None).id)
            used.setdefault(mode, []).append(time.process_time() - began)
            assert all(each.failure is None for each in report.outcomes)
    ratio = statistics.median(used[ReviewMode.PENDING]) / statistics.median(used[ReviewMode.OFF])
    check("edits that land, of the same with nothing pending", ratio, LIMIT_LANDING)


def main() -> int:
    """Measure in folders of its own."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name).resolve()
        for each in ("server", "list", "landing"):
            (base / each).mkdir()
        in_a_server(base / "server")
        asyncio.run(listing(base / "list"))
        asyncio.run(landings(base / "landing"))
    print(f"{len(failures)} bounds missed" if failures else "all within bounds")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
