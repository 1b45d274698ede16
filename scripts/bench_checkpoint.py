"""
What checkpoints cost, on trees of real files, with plain git beside them.

The trees are copies of Python's own library and of what is installed here. `git add -A` and a commit of the
same tree in the same run is the yardstick. `--trees 1000,10000,50000` chooses the sizes.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from handrail.adapters import shadow_tidy
from handrail.adapters.disk import Disk
from handrail.adapters.files import uri_of
from handrail.adapters.shadow_limits import used_bytes
from handrail.adapters.shadow_repo import ShadowRepo
from handrail.core import edit
from handrail.core.change import PlannedHunk, Tier, Update
from handrail.core.checkpoint import StepId, Target
from handrail.core.text import Text

LIMIT_FILE_BYTES = 200_000  # larger ones are no source code
TICK_S = 0.005
ROUNDS, MANY_ROUNDS, SLOW_ROUNDS = 40, 7, 5
MANY = 100

numbers = itertools.count(1)


@dataclass
class Figures:
    """Medians of one tree, in milliseconds; stalls of the event loop; bytes of a checkpoint once packed."""

    files: int
    git: float = 0.0
    add: float = 0.0
    one: float = 0.0
    recorded: float = 0.0
    many: float = 0.0
    undo: float = 0.0
    first: float = 0.0
    warm: float = 0.0
    stall: float = 0.0
    packed: float = 0.0
    gaps: list[float] = field(default_factory=list)


# ---- Trees ------------------------------------------------------------------------------------------


def sources() -> Iterator[Path]:
    """Real files of this machine."""
    for base in (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), "/usr/lib", "/usr/share"):
        for at, folders, names in os.walk(base):
            folders[:] = sorted(each for each in folders if each not in ("__pycache__", ".git"))
            for name in sorted(names):
                path = Path(at, name)
                if not path.is_symlink() and path.is_file() and path.stat().st_size <= LIMIT_FILE_BYTES:
                    yield path


def plant(folder: Path, count: int) -> None:
    """A tree of *count* files, in the folders that they come from."""
    for path in itertools.islice(sources(), count):
        target = folder / "tree" / path.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    for number in range(MANY):
        lines = (f"value_{line} = {line} * {number}\n" for line in range(200))
        (folder / f"changing_{number}.py").write_text("".join(lines))


def changing(folder: Path, count: int = 1) -> list[Path]:
    """Change *count* files, each time in another way."""
    paths = [folder / f"changing_{number}.py" for number in range(count)]
    for path in paths:
        text = path.read_text()
        path.write_text(text.partition("# ")[0] + f"# {next(numbers)}\n")
    return paths


# ---- Measuring --------------------------------------------------------------------------------------


def git(folder: Path, *argv: str) -> None:
    """Plain git, without anything that would make it slower than it must be."""
    settings = ("-c", "gc.auto=0", "-c", "user.name=bench", "-c", "user.email=bench@localhost")
    command = ("git", "-C", os.fspath(folder), *settings, *argv)
    subprocess.run(command, check=True, capture_output=True)


def plain(folder: Path, figures: Figures) -> None:
    """`git add -A` and a commit of the tree with one change; the tree is a clean repository afterwards."""
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    adds, both = [], []
    for _ in range(SLOW_ROUNDS):
        changing(folder)
        began = time.perf_counter()
        git(folder, "add", "-A")
        added = time.perf_counter()
        git(folder, "commit", "-q", "-m", "next")
        adds.append(added - began)
        both.append(time.perf_counter() - began)
    figures.add, figures.git = median_ms(adds), median_ms(both)


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    """How many seconds *work* takes."""
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


def median_ms(seconds: Sequence[float]) -> float:
    """The median of some times, in milliseconds."""
    return statistics.median(seconds) * 1000


def step() -> StepId:
    """The first step of another turn."""
    return StepId(session="s", turn=f"t-{next(numbers)}", number=1, label="Change a file")


def targets(paths: Sequence[Path]) -> list[Target]:
    """The documents that are about to change."""
    return [Target(uri=uri_of(path)) for path in paths]


async def paths_only(folder: Path, repo: ShadowRepo, figures: Figures) -> None:
    """Pre-images: of one file, of many, and taking one back."""
    ones, records, undos, manies = [], [], [], []
    for _ in range(ROUNDS):
        now, what = step(), targets(changing(folder))
        ones.append(await timed(lambda now=now, what=what: repo.ensure(now, what)))
        changing(folder)
        records.append(await timed(lambda now=now, what=what: repo.record(now, what)))
        undos.append(await timed(lambda now=now: undo(repo, now.turn)))
    for _ in range(MANY_ROUNDS):
        now, what = step(), targets(changing(folder, MANY))
        manies.append(await timed(lambda now=now, what=what: repo.ensure(now, what)))
    figures.one, figures.recorded = median_ms(ones), median_ms(records)
    figures.undo, figures.many = median_ms(undos), median_ms(manies)


async def undo(repo: ShadowRepo, turn: str) -> None:
    """Take the one file of a turn back: read what is kept, compare, write at once."""
    (each,) = await repo.restore_plan(turn)
    assert each.before.raw is not None
    assert each.after is not None
    assert each.after.raw is not None
    before, after = Text.parse(each.before.raw), Text.parse(each.after.raw)
    assert isinstance(before, Text)
    assert isinstance(after, Text)
    back = PlannedHunk(number=None, tier=Tier.SAFE, edits=edit.between(after.content, before.content))
    await Disk().apply([Update(uri=each.uri, base=after, hunks=(back,))], "undo")


async def whole_trees(folder: Path, repo: ShadowRepo, figures: Figures) -> None:
    """Snapshots as they are taken around commands."""

    async def snapshot() -> None:
        now = step()
        taken = await repo.before_command(now)
        snapshots.append((now, taken))

    snapshots: list[tuple[StepId, object]] = []
    figures.first = await timed(snapshot) * 1000
    warm = []
    for _ in range(SLOW_ROUNDS):
        changing(folder)
        warm.append(await timed(snapshot))
    figures.warm = median_ms(warm)


async def packed(folder: Path, state: Path, figures: Figures) -> None:
    """What a checkpoint of one file takes once it is packed: what 100 turns leave."""
    repo = ShadowRepo(state, lambda: (folder,), lambda: datetime.now(UTC))
    shadow_tidy.LOOSE_LIMIT = 0
    for _ in range(MANY):
        now, what = step(), targets(changing(folder))
        await repo.ensure(now, what)
        changing(folder)
        await repo.record(now, what)
    await repo.tidy()
    figures.packed = used_bytes(repo.folder) / MANY


async def tick(gaps: list[float]) -> None:
    """Note how much later than wanted the event loop comes back, for ever."""
    while True:
        began = time.perf_counter()
        await asyncio.sleep(TICK_S)
        gaps.append(time.perf_counter() - began - TICK_S)


async def measure(count: int, base: Path) -> Figures:
    """All figures of a tree of *count* files."""
    folder, state = base / f"tree-{count}", base / f"state-{count}"
    folder.mkdir()
    plant(folder, count)
    figures = Figures(files=count)
    plain(folder, figures)
    os.sync()  # what is measured next must not wait for what was planted
    repo = ShadowRepo(state, lambda: (folder,), lambda: datetime.now(UTC))
    ticking = asyncio.ensure_future(tick(figures.gaps))
    await whole_trees(folder, repo, figures)
    await asyncio.to_thread(os.sync)
    await paths_only(folder, repo, figures)
    ticking.cancel()
    await packed(folder, base / f"packed-{count}", figures)
    figures.stall = sorted(figures.gaps)[int(len(figures.gaps) * 0.999)] * 1000
    shutil.rmtree(folder)
    return figures


# ---- Telling ----------------------------------------------------------------------------------------

ROWS: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("plain `git add -A` and commit, one file changed", lambda f: f"{f.git:.1f} ms"),
    ("checkpoint of one file, synced", lambda f: f"{f.one:.1f} ms = 1/{f.git / f.one:.0f}"),
    ("note of what was written", lambda f: f"{f.recorded:.1f} ms"),
    ("checkpoint of 100 files", lambda f: f"{f.many:.0f} ms"),
    ("undo of one file", lambda f: f"{f.undo:.1f} ms"),
    ("plain `git add -A` alone", lambda f: f"{f.add:.1f} ms"),
    ("snapshot before a command, warm", lambda f: f"{f.warm:.0f} ms = {f.warm / f.add:.2f}x"),
    ("the first one, in a git repository", lambda f: f"{f.first:.0f} ms = {f.first / f.warm:.1f}x warm"),
    ("disk of a one-file checkpoint, packed", lambda f: f"{f.packed / 1000:.1f} kB"),
    ("event loop late, 99.9 %", lambda f: f"{f.stall:.1f} ms"),
)


def bounds(found: Sequence[Figures]) -> Iterator[tuple[str, bool]]:
    """What must hold, and whether it does."""
    small, large = found[0], found[-1]
    yield "one file: at most 5 ms", large.one <= 5
    yield "one file: the largest tree costs at most 1.2 times the smallest", large.one <= 1.2 * small.one
    if large.files >= 50_000:
        yield "one file: 70 times faster than git add -A and commit", large.git >= 70 * large.one
    yield "100 files: at most 120 ms", large.many <= 120
    yield "undo: at most 3 ms", large.undo <= 3
    yield "snapshot, warm: at most 1.2 times git add -A", large.warm <= 1.2 * large.add
    yield "snapshot, first: at most 2 times a warm one", large.first <= 2 * large.warm
    yield "disk: at most 10 kB", large.packed <= 10_000
    yield "event loop: late by at most 15 ms", large.stall <= 15


def main(argv: list[str]) -> int:
    """Measure, print the table, say which bounds do not hold."""
    parser = argparse.ArgumentParser(prog="bench.py checkpoint", description=__doc__)
    parser.add_argument("--trees", default="1000,10000,50000", metavar="N,N,...")
    sizes = [int(each) for each in parser.parse_args(argv).trees.split(",")]
    with tempfile.TemporaryDirectory(prefix="handrail-bench-") as base:
        found = [asyncio.run(measure(size, Path(base))) for size in sizes]
    print("| |" + "".join(f" {each.files:,} files |" for each in found))
    print("|---|" + "---|" * len(found))
    for name, show in ROWS:
        print(f"| {name} |" + "".join(f" {show(each)} |" for each in found))
    missed = [name for name, holds in bounds(found) if not holds]
    for name in missed:
        print(f"does not hold: {name}", file=sys.stderr)
    return 1 if missed else 0
