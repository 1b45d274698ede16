"""
Any turn in any editor, whatever the client and the user do meanwhile: what is told of it is true, and nothing
is lost.

Run as a program it plays many scenarios and prints a table of what was untrue, with the smallest example of
each: `python tests/e2e/test_scenarios.py 5000 --seed 7`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from e2e.habits import EVERY_EDITOR
from e2e.scenes import LINES, Hunk, Reply, Scene, smaller
from e2e.theatre import Theatre
from handrail.testing.behaviours import Response
from handrail.testing.variations import TELLING

SECONDS = float(os.environ.get("HANDRAIL_SCENARIOS_S", "8"))
AT_ONCE = 25  # scenarios, before the time is looked at
SEEDS = 26  # the most that are played among the tests; the command finds untrue verdicts beyond these
SHRINKS = 40  # plays to make one example smaller
ROUND = 250  # scenarios of one theatre: each leaves a turn behind, and all turns are looked at

IN_FLIGHT = ("", "", "type far away", "type above", "type in the old line", "save")
BEFORE_THE_ECHO = (
    *("", "", "", "type far away", "type above", "type in a new row", "type at the end of a new row"),
    *("type before a new row", "delete a piece", "undo", "save", "close", "rename"),
)
AFTER_THE_ECHO = ("", "", "", "type far away", "type in a new row", "undo", "save", "close", "rename")

DOCUMENTS = ("open", "open", "open", "dirty", "closed", "twice", "new")

replies = st.builds(
    Reply,
    response=st.sampled_from([Response.TRUE, Response.TRUE, *Response]),
    before=st.sampled_from(IN_FLIGHT),
    after=st.sampled_from(BEFORE_THE_ECHO),
    later=st.sampled_from(AFTER_THE_ECHO),
    formats=st.sampled_from(["", "", "", "strip", "indent"]),
    late=st.sampled_from(["", "", "applies", "tells"]),
    ends_first=st.booleans(),
)


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """A turn with one to four hunks in one to three documents."""
    documents = draw(st.lists(st.sampled_from(DOCUMENTS), min_size=1, max_size=3))
    hunks = [
        Hunk(document=at, line=line, kind=draw(st.sampled_from(["replace", "insert", "delete"])))
        if kind != "new"
        else Hunk(document=at, line=line, kind="create")
        for at, kind in enumerate(documents)
        for line in sorted(
            draw(
                st.sets(
                    st.sampled_from(range(1, LINES - 1, 3)), min_size=1, max_size=1 if kind == "new" else 2
                )
            )
        )
    ]
    ends = draw(st.sampled_from(["", "", "restore", "undo"]))
    return Scene(
        habits=draw(st.sampled_from(EVERY_EDITOR)),
        telling=draw(st.sampled_from(["plain", "plain", *TELLING])),
        documents=tuple(documents),
        hunks=tuple(hunks),
        is_partial=draw(st.booleans()),
        replies=tuple(draw(st.lists(replies, min_size=0, max_size=len(documents) + 1))),
        restores=ends == "restore",
        reviews=ends == "undo",
    )


class Record:
    """What was played, and what was found."""

    def __init__(self, theatre: Theatre, runner: asyncio.Runner) -> None:
        self.theatre, self.runner = theatre, runner
        self.played: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.scenes = self.untrue = self.damaged = 0
        self.examples: dict[str, Scene] = {}

    def play(self, scene: Scene) -> None:
        """Play a scene and note what was found."""
        found = self.runner.run(self.theatre.play(scene))
        self.scenes += 1
        self.played.update(scene.kinds)
        if found:
            self.failed.update(scene.kinds)
            self.untrue += any("told" in each for each in found)
            self.damaged += any("lost" in each or "twice" in each for each in found)
            for each in set(found):
                known = self.examples.get(each)
                if known is None or scene.size < known.size:
                    self.examples[each] = scene

    def shrink(self, complaint: str) -> Scene:
        """A scene with the same complaint from which nothing can be left out."""
        scene, left = self.examples[complaint], SHRINKS
        candidates = smaller(scene)
        while left and (candidate := next(candidates, None)) is not None:
            left -= 1
            if complaint in self.runner.run(self.theatre.play(candidate)):
                scene, candidates = candidate, smaller(candidate)
        return scene

    def __str__(self) -> str:
        rows = [f"{'scenarios with':55}{'played':>8}{'failed':>8}"]
        rows += [f"{kind:55}{number:8}{self.failed[kind]:8}" for kind, number in sorted(self.played.items())]
        rows.append(f"{'all':55}{self.scenes:8}{sum(map(bool, self.examples)):8} kinds of complaint")
        rows.append(f"untrue verdicts in {self.untrue} scenarios, damaged documents in {self.damaged}")
        return "\n".join(rows)


def play_some(record: Record, number: int, seed: int | None = None) -> None:
    """Draw scenes and play them."""
    kinds = settings(
        max_examples=number,
        deadline=None,
        database=None,
        phases=(Phase.generate,),  # examples are made smaller here, one for each complaint
        suppress_health_check=list(HealthCheck),
    )

    @kinds
    @given(scenes())
    def play(scene: Scene) -> None:
        record.play(scene)

    (play if seed is None else hypothesis.seed(seed)(play))()


def told(record: Record, complaint: str) -> str:
    """A complaint with its smallest example."""
    return f"{complaint}\n    {record.shrink(complaint)}"


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Log nothing: refusals and failures are what is played here."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def test_any_turn_is_told_as_it_was() -> None:
    with silence(), asyncio.Runner() as runner:
        record = Record(Theatre(), runner)
        end = time.monotonic() + SECONDS
        for seed in range(1, SEEDS + 1):  # those that another run can play again; the command draws others
            play_some(record, AT_ONCE, seed)
            if time.monotonic() > end:
                break
        complaints = sorted(record.examples, key=lambda each: record.examples[each].size)
        examples = [told(record, each) for each in complaints[:3]]
        runner.run(record.theatre.close())
    assert not examples, "\n".join([str(record), *examples])
    assert record.scenes > 0


def main() -> int:
    """Play as many scenarios as asked for; 1 if anything was untrue."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", type=int, nargs="?", default=500)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    began = time.monotonic()
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    with silence(), asyncio.Runner() as runner:
        record = Record(Theatre(), runner)
        for part, start in enumerate(range(0, options.scenarios, ROUND)):
            if part:
                runner.run(record.theatre.close())
                record.theatre = Theatre()
            play_some(record, min(ROUND, options.scenarios - start), seed * 1_000 + part)
            print(f"{record.scenes} played, {len(record.examples)} complaints", file=sys.stderr, flush=True)
        print(record)
        for complaint in sorted(record.examples, key=lambda each: record.examples[each].size):
            print(told(record, complaint))
        runner.run(record.theatre.close())
    print(f"{record.scenes} scenarios in {time.monotonic() - began:.0f} s")
    return bool(record.examples)


if __name__ == "__main__":
    sys.exit(main())
