"""
Any order of turns, typing, keeping, undoing, saves, restores, renames, git, kills and restarts: what is
pending is what a model says, to the row, and so is what an undo of all of it would leave.

A real server process, and an editor that really holds documents; which editor it is differs from machine to
machine. Run as a program it takes the number of steps: `python tests/test_review_machine.py 5000`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from e2e.client import Editor
from e2e.habits import EVERY_EDITOR, Habits, opt_in
from e2e.prompts import patch, statuses, v4a
from e2e.servers import shared_servers
from git_user import git
from handrail.testing import answer, call, script
from review_model import Paper, Place, Words, without

SECONDS = float(os.environ.get("HANDRAIL_MACHINE_S", "4"))  # more with `scripts/check.py --all`
STEPS = 40  # of one machine
ROWS = 12
NAMES = ("a.txt", "b.txt", "c.txt")  # the second has CRLF, the third is not open
ENDS = {"b.txt": "\r\n"}

names = st.sampled_from(NAMES)
opened = st.sampled_from(NAMES[:2])
picks = st.integers(0, 1000)


class Machine(RuleBasedStateMachine):
    """A folder, an editor, a server, and what of its documents is pending."""

    taken = 0

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.temporary = tempfile.TemporaryDirectory(prefix="handrail-machine-")
        self.base = Path(self.temporary.name)
        self.root = self.base / "work"
        self.root.mkdir()
        self.words = Words()
        self.files = {name: name for name in NAMES}  # what each is called by now
        self.papers = dict[str, Paper]()
        self.typed = set[str]()  # documents that were typed in since all was written down
        self.held = dict[str, str]()  # what the editor holds, while no server runs

    @initialize(habits=st.sampled_from(EVERY_EDITOR))
    def begin(self, habits: Habits) -> None:
        self.habits = habits
        for name in NAMES:
            rows = [self.words.row("o") for _ in range(ROWS)]
            self.papers[name] = Paper(now=list(rows), base=list(rows))
            self.path(name).write_bytes(self.raw(name, rows))
        git(self.root, "init", "-q")
        git(self.root, "add", "-A")
        git(self.root, "commit", "-qm", "begin")
        self.runner.run(self.start())

    def teardown(self) -> None:
        if not self.editor.has_left:
            self.runner.run(self.stop())
        self.runner.close()
        self.temporary.cleanup()

    # ---- The server and the editor ----------------------------------------------------------------

    async def start(self) -> None:
        """A server that knows nothing but what is on the disk, and an editor with the same documents."""
        environment = {**os.environ, "XDG_STATE_HOME": str(self.base / "state"), "HANDRAIL_SANDBOX": "off"}
        self.server = shared_servers().start(["serve"], environment, self.base / "log")
        self.editor = Editor(self.habits, self.root)
        own = {
            "model": f"scripted:{self.base / 'script.json'}",
            "edits.closedDocuments": "disk",
            "terminal.save": "never",
            "approvals": [{"tool": "terminal", "match": "*", "verdict": "allow"}],
        }
        await self.editor.connect(self.server)
        await self.editor.greet(options=opt_in(approvals=True, settings=own))
        for name in NAMES[:2]:
            self.editor.desk.open(self.uri(name), self.held.get(name))
        self.editor.desk.tell()

    async def stop(self) -> None:
        await self.editor.leave()
        self.editor.hang_up()
        assert self.editor.errors == []

    def path(self, name: str) -> Path:
        return self.root / self.files[name]

    def uri(self, name: str) -> str:
        return self.path(name).as_uri()

    def raw(self, name: str, rows: Sequence[str]) -> bytes:
        return "".join(row + ENDS.get(name, "\n") for row in rows).encode()

    def rows(self, name: str) -> list[str]:
        """What a document holds."""
        text = self.editor.desk[self.uri(name)] if name != "c.txt" else self.path(name).read_text()
        return text.splitlines()

    def request(self, method: str, **params: Any) -> Any:
        """A request, not a command: of a command that takes long an editor does not learn the result."""
        return self.runner.run(self.editor.call("handrail/" + method.replace(".", "/"), params))

    def places(self, name: str) -> list[Place]:
        """What is pending in a document, as the server tells of it."""
        self.editor.desk.tell()
        return [
            Place(
                id=each["id"],
                start=each["range"]["start"]["line"],
                before=tuple(each["before"].splitlines()),
                after=tuple(each["after"].splitlines()),
                turns=tuple(each["turns"]),
                is_typed_in=each["editedByUser"],
            )
            for each in self.request("review.list", uri=self.uri(name))
        ]

    def becomes(self, name: str, rows: Sequence[str]) -> None:
        """The user's editor, or another program where it is not open, has a document hold these rows."""
        self.typed.add(name)
        if name == "c.txt":
            self.path(name).write_bytes(self.raw(name, rows))
        else:
            end = "\r\n" if "\r\n" in self.editor.desk[self.uri(name)] else "\n"
            self.editor.desk.rewrite(self.uri(name), "".join(row + end for row in rows))
            self.editor.desk.tell()

    # ---- Turns ------------------------------------------------------------------------------------

    def turn(self, *calls: dict[str, object]) -> dict[str, Any]:
        script(self.base / "script.json", *(answer("", each) for each in calls), answer("Done."))
        report: dict[str, Any] = self.runner.run(self.editor.turn("Do it."))
        assert {each["status"] for each in report["outcomes"]} == {"landed"}, report["outcomes"]
        self.typed.clear()
        return report

    @rule(
        name=names,
        pick=picks,
        removes=st.integers(0, 2),
        adds=st.integers(0, 3),
        end=st.sampled_from(["", "", "", "restore", "restore twice"]),
    )
    def a_turn_edits(self, name: str, pick: int, removes: int, adds: int, end: str) -> None:
        """Some rows, wherever they come from; the turn may be restored at once, and that as well."""
        paper = self.papers[name]
        at = 1 + pick % len(paper.now[1:] or [1])
        removes = min(removes, len(paper.now) - at)
        if not paper.now or not (removes or adds):
            return
        new = [self.words.row("a") for _ in range(adds)]
        old = paper.now[at - 1 : at + removes]
        before = list(paper.now), list(paper.base)
        report = self.turn(patch(self.files[name], "\n".join(old), "\n".join([old[0], *new])))
        paper.edited(at, at + removes, new)
        if end:
            after = list(paper.now), list(paper.base)
            restored = self.request("checkpoint.restore", checkpoint=report["checkpoint"])
            paper.now, paper.base = before
            if end == "restore twice":
                self.all_is_what_the_model_says()
                self.request("checkpoint.restore", checkpoint=restored["checkpoint"])
                paper.now, paper.base = after

    @rule(
        name=names,
        pick=picks,
        end=st.sampled_from(["undo", "undo after a restart", "undo everything", "restore", "keep"]),
    )
    def a_turn_moves(self, name: str, pick: int, end: str) -> None:
        """With a row of it changed; the move is taken back with that row alone, or kept with all of it."""
        paper, source = self.papers[name], self.files[name]
        if not paper.now or (end == "undo everything" and self.something_is_typed_in()):
            return
        at, new, target = pick % len(paper.now), self.words.row("a"), f"{self.words.row('m')}.txt"
        section = (
            f"*** Update File: {source}",
            f"*** Move to: {target}",
            "@@",
            f"-{paper.now[at]}",
            f"+{new}",
        )
        report = self.turn(call("patch", mode="v4a", patch=v4a(*section)))
        self.is_now_at(name, target)
        moved = [*paper.now[:at], new, *paper.now[at + 1 :]]
        if end == "undo after a restart":
            self.restarts(kills=False)
        assert self.rows(name) == moved
        (hunk,) = self.request("review.list", uri=self.uri(name))
        assert (hunk["kind"], hunk["renamedFrom"]) == ("renamed", (self.root / source).as_uri())
        assert hunk["after"].splitlines() == moved
        paper.past.clear()
        if end == "keep":
            self.request("review.keep", hunks=[hunk["id"]])
            paper.now, paper.base = moved, list(moved)
            return
        if end == "restore":
            done = self.request("checkpoint.restore", checkpoint=report["checkpoint"])
        elif end == "undo everything":
            done = self.request("review.undo", all=True)
            for each in self.papers.values():
                each.past.clear()
                each.now = list(each.base)
        else:
            done = self.request("review.undo", hunks=[hunk["id"]])
        assert done["conflicts"] == []
        self.is_now_at(name, source)

    def is_now_at(self, name: str, path: str) -> None:
        """The agent has moved a document; the user opens it there, if the editor has not."""
        old = self.uri(name)
        self.files[name] = path
        if name != "c.txt" and self.uri(name) not in self.editor.desk.documents:
            if old in self.editor.desk.documents:
                self.editor.desk.close(old)
            self.editor.desk.open(self.path(name))

    def something_is_typed_in(self) -> bool:
        return any(place.is_typed_in for name in NAMES for place in self.places(name))

    @rule(pick=picks)
    def a_command_changes_a_file(self, pick: int) -> None:
        paper = self.papers["c.txt"]
        if not paper.now:
            return
        at, row = pick % len(paper.now), self.words.row("a")
        self.turn(call("terminal", command=f"sed -i 's/^{paper.now[at]}$/{row}/' {self.files['c.txt']}"))
        paper.edited(at, at + 1, [row])

    @rule(name=names, pick=picks)
    def a_quick_fix_changes_a_row(self, name: str, pick: int) -> None:
        """The model has misspelt a row; the user chooses the place."""
        paper = self.papers[name]
        if not paper.now:
            return
        for each in self.request("failure.list"):  # of a fix that was undone
            self.request("failure.dismiss", failure=each["id"])
        at, new = pick % len(paper.now), self.words.row("a")
        wanted = paper.now[at]
        script(
            self.base / "script.json", answer("", patch(self.files[name], f"{wanted[1:]}!", new)), answer(".")
        )
        report = self.runner.run(self.editor.turn("Do it."))
        assert statuses(report) == ["no-match"]
        (failure,) = self.request("failure.list")
        places = [each["range"]["start"]["line"] for each in failure["candidates"]]
        if at in places:
            candidate = places.index(at)
            (outcome,) = self.request("failure.apply", failure=failure["id"], candidate=candidate)
            assert outcome["status"] == "landed"
            paper.edited(at, at + 1, [new])
        else:
            self.request("failure.dismiss", failure=failure["id"])
        self.typed.clear()

    # ---- The user types ---------------------------------------------------------------------------

    @rule(name=names, pick=picks, what=st.sampled_from(["insert", "insert", "replace", "delete"]))
    def types_outside(self, name: str, pick: int, what: str) -> None:
        paper, places = self.papers[name], self.places(name)
        found = paper.free(places) if what == "insert" else paper.own(places)
        if not found:
            return
        at = found[pick % len(found)]
        if what != "insert" and paper.now[at] in paper.removed:
            return
        new = [] if what == "delete" else [self.words.row("u")]
        paper.typed_outside(at, at + (what != "insert"), new)
        self.becomes(name, paper.now)

    @rule(name=names, pick=picks, is_new=st.booleans())
    def types_inside(self, name: str, pick: int, is_new: bool) -> None:
        paper, places = self.papers[name], self.places(name)
        inner = [
            at
            for place in places
            for at in range(place.start + is_new, place.end)
            if is_new or paper.now[at].startswith("a")
        ]
        if not inner:
            return
        at = inner[pick % len(inner)]
        new = self.words.row("u") if is_new else f"{paper.now[at]} {self.words.row('u')}"
        paper.typed_inside(at, at + (not is_new), [new])
        self.becomes(name, paper.now)

    @rule(name=names, pick=picks)
    def deletes_across_a_border(self, name: str, pick: int) -> None:
        """A row of the user's above a hunk goes, with the first of the hunk's rows."""
        paper, places = self.papers[name], self.places(name)
        own = set(paper.own(places))
        found = [
            place
            for place in places
            if place.start - 1 in own and any(row.startswith("a") for row in place.after[1:])
            if paper.removed.isdisjoint(paper.now[place.start - 1 : place.start + 1])
        ]
        if not found:
            return
        place = found[pick % len(found)]
        paper.past.append((list(paper.now), list(paper.base)))
        paper.base.remove(paper.now[place.start - 1])
        del paper.now[place.start - 1 : place.start + 1]
        self.becomes(name, paper.now)

    @rule(name=names, pick=picks, removes=st.booleans())
    def rewrites_a_hunk(self, name: str, pick: int, removes: bool) -> None:
        """What the user writes anew, or removes, is the user's."""
        paper = self.papers[name]
        places = self.places(name)
        found = [place for place in places if place.after and paper.removed.isdisjoint(place.after)]
        if not found:
            return
        place = found[pick % len(found)]
        paper.past.append((list(paper.now), list(paper.base)))
        self.is_the_users(name, places, place, [] if removes else [self.words.row("u")])
        self.becomes(name, paper.now)

    def is_the_users(self, name: str, places: Sequence[Place], place: Place, new: Sequence[str]) -> None:
        """One of the hunks at *places* becomes *new* rows, and is pending no longer."""
        paper, others = self.papers[name], [each for each in places if each.id != place.id]
        growth = len(new) - len(place.after)
        paper.now[place.start : place.end] = new
        left = [
            Place(
                id=each.id,
                start=each.start + (growth if each.start >= place.end and each.id != place.id else 0),
                before=each.before,
                after=each.after,
                turns=each.turns,
                is_typed_in=each.is_typed_in,
            )
            for each in others
        ]
        paper.base = without(paper.now, left)

    # ---- The user decides -------------------------------------------------------------------------

    @rule(name=names, pick=picks)
    def keeps(self, name: str, pick: int) -> None:
        paper, places = self.papers[name], self.places(name)
        if places:
            place = places[pick % len(places)]
            self.is_the_users(name, places, place, place.after)
            self.request("review.keep", hunks=[place.id])
            paper.past.clear()

    @rule(name=names)
    def keeps_all_of_a_document(self, name: str) -> None:
        paper = self.papers[name]
        if self.places(name):
            self.request("review.keep", uri=self.uri(name))
        paper.base = list(paper.now)
        paper.past.clear()

    @rule(name=names, pick=picks)
    def undoes(self, name: str, pick: int) -> None:
        paper, places = self.papers[name], self.places(name)
        if not places:
            return
        place = places[pick % len(places)]
        done = self.request("review.undo", hunks=[place.id])
        paper.past.append((list(paper.now), list(paper.base)))
        if not place.is_typed_in:
            assert (done["hunks"], done["conflicts"]) == ([place.id], [])
            paper.now = without(paper.now, [place])
            return
        self.undone_with_typing(name, places, place, done)

    def undone_with_typing(
        self, name: str, places: Sequence[Place], place: Place, done: dict[str, Any]
    ) -> None:
        """Nothing that was typed is lost, no row of the agent's stays that was not typed in."""
        paper = self.papers[name]
        if done["conflicts"]:
            (conflict,) = done["conflicts"]
            assert conflict["now"].splitlines() == list(place.after)
            assert conflict["before"].splitlines() == list(place.before)
            return
        rows, behind = self.rows(name), len(paper.now) - place.end
        assert (rows[: place.start], rows[len(rows) - behind :]) == (
            paper.now[: place.start],
            paper.now[place.end :],
        )
        middle = rows[place.start : len(rows) - behind]
        assert [row for row in middle if row.startswith("u")] == [
            row for row in place.after if row.startswith("u")
        ]
        assert not [row for row in middle if row.startswith("a") and row not in place.before]
        self.is_the_users(name, places, place, middle)

    @precondition(lambda self: not self.something_is_typed_in())
    @rule()
    def undoes_everything(self) -> None:
        """What is left is what there would be without, and there is no conflict."""
        if any(self.places(name) for name in NAMES):
            done = self.request("review.undo", all=True)
            assert done["conflicts"] == []
        for paper in self.papers.values():
            paper.past.append((list(paper.now), list(paper.base)))
            paper.now = list(paper.base)

    @rule(name=opened, redoes=st.booleans())
    def undoes_in_the_editor(self, name: str, redoes: bool) -> None:
        """What returns is pending as it was; it is not asked what becomes of a text that never was one."""
        paper, document = self.papers[name], self.editor.desk.documents[self.uri(name)]
        if not document.past:
            return
        self.editor.desk.undo(self.uri(name))
        self.editor.desk.tell()
        self.typed.add(name)
        rows = self.rows(name)
        bases = [base for now, base in paper.past if now == rows]
        if rows == paper.now:
            return
        before = list(paper.now), list(paper.base)
        paper.now = rows
        if bases:
            paper.base = list(bases[-1])
        else:
            paper.base = without(rows, self.places(name))
        if redoes:
            self.all_is_what_the_model_says()
            paper.now, paper.base = before
            self.becomes(name, paper.now)

    # ---- Files and processes ----------------------------------------------------------------------

    @rule(name=opened, closes=st.booleans())
    def saves(self, name: str, closes: bool) -> None:
        self.editor.desk.save(self.uri(name))
        if closes:
            self.editor.desk.close(self.uri(name))
            self.editor.desk.open(self.path(name))
            self.papers[name].past.clear()

    @rule(name=opened)
    def renames(self, name: str) -> None:
        new = self.words.row("n") + ".txt"
        self.editor.desk.rename(self.uri(name), new)
        self.files[name] = new

    @rule(name=names, how=st.sampled_from(["stage", "commit", "check out"]))
    def uses_git(self, name: str, how: str) -> None:
        """What is staged or committed is kept; what was checked out is another program's."""
        paper = self.papers[name]
        if name != "c.txt":
            self.editor.desk.save(self.uri(name))
        tracked = git(self.root, "ls-files", "--", self.files[name]).strip()
        if how == "check out":
            if not tracked:
                return
            git(self.root, "checkout", "-q", "--", self.files[name])
            paper.now = self.path(name).read_text().splitlines()
            self.becomes(name, paper.now)
        else:
            git(self.root, "add", "--", self.files[name])
            if how == "commit" and git(self.root, "status", "--porcelain", "--", self.files[name]).strip():
                git(self.root, "commit", "-qm", "more", "--", self.files[name])
        paper.base = list(paper.now)
        paper.past.clear()

    @rule(kills=st.booleans())
    def restarts(self, kills: bool) -> None:
        """The server goes, by `kill -9` or not; the editor still holds what it held."""
        for name in NAMES[:2]:
            self.held[name] = self.editor.desk[self.uri(name)]
            self.papers[name].past.clear()
        if kills:
            self.server.kill()
            self.editor.has_left = True
            with suppress(ConnectionError):
                self.runner.run(self.editor.wait_closed())
            self.editor.hang_up()
        else:
            self.runner.run(self.stop())
        self.runner.run(self.start())
        if kills:  # how typing has changed a hunk in the last seconds is found by comparing texts anew
            for name in self.typed:
                self.papers[name].base = without(self.papers[name].now, self.places(name))
        self.typed.clear()

    # ---- What always holds ------------------------------------------------------------------------

    @invariant()
    def all_is_what_the_model_says(self) -> None:
        Machine.taken += 1
        for name, paper in self.papers.items():
            assert self.rows(name) == paper.now
            places = self.places(name)
            for place in places:
                assert tuple(paper.now[place.start : place.end]) == place.after
                assert place.before != place.after
            assert without(paper.now, places) == paper.base, (name, paper, places)


