"""
What checkpoints cost, on trees of real files, with plain git beside them.

The trees are copies of Python's own library and of what is installed here. `git add -A` and a commit of the
same tree in the same run is the yardstick. `--trees 1000,10000,50000` chooses the sizes.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from handrail.adapters.checkpoints import housekeeping
from handrail.adapters.checkpoints.limits import used_bytes
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.checkpoints.store import SPARES
from handrail.adapters.files.disk import Disk
from handrail.adapters.files.files import uri_of
from handrail.cli.serve import LIMITS_GC, SWITCH_S
from handrail.core.checkpoint import Intended, StepId, Target
from handrail.core.documents import edit
from handrail.core.documents.change import PlannedHunk, Tier, Update
from handrail.core.documents.text import Text

LIMIT_FILE_BYTES = 200_000  # larger ones are no source code
TICK_S = 0.005
ROUNDS, MANY_ROUNDS, SLOW_ROUNDS, FIRST_ROUNDS = 40, 7, 15, 3
MANY = 100
SMALL = b"x" * 500  # as a pack of one file and its ref are small
WRITTEN = b"# written\n"  # by the turn whose checkpoint is taken

numbers = itertools.count(1)


@dataclass
class Tree:
    """A tree with its shadow repository, and what was measured on it, in seconds."""

    files: int
    folder: Path
    repo: ShadowRepo
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    packed_bytes: float = 0.0

    def ms(self, name: str) -> float:
        """The median of some times, in milliseconds."""
        return statistics.median(self.seconds[name]) * 1000

    def times(self, name: str, other: str) -> float:
        """
        How many times as long the one takes as the other.

        What was measured in the same rounds is compared round by round: a disk may be faster in one second
        than in the next.
        """
        times, others = self.seconds[name], self.seconds[other]
        if len(times) != len(others):
            return self.ms(name) / self.ms(other)
        return statistics.median(one / beside for one, beside in zip(times, others, strict=True))


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


def plain(tree: Tree) -> None:
    """`git add -A` and a commit, with one file changed."""
    changing(tree.folder)
    began = time.perf_counter()
    git(tree.folder, "add", "-A")
    tree.seconds["add"].append(time.perf_counter() - began)
    git(tree.folder, "commit", "-q", "-m", "next")
    tree.seconds["git"].append(time.perf_counter() - began)


async def timed(tree: Tree, name: str, work: Awaitable[object]) -> None:
    """Await *work* and note how long it took."""
    began = time.perf_counter()
    await work
    tree.seconds[name].append(time.perf_counter() - began)


def step() -> StepId:
    """The first step of another turn."""
    return StepId(session="s", turn=f"t-{next(numbers)}", number=1, label="Change a file")


def targets(paths: Sequence[Path]) -> list[Target]:
    """The documents that are about to change."""
    return [Target(uri=uri_of(path)) for path in paths]


def intending(path: Path, coming: bytes) -> list[Target]:
    """The document that is about to change, as a turn names it: with what it will hold."""
    return [Target(uri=uri_of(path), intended=Intended(raw=coming))]


def two_files(folder: Path) -> None:
    """Make two small files and sync each: what a checkpoint cannot do without, and its yardstick."""
    for _ in range(2):
        with (folder / str(next(numbers))).open("xb") as file:
            file.write(SMALL)
            file.flush()
            os.fsync(file.fileno())


async def command(tree: Tree, name: str, repo: ShadowRepo) -> None:
    """A snapshot before a command that changes nothing, and the end of it: until then, edits are noted."""
    now, began = step(), time.perf_counter()
    snapshot = await repo.before_command(now)
    tree.seconds[name].append(time.perf_counter() - began)
    await repo.after_command(now, snapshot)


async def one(tree: Tree, beside: Path) -> None:
    """A checkpoint of one file, what was written, and taking it back; nothing is measured beside the rest."""
    await asyncio.to_thread(settle, tree.repo)
    await timed(tree, "synced", asyncio.to_thread(two_files, beside))
    now, (path,) = step(), changing(tree.folder)
    coming = path.read_bytes() + WRITTEN
    await timed(tree, "one", tree.repo.ensure(now, intending(path, coming)))
    await asyncio.to_thread(path.write_bytes, coming)
    await timed(tree, "recorded", tree.repo.record(now, targets([path])))
    await asyncio.to_thread(settle, tree.repo)
    await timed(tree, "undo", undo(tree.repo, now.turn))


def settle(repo: ShadowRepo) -> None:
    """Wait for what a checkpoint does after it has ended, so that nothing is measured beside that."""
    while repo.folder.exists() and not all((repo.folder / name).exists() for name in SPARES):
        time.sleep(0.001)


async def many(tree: Tree) -> None:
    """A checkpoint of many files."""
    await timed(tree, "many", tree.repo.ensure(step(), targets(changing(tree.folder, MANY))))


async def undo(repo: ShadowRepo, turn: str) -> None:
    """Take the one file of a turn back: read what is kept, compare, write at once."""
    (each,) = await repo.restore_plan(turn)
    assert each.before.raw is not None
    assert each.after is not None
    assert each.after.raw is not None
    before, after = Text.parse(each.before.raw), Text.parse(each.after.raw)
    assert isinstance(before, Text)
    assert isinstance(after, Text)
    back = PlannedHunk(number=None, tier=Tier.SAFE, edits=edit.edits_between(after.content, before.content))
    await Disk().apply([Update(uri=each.uri, base=after, hunks=(back,))], "undo")


async def packed(tree: Tree, state: Path) -> None:
    """What a checkpoint of one file takes once it is packed: what 100 turns leave."""
    repo = ShadowRepo(state, lambda: (tree.folder,), lambda: datetime.now(UTC))
    housekeeping.PACKS_LIMIT = 0
    for _ in range(MANY):
        now, (path,) = step(), changing(tree.folder)
        coming = path.read_bytes() + WRITTEN
        await repo.ensure(now, intending(path, coming))
        path.write_bytes(coming)
        await repo.record(now, targets([path]))
    await repo.tidy()
    tree.packed_bytes = used_bytes(repo.folder) / MANY


@dataclass(frozen=True)
class Late:
    """How late the event loop came back, in seconds: in all, and without waiting for a processor."""

    all_s: float
    own_s: float


async def tick(gaps: list[Late]) -> None:
    """Note how late the event loop is, for ever."""
    while True:
        began, waited = time.perf_counter(), waited_s()
        await asyncio.sleep(TICK_S)
        late = time.perf_counter() - began - TICK_S
        gaps.append(Late(late, max(0.0, late - (waited_s() - waited))))


def waited_s() -> float:
    """How long this thread has been ready to run and had no processor, where the system tells."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


