"""
What context costs: completing `@path` in a workspace of 50,000 files, and 1,000 skills and 1,000 commands.

Completion goes to our server, key by key, in turn with a search of the same paths one by one, as anyone would
write it first. A turn of the scripted model in a workspace with 1,000 skills and commands is compared with
one without, in processor time of the server. The first completion lists the files, and the first turn reads
the skills; neither is counted.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench_lsp import Typist
from bench_review import check, failures
from handrail.headless.chat.files import FileIndex
from handrail.testing import answer, script

FILES, SKILLS, COMMANDS = 50_000, 1_000, 1_000
TYPED = (
    "",
    "c",
    "co",
    "component12",
    "component12345",
    "packages/part3/src/",
    ".tsx",
    "x",
    "nowhere",
    "src/mod",
)
ROUNDS, TURNS = 5, 9
LIMIT_KEY, LIMIT_SLOWEST, LIMIT_COMMAND, LIMIT_CHAT, LIMIT_TURN = 4.0, 7.5, 4.0, 1.0, 4.0
SERVER = (sys.executable, "-m", "handrail", "serve")


def one_by_one(paths: Sequence[str], typed: str) -> list[str]:
    """The yardstick: every path that has the text, the shortest first."""
    return sorted((path for path in paths if typed in path.casefold()), key=len)[:100]


def seconds(started: float) -> float:
    """How long it is since *started*."""
    return time.perf_counter() - started


def completing(folder: Path) -> None:
    """Keys of an `@path`, and of a `/command`, each answered by the server."""
    root = folder / "work"
    paths = list(_paths())
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    _commands(root)
    with Typist(SERVER, root, folder / "state") as ours:

        def complete(before: str) -> float:
            return ours.timed("handrail/chat/complete", {"before": before})[0]

        complete("@")
        keys, bare, commands = list[float](), list[float](), list[float]()
        for _ in range(ROUNDS):
            for typed in TYPED:
                keys.append(complete(f"See @{typed}"))
                commands.append(complete(f"/c{typed}"))
                started = time.perf_counter()
                one_by_one(paths, typed)
                bare.append(seconds(started))
    yardstick = statistics.median(bare)
    print(f"one by one: {1000 * yardstick:.1f} ms; slowest key: {1000 * max(keys):.1f} ms", flush=True)
    check(
        f"@path among {FILES:,} files, of a search one by one", statistics.median(keys) / yardstick, LIMIT_KEY
    )
    late = statistics.quantiles(keys, n=20)[-1]
    check("95 % of its keys within", late / yardstick, LIMIT_SLOWEST)
    check("/command among them", statistics.median(commands) / yardstick, LIMIT_COMMAND)
    index, took = FileIndex(paths), list[float]()
    for typed in TYPED * ROUNDS:
        started = time.perf_counter()
        index.matches(typed)
        took.append(seconds(started))
    check("@path in handrail chat", statistics.median(took) / yardstick, LIMIT_CHAT)


def turns(folder: Path) -> None:
    """Turns in a workspace with skills and commands, in turn with those in an empty one."""
    ours = [_turns(folder / "with", has_skills=True), _turns(folder / "without", has_skills=False)]
    rounds = [[next(each) for each in ours] for _ in range(TURNS)]
    much, little = (statistics.median(each) for each in zip(*rounds, strict=True))
    print(f"a turn without: {1000 * little:.1f} ms; with: {1000 * much:.1f} ms of processor time", flush=True)
    check(
        f"a turn with {SKILLS:,} skills and {COMMANDS:,} commands, of one without", much / little, LIMIT_TURN
    )


def _turns(folder: Path, *, has_skills: bool) -> Iterator[float]:
    """The processor time of one turn after the other."""
    root = folder / "work"
    root.mkdir(parents=True)
    if has_skills:
        _commands(root)
        for number in range(SKILLS):
            skill = root / f".agents/skills/skill{number}/SKILL.md"
            skill.parent.mkdir(parents=True)
            text = f"---\nname: skill{number}\ndescription: How number {number} is done\n---\n"
            skill.write_text(text + "Do it with care.\n" * 200)
    script(folder / "script.json", *(answer("Yes.") for _ in range(TURNS + 2)))
    with Typist(SERVER, root, folder / "state") as ours:
        for number in range(TURNS + 1):
            used = ours.used_s()
            begun = ours.ask("handrail/turn/start", {"prompt": "Go."})
            ours.ask("handrail/turn/wait", {"turn": begun["turn"]})
            if number:
                yield ours.used_s() - used


def _paths() -> Iterator[str]:
    for number in range(FILES):
        yield f"packages/part{number // 50 % 97}/src/module{number // 50}/Component{number}.test.tsx"


def _commands(root: Path) -> None:
    folder = root / ".agents/commands"
    folder.mkdir(parents=True)
    for number in range(COMMANDS):
        (folder / f"command{number}.md").write_text("---\ndescription: Do it\n---\nDo $1.\n")


def main() -> int:
    """Measure in folders of its own."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name).resolve()
        completing(base / "completing")
        turns(base / "turns")
    print(f"{len(failures)} bounds missed" if failures else "all within bounds")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
