"""
How much of a turn is our own: its start, each tool call, fitting a long history, text to the client, stalls.

The start, and many runs at once, are `bench_start`'s.

The model is instant, the editor and the checkpoints are in memory. Stalls are what a watchdog sees that wants
to run every millisecond on the same event loop.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from pygls.lsp.client import LanguageClient
from pygls.lsp.server import LanguageServer

import bench_start
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.commands.process import Processes
from handrail.adapters.files.disk import Disk
from handrail.adapters.models.sdks.loading import load, no_collections
from handrail.adapters.state.grant_file import GrantFile
from handrail.adapters.state.session_log import SessionLog
from handrail.adapters.state.spill_folder import SpillFolder
from handrail.adapters.workspace.folders import Folders
from handrail.agent import restoring
from handrail.agent.archive import Archive
from handrail.agent.host import Host
from handrail.agent.restore.restore import RestoreRequest
from handrail.core.conversation import compact, pair
from handrail.core.conversation.compact import Gauge
from handrail.core.conversation.journal import UNKNOWN, Entry, Replaced, TurnBegun
from handrail.core.conversation.message import (
    AssistantMessage,
    Delta,
    Message,
    Piece,
    Response,
    StopReason,
    ToolCall,
    ToolMessage,
    ToolOffer,
    ToolResult,
    UserMessage,
)
from handrail.core.ledger.problems import Problem
from handrail.core.ledger.report import CallFailed, Event
from handrail.core.policy.checks import Check, Format
from handrail.lsp import protocol, wire
from handrail.lsp.client import Client
from handrail.lsp.convert import Converter
from handrail.lsp.progress import Progress
from handrail.ports import ALLOW, Ports, Provider, Question
from handrail.ports.languages import PROBLEMS, NoLanguages, Report, Unwatched

CALLS, CALL_ROUNDS, ECHOES = 90, 9, 100
RATE, SECONDS = 5_000, 2.0
EDITS, FEEDBACK_ROUNDS = 20, 5
LIMIT_FEEDBACK = {"the client": 1.5, "a check": 3.0}  # of the processor time of an edit without reports
failures: list[str] = []


def check(what: str, value: float, bound: float, unit: str = "") -> None:
    """Print a value beside its bound, and remember a bound that is missed."""
    ok = value <= bound
    print(f"{'ok    ' if ok else 'MISSED'} {what}: {value:,.2f}{unit} (bound {bound:,.2f}{unit})")
    if not ok:
        failures.append(what)


class Calls:
    """A provider that makes one call after the other, and then answers."""

    context_tokens = 1_000_000

    def __init__(self, call: Callable[[int], ToolCall], many: int = CALLS) -> None:
        self._call, self._numbers, self._many = call, count(), many

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Piece]:
        """The next call."""
        number = next(self._numbers)
        if number < self._many:
            yield Response(text="", calls=(self._call(number),), stop=StopReason.TOOL_CALLS)
        else:
            yield Response(text="Done.")


class Stream:
    """A provider that streams tokens at a rate."""

    context_tokens = 1_000_000

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Piece]:
        """All tokens, in time."""
        began, sent = time.perf_counter(), 0
        while sent < RATE * SECONDS:
            await asyncio.sleep(0.001)
            due = int((time.perf_counter() - began) * RATE)
            for _ in range(due - sent):
                yield Delta(text="word ")
            sent = due
        yield Response(text="word " * sent)


class Yes:
    """An approver who always says yes."""

    async def ask(self, question: Question) -> str | None:
        """Yes."""
        return ALLOW


def host(folder: Path, provider: Provider, on_event: Callable[[str, str, Event], None]) -> Host:
    """A host with all but an editor."""
    ids = count(1)
    folders = Folders([folder])
    state = folder.parent / "state"
    repo = ShadowRepo(state, lambda: folders.roots, lambda: datetime.now(UTC))
    ports = Ports(
        editor=Disk(),
        workspace=folders,
        provider=provider,
        checkpoints=repo,
        approver=Yes(),
        grants=GrantFile(state, lambda: folders.roots),
        process=Processes(os.environ),
        spills=SpillFolder(folder.parent / "outputs"),
    )
    return Host(
        ports=lambda: ports,
        new_id=lambda kind: f"{kind}-{next(ids)}",
        on_event=on_event,
        on_ledger=lambda ledger: None,
        archive=Archive(journals=SessionLog(lambda: folder.parent / "sessions")),
    )


@asynccontextmanager
async def watchdog(late: list[float]) -> AsyncIterator[None]:
    """Note in *late*, in ms, how much later than wanted the event loop ran a task every millisecond."""

    async def watch() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            late.append((time.perf_counter() - began - 0.001) * 1000)

    task = asyncio.create_task(watch())
    try:
        yield
    finally:
        task.cancel()


def share(values: list[float], part: float) -> float:
    """The value that *part* of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def load_all() -> None:
    """Import the SDK for every kind of model."""
    with no_collections():
        load()
        for name in ("openai_sdk", "anthropic_sdk"):
            importlib.import_module(f"handrail.adapters.models.sdks.{name}")