def planted(count: int, base: Path) -> Tree:
    """A tree of *count* files, a clean git repository."""
    folder = base / f"tree-{count}"
    folder.mkdir()
    plant(folder, count)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    repo = ShadowRepo(base / f"state-{count}", lambda: (folder,), lambda: datetime.now(UTC))
    return Tree(files=count, folder=folder, repo=repo)


def fresh(tree: Tree, state: Path) -> ShadowRepo:
    """A shadow repository that knows nothing of the tree yet."""
    return ShadowRepo(state / tree.folder.name, lambda: (tree.folder,), lambda: datetime.now(UTC))


async def measure(trees: Sequence[Tree], base: Path) -> tuple[list[Late], list[Late]]:
    """
    Measure everything on all trees in turn, so that whatever else runs disturbs all alike.

    Returns:
        How late the event loop was, each time: with nothing to do, and beside the work.
    """
    os.sync()  # what is measured must not wait for what was planted
    gc.freeze()  # as the server does, and these two
    gc.set_threshold(*LIMITS_GC)
    sys.setswitchinterval(SWITCH_S)
    idle, busy = list[Late](), list[Late]()
    await ticking(idle, asyncio.sleep(2))
    for number, tree in itertools.product(range(FIRST_ROUNDS), trees):
        await ticking(busy, command(tree, "first", fresh(tree, base / f"first-{number}")))
    for tree in trees:
        await command(tree, "", tree.repo)
    for _ in range(SLOW_ROUNDS):
        for tree in trees:
            await asyncio.to_thread(plain, tree)
            changing(tree.folder)
            await ticking(busy, command(tree, "warm", tree.repo))
    await asyncio.to_thread(os.sync)
    beside = base / "synced"  # in the folder where the shadow repositories are
    beside.mkdir()
    for _ in range(ROUNDS):
        for tree in trees:
            await ticking(busy, one(tree, beside))
    for _ in range(MANY_ROUNDS):
        for tree in trees:
            await ticking(busy, many(tree))
    for tree in trees:
        await packed(tree, base / f"packed-{tree.files}")
    return idle, busy


