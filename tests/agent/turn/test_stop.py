"""A turn that is stopped does not wait for what only reads, and many calls cost what they must."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace

import pytest

from bench import Bench
from handrail.adapters.commands.process import Processes
from handrail.agent.tools.stoppable import unless_stopped
from handrail.agent.turn.resolve import Ready, Refused, resolve
from handrail.core.conversation.message import ToolCall
from handrail.core.ledger.report import CallEnded, CallStarted, Ended, Event, State
from handrail.core.policy import verdict
from handrail.core.policy.grants import Rights
from handrail.core.policy.rules import Decision, Rule
from handrail.core.policy.shell import ParsedCommand
from handrail.testing import answer, call


class Begun(list[Event]):
    """The events of a bench, which say when that many calls have begun."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.left, self.all = count, asyncio.Event()

    def append(self, event: Event) -> None:
        super().append(event)
        self.left -= isinstance(event, CallStarted)
        if not self.left:
            self.all.set()


async def stopped(bench: Bench, count: int) -> str:
    """Begin a turn and stop it when *count* calls have begun; the session."""
    bench.events = events = Begun(count)
    turn = bench.host.start("Look.", None)
    await events.all.wait()
    await bench.host.cancel(turn.id)
    return (await bench.host.wait(turn.id)).session


@pytest.mark.parametrize("tool", ["search", "list_files"])
async def test_a_search_without_end_is_left_alone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    gate = asyncio.Event()

    async def never(*arguments: object) -> None:
        while not gate.is_set():  # also when it is cancelled, as a thread would
            with suppress(asyncio.CancelledError):
                await gate.wait()

    monkeypatch.setattr(bench.folders, "search", never)
    monkeypatch.setattr(bench.folders, "files", never)
    (bench.root / "a.txt").write_text("one\n")
    arguments = {"pattern": "one"} if tool == "search" else {}
    bench.says(
        answer("", call(tool, **arguments), call("patch", path="a.txt", old_string="one", new_string="1"))
    )
    session = await stopped(bench, 1)
    gate.set()
    assert [code for _, code in bench.results(session)] == ["cut-short", "cut-short"]
    assert (bench.root / "a.txt").read_text() == "one\n"


@pytest.mark.parametrize("stops", [1, 2])
async def test_a_stop_that_comes_after_the_end_changes_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, stops: int
) -> None:
    """The turn has said how it ended, and takes back its empty checkpoint."""
    begun, gate = asyncio.Event(), asyncio.Event()

    async def settle(*_: object) -> None:
        begun.set()
        await gate.wait()

    monkeypatch.setattr(bench.host.reviews, "settle", settle)
    bench.says(answer("", call("write_file", path="a.txt", content="one\n")), answer("Done."))
    turn = bench.host.start("Write.", None)
    await begun.wait()
    assert Ended(state=State.FINISHED, reason=None) in bench.events
    stopping = [asyncio.create_task(bench.host.cancel(turn.id)) for _ in range(stops)]
    while not turn.task.cancelling():  # noqa: ASYNC110  # a task has no event for it
        await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*stopping)
    report = await bench.host.wait(turn.id)
    assert (report.state, len(report.outcomes), report.checkpoint) == (State.FINISHED, 1, turn.id)


async def test_what_ends_first_counts() -> None:
    stop = asyncio.Event()

    async def value() -> str:
        return "value"

    assert await unless_stopped(value(), stop) == "value"
    stop.set()
    assert await unless_stopped(asyncio.Event().wait(), stop) is None


async def test_of_many_commands_few_run_at_once_and_none_begins_after_the_stop(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("one\n")
    bench.says(answer("", *(call("terminal", command="tail -f a.txt") for _ in range(40))))
    texts = bench.texts(await stopped(bench, 40))
    assert len(texts) == 40
    unbegun = [text for text in texts if "stopped before this call ran" in text]
    assert 32 <= len(unbegun) <= 40
    assert sum(isinstance(event, CallEnded) for event in bench.events) == 40


class Parsing(Processes):
    """Real commands, which says how many lines were taken apart, and does something when one is."""

    def __init__(self, act: Callable[[int], None]) -> None:
        super().__init__(os.environ)
        self.count, self._act = 0, act

    async def parse(self, line: str) -> ParsedCommand:
        self.count += 1
        self._act(self.count)
        return await super().parse(line)


async def test_of_many_calls_none_is_looked_at_again_after_the_stop(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is resolved when it comes and once more before it runs; whoever stops the turn waits for that."""
    calls, cancelling = 100, list[asyncio.Task[None]]()

    def stop(count: int) -> None:
        if count == calls + 1:
            cancelling.append(asyncio.ensure_future(bench.host.cancel(turn.id)))

    process = Parsing(stop)
    ports = replace(bench.ports(), process=process)
    monkeypatch.setattr(bench.host, "ports", lambda: replace(ports, provider=bench.provider))
    (bench.root / "a.txt").write_text("one\n")
    bench.says(answer("", *(call("terminal", command=f"head -n {n} a.txt") for n in range(calls))))
    turn = bench.host.start("Look.", None)
    session = (await bench.host.wait(turn.id)).session
    await asyncio.gather(*cancelling)
    assert calls < process.count <= calls + 3
    assert [code for _, code in bench.results(session)] == ["cut-short"] * calls


# ---- Many calls --------------------------------------------------------------------------------------


LEAST = int(os.environ.get("HANDRAIL_CALLS", "200"))  # `HANDRAIL_CALLS=1000` takes a minute

KINDS: dict[str, Callable[[int], tuple[str, dict[str, object]]]] = {
    "read_file": lambda number: ("read_file", {"path": f"deep/{number}.txt"}),
    "one document": lambda number: ("patch", {"path": "a.txt", "old_string": str(number), "new_string": "x"}),
    "many documents": lambda number: ("write_file", {"path": f"deep/{number}.txt", "content": "x"}),
    "outside": lambda number: ("read_file", {"path": f"../../{number}"}),
    "unknown": lambda number: ("nothing", {}),
    "commands": lambda number: ("terminal", {"command": f"cat a.txt | head -n {number}"}),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_resolving_and_judging_eight_times_the_calls_costs_at_most_ten_times(
    bench: Bench, kind: str
) -> None:
    (bench.root / "a.txt").write_text("one\n")
    rules = (Rule(tool="*", match="**/*.key", decision=Decision.BLOCK),) * 5
    least = LEAST // 20 if kind == "commands" else LEAST  # each of these is taken apart in threads

    async def judged(count: int) -> None:
        name, _ = KINDS[kind](0)
        calls = [
            ToolCall(id=f"c-{number}", name=name, arguments=json.dumps(KINDS[kind](number)[1]))
            for number in range(count)
        ]
        resolved: list[Ready | Refused] = [await resolve(each, bench.ports(), None) for each in calls]
        for each in resolved:
            if isinstance(each, Ready):
                verdict.verdict(each.request, Rights(rules=rules))

    await judged(10)  # what is remembered for good is there
    costs = []
    for count in (least, 8 * least):
        costs.append(await counted(judged(count)))
    assert costs[1] <= 10 * costs[0]


async def counted(task: Coroutine[None, None, None]) -> int:
    """How many functions are called while *task* runs, in this thread."""
    count = 0

    def profile(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        await task
    finally:
        sys.setprofile(None)
    return count