async def imports() -> None:
    """The SDK is imported in a thread while the loop goes on; nothing else has imported it yet."""
    assert "pydantic_ai" not in sys.modules
    late: list[float] = []

    async with watchdog(late):
        await asyncio.to_thread(load_all)
    check("stalls while the SDK is imported, p99", share(late, 0.99), 15, " ms")
    check("stalls while the SDK is imported, longest", max(late), 200, " ms")


@asynccontextmanager
async def echoing() -> AsyncIterator[Callable[[], Awaitable[float]]]:
    """Yields what measures a bare function through the JSON-RPC stack: the median round trip, in seconds."""
    server = LanguageServer("bench", "1")

    @server.feature("bench/echo")
    def echo(params: Any) -> object:  # pygls would hand an `object` the server
        return params

    client = LanguageClient("bench", "1")
    ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.protocol.set_writer(Sender(writer))
        ready.set_result(None)
        await pump(server, reader)

    listener = await asyncio.start_server(connected, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*listener.sockets[0].getsockname())
    client.protocol.set_writer(Sender(writer))
    reading = asyncio.create_task(pump(client, reader))
    await ready

    async def measured() -> float:
        times = []
        for number in range(ECHOES):
            began = time.perf_counter()
            await client.protocol.send_request_async("bench/echo", {"number": number})
            times.append(time.perf_counter() - began)
        return statistics.median(times)

    yield measured
    reading.cancel()
    writer.close()
    listener.close()


