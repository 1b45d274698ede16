"""
Any order of turns, commands, the user's edits, restores, pruning and restarts: the disk is as a model says.

Run as a program it takes the number of steps: `python tests/test_checkpoint_machine.py 2000`.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    rule,
    run_state_machine_as_test,
)

from bench import Bench
from handrail.adapters.files import uri_of
from handrail.agent import restore
from handrail.core.checkpoint import StepId, Target

NAMES = ("a.txt", "deep/b.txt", "deep/c.txt", "d.txt")
PLACES = 4  # in each file; every change is of one of them

Content = tuple[str, ...] | None  # the value at each place, None for no file
names = st.sampled_from(NAMES)
places = st.integers(0, PLACES - 1)


def raw(content: tuple[str, ...]) -> bytes:
    """A file: each value between lines that never change."""
    return "".join(f"-- {at} --\n{value}\n" for at, value in enumerate(content)).encode()


@dataclass
class Change:
    """What a turn found in a file, and what it left."""

    before: Content
    after: Content


class Machine(RuleBasedStateMachine):
    """A folder, its checkpoints, and what both should hold."""

    turns = Bundle("turns")

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.temporary = tempfile.TemporaryDirectory(prefix="handrail-machine-")
        base = Path(self.temporary.name)
        self.root, self.state = base / "work", base / "state"
        self.root.mkdir()
        self.numbers = count(1)
        self.disk: dict[str, Content] = dict.fromkeys(NAMES)
        self.kept: dict[str, dict[str, Change]] = {}
        self.start()

    def teardown(self) -> None:
        if self.repo.folder.exists():
            command = ("git", "--git-dir", str(self.repo.folder), "fsck", "--strict", "--no-dangling")
            said = subprocess.run(command, capture_output=True, text=True, check=True)
            lines = (said.stdout + said.stderr).splitlines()
            assert [line for line in lines if not line.startswith("notice:")] == []
        self.runner.close()
        self.temporary.cleanup()

    def start(self) -> None:
        """A server that knows nothing but what is on the disk."""
        bench = Bench(self.root, self.state)
        self.repo, self.ports = bench.repo, bench.ports()

    def value(self) -> str:
        return f"value {next(self.numbers)}"

    def changed(self, name: str, place: int) -> Content:
        """What the file holds once a place of it has a new value; all are new in a new file."""
        now = self.disk[name]
        if now is None:
            return tuple(self.value() for _ in range(PLACES))
        return (*now[:place], self.value(), *now[place + 1 :])

    def put(self, name: str, content: Content) -> None:
        path = self.root / name
        if content is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(raw(content))
        self.disk[name] = content

    # ---- Who changes files ------------------------------------------------------------------------

    @rule(name=names, place=places)
    def user_edits(self, name: str, place: int) -> None:
        self.put(name, self.changed(name, place))

    @rule(name=names)
    def user_deletes(self, name: str) -> None:
        self.put(name, None)

    @rule(target=turns, edits=st.lists(st.tuples(names, places, st.booleans()), min_size=1, max_size=3))
    def a_turn_edits(self, edits: list[tuple[str, int, bool]]) -> str:
        """One step for each edit; the flag deletes the file instead."""
        turn = f"t-{next(self.numbers)}"
        for number, (name, place, deletes) in enumerate(edits, 1):
            step = StepId(session="s", turn=turn, number=number, label="")
            target = [Target(uri=uri_of(self.root / name))]
            before = self.disk[name]
            self.runner.run(self.repo.ensure(step, target))
            self.put(name, None if deletes else self.changed(name, place))
            self.runner.run(self.repo.record(step, target))
            self.note(turn, name, before)
        return turn

    @rule(target=turns, edits=st.lists(st.tuples(names, places, st.booleans()), max_size=3))
    def a_command_runs(self, edits: list[tuple[str, int, bool]]) -> str:
        turn = f"t-{next(self.numbers)}"
        step = StepId(session="s", turn=turn, number=1, label="")
        before = dict(self.disk)
        snapshot = self.runner.run(self.repo.before_command(step))
        for name, place, deletes in edits:
            self.put(name, None if deletes else self.changed(name, place))
        effects = self.runner.run(self.repo.after_command(step, snapshot))
        different = {name for name in NAMES if before[name] != self.disk[name]}
        assert {each.path for each in effects.changes} == different
        assert effects.checkpoint == (turn if different else None)
        for name in sorted(different):
            self.note(turn, name, before[name])
        return turn

    def note(self, turn: str, name: str, before: Content) -> None:
        known = self.kept.setdefault(turn, {}).setdefault(name, Change(before, None))
        known.after = self.disk[name]

    # ---- Taking back ------------------------------------------------------------------------------

    @rule(target=turns, turn=turns)
    def restore(self, turn: str) -> str:
        """Also what a restore took away, which makes it a redo."""
        own = f"r-{next(self.numbers)}"
        if turn not in self.kept:
            return own
        step = StepId(session="", turn=own, number=1, label="", pinned=True)
        report = self.runner.run(restore.restore(self.ports, step, restore.Wish(checkpoint=turn)))
        conflicts = {each.uri for each in report.conflicts}
        expected = set()
        for name, change in self.kept[turn].items():
            before = self.disk[name]
            if change.before == change.after:
                continue
            back = taken_back(change, before)
            if back is CONFLICT:
                expected.add(uri_of(self.root / name))
            else:
                self.disk[name] = back
            self.note(own, name, before)
        assert conflicts == expected
        return own

    @rule(turn=consumes(turns))
    def prune(self, turn: str) -> None:
        if turn in self.kept:
            self.runner.run(self.repo.prune([turn]))
            del self.kept[turn]

    @rule()
    def restart(self) -> None:
        """As after a kill: whatever was being written lies about."""
        if self.repo.folder.exists():
            (self.repo.folder / "objects" / "tmp_obj_x").write_bytes(b"half")
            (self.repo.folder / "ref-1").write_bytes(b"half")
        for scratch in self.repo.folder.parent.glob("trees/*"):
            (scratch / "index.lock").write_bytes(b"")
        self.start()

    @rule()
    def tidy(self) -> None:
        self.runner.run(self.repo.tidy())

    # ---- What always holds ------------------------------------------------------------------------

    @invariant()
    def the_disk_is_what_the_model_says(self) -> None:
        found = {name: path.read_bytes() if (path := self.root / name).exists() else None for name in NAMES}
        expected = {name: None if content is None else raw(content) for name, content in self.disk.items()}
        assert found == expected

    @invariant()
    def the_list_is_what_the_model_says(self) -> None:
        listed = {each.id for each in self.runner.run(self.repo.list())}
        assert listed == set(self.kept)


CONFLICT: Content = ("conflict",)


def taken_back(change: Change, now: Content) -> Content:
    """What a three-way restore makes of a file, or CONFLICT."""
    before, after = change.before, change.after
    if now == before:
        return now
    if now is None:
        return before if after is None else CONFLICT
    if before is None:
        return None if now == after else CONFLICT
    if after is None:
        return CONFLICT
    touched = [at for at in range(PLACES) if before[at] != after[at]]
    if any(now[at] not in (before[at], after[at]) for at in touched):
        return CONFLICT
    return tuple(before[at] if at in touched else now[at] for at in range(PLACES))


def run(examples: int, steps: int) -> None:
    kinds = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=False,
    )
    run_state_machine_as_test(Machine, settings=kinds)


def test_any_order() -> None:
    run(examples=12, steps=20)


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    run(examples=max(1, wanted // 50), steps=50)
    print(f"{wanted} steps, no difference")