def undo_all(rounds: int, turns: int, habits: Habits, chance: random.Random, *, inside: bool) -> None:
    """
    Turns with typing between them, and then an undo of all that is pending.

    Args:
        rounds: How often.
        turns: In one round.
        inside: Whether it is typed in hunks as well: then some are conflicts, with both texts.
    """
    machine = Machine()
    machine.begin(habits)
    for _ in range(rounds):
        for _ in range(turns):
            name, pick = chance.choice(NAMES), chance.randrange(1000)
            machine.a_turn_edits(name, pick, chance.randrange(3), chance.randrange(4), "")
            if inside and chance.random() < 0.5:
                machine.types_inside(name, chance.randrange(1000), chance.random() < 0.5)
            what = chance.choice(["insert", "insert", "replace", "delete"])
            machine.types_outside(chance.choice(NAMES), chance.randrange(1000), what)
        machine.all_is_what_the_model_says()
        typed = {place.id: place for name in NAMES for place in machine.places(name) if place.is_typed_in}
        if any(machine.places(name) for name in NAMES):
            done = machine.request("review.undo", all=True)
            assert {each["hunk"] for each in done["conflicts"]} <= set(typed)
            for each in done["conflicts"]:
                assert tuple(each["now"].splitlines()) == typed[each["hunk"]].after
                assert tuple(each["before"].splitlines()) == typed[each["hunk"]].before
        for name, paper in machine.papers.items():
            rows = machine.rows(name)
            if not typed:
                assert rows == paper.base
            assert not {row for row in paper.now if "u" in row} - set(rows), "nothing that was typed is lost"
            machine.keeps_all_of_a_document(name)
            paper.now, paper.base = list(rows), list(rows)
            if len(rows) < ROWS:  # the user writes more
                paper.now += (machine.words.row("u") for _ in range(ROWS))
                paper.base = list(paper.now)
                machine.becomes(name, paper.now)
    machine.teardown()


