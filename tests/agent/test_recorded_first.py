"""What is reported as done is in the journal by then: a kill of the server right after it changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence

import pytest

from bench import Bench, Never
from handrail.agent.archive import Archive
from handrail.core.conversation.journal import Entry, Returned, TurnEnded
from handrail.ports.sessions import NoSessions
from handrail.testing import answer

TURNS_OF_THE_LOOP = 200  # by then everything is done that need not wait


class SlowJournal(NoSessions):
    """Journals of which no entry of a *kind* is written before that is allowed."""

    def __init__(self, kind: type[Entry] | None = None) -> None:
        self.kind, self.entries, self.allowed = kind, list[Entry](), asyncio.Event()

    def append(self, session: str, entries: Sequence[Entry]) -> None:
        self.entries += entries

    def has_entry(self) -> bool:
        """Whether one of that kind is to be written."""
        return self.kind is not None and any(isinstance(each, self.kind) for each in self.entries)

    async def wait_until_written(self) -> None:
        if self.has_entry():
            await self.allowed.wait()

    async def load(self, session: str) -> tuple[Entry, ...]:
        return tuple(self.entries)


@pytest.fixture
def journal(bench: Bench) -> SlowJournal:
    journal = SlowJournal()
    bench.host.archive = Archive(journals=journal)
    return journal


async def waits_for(journal: SlowJournal, work: Coroutine[object, object, object]) -> None:
    """Asserts that this is not done before the entry is written, and then is."""
    task = asyncio.ensure_future(work)
    for _ in range(TURNS_OF_THE_LOOP):
        await asyncio.sleep(0)
    assert journal.has_entry()
    assert not task.done()
    journal.allowed.set()
    await task


async def test_the_end_of_a_turn(bench: Bench, journal: SlowJournal) -> None:
    journal.kind = TurnEnded
    bench.says(answer("Done."))
    turn = bench.host.start("Do it.", None)
    await asyncio.wait([turn.task])
    await waits_for(journal, bench.host.wait(turn.id))


async def test_that_a_waiting_turn_is_stopped(bench: Bench, journal: SlowJournal) -> None:
    model = bench.provider = Never()
    first = bench.host.start("Do it.", None)
    await model.asked.wait()
    waiting = bench.host.queue("And this.", first.session)
    journal.kind = Returned
    await waits_for(journal, bench.host.cancel(waiting.id))
    await bench.host.cancel(first.id)


async def test_a_fork(bench: Bench, journal: SlowJournal) -> None:
    bench.says(answer("Done."))
    report = await bench.turn()
    journal.kind = TurnEnded  # that of the turn was written
    await waits_for(journal, bench.host.fork("s-1", report.turn))
