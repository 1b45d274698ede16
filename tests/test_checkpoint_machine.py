"""
Any order of turns, commands, the user's edits, saves, restores, pruning, kills and restarts: what is on the
disk and in the editor is what a model says.

A real server process and an editor that really holds documents. A kill is `kill -9`, at any moment of a turn.
Run as a program it takes the number of steps: `python tests/test_checkpoint_machine.py 2000`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from checkpoint_model import NAMES, PLACES, Change, Content, Image, Model, raw
from e2e.client import Editor
from e2e.habits import VSCODE, opt_in
from e2e.prompts import patch
from e2e.servers import shared_servers
from e2e.shadow import Shadow
from handrail.testing import answer, call, script
from handrail.testing.texts import Json

SECONDS = float(os.environ.get("HANDRAIL_MACHINE_S", "4"))  # more with `scripts/check.py --all`
STEPS = 40  # of one machine

names = st.sampled_from(NAMES)
places = st.integers(0, PLACES - 1)
edits = st.lists(st.tuples(names, places, st.booleans()), min_size=1, max_size=3)
Edits = Sequence[tuple[str, int, bool]]


class Machine(RuleBasedStateMachine):
    """A folder, an editor, a server, its checkpoints, and what all of them should hold."""

    turns = Bundle("turns")
    taken = 0

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.temporary = tempfile.TemporaryDirectory(prefix="handrail-machine-")
        self.base = Path(self.temporary.name)
        self.root, self.state = self.base / "work", self.base / "state"
        self.root.mkdir()
        self.numbers = count(1)

    @initialize(saves=st.booleans(), opened=st.sampled_from([NAMES, NAMES[:2], NAMES[1:], ()]))
    def begin(self, saves: bool, opened: Sequence[str]) -> None:
        """With an editor that saves for the server, or one that does not; some files are open in it."""
        self.model = Model(saves=saves)
        self.runner.run(self.start())
        for name in opened:
            self.user_edits(name, 0)
            self.user_opens_or_saves(name)

    def teardown(self) -> None:
        if not self.editor.has_left:  # else a check has failed while no server ran
            self.runner.run(self.stop())
        if (shadow := Shadow(self.state)).repositories:
            said = shadow.git("fsck", "--strict", "--no-dangling").splitlines()
            assert [line for line in said if not line.startswith("notice:")] == []
        self.runner.close()
        self.temporary.cleanup()

    # ---- The server and the editor ----------------------------------------------------------------

    async def start(self) -> None:
        """A server that knows nothing but what is on the disk, and an editor with the same documents."""
        self.is_killed = False
        environment = {**os.environ, "XDG_STATE_HOME": str(self.state), "HANDRAIL_SANDBOX": "off"}
        self.server = shared_servers().start(["serve"], environment, self.base / "log")
        self.editor = Editor(VSCODE, self.root)
        own = {
            "model": f"scripted:{self.base / 'script.json'}",
            "edits.closedDocuments": "disk",
            "terminal.save": "always",
        }
        services = ("save",) if self.model.saves else ()
        await self.editor.connect(self.server)
        await self.editor.greet(options=opt_in(*services, approvals=True, settings=own))
        for name, content in self.model.buffers.items():
            self.editor.desk.open(self.uri(name), raw(content).decode())

    async def stop(self) -> None:
        await self.editor.leave()
        self.editor.hang_up()
        assert self.editor.errors == []

    async def die(self) -> None:
        """After a `kill -9`: what the server had sent still arrives, then another one is started."""
        self.editor.has_left = True
        with suppress(ConnectionError):  # it had not read all that the editor said
            await self.editor.wait_closed()
        self.editor.hang_up()

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()

    def name(self, uri: str) -> str:
        return Path(uri).relative_to(self.root.as_uri()).as_posix() if uri else uri

    def value(self) -> str:
        return f"value-{next(self.numbers):05}"

    def changed(self, now: Content, place: int) -> tuple[str, ...]:
        """What a file holds once a place of it has a new value; all are new in a new file."""
        if now is None:
            return tuple(self.value() for _ in range(PLACES))
        return (*now[:place], self.value(), *now[place + 1 :])

    # ---- The user ---------------------------------------------------------------------------------

    @rule(name=names, place=places)
    def user_edits(self, name: str, place: int) -> None:
        """In the editor where it is open, else with another program."""
        before = self.model.shown(name)
        after = self.changed(before, place)
        if name in self.model.buffers:
            assert before is not None
            self.editor.desk.type(self.uri(name), after[place], instead=before[place])
            self.model.buffers[name] = after
        else:
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).write_bytes(raw(after))
            self.model.disk[name] = after

    @rule(name=names)
    def user_opens_or_saves(self, name: str) -> None:
        if name in self.model.buffers:
            self.editor.desk.save(self.uri(name))
            self.model.disk[name] = self.model.buffers[name]
        elif (content := self.model.disk[name]) is not None:
            self.editor.desk.open(self.root / name)
            self.model.buffers[name] = content

    @rule(name=names)
    def user_closes_or_deletes(self, name: str) -> None:
        """What is not saved is lost: the user has said so."""
        if self.model.buffers.pop(name, None) is not None:
            self.editor.desk.close(self.uri(name))
        else:
            (self.root / name).unlink(missing_ok=True)
            self.model.disk[name] = None

    # ---- Turns ------------------------------------------------------------------------------------

    def planned(self, wanted: Edits) -> tuple[list[dict[str, object]], list[Model]]:
        """One answer of the scripted model for each edit, and the model before each and at the end."""
        answers, states = [], [self.model.copy()]
        for name, place, deletes in wanted:
            now = states[-1].copy()
            before = now.shown(name)
            if deletes and before is not None:
                made = f"*** Begin Patch\n*** Delete File: {name}\n*** End Patch\n"
                answers.append(answer("", call("patch", mode="v4a", patch=made)))
                now.is_deleted(name)
            else:
                after = self.changed(before, place)
                if before is None:
                    answers.append(answer("", call("write_file", path=name, content=raw(after).decode())))
                else:
                    answers.append(answer("", patch(name, before[place], after[place])))
                now.is_written(name, after)
            states.append(now)
        return [*answers, answer("Done.")], states

    def note(self, turn: str, name: str, before: Image, after: Image) -> None:
        known = self.model.kept.setdefault(turn, {}).get(name)
        if known is None:
            self.model.kept[turn][name] = Change(before, after)
        else:
            known.lefts.append(known.after)
            known.after = after

    @rule(target=turns, wanted=edits)
    def a_turn_edits(self, wanted: Edits) -> str:
        """One step for each edit; the flag deletes the file instead."""
        answers, states = self.planned(wanted)
        report = self.turn(answers)
        assert {each["status"] for each in report["outcomes"]} == {"landed"}, report["outcomes"]
        self.follow(report["turn"], wanted, states)
        return str(report["turn"])

    def follow(self, turn: str, wanted: Edits, states: Sequence[Model]) -> None:
        """The edits happened as planned."""
        kept = self.model.kept
        for (name, *_), before, after in zip(wanted, states, states[1:], strict=False):
            self.note(turn, name, before.image(name), after.image(name))
        self.model = states[-1]
        self.model.kept = kept

    def turn(self, answers: Sequence[dict[str, object]]) -> dict[str, Any]:
        script(self.base / "script.json", *answers)
        self.editor.answers = ["allow"]
        return self.runner.run(self.editor.turn("Do it."))

    # ---- Commands ---------------------------------------------------------------------------------

    def commanded(self, wanted: Edits) -> tuple[str, dict[str, Content]]:
        """A command line, and what is on the disk after it."""
        parts, disk = [], dict(self.model.disk)
        if self.model.saves:
            disk |= self.model.buffers
        for name, place, deletes in wanted:
            if deletes:
                parts.append(f"rm -f {name}")
                disk[name] = None
            else:
                disk[name] = after = self.changed(disk[name], place)
                text = raw(after).decode().replace("\n", "\\n")
                parts.append(f"mkdir -p deep; printf -- '{text}' > {name}")
        return "; ".join(parts), disk

    def command_ended(self, turn: str, disk: dict[str, Content], *, knows_text: bool) -> set[str]:
        """The command is over; the editor shows what became of documents that were saved."""
        clean = {name for name, text in self.model.buffers.items() if text == self.model.disk[name]}
        if self.model.saves:
            clean = set(self.model.buffers)
            self.model.disk |= self.model.buffers
        before, self.model.disk = self.model.disk, disk
        different = {name for name in NAMES if before[name] != disk[name]}
        for name in sorted(different):
            text = self.model.buffers.get(name) if knows_text and name not in clean else None
            self.note(turn, name, Image(before[name], text), Image(disk[name], text))
            if name in clean:
                self.editor.desk.close(self.uri(name))
                del self.model.buffers[name]
                if (content := disk[name]) is not None:
                    self.editor.desk.open(self.root / name)
                    self.model.buffers[name] = content
        return different

    @rule(target=turns, wanted=edits)
    def a_command_runs(self, wanted: Edits) -> str:
        line, disk = self.commanded(wanted)
        report = self.turn([answer("", call("terminal", command=line)), answer("Done.")])
        different = self.command_ended(report["turn"], disk, knows_text=True)
        assert {self.name(each["uri"]) for each in report["outcomes"]} == different
        assert report["checkpoint"] == (report["turn"] if different else None)
        return str(report["turn"])

    @rule(target=turns, wanted=edits)
    def a_command_kills_the_server(self, wanted: Edits) -> str:
        """`kill -9`, once it has changed what it changes; the next server finds out what that was."""
        line, disk = self.commanded(wanted)
        script(
            self.base / "script.json",
            answer("", call("terminal", command=f"{line}; kill -9 {self.server.pid}")),
        )
        self.editor.answers = ["allow"]
        started = self.runner.run(self.editor.start_turn("Do it."))
        self.runner.run(self.die())
        self.command_ended(started["turn"], disk, knows_text=False)
        self.runner.run(self.start())
        return str(started["turn"])

    # ---- Kills ------------------------------------------------------------------------------------

    @rule(target=turns, wanted=edits, moment=st.sampled_from(["begun", "kept", "written", "applied", "told"]))
    def the_server_is_killed(self, wanted: Edits, moment: str) -> str:
        """`kill -9` while a turn edits, as soon as something is to be seen of it."""
        answers, states = self.planned(wanted)
        script(self.base / "script.json", *answers)
        turn = str(self.runner.run(self.edit_and_kill(moment)))
        held = {name: self.found(name) for name in NAMES}
        past = [at for at, state in enumerate(states) if held == {name: state.place(name) for name in NAMES}]
        assert past, "every step has happened or has not"
        self.follow(turn, wanted, states[: past[0] + 1])
        kept = self.kept(turn)
        for name in {name for name, *_ in wanted[: past[0]]}:
            assert name in kept, "nothing is changed before it is kept"
        for name, step in kept.items():
            first = next(at for at, (each, *_) in enumerate(wanted) if each == name)
            self.note(turn, name, states[first].image(name), states[step].image(name))
        self.runner.run(self.start())
        return turn

    async def edit_and_kill(self, moment: str) -> str:
        if moment == "applied":
            self.editor.behaviours = [self.kill_and_obey]
        turn = str((await self.editor.start_turn("Do it."))["turn"])
        before = {name: self.found(name) for name in NAMES}

        def seen() -> bool:
            events = [each["event"] for each in self.editor.updates if each["turn"] == turn]
            if self.is_killed or moment == "begun" or any(event["kind"] == "ended" for event in events):
                return True
            match moment:
                case "kept":
                    return any(self.state.glob(f"handrail/*/checkpoints.git/refs/handrail/turns/{turn}"))
                case "written":
                    return before != {name: self.found(name) for name in NAMES}
                case _:
                    return moment == "told" and any(event["kind"] == "outcome" for event in events)

        while not seen():  # noqa: ASYNC110 # a file tells nobody that it is there
            await asyncio.sleep(0)
        self.server.kill()
        await self.die()
        return turn

    async def kill_and_obey(self, editor: Editor, given: Json) -> Json:
        """Nobody is there any more to note what becomes of the edit."""
        self.server.kill()
        self.is_killed = True
        return await editor.obey(given)

    def found(self, name: str) -> tuple[bytes | None, str | None]:
        """What is there: on the disk, and in the editor."""
        document = self.editor.desk.documents.get(self.uri(name))
        text = None if document is None else document.text
        try:
            return (self.root / name).read_bytes(), text
        except FileNotFoundError:
            return None, text

    def kept(self, turn: str) -> dict[str, int]:
        """The paths that the store has of a turn, and the last step that changed each, or was about to."""
        shadow = Shadow(self.state)
        found: dict[str, int] = {}
        for ref in shadow.turns:
            if ref.endswith(turn):
                for commit in shadow.git("rev-list", "--reverse", ref).split():
                    record = json.loads(shadow.git("show", f"{commit}:checkpoint.json"))
                    for entry in record["entries"]:
                        assert entry["after"] or entry["intended"]
                        found[entry["path"]] = record["step"]
        return found

    # ---- Taking back ------------------------------------------------------------------------------

    @rule(target=turns, turn=turns)
    def restore(self, turn: str) -> str:
        """Also what a restore took away, which makes it a redo."""
        kept = self.model.kept.get(turn, {})
        wanted = {name: change for name, change in kept.items() if change.before != change.after}
        if turn not in self.model.kept:
            return turn
        report = self.runner.run(self.editor.request("checkpoint.restore", checkpoint=turn))
        before = {name: self.model.image(name) for name in wanted}
        conflicts = {name for name, change in wanted.items() if not self.model.takes_back(name, change)}
        left = [*report["conflicts"], *report["partial"]]  # of those in part the file came back, the text not
        assert {self.name(each["uri"]) for each in left} == conflicts, report
        after = {name: self.model.image(name) for name in wanted}
        assert (report["checkpoint"] is not None) == (before != after), report
        if before == after:
            return turn
        for name in wanted:
            self.note(report["checkpoint"], name, before[name], after[name])
        return str(report["checkpoint"])

    @rule(target=turns, back=st.integers(1, 3))
    def restore_one_of_the_last(self, back: int) -> str:
        known = list(self.model.kept)
        return str(self.restore(known[-back:][0])) if known else ""

    @rule(turn=consumes(turns))
    def prune(self, turn: str) -> None:
        if turn in self.model.kept:
            gone = self.runner.run(self.editor.request("checkpoint.prune", checkpoints=[turn]))
            assert gone["removed"] == [turn]
            del self.model.kept[turn]

    @rule()
    def restart(self) -> None:
        """The editor is closed properly, which tidies up, and opened again."""
        self.runner.run(self.stop())
        self.runner.run(self.start())

    # ---- What always holds ------------------------------------------------------------------------

    @invariant()
    def all_is_what_the_model_says(self) -> None:
        Machine.taken += 1
        assert {name: self.found(name) for name in NAMES} == {name: self.model.place(name) for name in NAMES}
        listed = {each["id"] for each in self.runner.run(self.editor.request("checkpoint.list"))}
        assert listed == set(self.model.kept)


def run(seconds: float, steps: int) -> int:
    """Machines until the time is over or there were enough steps; returns how many."""
    kinds = settings(
        max_examples=2 if seconds < 10 else 5,  # the first is always a short one
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=(Phase.generate,),  # where a kill hits cannot be played again, so nothing can be made smaller
        suppress_health_check=list(HealthCheck),
    )
    Machine.taken, end = 0, time.monotonic() + seconds
    while Machine.taken < steps and time.monotonic() < end:
        run_state_machine_as_test(Machine, settings=kinds)
    return Machine.taken


def test_any_order() -> None:
    assert run(seconds=SECONDS, steps=100_000) > 0


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    began = time.monotonic()
    done = run(seconds=float("inf"), steps=wanted)
    print(f"{done} steps in {time.monotonic() - began:.0f} s, no difference")
