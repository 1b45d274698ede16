"""
What containment adds to a command, with few and with many mounts, and what judging many calls costs.

`true` is run contained and not, in turn, beside a bubblewrap that only starts it; so the ratio of what both
add to a process tells the same on any machine. Judging is compared with itself: eight times the calls.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.commands.process import Processes
from handrail.adapters.containment.containment import Containment
from handrail.adapters.files.disk import Disk
from handrail.adapters.files.files import uri_of
from handrail.adapters.state.grant_file import GrantFile
from handrail.adapters.state.spill_folder import SpillFolder
from handrail.adapters.workspace.folders import Folders
from handrail.adapters.workspace.protected import kind_of
from handrail.agent.turn.resolve import Ready, resolve
from handrail.core.conversation.message import Message, Piece, ToolCall, ToolOffer
from handrail.core.policy import verdict
from handrail.core.policy.containment import FREE, Contained, Profile
from handrail.core.policy.grants import Rights
from handrail.core.policy.shell import Run, RunResult
from handrail.ports import Ports

ROUNDS = 40
MOUNTS = (20, 100, 300)
# What is added, as a multiple of what a bare bubblewrap adds: that is about 3 ms where nothing else runs.
BOUNDS = {20: 6.0, 100: 20.0, 300: 80.0}
FEW, MANY, MOST = 1_000, 8_000, 10.0
BARE = ("--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true")
failures: list[str] = []


def check(what: str, value: float, bound: float) -> None:
    """Print a ratio beside its bound, and remember a bound that is missed."""
    ok = value <= bound
    print(f"| {what} | {value:,.1f} | {bound:,.1f} | {'ok' if ok else 'MISSED'} |")
    if not ok:
        failures.append(what)


class Contains:
    """A workspace with as many hidden files as there are to be mounts, and its commands."""

    def __init__(self, folder: Path, mounts: int) -> None:
        self.root = folder / "work"
        for number in range(mounts):
            (self.root / f"part-{number}").mkdir(parents=True)
            (self.root / f"part-{number}" / ".env").touch()
        self.containment = Containment(
            environ=os.environ, roots=lambda: (self.root,), kind_of=kind_of, state=lambda: folder / "state"
        )
        self.processes = Processes(os.environ, lambda: (self.root,), self.containment)

    async def run(self, contained: Contained) -> None:
        """Run `true`."""
        wanted = Run(line="true", folder=uri_of(self.root), timeout_s=60, contained=contained)
        ran = await self.processes.run(wanted, asyncio.Event(), lambda text: None)
        assert isinstance(ran, RunResult), ran
        assert ran.code == 0, ran


async def times(acts: Mapping[str, Callable[[], Awaitable[object]]]) -> dict[str, float]:
    """The median time of each act in milliseconds; they take turns."""
    taken: dict[str, list[float]] = {name: [] for name in acts}
    for _ in range(ROUNDS):
        for name, act in acts.items():
            began = time.perf_counter()
            await act()
            taken[name].append(1000 * (time.perf_counter() - began))
    return {name: statistics.median(each) for name, each in taken.items()}


async def started(*command: str) -> None:
    """Run a program, as it is."""
    process = await asyncio.create_subprocess_exec(*command, stdin=subprocess.DEVNULL)
    assert await process.wait() == 0, command


async def contained(folder: Path) -> None:
    """What each profile adds, beside what a bare bubblewrap adds."""
    places = {mounts: Contains(folder / str(mounts), mounts) for mounts in MOUNTS}
    available = await places[MOUNTS[0]].containment.available()
    if not available.works:
        print(f"Nothing is contained here: {available.why_not}.")
        failures.append("containment")
        return
    program = available.by.partition("(")[2].rstrip(")")
    acts: dict[str, Callable[[], Awaitable[object]]] = {
        "true": partial(started, "true"),
        "bwrap true": partial(started, program, *BARE),
        "uncontained": partial(places[MOUNTS[0]].run, FREE),
    }
    for mounts, place in places.items():
        await place.containment.available()
        for profile in (Profile.LOOK, Profile.WORK):
            acts[f"{profile}, {mounts} mounts"] = partial(place.run, Contained(profile=profile))
    found = await times(acts)
    print(", ".join(f"{name} {value:.1f} ms" for name, value in found.items()))
    print("\n| what is added, as a multiple of what a bare bubblewrap adds | ratio | bound | |")
    print("|---|---|---|---|")
    yardstick = found["bwrap true"] - found["true"]
    for mounts, place in places.items():
        for profile in (Profile.LOOK, Profile.WORK):
            name = f"{profile}, {mounts} mounts"
            check(name, (found[name] - found["true"]) / yardstick, BOUNDS[mounts])
        place.containment.close()


class Silent:
    """A provider that is not asked."""

    context_tokens = 1_000_000

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Piece]:
        """Nothing."""
        return
        yield


def ports(root: Path, state: Path) -> Ports:
    """What calls are resolved with."""
    folders = Folders([root])
    return Ports(
        editor=Disk(),
        workspace=folders,
        provider=Silent(),
        checkpoints=ShadowRepo(state, lambda: folders.roots, lambda: datetime.now(UTC)),
        approver=None,  # type: ignore[arg-type]  # nobody is asked
        grants=GrantFile(state, lambda: folders.roots),
        process=Processes(os.environ, lambda: folders.roots),
        spills=SpillFolder(state / "outputs"),
    )


async def judged(count: int, world: Ports) -> float:
    """The time that it takes to resolve and judge *count* calls, in seconds."""
    lines = (f"cat a.txt | head -n {number}" for number in range(count))
    calls = [ToolCall(id=line, name="terminal", arguments=json.dumps({"command": line})) for line in lines]
    began = time.perf_counter()
    resolved = [await resolve(call, world, None) for call in calls]
    for each in resolved:
        assert isinstance(each, Ready)
        verdict.verdict(each.request, Rights())
    return time.perf_counter() - began


async def measure(folder: Path, root: Path) -> None:
    """All of it."""
    await contained(folder / "contained")
    world = ports(root, folder / "state")
    await judged(100, world)
    few, many = await judged(FEW, world), await judged(MANY, world)
    print(f"\n{FEW:,} calls judged in {few:.2f} s, {MANY:,} in {many:.2f} s\n")
    check(f"judging {MANY:,} calls, as a multiple of {FEW:,}", many / few, MOST)


def main() -> int:
    """Measure; returns 1 if a bound is missed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        root = folder / "w"
        root.mkdir()
        (root / "a.txt").write_text("one\n")
        asyncio.run(measure(folder, root))
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