def run(seconds: float, steps: int, first: int = 0) -> int:
    """Machines, of one seed after the other, until the time is over or there were enough steps; how many."""
    kinds = settings(
        max_examples=2 if seconds < 10 else 5,  # the first is always a short one
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    Machine.taken, end = 0, time.monotonic() + seconds
    for number in count(first):
        if Machine.taken >= steps or time.monotonic() >= end:
            break
        print("seed", number)
        run_state_machine_as_test(seed(number)(Machine), settings=kinds)
    return Machine.taken


@pytest.mark.parametrize("habits", EVERY_EDITOR, ids=lambda habits: habits.name)
@pytest.mark.parametrize("inside", [False, True], ids=["outside", "inside"])
def test_an_undo_of_all_leaves_what_there_would_be(habits: Habits, inside: bool) -> None:
    undo_all(3, 4, habits, random.Random(1), inside=inside)


def test_any_order() -> None:
    assert run(seconds=SECONDS, steps=100_000) > 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", type=int, nargs="?", default=2000)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--undo-all", type=int, metavar="ROUNDS", help="so many rounds of turns and an undo")
    wanted = parser.parse_args()
    began = time.monotonic()
    if wanted.undo_all:
        for habits in EVERY_EDITOR:
            chance = random.Random(wanted.seed)
            undo_all(1, 200 // len(EVERY_EDITOR), habits, chance, inside=False)
            undo_all(wanted.undo_all // len(EVERY_EDITOR), 3, habits, chance, inside=True)
            print(f"{habits.name}: {time.monotonic() - began:.0f} s, nothing is lost")
        sys.exit()
    done = run(seconds=float("inf"), steps=wanted.steps, first=wanted.seed)
    print(f"{done} steps in {time.monotonic() - began:.0f} s, no difference")