class Sender:
    """What pygls writes to."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def write(self, data: bytes) -> None:
        """Send."""
        self._writer.write(data)

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


async def pump(peer: LanguageServer | LanguageClient, reader: asyncio.StreamReader) -> None:
    """Hand every message to a peer."""
    while head := await reader.readline():
        length = int(head.partition(b":")[2])
        while (await reader.readline()).strip():
            pass
        body = await reader.readexactly(length)
        peer.protocol.handle_message(peer.protocol.structure_message(json.loads(body)))


async def tool_calls(folder: Path) -> None:
    """
    A call that touches no disk, events written as JSON; journal off, since it is disk.

    The yardstick is measured before each round: a machine may be faster in one second than in the next.
    """
    converter = Converter(encoding="utf-16")

    def tell(session: str, turn: str, event: Event) -> None:
        assert not isinstance(event, CallFailed), "it is logged, not told"
        update = protocol.TurnUpdate(session=session, turn=turn, seq=1, event=converter.event(event))
        json.dumps(wire.write(update))

    def call(number: int) -> ToolCall:
        items = [{"text": f"Thing {number}", "state": "open"}]
        return ToolCall(id=f"c{number}", name="todo", arguments=json.dumps({"items": items}))

    rounds = []
    async with echoing() as echo_s:
        await echo_s()  # for the first time, it is slower
        for _ in range(CALL_ROUNDS):
            bare = await echo_s()
            agent = host(folder, Calls(call), tell)
            agent.archive = Archive()
            began = time.perf_counter()
            await agent.wait(agent.start("Go.", None).id)
            rounds.append(((time.perf_counter() - began) / CALLS, bare))
    ours, bare = (statistics.median(each) * 1000 for each in zip(*rounds, strict=True))
    print(f"       a tool call {ours:.3f} ms, a bare call through JSON-RPC {bare:.3f} ms")
    ratio = statistics.median(ours / bare for ours, bare in rounds)
    check("our own time for each tool call, of a bare call's", ratio, 2, "x")


def history(count_: int) -> tuple[Message, ...]:
    """A conversation of that many messages, two kilobytes each."""
    found: list[Message] = [UserMessage(text="x" * 2000)]
    for number in range((count_ - 1) // 2):
        call = ToolCall(id=f"c{number}", name="patch", arguments="x" * 2000)
        found.append(AssistantMessage(text="", calls=(call,)))
        found.append(ToolMessage(results=(ToolResult(call=call.id, text="x" * 2000),)))
    return tuple(found)


def fitting() -> None:
    """Check and fit a history; the time must grow as the history does."""

    def fit(messages: tuple[Message, ...]) -> float:
        best = []
        for _ in range(15):
            began = time.perf_counter()
            mended = pair.pair_results(messages, UNKNOWN)
            compact.is_due(mended, (), Gauge(), 100_000)
            compact.cut(compact.thin(mended, Gauge(), 100_000), Gauge(), 100_000)
            best.append(time.perf_counter() - began)
        return min(best)

    check("a history of 1,000 messages checked and fitted", fit(history(1_000)) * 1000, 20, " ms")
    check("growth from 1,000 to 8,000 messages", fit(history(8_000)) / fit(history(1_000)), 12, "x")


class WatchedSessions:
    """A server whose notifications are only counted."""

    def __init__(self) -> None:
        self.at: list[float] = []
        self.protocol = self

    def notify(self, method: str, params: object) -> None:
        """Note a message with text."""
        json.dumps(params)
        if isinstance(params, dict) and params["event"]["kind"] == "text":
            self.at.append(time.perf_counter())


async def deltas(folder: Path) -> None:
    """Text as it reaches the client."""
    heard, late = WatchedSessions(), list[float]()
    client = Client(turn_updates=True, progress=False)
    progress = Progress(server=heard, client=client, converter=lambda: Converter(encoding="utf-16"))  # type: ignore[arg-type]  # it only notifies
    agent = host(folder, Stream(), progress.on_event)
    began = time.perf_counter()
    async with watchdog(late):
        report = await agent.wait(agent.start("Go.", None).id)
    rate = len(report.answer.split()) / (time.perf_counter() - began)
    gaps = [(b - a) * 1000 for a, b in zip(heard.at, heard.at[1:], strict=False)]
    check(f"{RATE:,} tokens a second, less a tenth, of the rate reached", RATE * 0.9 / rate, 1)
    check("between two pieces of text, median", statistics.median(gaps), 33, " ms")
    check("16 ms, of the median between two pieces of text", 16 / statistics.median(gaps), 1)
    check("stalls while text streams, p99.9", share(late, 0.999), 15, " ms")


async def edits(folder: Path) -> None:
    """Stalls while a turn edits a document on the real disk, with checkpoints and journal."""
    (folder / "a.txt").write_text("".join(f"line {number}\n" for number in range(2_000)))

    late: list[float] = []
    agent = host(folder, Calls(edit), lambda session, turn, event: None)
    async with watchdog(late):
        report = await agent.wait(agent.start("Go.", None).id)
    assert len(report.outcomes) == CALLS
    check("stalls while a turn edits, p99.9", share(late, 0.999), 15, " ms")


class Passed(NoLanguages):
    """Reports problems on every line that is a multiple of ten, as a client would pass them on."""

    offers = frozenset({PROBLEMS})

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def problems(
        self, uris: Sequence[str], wait_s: float, others: Sequence[str] = ()
    ) -> Mapping[str, Report | Unwatched]:
        """The same problems, whatever the text."""
        found = tuple(
            Problem(line=line, message="This is bad.", source="bench") for line in range(0, 2_000, 10)
        )
        return {uri: Report(text=(self._folder / "a.txt").read_text(), problems=found) for uri in uris}


async def feedback(folder: Path) -> None:
    """What an edit of 2,000 lines costs the server that are reported on, of the same without reports."""
    row = "a.txt:{}:1: error: This is bad.\n"
    check_ = Check(command="cat report.txt", format=Format.LINES, files=("a.txt",))
    used: dict[str, list[float]] = {"nothing": [], "the client": [], "a check": []}
    for number in range(FEEDBACK_ROUNDS):
        for reporter, times in used.items():
            root = folder / f"{number} {reporter}"
            root.mkdir()
            (root / "a.txt").write_text("".join(f"line {line}\n" for line in range(2_000)))
            (root / "report.txt").write_text("".join(row.format(line) for line in range(1, 2_001, 10)))
            agent = host(root, Calls(edit, EDITS), lambda session, turn, event: None)
            plain = agent.ports()
            languages = Passed(root) if reporter == "the client" else NoLanguages()
            checks = (check_,) if reporter == "a check" else ()
            terms = replace(plain.terms, checks=checks, roots=(root.as_uri(),))
            given = replace(plain, languages=languages, terms=terms)
            agent.ports = partial(replace, given)
            began = time.process_time()
            report = await agent.wait(agent.start("Go.", None).id)
            times.append((time.process_time() - began) / EDITS)
            assert len(report.outcomes) == EDITS
            assert "Not known" not in str(agent.sessions[report.session].messages)
    alone = statistics.median(used["nothing"])
    for reporter, bound in LIMIT_FEEDBACK.items():
        took = statistics.median(used[reporter])
        print(
            f"       an edit {alone * 1000:.2f} ms of processor time, "
            f"with reports of {reporter} {took * 1000:.2f} ms"
        )
        check(
            f"processor time of an edit with reports of {reporter}, of one without", took / alone, bound, "x"
        )


def edit(number: int) -> ToolCall:
    """The edit of one line."""
    new = {"path": "a.txt", "old_string": f"line {number}\n", "new_string": f"row {number}\n"}
    return ToolCall(id=f"c{number}", name="patch", arguments=json.dumps(new))


async def large_documents(folder: Path) -> None:
    """Stalls while a turn rewrites a large document, and while that is taken back."""
    random = Random(1)
    lines = [f"line {random.randrange(50_000)}\n" for _ in range(50_000)]
    (folder / "large.txt").write_text("".join(lines))
    for at in random.sample(range(50_000), 10_000):
        lines[at] = f"row {at}\n"
    arguments = json.dumps({"path": "large.txt", "content": "".join(lines)})
    calls = Calls(lambda number: ToolCall(id=f"c{number}", name="write_file", arguments=arguments), 1)
    late, back = list[float](), list[float]()
    agent = host(folder, calls, lambda session, turn, event: None)
    async with watchdog(late):
        report = await agent.wait(agent.start("Go.", None).id)
    assert report.checkpoint is not None
    async with watchdog(back):
        restored = await restoring.restore(agent, RestoreRequest(checkpoint=report.checkpoint))
    assert len(restored.restored) == 1
    check("stalls while a large document is rewritten, longest", max(late), 100, " ms")
    check("stalls while that is taken back, longest", max(back), 100, " ms")


async def journals(folder: Path) -> None:
    """Stalls while large journals are written, listed and read."""
    log, late = SessionLog(lambda: folder.parent / "large"), list[float]()
    entries: list[Entry] = [TurnBegun(turn="t", prompt="Go.", mode="edit"), Replaced(messages=history(1_000))]
    async with watchdog(late):
        for number in range(20):
            log.append(f"s-{number}", entries)
        assert len(await log.list()) == 20
        assert await log.load("s-7") is not None
    check("stalls while 40 MB of journals are written and read, longest", max(late), 20, " ms")


async def measure(folder: Path) -> None:
    """All of it, the import first."""
    await imports()
    await tool_calls(folder)
    fitting()
    await deltas(folder)
    await edits(folder)
    await feedback(folder.with_name("feedback"))
    other = folder.with_name("other")  # ids begin anew, and the checkpoints of the folder have such
    other.mkdir()
    await large_documents(other)
    await journals(folder)


def main() -> int:
    """Measure in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "work"
        folder.mkdir()
        folder.with_name("feedback").mkdir()
        asyncio.run(measure(folder))
    bench_start.measure(check)
    print(f"{len(failures)} bounds missed" if failures else "all within bounds")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
