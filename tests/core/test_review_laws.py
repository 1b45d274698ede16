"""Pending hunks, under any order of the agent's edits, typing, keeping and undoing: the laws of review."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.core.documents.edit import opcodes
from handrail.core.review.carry import add_agent_change, carry_typing
from handrail.core.review.hunks import Hunk, base_of, drop_hunks
from handrail.core.review.undo import undo_hunks
from searches import examples

NAMES = tuple(f"row {number}\n" for number in range(12))
AGENT, USER = "agent's", "user's"


@dataclass(kw_only=True)
class Document:
    """
    A document with its pending hunks, and a second reading of what it would be without them.

    Every row that is written is like no other, so a row of the user's can be found in that second reading.
    """

    rows: list[str] = field(default_factory=lambda: list(NAMES))
    base: list[str] = field(default_factory=lambda: list(NAMES))
    hunks: tuple[Hunk, ...] = ()
    names: Iterator[int] = field(default_factory=count)

    def new(self, whose: str, number: int) -> list[str]:
        return [f"{whose} {next(self.names)}\n" for _ in range(number)]

    def agent(self, start: int, end: int, number: int, turn: str) -> None:
        """The agent replaces some rows."""
        now = [*self.rows[:start], *self.new(AGENT, number), *self.rows[end:]]
        blocks = opcodes(self.rows, now)
        self.hunks = add_agent_change(self.hunks, blocks, self.rows, now, (turn, "c"), self.name)
        self.rows = now

    def name(self) -> str:
        return f"h{next(self.names)}"

    def outside(self, at: int, number: int, *, goes: bool) -> bool:
        """The user writes before a row outside all hunks, which then *goes* or stays; whether that is so."""
        free = [row for row in range(len(self.rows)) if not any(h.start <= row < h.end for h in self.hunks)]
        if not free:
            return False
        row = free[at % len(free)]
        written, text = self.new(USER, number), self.rows[row]
        # What is put where a hunk ends may be told above or below what is gone there.
        if not goes and any(row in (hunk.start, hunk.end) for hunk in self.hunks):
            return False
        if text in self.base:  # else it was typed in what was a hunk then
            there = self.base.index(text)
            self.base[there : there + goes] = written
        self.type(row, row + goes, written)
        return True

    def type(self, start: int, end: int, written: list[str]) -> None:
        now = [*self.rows[:start], *written, *self.rows[end:]]
        self.hunks = carry_typing(self.hunks, opcodes(self.rows, now), now)
        self.rows = now

    def undo(self, ids: frozenset[str], turn: str | None = None) -> tuple[Hunk, ...]:
        result = undo_hunks(self.rows, self.hunks, ids, turn)
        self.rows, self.hunks = result.rows, result.hunks
        return result.conflicts

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(hunk.id for hunk in self.hunks)


def played(data: st.DataObject, document: Document, *, inside: bool) -> Iterator[str]:
    """Play a few events on a document; tells of each."""
    events = ["agent", "agent", "agent", "outside", "outside", *(["inside"] if inside else [])]
    for _ in range(data.draw(st.integers(1, 9))):
        event = data.draw(st.sampled_from(events))
        size = len(document.rows)
        start = data.draw(st.integers(0, size))
        end = data.draw(st.integers(start, min(size, start + 3)))
        number = data.draw(st.integers(0, 3))
        if event == "agent":
            document.agent(start, end, number, data.draw(st.sampled_from(["t1", "t2", "t3"])))
        elif event == "outside":
            document.outside(start, number, goes=data.draw(st.booleans()))
        else:
            document.type(start, end, document.new(USER, number))
        assert all(a.end <= b.start for a, b in zip(document.hunks, document.hunks[1:], strict=False))
        for hunk in document.hunks:
            assert tuple(document.rows[hunk.start : hunk.end]) == hunk.rows
        yield event


@settings(max_examples=examples(100), deadline=None)
@given(data=st.data())
def test_without_its_hunks_a_document_is_what_the_user_made_of_it(data: st.DataObject) -> None:
    document = Document()
    for _ in played(data, document, inside=False):
        assert base_of(document.rows, document.hunks) == document.base
        assert all(hunk.rows != hunk.before for hunk in document.hunks)


@settings(max_examples=examples(100), deadline=None)
@given(data=st.data())
def test_undoing_everything_leaves_the_base_in_any_order_and_without_a_conflict(data: st.DataObject) -> None:
    document = Document()
    for _ in played(data, document, inside=False):
        pass
    while document.hunks:
        some = data.draw(st.sets(st.sampled_from(sorted(document.ids)), min_size=1))
        others = {hunk.id: hunk.rows for hunk in document.hunks if hunk.id not in some}
        assert document.undo(frozenset(some)) == ()
        assert {hunk.id: hunk.rows for hunk in document.hunks} == others, "no other is touched"
    assert document.rows == document.base


@settings(max_examples=examples(100), deadline=None)
@given(data=st.data())
def test_keeping_everything_leaves_the_document(data: st.DataObject) -> None:
    document = Document()
    for _ in played(data, document, inside=True):
        kept = data.draw(st.sets(st.sampled_from(sorted(document.ids)))) if document.hunks else set()
        rows, base = list(document.rows), base_of(document.rows, document.hunks)
        left = drop_hunks(document.hunks, frozenset(kept))
        assert document.rows == rows
        assert base_of(rows, left) == base or kept
        document.hunks = left
    assert base_of(document.rows, drop_hunks(document.hunks, document.ids)) == document.rows


@settings(max_examples=examples(100), deadline=None)
@given(data=st.data())
def test_nothing_typed_is_lost_and_conflicts_leave_their_hunks_as_they_are(data: st.DataObject) -> None:
    document = Document()
    for _ in played(data, document, inside=True):
        pass
    mine = [row for row in document.rows if row.startswith(USER)]
    turn = data.draw(st.sampled_from([None, "t1", "t2"]))
    before = {hunk.id: hunk.rows for hunk in document.hunks}
    conflicts = document.undo(document.ids, turn)
    assert [row for row in document.rows if row.startswith(USER) and row in mine] == mine
    for hunk in conflicts:
        assert before[hunk.id] == hunk.rows == tuple(document.rows[hunk.start : hunk.end])
    for hunk in document.hunks:
        assert tuple(document.rows[hunk.start : hunk.end]) == hunk.rows
        if turn is not None and hunk not in conflicts:
            assert turn not in hunk.turns