async def ticking(gaps: list[Late], work: Awaitable[object]) -> None:
    """Await *work* while it is noted how late the event loop comes back."""
    beside = asyncio.ensure_future(tick(gaps))
    await work
    beside.cancel()


def late_ms(seconds: Iterable[float]) -> float:
    """The 99.9th percentile, in milliseconds."""
    ascending = sorted(seconds)
    return ascending[int(len(ascending) * 0.999)] * 1000


# ---- Telling ----------------------------------------------------------------------------------------

ROWS: tuple[tuple[str, Callable[[Tree], str]], ...] = (
    ("plain `git add -A` and commit, one file changed", lambda t: f"{t.ms('git'):.1f} ms"),
    ("two small files, made and synced", lambda t: f"{t.ms('synced'):.1f} ms"),
    (
        "checkpoint of one file, synced",
        lambda t: (
            f"{t.ms('one'):.1f} ms = {t.times('one', 'synced'):.1f}x two files, "
            f"1/{t.times('git', 'one'):.0f} of git"
        ),
    ),
    ("note of what was written", lambda t: f"{t.ms('recorded'):.1f} ms"),
    ("checkpoint of 100 files", lambda t: f"{t.ms('many'):.0f} ms"),
    (
        "undo of one file",
        lambda t: f"{t.ms('undo'):.1f} ms = {t.times('undo', 'synced'):.1f}x two files",
    ),
    ("plain `git add -A` alone", lambda t: f"{t.ms('add'):.1f} ms"),
    (
        "snapshot before a command, warm",
        lambda t: (
            f"{t.ms('warm'):.0f} ms = {t.times('warm', 'git'):.2f}x add and commit, "
            f"{t.times('warm', 'add'):.2f}x add"
        ),
    ),
    ("the first one", lambda t: f"{t.ms('first'):.0f} ms = {t.times('first', 'warm'):.1f}x warm"),
    ("disk of a one-file checkpoint, packed", lambda t: f"{t.packed_bytes / 1000:.1f} kB"),
)


def bounds(trees: Sequence[Tree]) -> Iterator[tuple[str, bool]]:
    """What must hold, and whether it does."""
    small, large = trees[0], trees[-1]
    yield "one file: at most 2.5 times two small files, synced", large.times("one", "synced") <= 2.5
    yield "one file: at most 1.2 times as long in the largest tree", large.ms("one") <= 1.2 * small.ms("one")
    yield "100 files: at most 120 ms", large.ms("many") <= 120
    yield "undo: at most 2 times two small files, synced", large.times("undo", "synced") <= 2
    yield "snapshot, warm: at most 1.2 times git add -A and a commit", large.times("warm", "git") <= 1.2
    yield "snapshot, first: at most 2 times a warm one", large.times("first", "warm") <= 2
    yield "disk: at most 10 kB", large.packed_bytes <= 10_000


def main(argv: list[str]) -> int:
    """Measure, print the table, say which bounds do not hold."""
    parser = argparse.ArgumentParser(prog="bench.py checkpoint", description=__doc__)
    parser.add_argument("--trees", default="1000,10000,50000", metavar="N,N,...")
    sizes = [int(each) for each in parser.parse_args(argv).trees.split(",")]
    with tempfile.TemporaryDirectory(prefix="handrail-bench-") as base:
        trees = [planted(size, Path(base)) for size in sizes]
        idle, busy = asyncio.run(measure(trees, Path(base)))
    print("| |" + "".join(f" {tree.files:,} files |" for tree in trees))
    print("|---|" + "---|" * len(trees))
    for name, show in ROWS:
        print(f"| {name} |" + "".join(f" {show(tree)} |" for tree in trees))
    late, own = late_ms(each.all_s for each in busy), late_ms(each.own_s for each in busy)
    print(
        f"The event loop is late by {late:.1f} ms (99.9 %), by {own:.1f} ms without its waiting for a "
        f"processor; with nothing to do, by {late_ms(each.all_s for each in idle):.1f} ms."
    )
    missed = [name for name, holds in bounds(trees) if not holds]
    if late > 15:
        missed.append("event loop: late by at most 15 ms")
    for name in missed:
        print(f"does not hold: {name}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
